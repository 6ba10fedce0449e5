/* One process alone, where there is no MPI. */
#include "ranks/world.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/no_memory.h"

struct world {
    int unused;
};

lm_status world_open(int *argc, char ***argv, world **out, lm_error *err)
{
    (void)argc;
    (void)argv;
    *out = calloc(1, sizeof **out);
    return *out ? LM_OK : no_memory(err);
}

noreturn void world_close(world *w, int code)
{
    free(w);
    exit(code);
}

noreturn void world_abort(const world *w, int code)
{
    (void)w;
    _exit(code);
}

int world_rank(const world *w)
{
    (void)w;
    return 0;
}

int world_size(const world *w)
{
    (void)w;
    return 1;
}

int world_hosts(const world *w)
{
    (void)w;
    return 1;
}

const placement *world_placement(const world *w)
{
    static const int       zero  = 0;
    static const placement alone = { 1, &zero, &zero };

    (void)w;
    return &alone;
}

const char *world_library(const world *w)
{
    (void)w;
    return "none: one process";
}

lm_status world_split(const world *w, const bool *member, world **out, lm_error *err)
{
    (void)member;
    (void)w;
    return world_open(NULL, NULL, out, err);
}

void world_free(world *group)
{
    free(group);
}

void world_max(const world *w, double *values, int n)
{
    (void)w;
    (void)values;
    (void)n;
}

void world_broadcast(const world *w, void *bytes, int n)
{
    (void)w;
    (void)bytes;
    (void)n;
}

void world_gather(const world *w, const void *mine, int n, void *all)
{
    (void)w;
    memcpy(all, mine, (size_t)n);
}

void world_hosts_of(const world *w, char (*name)[WORLD_HOST])
{
    (void)w;
    memset(name[0], 0, sizeof name[0]);
    gethostname(name[0], sizeof name[0] - 1);
}

void world_wait(const world *w)
{
    (void)w;
}

void world_barrier(const world *w)
{
    (void)w;
}
