/* Intervals, from points that were left out of fits. */
#include "fit/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/parallel.h"

static void place_of(const point *pt, double seconds, double at[N_SCOPES])
{
    at[SCOPE_SECONDS] = seconds;
    at[SCOPE_BATCH]   = pt->row->batch ? (double)pt->row->batch : NAN;
    at[SCOPE_NODES]   = (double)pt->row->ranks;
}

/* Does the quantity depend on the scope? Bytes do not depend on the batch, nor layers on nodes. */
static bool matters(phase slot, scope s)
{
    switch (s) {
    case SCOPE_BATCH: return slot != PHASE_UPDATE && slot != PHASE_SYNC && slot != PHASE_GRAD;
    case SCOPE_NODES:
        return slot == PHASE_EXPOSED || slot == PHASE_OVERLAPPED || slot == PHASE_SYNC ||
               slot == PHASE_GRAD || slot == PHASE_STEP_MANY || slot == PHASE_BACKWARD_GRAD;
    case SCOPE_SECONDS:
    case N_SCOPES: break;
    }
    return true;
}

static bool in_slot(const point *pt, phase slot)
{
    if (slot == PHASE_STEP_MANY || slot == PHASE_GRAD)
        return pt->row->ranks > 1;
    return slot != PHASE_STEP || pt->row->ranks == 1;
}

static phase phase_of(phase slot)
{
    return slot == PHASE_STEP_MANY ? PHASE_STEP : slot;
}

/* fmin() and fmax() ignore NAN. */
static void range_join(const interval *from, interval *to)
{
    for (scope s = 0; s < N_SCOPES; s++) {
        to->range[s].low  = fmin(to->range[s].low, from->range[s].low);
        to->range[s].high = fmax(to->range[s].high, from->range[s].high);
    }
}

/* Measured ranges, by slot; other members of the intervals stay unset. */
typedef struct ranges {
    interval of[N_TIMES];
} ranges;

/* Measured ranges of the points in each fold and, last, of points in no fold. */
static void ranges_of_folds(const points *p, const split *by, const comparison *c, ranges *of)
{
    for (size_t f = 0; f <= by->n_folds; f++)
        for (size_t s = 0; s < N_TIMES; s++)
            of[f].of[s] = interval_unknown;
    for (size_t i = 0; i < p->n_points; i++) {
        interval *found = of[by->fold[i] < by->n_folds ? by->fold[i] : by->n_folds].of;

        for (phase slot = 0; slot < N_TIMES; slot++) {
            const double seconds = c[i].measured[phase_of(slot)];
            double       at[N_SCOPES];

            if (isnan(seconds) || !in_slot(&p->point[i], slot))
                continue;
            place_of(&p->point[i], seconds, at);
            for (scope s = 0; s < N_SCOPES; s++)
                if (matters(slot, s)) {
                    found[slot].range[s].low  = fmin(found[slot].range[s].low, at[s]);
                    found[slot].range[s].high = fmax(found[slot].range[s].high, at[s]);
                }
        }
    }
}

/* Measured ranges without each fold and, last, of all points. To be freed; NULL: out of memory. */
static ranges *ranges_without(const points *p, const split *by, const comparison *c)
{
    const size_t n   = by->n_folds + 1;
    ranges      *out = malloc((n + 1) * sizeof *out);
    ranges      *of  = malloc(n * sizeof *of);

    if (!out || !of) {
        free(out);
        free(of);
        return NULL;
    }
    ranges_of_folds(p, by, c, of);
    for (size_t s = 0; s < N_TIMES; s++) {
        interval before = interval_unknown, behind = interval_unknown;

        for (size_t f = n; f-- > 0;) {
            out[f].of[s] = behind;
            range_join(&of[f].of[s], &behind);
        }
        for (size_t f = 0; f < n; f++) {
            range_join(&before, &out[f].of[s]);
            range_join(&of[f].of[s], &before);
        }
        out[n - 1].of[s] = behind; /* a point without a fold is never left out */
    }
    free(of);
    return out;
}

static void take_range(const interval *from, interval *to)
{
    memcpy(to->range, from->range, sizeof to->range);
}

/* Residuals of one slot, and their points. */
typedef struct residuals {
    residual *item;
    size_t   *point;
    size_t    n;
} residuals;

/* Kinds of residuals: left out by network or by node count, and two upper octaves. */
#define LOTS 4

