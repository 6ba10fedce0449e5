/** Runs independent parts of a calculation on all cores. */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stddef.h>

#include <layermeter/error.h>

/** One part. No other part reads what it writes. */
typedef lm_status (*parallel_part)(void *context, size_t part, lm_error *err);

/**
 * Runs parts 0 to n - 1, each once, in any order. OMP_NUM_THREADS sets the number of threads; the
 * default is the number of cores of the process. Results do not depend on threads or order. A part
 * may call parallel_for() itself: threads without parts of the outermost call take such inner
 * parts.
 *
 * Threads start with each outermost call and end with it (about 20 us each). OpenMP's threads stay
 * and spin before they sleep. On cores that other processes use, too, a fit of 0.1 s took twice as
 * long with OpenMP as with these threads.
 *
 * @return status and `err` of the failed part with the lowest number
 */
lm_status parallel_for(size_t n, parallel_part part, void *context, lm_error *err);

#endif
