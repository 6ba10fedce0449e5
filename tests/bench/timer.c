/* Runs a command several times; prints the median wall time in seconds, the largest peak memory in
 * bytes and the median of processor seconds, as the operating system counted them. usage: timer
 * RUNS COMMAND... */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS_MAX 1000

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const int runs = argc > 2 ? atoi(argv[1]) : 0;
    double    wall[RUNS_MAX], busy[RUNS_MAX];
    long      peak = 0;

    if (runs < 1 || runs > RUNS_MAX)
        return 2;
    for (int i = -1; i < runs; i++) { /* the first is a warm-up */
        struct timespec a, b;
        struct rusage   use;
        int             status;
        pid_t           child;

        clock_gettime(CLOCK_MONOTONIC, &a);
        child = fork();
        if (child == 0) {
            const int nowhere = open("/dev/null", O_WRONLY);

            dup2(nowhere, 1);
            dup2(nowhere, 2);
            execvp(argv[2], argv + 2);
            _exit(127);
        }
        if (child < 0 || wait4(child, &status, 0, &use) < 0)
            return 1;
        clock_gettime(CLOCK_MONOTONIC, &b);
        if (!WIFEXITED(status) || WEXITSTATUS(status)) {
            fprintf(stderr, "timer: %s failed\n", argv[2]);
            return 1;
        }
        if (i >= 0) {
            wall[i] = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
            busy[i] = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                      1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
        }
        peak = use.ru_maxrss > peak ? use.ru_maxrss : peak;
    }
    qsort(wall, (size_t)runs, sizeof wall[0], by_value);
    qsort(busy, (size_t)runs, sizeof busy[0], by_value);
    printf("%.6f %ld %.6f\n", wall[runs / 2], peak * 1024, busy[runs / 2]);
    return 0;
}