static void residuals_free(residuals r[N_TIMES])
{
    for (size_t s = 0; s < N_TIMES; s++) {
        free(r[s].item);
        free(r[s].point);
    }
}

static lm_status residuals_new(const points *p, residuals r[N_TIMES], lm_error *err)
{
    bool ok = true;

    for (size_t s = 0; s < N_TIMES; s++) {
        r[s] = (residuals){ malloc((LOTS * p->n_points + 1) * sizeof(residual)),
                            malloc((LOTS * p->n_points + 1) * sizeof(size_t)), 0 };
        ok &= r[s].item && r[s].point;
    }
    if (ok)
        return LM_OK;
    residuals_free(r);
    return no_memory(err);
}

static bool tells(const points *p, const comparison *c, size_t i, phase slot)
{
    return in_slot(&p->point[i], slot) && !isnan(c[i].measured[phase_of(slot)]);
}

/* Marks groups with a time in a slot and a point that is in no fold: each fit sees them. Marks none
 * if these are fewer than half: a fit to few networks has other errors than a fit to all. */
static void mark_staying(const points *p, const split *by, const comparison *c, phase slot,
                         bool *stay, bool *there)
{
    size_t n = 0, all = 0;

    memset(stay, 0, p->n_groups * sizeof *stay);
    memset(there, 0, p->n_groups * sizeof *there);
    for (size_t i = 0; i < p->n_points; i++)
        if (tells(p, c, i, slot)) {
            there[p->point[i].group] = true;
            stay[p->point[i].group] |= by->fold[i] == SPLIT_ALWAYS;
        }
    for (size_t g = 0; g < p->n_groups; g++) {
        n += stay[g];
        all += there[g];
    }
    if (2 * n < all)
        memset(stay, 0, p->n_groups * sizeof *stay);
}

/* Appends the residuals of one slot, fold by fold, of groups marked in `stay`; NULL: of all
 * groups. */
static void add_slot(const points *p, const split *by, const bool *stay, const comparison *c,
                     const ranges *seen, phase s, residuals *to)
{
    for (size_t f = 0; f < by->n_folds; f++)
        for (size_t k = by->first[f]; k < by->first[f + 1]; k++) {
            const size_t i         = by->point[k];
            const double predicted = c[i].predicted[phase_of(s)];
            double       at[N_SCOPES];

            if (isnan(predicted) || !tells(p, c, i, s) ||
                (stay && !p->point[i].shape && !stay[p->point[i].group]))
                continue;
            place_of(&p->point[i], predicted, at);
            to->point[to->n] = i;
            to->item[to->n++] =
                (residual){ predicted > 0 ? c[i].measured[phase_of(s)] / predicted : HUGE_VAL,
                            stay ? p->point[i].group : by->unit[i],
                            interval_beyond(&seen[f].of[s], at) };
        }
}

/* Appends residuals of one slot or (N_TIMES) of each. The groups are the units of the split, or the
 * networks (`by_network`). By network only those count that the fits also saw in other folds:
 * errors of unseen networks do not depend on the distance. Single layers always count. */
static lm_status add_residuals(const points *p, const split *by, bool by_network,
                               const comparison *c, size_t only, residuals to[N_TIMES],
                               lm_error *err)
{
    const size_t from   = only < N_TIMES ? only : 0;
    const size_t end    = only < N_TIMES ? only + 1 : N_TIMES;
    ranges      *seen   = ranges_without(p, by, c);
    bool        *stay   = malloc(2 * p->n_groups + 1);
    lm_status    status = seen && stay ? LM_OK : no_memory(err);

    for (phase s = (phase)from; s < end && !status; s++) {
        if (by_network)
            mark_staying(p, by, c, s, stay, stay + p->n_groups);
        add_slot(p, by, by_network ? stay : NULL, c, seen, s, &to[s]);
    }
    free(stay);
    free(seen);
    return status;
}

/* Leaves the upper octave of batches or of nodes out at once: these errors show extrapolation. Adds
 * nothing if there is only one octave. */
