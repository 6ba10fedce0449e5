/** Runs independent parts of a calculation on all cores. */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stddef.h>

#include <layermeter/error.h>

/** One part. No other part reads what it writes. */
typedef lm_status (*parallel_part)(void *context, size_t part, lm_error *err);

/**
 * Does parts 0 to n - 1, each once, in any order, on as many threads as OMP_NUM_THREADS says, else
 * as the process has cores. What comes out depends on neither. Parts may have parts themselves:
 * threads that have none of the outermost call's left do these.
 *
 * Threads are started for each outermost call and end with it (some 20 us each). OpenMP's stay, and
 * look for work for a while before they sleep: where other processes want the cores, a fit of 0.1 s
 * took twice as long with them as without.
 *
 * @return the status of the first part, by number, that failed; `err` is its
 */
lm_status parallel_for(size_t n, parallel_part part, void *context, lm_error *err);

#endif
