/* Repeated measurements of a configuration: selects the times that count, and finds copies,
 * contradictions, and mixed training and inference. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/order.h"
#include "observe/flags.h"
#include "observe/judge.h"

typedef struct place {
    uint64_t hash;
    point   *at;
} place;

ORDER_BY_BOTH(by_hash, place, hash, at)

/* The configuration of a row; `any_mode`: the part that evaluation mode has, too. */
static observation told_of(const observation *row, bool any_mode)
{
    observation told = *row;

    if (any_mode) {
        told.optimizer = told.algorithm = "";
        told.bucket_bytes               = 0;
    }
    return told;
}

static uint64_t hash_of(const observation *row, bool any_mode)
{
    const observation told = told_of(row, any_mode);

    return configuration_hash(&told);
}

static bool same_told(const observation *a, const observation *b, bool any_mode)
{
    const observation of_a = told_of(a, any_mode), of_b = told_of(b, any_mode);

    return configuration_same(&of_a, &of_b);
}

/* Passes the points of each configuration, in the order of the file. `flagged`: also flagged ones;
 * `any_mode`: training and inference together. */
static lm_status each_configuration(const points *p, bool flagged, bool any_mode,
                                    bool (*see)(void *context, point *const *same, size_t n),
                                    void *context, lm_error *err)
{
    place  *by   = malloc((p->n_points + 1) * sizeof *by);
    point **same = malloc((p->n_points + 1) * sizeof *same);
    size_t  n    = 0;
    bool    done = by && same;

    for (size_t i = 0; i < p->n_points && done; i++)
        if (flagged || !p->point[i].flags)
            by[n++] = (place){ hash_of(p->point[i].row, any_mode), &p->point[i] };
    if (done)
        qsort(by, n, sizeof *by, by_hash);
    for (size_t first = 0, m; first < n && done; first += m) {
        for (m = 0; first + m < n && by[first + m].hash == by[first].hash &&
                    same_told(by[first + m].at->row, by[first].at->row, any_mode);
             m++)
            same[m] = by[first + m].at;
        done = see(context, same, m);
    }
    free(same);
    free(by);
    return done ? LM_OK : no_memory(err);
}

/* ---- which times count ----------------------------------------------------------------------- */

/* 0: first measurement; 1: an anchor measured again; 2: doubtful. */
static int rank_of(const point *p)
{
    return p->flags & FLAGS_DOUBTFUL ? 2 : p->flags & FLAG_ANCHOR ? 1 : 0;
}

static size_t count_times(const point *p, double *sum)
{
    size_t n = 0;

    *sum = 0;
    for (phase f = 0; f < N_PHASES; f++)
        if (!isnan(p->seconds[f])) {
            *sum += p->seconds[f];
            n++;
        }
    return n;
}

static void drop_times(point *p)
{
    for (phase f = 0; f < N_PHASES; f++)
        p->seconds[f] = NAN;
}

/* Keeps one point of a rank. Among doubtful points that with the most phases, then the fastest,
 * because disturbances make times longer. Among repetitions the first. */
static void keep_one(point *const *same, size_t n, int rank)
{
    point *kept  = NULL;
    size_t most  = 0;
    double least = 0;

    for (size_t i = 0; i < n; i++) {
        double       sum;
        const size_t times = count_times(same[i], &sum);

        if (rank_of(same[i]) != rank || !times)
            continue;
        if (!kept || (rank == 2 && (times > most || (times == most && sum < least)))) {
            if (kept)
                drop_times(kept);
            kept  = same[i];
            most  = times;
            least = sum;
        } else {
            drop_times(same[i]);
        }
    }
}

/* All points of one configuration, in the order of the file. */
static bool settle_same(void *context, point *const *same, size_t n)
{
    points *p = context;

    for (phase f = 0; f < N_PHASES; f++) {
        int best = 2;

        for (size_t i = 0; i < n; i++)
            if (!isnan(same[i]->seconds[f]) && rank_of(same[i]) < best)
                best = rank_of(same[i]);
        for (size_t i = 0; i < n; i++)
            if (rank_of(same[i]) > best)
                same[i]->seconds[f] = NAN;
    }
    keep_one(same, n, 1);
    keep_one(same, n, 2);
    for (size_t i = 0; i < n; i++) {
        double sum;

        if (rank_of(same[i]) < 2)
            continue;
        if (count_times(same[i], &sum))
            p->n_flagged_used++;
        else
            p->n_flagged_out++;
    }
    return true;
}