static lm_status add_upper_octave(const points *p, const char *model, split_kind kind,
                                  comparison *scratch, residuals to[N_TIMES], lm_error *err)
{
    split_rule rule = { .kind = kind, .from = 1, .to = INT64_MAX };
    int64_t    low = INT64_MAX, high = 0;
    split      by;
    lm_status  status;

    for (size_t i = 0; i < p->n_points; i++) {
        const observation *row   = p->point[i].row;
        const int64_t      value = kind == SPLIT_RANKS ? row->ranks : row->batch;

        if (value < 1)
            continue;
        low  = value < low ? value : low;
        high = value > high ? value : high;
    }
    while (rule.from <= high / 2)
        rule.from *= 2;
    if (low >= rule.from)
        return LM_OK;
    if ((status = split_new(p, &rule, &by, err)))
        return status;
    status = compare_points(p, model, &by, NULL, scratch, err);
    if (!status)
        status = add_residuals(p, &by, true, scratch, N_TIMES, to, err);
    split_free(&by);
    return status;
}

static lm_status add_upper_octaves(const points *p, const char *model, comparison *scratch,
                                   residuals to[N_TIMES], lm_error *err)
{
    lm_status status = add_upper_octave(p, model, SPLIT_BATCH, scratch, to, err);

    return status ? status : add_upper_octave(p, model, SPLIT_RANKS, scratch, to, err);
}

static size_t groups_of(const residuals *r)
{
    size_t n = 0; /* residuals of a fold follow each other */

    for (size_t i = 0; i < r->n; i++)
        n += i == 0 || r->item[i].group != r->item[i - 1].group;
    return n;
}

/* Fewer tenths hold too few residuals for a quantile. */
#define LAYERS_LEAST 100

static bool is_measured(const points *p, const comparison *c, phase slot)
{
    for (size_t i = 0; i < p->n_points; i++)
        if (tells(p, c, i, slot))
            return true;
    return false;
}

/* With too few networks other groups are left out: node counts of all-reduces, which also have
 * intervals of their own, and a tenth of the single layers at a time. Predictions in c are
 * replaced; its measured times stay. */
static lm_status replace_few(const points *p, const char *model, comparison *c,
                             residuals r[N_TIMES], lm_error *err)
{
    bool      layers, alike, compared = false;
    split     by;
    lm_status status = LM_OK;

    compare_of_layers(p, &layers, &alike);
    if (layers && p->n_points < LAYERS_LEAST)
        return LM_OK;
    for (phase s = 0; s < N_TIMES && !status; s++) {
        if (!alike && (groups_of(&r[s]) >= INTERVAL_GROUPS || !(layers || s == PHASE_SYNC)))
            continue;
        if (!is_measured(p, c, s))
            continue;
        if (!compared) {
            const split_rule rule = { .kind = layers ? SPLIT_KFOLD : SPLIT_RANKS,
                                      .k    = 10,
                                      .seed = 1 };

            if ((status = split_new(p, &rule, &by, err)))
                return status == LM_E_ARG /* rows of fewer configurations tell no interval */
                           ? lm_error_set(err, LM_OK, "%s", "")
                           : status;
            compared = true;
            status   = compare_points(p, model, &by, NULL, c, err);
        }
        r[s].n = 0;
        if (!status)
            status = add_residuals(p, &by, false, c, s, r, err);
    }
    if (compared)
        split_free(&by);
    return status;
}

/* Residuals of each slot, for the intervals; the first are of networks left out one by one. */
typedef struct telling {
    residuals    *r;
    const size_t *n;
    const ranges *seen;
    intervals    *out;
} telling;

static lm_status tell_interval(void *context, size_t s, lm_error *err)
{
    const telling *t  = context;
    interval      *of = &t->out->of[s];
    lm_status      status;

    *of    = interval_unknown;
    status = interval_bounds(t->r[s].item, t->n[s], of, err);
    if (!status)
        status = interval_growth(t->r[s].item, t->r[s].n, of, err);
    take_range(&t->seen->of[s], of);
    return status;
}

lm_status compare_intervals(const points *p, const char *model, const split *by_network,
                            comparison *network_left_out, intervals *out, lm_error *err)
{
    residuals r[N_TIMES];
    size_t    n[N_TIMES];
    ranges   *seen   = NULL;
    lm_status status = residuals_new(p, r, err);

    if (status)
        return status;
    status = add_residuals(p, by_network, false, network_left_out, N_TIMES, r, err);
    if (!status)
        status = replace_few(p, model, network_left_out, r, err);
    for (size_t s = 0; s < N_TIMES; s++)
        n[s] = r[s].n;
    if (!status)
        status = add_upper_octaves(p, model, network_left_out, r, err);
    if (!status && !(seen = ranges_without(p, by_network, network_left_out)))
        status = no_memory(err);
    if (!status) {
        telling t = { r, n, &seen[by_network->n_folds], out };

        status = parallel_for(N_TIMES, tell_interval, &t, err);
    }
    free(seen);
    residuals_free(r);
    return status;
}

