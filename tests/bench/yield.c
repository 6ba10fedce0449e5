/* For LD_PRELOAD, with Open MPI's mpi_yield_when_idle: a rank that waits sleeps 20 us instead of asking
 * again at once, so that more ranks than cores do not wait for each other's turns. Open MPI looks at its
 * sockets in every eighth round only: one sleep for eight. */
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

int sched_yield(void)
{
    static const struct timespec nap = { 0, 20000 };
    static __thread unsigned     rounds;

    if (!rounds)
        prctl(PR_SET_TIMERSLACK, 1UL);
    return ++rounds % 8 ? 0 : nanosleep(&nap, NULL);
}
