/* Preloaded: the time of day jumps by up to a day, back and forth, each time somebody looks. What measures must not look at it. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_ulong looks;

static long jump(void)
{
    return (long)(atomic_fetch_add(&looks, 1) * 48271 % 172801) - 86400;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    const int failed = (int)syscall(SYS_clock_gettime, clock, out);

    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        out->tv_sec += jump();
    return failed;
}

time_t time(time_t *out)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec t;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &t);
    out->tv_sec  = t.tv_sec;
    out->tv_usec = t.tv_nsec / 1000;
    return 0;
}
