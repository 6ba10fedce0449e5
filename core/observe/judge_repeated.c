/* Points that are there again: copied, or contradicting each other. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "observe/judge.h"

/* Digits that a time was written with, up to twelve. */
static int digits_of(double seconds)
{
    char text[40];
    int  n = 12;

    snprintf(text, sizeof text, "%.11e", seconds);
    while (n > 1 && text[n] == '0') /* behind the first one and the point */
        n--;
    return n;
}

/* More digits than two measurements agree in by chance: tools print four or five. */
#define TELLING_DIGITS 9

static bool copied(const point *a, const point *b)
{
    int digits = 0;

    for (phase f = 0; f < N_PHASES; f++) {
        if (isnan(a->seconds[f]) != isnan(b->seconds[f]))
            return false;
        if (isnan(a->seconds[f]))
            continue;
        if (a->seconds[f] != b->seconds[f])
            return false;
        digits += digits_of(a->seconds[f]);
    }
    return digits >= TELLING_DIGITS;
}

static int first_line(const point *p)
{
    int line = 0;

    for (phase f = 0; f < N_PHASES; f++)
        if (!isnan(p->seconds[f]) && (!line || p->line[f] < line))
            line = p->line[f];
    return line;
}

/* Enough of those before a point to compare it with. */
#define AGAIN_MOST 100

/* The last of the points, beside those before it. */
static bool judge_again(const points *p, const point *const *same, size_t n, doubts *out)
{
    const point *last  = same[n - 1];
    const size_t first = n > AGAIN_MOST ? n - AGAIN_MOST : 0;
    bool         done  = true;

    for (size_t i = first; i + 1 < n; i++)
        if (copied(same[i], last))
            return doubts_add(out, &(doubt){ .kind       = DOUBT_COPY,
                                             .row        = last->row,
                                             .at         = (size_t)(last - p->point),
                                             .line       = first_line(last),
                                             .other_line = first_line(same[i]) });
    for (phase f = 0; f < N_PHASES && done; f++)
        for (size_t i = first; i + 1 < n; i++) {
            const double ratio = last->seconds[f] / same[i]->seconds[f];

            if (!(ratio > DOUBT_APART || ratio < 1 / DOUBT_APART))
                continue;
            done = doubts_add(out, &(doubt){ .kind          = DOUBT_CONTRADICTION,
                                             .row           = last->row,
                                             .at            = (size_t)(last - p->point),
                                             .phase         = f,
                                             .line          = last->line[f],
                                             .other_line    = same[i]->line[f],
                                             .seconds       = last->seconds[f],
                                             .other_seconds = same[i]->seconds[f] });
            break;
        }
    return done;
}

typedef struct place {
    uint64_t     hash;
    const point *at;
} place;

static int by_hash(const void *a, const void *b)
{
    const place *x = a, *y = b;

    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : (x->at > y->at) - (x->at < y->at);
}

lm_status judge_repeated(const points *p, doubts *out, lm_error *err)
{
    place        *by   = malloc((p->n_points + 1) * sizeof *by);
    const point **same = malloc((p->n_points + 1) * sizeof *same);
    size_t        n    = 0;
    bool          done = by && same;

    for (size_t i = 0; i < p->n_points && done; i++)
        if (!p->point[i].flags) /* anchors are measured again, others say why they differ */
            by[n++] = (place){ configuration_hash(p->point[i].row), &p->point[i] };
    if (done)
        qsort(by, n, sizeof *by, by_hash);
    for (size_t first = 0, m; first < n && done; first += m) {
        same[0] = by[first].at;
        for (m = 1; first + m < n && by[first + m].hash == by[first].hash &&
                    configuration_same(by[first + m].at->row, same[0]->row) && done;
             m++) {
            same[m] = by[first + m].at;
            done    = judge_again(p, same, m + 1, out);
        }
    }
    free(same);
    free(by);
    return done ? LM_OK : no_memory(err);
}