lm_status points_settle(points *p, lm_error *err)
{
    bool any = false;

    for (size_t i = 0; i < p->n_points; i++)
        any |= p->point[i].flags != 0;
    return any ? each_configuration(p, true, false, settle_same, p, err) : LM_OK;
}

/* ---- copies and contradictions --------------------------------------------------------------- */

/* Number of digits of a time in the file, up to twelve. */
static int digits_of(double seconds)
{
    char text[40];
    int  n = 12;

    snprintf(text, sizeof text, "%.11e", seconds);
    while (n > 1 && text[n] == '0') /* after the first digit and the point */
        n--;
    return n;
}

/* Number of digits in which two measurements do not agree by chance; tools print four or five. */
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

/* Seconds of a network's step without any other time, so that it might be any pass; else NAN. */
static double bare_step(const point *p)
{
    const bool bare = isnan(p->seconds[PHASE_FORWARD]) && isnan(p->seconds[PHASE_BACKWARD]);

    return bare && observation_of_network(p->row) ? point_seconds(p, PHASE_STEP) : NAN;
}

/* Number of earlier points to compare a point with. */
#define AGAIN_MOST 100

/* Compares the last point with the earlier ones. */
static bool judge_again(const points *p, point *const *same, size_t n, doubts *out)
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

            if (!(ratio > DOUBT_APART || ratio < 1 / DOUBT_APART) ||
                (f == PHASE_STEP && !isnan(bare_step(last)) && !isnan(bare_step(same[i]))))
                continue; /* judge_mixed() decides on steps */
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

typedef struct judging {
    const points *p;
    doubts       *out;
} judging;

static bool judge_same(void *context, point *const *same, size_t n)
{
    const judging *j    = context;
    bool           done = true;

    for (size_t m = 2; m <= n && done; m++)
        done = judge_again(j->p, same, m, j->out);
    return done;
}

/* A time of the same work that contradicts a step: a longer inference, or a very different step.
 * NULL: none. */
static const point *mixed_with(point *const *same, size_t n, size_t at, phase *as)
{
    const double step  = bare_step(same[at]);
    const size_t first = n > AGAIN_MOST ? n - AGAIN_MOST : 0;

    for (size_t i = first; i < n && !isnan(step); i++) {
        const double other = bare_step(same[i]);

        *as = PHASE_INFERENCE;
        if (step < DOUBT_MODES_STEP * same[i]->seconds[PHASE_INFERENCE])
            return same[i];
        *as = PHASE_STEP;
        if (i < at && same_told(same[i]->row, same[at]->row, false) &&
            fmax(step / other, other / step) > DOUBT_MODES_APART)
            return same[i];
    }
    return NULL;
}

/* All points of the same work, of training and inference. */
static bool judge_mixed(void *context, point *const *same, size_t n)
{
    const judging *j    = context;
    bool           done = true;

    for (size_t m = 0; m < n && done; m++) {
        phase        as;
        const point *other = mixed_with(same, n, m, &as);

        if (other)
            done = doubts_add(j->out, &(doubt){ .kind          = DOUBT_MODES,
                                                .row           = same[m]->row,
                                                .at            = (size_t)(same[m] - j->p->point),
                                                .other_at      = (size_t)(other - j->p->point),
                                                .phase         = PHASE_STEP,
                                                .beside        = as,
                                                .line          = same[m]->line[PHASE_STEP],
                                                .other_line    = other->line[as],
                                                .seconds       = same[m]->seconds[PHASE_STEP],
                                                .other_seconds = other->seconds[as] });
    }
    return done;
}

/* Flagged points do not count: anchors repeat by intention, and other flags explain differences. */
lm_status judge_repeated(const points *p, doubts *out, lm_error *err)
{
    const lm_status status =
        each_configuration(p, false, false, judge_same, &(judging){ p, out }, err);

    return status ? status
                  : each_configuration(p, false, true, judge_mixed, &(judging){ p, out }, err);
}
