/* Our all-reduce beside a plain loop over MPI_Allreduce, in one process and in turns, so that both
 * meet the same machine. "memory": each repetition takes the next message of a pool that no cache
 * holds, as the backend does; "cache": always the same message, as OSU's osu_allreduce does.
 *
 *   allreduce SECONDS BYTES...   seconds: of each size and kind
 *
 * Prints CSV: bytes, kind, repetitions, medians in us, ours / plain of the medians and of the
 * minima. */
#include <stdio.h>

#include "../../calibrate/backends/mpi.c" /* for what its work holds */
#include "base/stats.h"

#define MAX 2000 /* repetitions */

static double slowest(const world *all, double seconds)
{
    world_max(all, &seconds, 1);
    return seconds;
}

static double plain_once(const world *all, const start_line *start, float *data, int64_t n)
{
    int64_t began;

    world_barrier(all);
    start_line_wait(all, start);
    began = clock_nanoseconds(CLOCK_MONOTONIC);
    MPI_Allreduce(MPI_IN_PLACE, data, (int)n, MPI_FLOAT, MPI_SUM, world_communicator(all));
    return slowest(all, clock_seconds_since(CLOCK_MONOTONIC, began));
}

static double ours_once(const world *all, backend *b, void *work, lm_error *err)
{
    backend_time t = { 0, 0 };

    world_barrier(all);
    if (b->type->run(b, work, PHASE_SYNC, &t, err))
        return -1;
    return slowest(all, t.wall);
}

static int compare(const world *all, backend *b, int64_t bytes, bool cold, double seconds)
{
    const observation point = {
        .kind = OBS_COLLECTIVE, .name = "allreduce", .algorithm = "default", .bytes = bytes
    };
    const bench_case what = { .point = &point, .group = all };
    static double    ours[MAX], plain[MAX];
    double           spent = 0;
    size_t           n     = 0;
    int              go_on = 1;
    lm_error         err;
    mpi_work        *w = NULL;
    float           *pool;

    if (b->type->prepare(b, &what, (void **)&w, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    if (!cold)
        w->slots = 1;
    pool = aligned_alloc(4096, ((size_t)(w->slots * w->n) * sizeof *pool + 4095) / 4096 * 4096);
    if (!pool)
        return 1;
    memset(pool, 0, (size_t)(w->slots * w->n) * sizeof *pool);
    for (int warm = 0; warm < 3; warm++) {
        plain_once(all, &w->start, pool, w->n);
        ours_once(all, b, w, &err);
    }
    for (int64_t slot = 0; go_on; slot = (slot + 1) % w->slots) {
        /* who goes first takes turns as well */
        if (n % 2)
            plain[n] = plain_once(all, &w->start, pool + slot * w->n, w->n);
        ours[n] = ours_once(all, b, w, &err);
        if (n % 2 == 0)
            plain[n] = plain_once(all, &w->start, pool + slot * w->n, w->n);
        spent += ours[n] + plain[n];
        n++;
        go_on = n < MAX && (n < 11 || spent < seconds);
        world_broadcast(all, &go_on, sizeof go_on);
    }
    if (world_rank(all) == 0) {
        const double a = stats_quantile(ours, n, 0.5), c = stats_quantile(plain, n, 0.5);

        printf("%lld,%s,%zu,%.2f,%.2f,%.3f,%.3f\n", (long long)bytes, cold ? "memory" : "cache", n,
               1e6 * a, 1e6 * c, a / c, ours[0] / plain[0]);
        fflush(stdout);
    }
    free(pool);
    b->type->release(b, w);
    return 0;
}

int main(int argc, char **argv)
{
    const backend_config config  = { .threads = 1 };
    world               *all     = NULL;
    backend             *b       = NULL;
    double               seconds = 1;
    int                  code    = 0;
    lm_error             err;

    if (world_open(&argc, &argv, &all, &err) || backend_mpi.open(&config, &b, &err) || argc < 3)
        return 2;
    seconds = atof(argv[1]);
    if (world_rank(all) == 0)
        printf("bytes,kind,repetitions,ours_us,plain_us,median_ratio,minimum_ratio\n");
    for (int i = 2; i < argc && !code; i++)
        for (int cold = 1; cold >= 0 && !code; cold--)
            code = compare(all, b, atoll(argv[i]), cold, seconds);
    b->type->close(b);
    world_close(all, code);
}
