/* The ranks of an MPI job. With backends/mpi*.c the only file that sees MPI. */
#include "ranks/world_mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "ranks/pulse.h"

struct world {
    MPI_Comm  comm;
    int       rank, size;
    placement where;
    int      *numbers; /* behind `where` */
    char      library[128];
};

MPI_Comm world_communicator(const world *w)
{
    return w->comm;
}

/* Ranks that share memory are on one machine. Every rank must come here. */
static bool find_hosts(world *w)
{
    int      first   = w->rank;
    int     *numbers = malloc(3 * (size_t)w->size * sizeof *numbers);
    int      failed  = !numbers;
    MPI_Comm node;

    MPI_Comm_split_type(w->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, node);
    MPI_Comm_free(&node);
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, w->comm);
    if (failed) {
        free(numbers);
        return false;
    }
    MPI_Allgather(&first, 1, MPI_INT, numbers, 1, MPI_INT, w->comm);
    w->numbers = numbers;
    w->where   = (placement){ w->size, numbers + w->size, numbers + 2 * w->size };
    placement_number(numbers, w->size, numbers + w->size, numbers + 2 * w->size);
    return true;
}

static world *wrap(MPI_Comm comm)
{
    world *w = calloc(1, sizeof *w);
    char   text[MPI_MAX_LIBRARY_VERSION_STRING];
    int    n;

    if (!w)
        return NULL;
    w->comm = comm;
    MPI_Comm_rank(comm, &w->rank);
    MPI_Comm_size(comm, &w->size);
    if (!find_hosts(w)) {
        free(w);
        return NULL;
    }
    MPI_Get_library_version(text, &n);
    text[strcspn(text, "\n")] = '\0';
    snprintf(w->library, sizeof w->library, "%.100s", text);
    return w;
}

lm_status world_open(int *argc, char ***argv, world **out, lm_error *err)
{
    int got; /* unused: code that needs this level of threads calls MPI_Query_thread() */

    if (MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &got) != MPI_SUCCESS)
        return lm_error_set(err, LM_E_IO, "MPI could not be started");
    *out = wrap(MPI_COMM_WORLD);
    return *out ? LM_OK : no_memory(err);
}

noreturn void world_close(world *w, int code)
{
    free(w->numbers);
    free(w);
    MPI_Finalize();
    exit(code);
}

noreturn void world_abort(const world *w, int code)
{
    MPI_Abort(w->comm, code);
    _exit(code);
}

int world_rank(const world *w)
{
    return w->rank;
}

int world_size(const world *w)
{
    return w->size;
}

int world_hosts(const world *w)
{
    return placement_hosts(&w->where, w->size);
}

const placement *world_placement(const world *w)
{
    return &w->where;
}

const char *world_library(const world *w)
{
    return w->library;
}

/* A rank in MPI mostly waits for others. */
static pulse_activity wait_begins(void)
{
    return pulse_enter(PULSE_WAIT);
}

static void wait_ends(pulse_activity before)
{
    pulse_enter(before);
}

lm_status world_split(const world *w, const bool *member, world **out, lm_error *err)
{
    const int            color  = member[w->rank] ? 0 : MPI_UNDEFINED;
    const pulse_activity before = wait_begins();
    MPI_Comm             comm   = MPI_COMM_NULL;
    const int            failed = MPI_Comm_split(w->comm, color, w->rank, &comm) != MPI_SUCCESS;

    *out = NULL;
    if (!failed && comm != MPI_COMM_NULL)
        *out = wrap(comm);
    wait_ends(before);
    if (failed)
        return lm_error_set(err, LM_E_IO, "MPI could not make a group of ranks");
    if (comm == MPI_COMM_NULL)
        return LM_OK;
    return *out ? LM_OK : no_memory(err);
}

void world_free(world *group)
{
    pulse_activity before;

    if (!group)
        return;
    before = wait_begins();
    MPI_Comm_free(&group->comm);
    wait_ends(before);
    free(group->numbers);
    free(group);
}

void world_max(const world *w, double *values, int n)
{
    const pulse_activity before = wait_begins();

    MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_DOUBLE, MPI_MAX, w->comm);
    wait_ends(before);
}

void world_broadcast(const world *w, void *bytes, int n)
{
    const pulse_activity before = wait_begins();

    MPI_Bcast(bytes, n, MPI_BYTE, 0, w->comm);
    wait_ends(before);
}

void world_gather(const world *w, const void *mine, int n, void *all)
{
    const pulse_activity before = wait_begins();

    MPI_Allgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, w->comm);
    wait_ends(before);
}

void world_hosts_of(const world *w, char (*name)[WORLD_HOST])
{
    char mine[WORLD_HOST] = "";

    gethostname(mine, sizeof mine - 1);
    world_gather(w, mine, sizeof mine, name);
}

void world_wait(const world *w)
{
    const struct timespec nap    = { 0, 2000000 };
    const pulse_activity  before = wait_begins();
    int                   done   = 0;
    MPI_Request           all;

    MPI_Ibarrier(w->comm, &all);
    for (MPI_Test(&all, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&all, &done, MPI_STATUS_IGNORE))
        nanosleep(&nap, NULL);
    wait_ends(before);
}

void world_barrier(const world *w)
{
    const pulse_activity before = wait_begins();

    MPI_Barrier(w->comm);
    wait_ends(before);
}