/* Bounds that are stated. */
typedef struct stating {
    const points *p;
    const char   *model;
    const split  *by;
    comparison   *c;
    /* residuals of points left out by fold */
    const residuals *all;
    const size_t    *n;
    const ranges    *seen;
    residual        *scratch;
} stating;

/* Bounds of a fold from the residuals of all other folds. */
static lm_status bounds_of_others(void *context, const fold_turn *t, lm_error *err)
{
    const stating   *w   = context;
    const residuals *all = w->all;
    intervals        known;
    lm_status        status = LM_OK;

    for (size_t s = 0; s < N_TIMES && !status; s++) {
        size_t bounding = 0, kept = 0;

        for (size_t i = 0; i < all[s].n; i++) {
            if (fold_in(t, all[s].point[i]))
                w->scratch[kept++] = all[s].item[i];
            if (i + 1 == w->n[s])
                bounding = kept;
        }
        known.of[s] = interval_unknown;
        take_range(&w->seen[t->fold].of[s], &known.of[s]);
        status = interval_bounds(w->scratch, bounding, &known.of[s], err);
        if (!status)
            status = interval_growth(w->scratch, kept, &known.of[s], err);
    }
    for (size_t k = w->by->first[t->fold]; k < w->by->first[t->fold + 1] && !status; k++)
        compare_state_bounds(w->p, &known, w->by->point[k], &w->c[w->by->point[k]]);
    return status;
}

static lm_status bounds_of_folds(const stating *of, lm_error *err)
{
    const points *p = of->p;
    const folds   f = split_folds(of->by, p);
    stating       w = *of;
    residuals     r[N_TIMES];
    size_t        n[N_TIMES];
    ranges       *seen    = NULL;
    comparison   *octaves = malloc((p->n_points + 1) * sizeof *octaves);
    lm_status     status  = residuals_new(p, r, err);

    if (status) {
        free(octaves);
        return status;
    }
    w.scratch = malloc((LOTS * p->n_points + 1) * sizeof *w.scratch);
    if (!w.scratch || !octaves || !(seen = ranges_without(p, of->by, of->c)))
        status = no_memory(err);
    if (!status)
        status = add_residuals(p, of->by, false, of->c, N_TIMES, r, err);
    for (size_t s = 0; s < N_TIMES; s++)
        n[s] = r[s].n;
    if (!status)
        status = add_upper_octaves(p, of->model, octaves, r, err);
    w.all  = r;
    w.n    = n;
    w.seen = seen;
    if (!status)
        status = folds_leave_out(&f, bounds_of_others, &w, err);
    free(seen);
    residuals_free(r);
    free(w.scratch);
    free(octaves);
    return status;
}

/* Bounds that a fit to the rest would state. */
static lm_status bounds_of_rest(void *context, const fold_turn *t, lm_error *err)
{
    const stating *w = context;
    points         rest;
    split          networks;
    intervals      known;
    comparison    *left_out;
    lm_status      status = points_staying(w->p, t, &rest, err);

    if (status)
        return status;
    left_out = malloc((w->p->n_points + 1) * sizeof *left_out);
    status   = left_out ? split_new(&rest, &(split_rule){ .kind = SPLIT_NETWORK }, &networks, err)
                        : no_memory(err);
    if (!status) {
        status = compare_points(&rest, w->model, &networks, NULL, left_out, err);
        if (!status)
            status = compare_intervals(&rest, w->model, &networks, left_out, &known, err);
        split_free(&networks);
    }
    for (size_t i = 0; i < w->p->n_points && !status; i++)
        if (fold_out(t, i))
            compare_state_bounds(w->p, &known, i, &w->c[i]);
    free(rest.point);
    free(left_out);
    return status;
}

lm_status compare_left_out(const points *p, const char *model, const split *by, comparison *c,
                           lm_error *err)
{
    const folds f = split_folds(by, p);
    stating     w = { .p = p, .model = model, .by = by, .c = c };

    if (by->rule.kind == SPLIT_NETWORK || by->rule.kind == SPLIT_KFOLD)
        return bounds_of_folds(&w, err);
    return by->rule.kind == SPLIT_NONE ? LM_OK : folds_leave_out(&f, bounds_of_rest, &w, err);
}
