/** Clocks in whole nanoseconds, so that differences have no meaningless digits. */
#ifndef CALIBRATE_CLOCK_H
#define CALIBRATE_CLOCK_H

#include <stdint.h>
#include <time.h>

/** CLOCK_MONOTONIC for wall time, CLOCK_THREAD_CPUTIME_ID for the calling thread's own. */
static inline int64_t clock_nanoseconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double clock_seconds_since(clockid_t clock, int64_t nanoseconds)
{
    return 1e-9 * (double)(clock_nanoseconds(clock) - nanoseconds);
}

#endif
