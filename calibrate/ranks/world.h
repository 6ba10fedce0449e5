/** The processes that measure: one alone, or the ranks of an MPI job. */
#ifndef CALIBRATE_WORLD_H
#define CALIBRATE_WORLD_H

#include <stdbool.h>
#include <stdnoreturn.h>

#include <layermeter/error.h>

#include "ranks/placement.h"

/**
 * A group of ranks. `world_split` makes the smaller groups on which fewer ranks are measured.
 * All functions with "every rank" in their text are collective.
 */
typedef struct world world;

/** Starts; without MPI, or started alone, this is one rank. */
lm_status world_open(int *argc, char ***argv, world **out, lm_error *err);
/** Ends the process with `code`. Every rank. */
noreturn void world_close(world *w, int code);

/** Ends all ranks at once with `code`, in any state. */
noreturn void world_abort(const world *w, int code);

int world_rank(const world *w);
int world_size(const world *w);
enum { WORLD_HOST = 64 };
/** Names of the ranks' hosts, by rank. Every rank. */
void world_hosts_of(const world *w, char (*name)[WORLD_HOST]);

/** Number of machines with ranks. */
int world_hosts(const world *w);
/** Place of each rank of this world; lives as long as the world. */
const placement *world_placement(const world *w);
/** Library and version, for the provenance. */
const char *world_library(const world *w);

/** The ranks r with member[r] as a group; NULL in *out on the others. Every rank, with the same
 * `member`. */
lm_status world_split(const world *w, const bool *member, world **out, lm_error *err);
void      world_free(world *group);

/** Every rank; values[i] becomes the largest over the ranks. */
void world_max(const world *w, double *values, int n);
/** Text on a rank without an error, if another rank has one; the other rank's text has the
 * cause. */
#define WORLD_ELSEWHERE "another rank failed"

/** Every rank, with its status and a text in err. All ranks get the worst status; ranks without an
 * error get the text WORLD_ELSEWHERE. */
static inline lm_status world_agree(const world *w, lm_status mine, lm_error *err)
{
    double worst = -(double)mine;

    world_max(w, &worst, 1);
    if (!mine && worst > 0)
        lm_error_set(err, (lm_status)-worst, WORLD_ELSEWHERE);
    return (lm_status)-worst;
}

/** Every rank; all get rank 0's bytes. */
void world_broadcast(const world *w, void *bytes, int n);
/** Every rank; all get `n` bytes from each, in the order of ranks. */
void world_gather(const world *w, const void *mine, int n, void *all);
/** Every rank. Waits asleep, so that idle ranks do not disturb those that measure. */
void world_wait(const world *w);
/** Every rank. Spins, so that ranks leave as close together as possible. */
void world_barrier(const world *w);

#endif
