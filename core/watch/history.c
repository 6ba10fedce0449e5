/* What stands beside a metric, in bins of equal length. */
#include "watch/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "sample/device_sample.h"

#define FIRST_STEP 0.05 /* s, of a bin, at first */
#define ENOUGH     12.0 /* epochs that must remain when the older half goes */

enum { BUSY, CLOCK, WATTS, LIMIT, HELD_POWER, HELD_HEAT, N_SUMS };

typedef struct sum {
    double of;
    size_t n;
} sum;

struct watch_history {
    double start, step; /* s */
    size_t n;           /* bins */
    sum    bin[HISTORY_BINS][N_SUMS];
};

lm_status watch_history_new(watch_history **out, lm_error *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return no_memory(err);
    (*out)->step = FIRST_STEP;
    return LM_OK;
}

void watch_history_free(watch_history *h)
{
    free(h);
}

static void forget_half(watch_history *h)
{
    const size_t half = HISTORY_BINS / 2;

    memmove(h->bin, h->bin + half, half * sizeof *h->bin);
    memset(h->bin + half, 0, half * sizeof *h->bin);
    h->start += h->step * (double)half;
    h->n = h->n > half ? h->n - half : 0;
}

static void merge_pairs(watch_history *h)
{
    for (size_t i = 0; i < HISTORY_BINS / 2; i++)
        for (size_t k = 0; k < N_SUMS; k++) {
            const sum a = h->bin[2 * i][k], b = h->bin[2 * i + 1][k];

            h->bin[i][k] = (sum){ a.of + b.of, a.n + b.n };
        }
    memset(h->bin + HISTORY_BINS / 2, 0, (HISTORY_BINS / 2) * sizeof *h->bin);
    h->n = (h->n + 1) / 2;
    h->step *= 2;
}

static void add(sum *s, double value)
{
    if (isnan(value))
        return;
    s->of += value;
    s->n++;
}

static double share_of(float held, unsigned bits)
{
    return isnan(held) ? (double)NAN : ((unsigned long long)held & bits) != 0;
}

void watch_history_add(watch_history *h, double time, const float beside[N_BESIDE], double period)
{
    const float held = beside[BESIDE_HELD], busy = beside[BESIDE_BUSY];
    const bool  idle = (!isnan(held) && ((unsigned long long)held & HELD_IDLE)) || busy == 0;
    sum        *bin;

    if (!h->n || time > h->start + 3 * h->step * HISTORY_BINS) { /* nothing of before is left */
        memset(h->bin, 0, sizeof h->bin);
        h->start = time;
        h->n     = 0;
    }
    while (time >= h->start + h->step * HISTORY_BINS) {
        if (0.5 * h->step * HISTORY_BINS >= ENOUGH * period)
            forget_half(h);
        else
            merge_pairs(h);
    }
    h->n = (size_t)((time - h->start) / h->step) + 1;
    bin  = h->bin[h->n - 1];
    add(&bin[BUSY], 0.01 * (double)busy);
    add(&bin[CLOCK], idle ? (double)NAN : (double)beside[BESIDE_CLOCK]); /* at rest it is low */
    add(&bin[WATTS], (double)beside[BESIDE_POWER]);
    add(&bin[LIMIT], (double)beside[BESIDE_POWER_LIMIT]);
    add(&bin[HELD_POWER], share_of(held, HELD_POWER_CAP | HELD_POWER_BRAKE));
    add(&bin[HELD_HEAT], share_of(held, HELD_HARDWARE | HELD_THERMAL | HELD_HARD_THERMAL));
}

static double mean(const watch_history *h, size_t from, size_t to, size_t which)
{
    sum all = { 0, 0 };

    for (size_t i = from; i < to; i++) {
        all.of += h->bin[i][which].of;
        all.n += h->bin[i][which].n;
    }
    return all.n ? all.of / (double)all.n : (double)NAN;
}

watch_means watch_history_means(const watch_history *h, double from, double to)
{
    const double a = floor((from - h->start) / h->step), b = ceil((to - h->start) / h->step);
    const size_t first = a > 0 ? (size_t)fmin(a, (double)h->n) : 0,
                 last  = b > 0 ? (size_t)fmin(b, (double)h->n) : 0;

    return (watch_means){ .busy        = mean(h, first, last, BUSY),
                          .clock_mhz   = mean(h, first, last, CLOCK),
                          .watts       = mean(h, first, last, WATTS),
                          .limit_watts = mean(h, first, last, LIMIT),
                          .held_power  = mean(h, first, last, HELD_POWER),
                          .held_heat   = mean(h, first, last, HELD_HEAT) };
}
