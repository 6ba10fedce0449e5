/** Places of a job's ranks, and the ranks that take part in a point. */
#ifndef CALIBRATE_PLACEMENT_H
#define CALIBRATE_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

/** Machines are numbered from 0 in the order of their first ranks. Owns nothing. */
typedef struct placement {
    int        n_ranks;
    const int *host; /**< of each rank: the number of its machine */
    const int *seat; /**< of each rank: how many ranks before it are on the same machine */
} placement;

/** Numbers machines: leader[r] is the first rank on rank r's machine. Fills n numbers each. */
void placement_number(const int *leader, int n, int *host, int *seat);

/** Number of machines with the first `ranks` ranks; `ranks` is at most p->n_ranks. */
int placement_hosts(const placement *p, int ranks);

/** Has the job `nodes` machines with `devices` ranks each? */
bool placement_has(const placement *p, int64_t nodes, int64_t devices);

/**
 * The first `devices` ranks of each of the first `nodes` machines that have so many. Ranks that a
 * machine has beyond that stay idle.
 *
 * @param member filled with n_ranks answers
 * @return false if there are fewer such machines
 */
bool placement_choose(const placement *p, int nodes, int devices, bool *member);

#endif
