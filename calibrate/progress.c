/* What a run says of itself while it measures. */
#include "progress.h"

#include <math.h>
#include <stdio.h>

#include "clock.h"
#include "network/kernels.h"

progress progress_begin(bool quiet)
{
    return (progress){ .quiet = quiet, .began = clock_nanoseconds(CLOCK_MONOTONIC) };
}

void progress_expect(progress *p, double seconds)
{
    p->total += seconds;
}

void print_point(const observation *r, char *buffer, size_t size)
{
    char geometry[400];

    switch (r->kind) {
    case OBS_NETWORK:
        snprintf(buffer, size, "%s %s batch %lld, %lld rank%s", r->name, r->input,
                 (long long)r->batch, (long long)r->ranks, r->ranks == 1 ? "" : "s");
        break;
    case OBS_KERNEL:
        snprintf(geometry, sizeof geometry, "%s", r->geometry);
        snprintf(buffer, size, "%s %s %.60s", r->name, kernel_pass_name(r->pass), geometry);
        break;
    default:
        snprintf(buffer, size, "all-reduce (%s) of %lld bytes, %lld ranks", r->algorithm,
                 (long long)r->bytes, (long long)r->ranks);
    }
}

void progress_point(progress *p, size_t at, size_t n, const sweep_point *point,
                    const point_result *r)
{
    const double spent = clock_seconds_since(CLOCK_MONOTONIC, p->began);
    double       left, median = NAN;
    char         what[160];

    p->done += point->weight;
    left = p->done > 0 ? fmax(0, spent / p->done * (p->total - p->done)) : 0;
    if (p->quiet)
        return;
    print_point(&point->row, what, sizeof what);
    for (phase f = 0; f < N_PHASES; f++)
        if (r->phase[f].measured)
            median = r->phase[f].median;
    fprintf(stderr, "[%zu/%zu] %s: ", at + 1, n, what);
    if (isnan(median))
        fprintf(stderr, "%s (%s)", r->status, r->why);
    else
        fprintf(stderr, "%.3f ms", 1e3 * median);
    fprintf(stderr, ", %.0f s left\n", left);
}
