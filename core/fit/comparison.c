/* Predicted and measured times, point by point. */
#include "fit/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit/allreduces.h"
#include "fit/overlap_points.h"
#include "fit/singles.h"

static lm_status no_memory(lm_error *err)
{
    return lm_error_set(err, LM_E_NOMEM, "out of memory");
}

/* ---- predictions --------------------------------------------------------------------------------
 */

/* Seconds by one form, from fits to the points themselves. */
static lm_status predict_fitted(const points *p, size_t form_at, const split *by, comparison *out,
                                lm_error *err)
{
    const part which = forms[form_at].part;
    form_data  d;
    double    *rows;
    lm_status  status = form_data_new(p, form_at, by, &d, err);

    if (status)
        return status;
    rows   = malloc((d.n_rows + 1) * sizeof *rows);
    status = rows ? form_data_predict(&d, p, rows, err) : no_memory(err);
    for (size_t i = 0; i < d.n_rows && !status; i++)
        out[d.point[i]].part[which] = rows[i];
    free(rows);
    form_data_free(&d);
    return status;
}

/* All-reduces, by the model or by a baseline's formula. */
static lm_status predict_sync(const points *p, sync_baseline b, const split *by,
                              const calibration *cal, comparison *out, lm_error *err)
{
    double   *seconds = malloc((p->n_points + 1) * sizeof *seconds);
    lm_status status  = seconds ? LM_OK : no_memory(err);

    if (!status && cal)
        allreduces_by_model(p, cal->allreduces, &cal->link, b, seconds);
    else if (!status)
        status = allreduces_left_out(p, by, b, seconds, err);
    for (size_t i = 0; i < p->n_points && !status; i++)
        out[i].part[PART_SYNC] = seconds[i];
    free(seconds);
    return status;
}

/* Seconds by one part of the model: of fits, for all points that have it measured. */
static lm_status predict_part(const points *p, const char *model, part which, bool measured,
                              const split *by, const calibration *cal, comparison *out,
                              lm_error *err)
{
    const size_t        form_at  = form_find(model, which);
    const sync_baseline baseline = sync_baseline_parse(model);

    if (!cal && !measured)
        return LM_OK;
    if (which == PART_SYNC &&
        (form_at < n_forms ? !cal || calibration_asks(cal, model) : baseline < N_SYNC_BASELINES))
        return predict_sync(p, form_at < n_forms ? N_SYNC_BASELINES : baseline, by, cal, out, err);
    if (form_at == n_forms)
        return LM_OK;
    if (!cal)
        return predict_fitted(p, form_at, by, out, err);
    for (size_t i = 0; i < p->n_points; i++)
        out[i].part[which] = calibration_seconds(cal, form_at, &p->point[i].load);
    return LM_OK;
}

/* The default model prices single layers by what they are, where it can. */
static lm_status predict_singles(const points *p, const char *model, const split *by,
                                 const calibration *cal, comparison *out, lm_error *err)
{
    const bool   learned = !strcmp(model, MODEL_RESIDUAL);
    const size_t n       = p->n_points * N_PHASES;
    double      *seconds = NULL;
    lm_status    status  = LM_OK;

    if ((!learned && strcmp(model, model_at(0)) != 0) || (cal && !cal->layers))
        return LM_OK;
    seconds = malloc((n + 1) * sizeof *seconds);
    if (!seconds)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        seconds[i] = NAN;
    status = cal ? singles_by_model(p, cal->layers, learned, seconds, err)
                 : singles_left_out(p, by, learned, seconds, err);
    for (size_t i = 0; i < p->n_points && !status; i++)
        for (part w = 0; w < N_PARTS; w++) {
            phase f;

            /* a network's own coefficients know more of it than its layers' */
            if (singles_phase(w, &f) && !isnan(seconds[i * N_PHASES + f]) &&
                (p->point[i].shape || isnan(out[i].part[w])))
                out[i].part[w] = seconds[i * N_PHASES + f];
        }
    free(seconds);
    return status;
}

void compare_measured(const point *pt, comparison *out)
{
    double      *to     = out->measured;
    const bool   many   = pt->row->ranks > 1;
    const double update = point_seconds(pt, PART_UPDATE);
    const double grad   = many ? point_seconds(pt, PART_GRAD_MANY) : update;

    to[QUANTITY_FORWARD]       = point_seconds(pt, PART_FORWARD);
    to[QUANTITY_BACKWARD]      = point_seconds(pt, PART_BACKWARD);
    to[QUANTITY_UPDATE]        = update;
    to[QUANTITY_SYNC]          = point_seconds(pt, PART_SYNC);
    to[QUANTITY_GRAD]          = grad;
    to[QUANTITY_BACKWARD_GRAD] = to[QUANTITY_BACKWARD] + grad;
    to[QUANTITY_INFERENCE]     = point_seconds(pt, PART_INFERENCE);
    to[QUANTITY_GRAD_INPUT]    = point_seconds(pt, PART_GRAD_INPUT);
    to[QUANTITY_GRAD_WEIGHT]   = point_seconds(pt, PART_GRAD_WEIGHT);
    to[QUANTITY_STEP]          = pt->row->kind != OBS_COLLECTIVE && !isnan(pt->seconds[PHASE_STEP])
                                     ? pt->seconds[PHASE_STEP]
                                     : to[QUANTITY_FORWARD] + to[QUANTITY_BACKWARD_GRAD];
    to[QUANTITY_EXPOSED]       = pt->beside[PHASE_SYNC];
    to[QUANTITY_OVERLAPPED]    = pt->beside[PHASE_STEP];
}

/* A step as it was measured, as a whole or part by part, if the model can; else the other way. */
static double step_seconds(const point *pt, double whole, double sum)
{
    const bool as_whole = !isnan(point_seconds(pt, PART_STEP));

    if (pt->row->ranks > 1)
        return sum;
    return isnan(as_whole ? whole : sum) ? (as_whole ? sum : whole) : as_whole ? whole : sum;
}

static void predict(const point *pt, const char *model, const double parts[N_PARTS],
                    double to[N_QUANTITIES])
{
    const bool many = pt->row->ranks > 1;
    const bool has_update =
        form_find(model, PART_UPDATE) < n_forms || !strcmp(model, MODEL_RESIDUAL);
    double *grad = &to[QUANTITY_GRAD];

    to[QUANTITY_FORWARD]  = parts[PART_FORWARD];
    to[QUANTITY_BACKWARD] = parts[PART_BACKWARD];
    to[QUANTITY_UPDATE]   = has_update ? parts[PART_UPDATE] : many ? NAN : parts[PART_GRAD_ONE];
    to[QUANTITY_SYNC]     = parts[PART_SYNC];
    *grad                 = !many        ? to[QUANTITY_UPDATE]
                            : has_update ? parts[PART_UPDATE] + parts[PART_SYNC]
                                         : parts[PART_GRAD_MANY];
    to[QUANTITY_BACKWARD_GRAD] = many && form_find(model, PART_JOINT) < n_forms
                                     ? parts[PART_JOINT]
                                     : to[QUANTITY_BACKWARD] + *grad;
    to[QUANTITY_INFERENCE]     = parts[PART_INFERENCE];
    to[QUANTITY_GRAD_INPUT]    = parts[PART_GRAD_INPUT];
    to[QUANTITY_GRAD_WEIGHT]   = parts[PART_GRAD_WEIGHT];
    to[QUANTITY_EXPOSED] = to[QUANTITY_OVERLAPPED] = NAN; /* see predict_overlapped() */
    to[QUANTITY_STEP] =
        step_seconds(pt, parts[PART_STEP], to[QUANTITY_FORWARD] + to[QUANTITY_BACKWARD] + *grad);
}

/* ---- intervals ----------------------------------------------------------------------------------
 */

static void place_of(const point *pt, double seconds, double at[N_SCOPES])
{
    at[SCOPE_SECONDS] = seconds;
    at[SCOPE_BATCH]   = pt->row->batch ? (double)pt->row->batch : NAN;
    at[SCOPE_NODES]   = (double)pt->row->ranks;
}

/* Does it matter to the quantity? Bytes do not depend on the batch, nor layers on nodes. */
static bool matters(size_t slot, scope s)
{
    switch (s) {
    case SCOPE_BATCH:
        return slot != QUANTITY_UPDATE && slot != QUANTITY_SYNC && slot != QUANTITY_GRAD;
    case SCOPE_NODES:
        return slot == QUANTITY_EXPOSED || slot == QUANTITY_OVERLAPPED || slot == QUANTITY_SYNC ||
               slot == QUANTITY_GRAD || slot == INTERVAL_STEP_MANY ||
               slot == QUANTITY_BACKWARD_GRAD;
    default: return true;
    }
}

static bool in_slot(const point *pt, size_t slot)
{
    if (slot == INTERVAL_STEP_MANY || slot == QUANTITY_GRAD)
        return pt->row->ranks > 1;
    return slot != QUANTITY_STEP || pt->row->ranks == 1;
}

static quantity quantity_of(size_t slot)
{
    return slot == INTERVAL_STEP_MANY ? QUANTITY_STEP : (quantity)slot;
}

/* fmin() and fmax() pass over NAN. */
static void range_join(const interval *from, interval *to)
{
    for (scope s = 0; s < N_SCOPES; s++) {
        to->range[s].low  = fmin(to->range[s].low, from->range[s].low);
        to->range[s].high = fmax(to->range[s].high, from->range[s].high);
    }
}

/* The range of what was measured in one fold; of index n_folds: in none. */
static void ranges_of_fold(const points *p, const split *by, size_t fold, const comparison *c,
                           interval found[N_INTERVALS])
{
    for (size_t s = 0; s < N_INTERVALS; s++)
        found[s] = interval_unknown;
    for (size_t k = by->first[fold]; k < by->first[fold + 1]; k++)
        for (size_t slot = 0; slot < N_INTERVALS; slot++) {
            const size_t i       = by->point[k];
            const double seconds = c[i].measured[quantity_of(slot)];
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

/* Ranges of what was measured, by slot; of intervals nothing else is set. */
typedef struct ranges {
    interval of[N_INTERVALS];
} ranges;

/* Without each fold, and, the last, with all. To be freed; NULL: out of memory. */
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
    for (size_t f = 0; f < n; f++)
        ranges_of_fold(p, by, f, c, of[f].of);
    for (size_t s = 0; s < N_INTERVALS; s++) {
        interval before = interval_unknown, behind = interval_unknown;

        for (size_t f = n; f-- > 0;) {
            out[f].of[s] = behind;
            range_join(&of[f].of[s], &behind);
        }
        for (size_t f = 0; f < n; f++) {
            range_join(&before, &out[f].of[s]);
            range_join(&of[f].of[s], &before);
        }
        out[n - 1].of[s] = behind; /* what is of no fold is never left out */
    }
    free(of);
    return out;
}

static void take_range(const interval *from, interval *to)
{
    memcpy(to->range, from->range, sizeof to->range);
}

/* Residuals of one slot, and the points they are of. */
typedef struct residuals {
    residual *item;
    size_t   *point;
    size_t    n;
} residuals;

/* Of how many lots residuals can be: left out by network or node count, and two upper octaves. */
#define LOTS 4

static void residuals_free(residuals r[N_INTERVALS])
{
    for (size_t s = 0; s < N_INTERVALS; s++) {
        free(r[s].item);
        free(r[s].point);
    }
}

static lm_status residuals_new(const points *p, residuals r[N_INTERVALS], lm_error *err)
{
    bool ok = true;

    for (size_t s = 0; s < N_INTERVALS; s++) {
        r[s] = (residuals){ malloc((LOTS * p->n_points + 1) * sizeof(residual)),
                            malloc((LOTS * p->n_points + 1) * sizeof(size_t)), 0 };
        ok &= r[s].item && r[s].point;
    }
    if (ok)
        return LM_OK;
    residuals_free(r);
    return no_memory(err);
}

/* Residuals of one slot or (N_INTERVALS) of each, fold by fold, behind those that are there. Their
 * groups are the units of the split, or the networks. */
static lm_status add_residuals(const points *p, const split *by, bool by_network,
                               const comparison *c, size_t only, residuals to[N_INTERVALS],
                               lm_error *err)
{
    const size_t from = only < N_INTERVALS ? only : 0;
    const size_t end  = only < N_INTERVALS ? only + 1 : N_INTERVALS;
    ranges      *seen = ranges_without(p, by, c);

    if (!seen)
        return no_memory(err);
    for (size_t f = 0; f < by->n_folds; f++)
        for (size_t k = by->first[f]; k < by->first[f + 1]; k++)
            for (size_t s = from; s < end; s++) {
                const size_t i         = by->point[k];
                const double predicted = c[i].predicted[quantity_of(s)];
                const double measured  = c[i].measured[quantity_of(s)];
                double       at[N_SCOPES];

                if (isnan(predicted) || isnan(measured) || !in_slot(&p->point[i], s))
                    continue;
                place_of(&p->point[i], predicted, at);
                to[s].point[to[s].n]  = i;
                to[s].item[to[s].n++] = (residual){ predicted > 0 ? measured / predicted : HUGE_VAL,
                                                    by_network ? p->point[i].group : by->unit[i],
                                                    interval_beyond(&seen[f].of[s], at) };
            }
    free(seen);
    return LM_OK;
}

/* The upper octave of batches or of nodes, left out at once: what extrapolation looks like from
 * here. Nothing is added where there is only one octave. */
static lm_status add_upper_octave(const points *p, const char *model, split_kind kind,
                                  comparison *scratch, residuals to[N_INTERVALS], lm_error *err)
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
        status = add_residuals(p, &by, true, scratch, N_INTERVALS, to, err);
    split_free(&by);
    return status;
}

static lm_status add_upper_octaves(const points *p, const char *model, residuals to[N_INTERVALS],
                                   lm_error *err)
{
    comparison *scratch = malloc((p->n_points + 1) * sizeof *scratch);
    lm_status   status  = scratch ? LM_OK : no_memory(err);

    if (!status)
        status = add_upper_octave(p, model, SPLIT_BATCH, scratch, to, err);
    if (!status)
        status = add_upper_octave(p, model, SPLIT_RANKS, scratch, to, err);
    free(scratch);
    return status;
}

static size_t groups_of(const residuals *r)
{
    size_t n = 0; /* residuals of a fold follow each other */

    for (size_t i = 0; i < r->n; i++)
        n += i == 0 || r->item[i].group != r->item[i - 1].group;
    return n;
}

/* Are the points single layers, and do they belong to no group? Then the next one is one more of
 * them, not another type. */
static void of_layers(const points *p, bool *layers, bool *alike)
{
    *layers = *alike = false;
    for (size_t i = 0; i < p->n_points && !*layers; i++) {
        *layers = p->point[i].row->kind == OBS_LAYER;
        *alike  = *layers && !*p->point[i].row->group;
    }
}

/* Fewer parts of a tenth hold too little to tell a quantile by. */
#define LAYERS_LEAST 100

static bool is_measured(const points *p, const comparison *c, size_t slot)
{
    for (size_t i = 0; i < p->n_points; i++)
        if (in_slot(&p->point[i], slot) && !isnan(c[i].measured[quantity_of(slot)]))
            return true;
    return false;
}

/* What is left out instead where too few networks can be: node counts of all-reduces, which also
 * stand by themselves; of single layers a tenth of them at a time. */
static lm_status replace_few(const points *p, const char *model, const comparison *network_left_out,
                             residuals r[N_INTERVALS], lm_error *err)
{
    bool        layers, alike;
    comparison *c = NULL;
    split       by;
    lm_status   status = LM_OK;

    of_layers(p, &layers, &alike);
    if (layers && p->n_points < LAYERS_LEAST)
        return LM_OK;
    for (size_t s = 0; s < N_INTERVALS && !status; s++) {
        if (!alike && (groups_of(&r[s]) >= INTERVAL_GROUPS || !(layers || s == QUANTITY_SYNC)))
            continue;
        if (!is_measured(p, network_left_out, s))
            continue;
        if (!c) {
            const split_rule rule = { .kind = layers ? SPLIT_KFOLD : SPLIT_RANKS,
                                      .k    = 10,
                                      .seed = 1 };

            if ((status = split_new(p, &rule, &by, err)))
                return status;
            c      = malloc((p->n_points + 1) * sizeof *c);
            status = c ? compare_points(p, model, &by, NULL, c, err) : no_memory(err);
        }
        r[s].n = 0;
        if (!status)
            status = add_residuals(p, &by, false, c, s, r, err);
    }
    if (c)
        split_free(&by);
    free(c);
    return status;
}

lm_status compare_intervals(const points *p, const char *model, const split *by_network,
                            const comparison *network_left_out, intervals *out, lm_error *err)
{
    residuals r[N_INTERVALS];
    size_t    n[N_INTERVALS];
    ranges   *seen   = NULL;
    lm_status status = residuals_new(p, r, err);

    if (status)
        return status;
    status = add_residuals(p, by_network, false, network_left_out, N_INTERVALS, r, err);
    if (!status)
        status = replace_few(p, model, network_left_out, r, err);
    for (size_t s = 0; s < N_INTERVALS; s++)
        n[s] = r[s].n;
    if (!status)
        status = add_upper_octaves(p, model, r, err);
    if (!status && !(seen = ranges_without(p, by_network, network_left_out)))
        status = no_memory(err);
    for (size_t s = 0; s < N_INTERVALS && !status; s++) {
        out->of[s] = interval_unknown;
        status     = interval_bounds(r[s].item, n[s], &out->of[s], err);
        if (!status)
            status = interval_growth(r[s].item, r[s].n, &out->of[s], err);
        if (!status)
            take_range(&seen[by_network->n_folds].of[s], &out->of[s]);
    }
    free(seen);
    residuals_free(r);
    return status;
}

static void state_bounds(const points *p, const intervals *known, size_t i, comparison *c)
{
    const observation *row = p->point[i].row;

    for (quantity q = 0; q < N_QUANTITIES; q++)
        intervals_at(known, q, c->predicted, row->batch, row->ranks, &c->low[q], &c->high[q]);
}

/* Of one fold, by the residuals of all others. */
static lm_status bounds_of_others(const points *p, const split *by, size_t fold,
                                  const residuals all[N_INTERVALS], const size_t n[N_INTERVALS],
                                  const ranges *seen, residual *scratch, comparison *c,
                                  lm_error *err)
{
    intervals known;
    lm_status status = LM_OK;

    for (size_t s = 0; s < N_INTERVALS && !status; s++) {
        size_t bounding = 0, kept = 0;

        for (size_t i = 0; i < all[s].n; i++) {
            if (by->fold[all[s].point[i]] != fold)
                scratch[kept++] = all[s].item[i];
            if (i + 1 == n[s])
                bounding = kept;
        }
        known.of[s] = interval_unknown;
        take_range(&seen[fold].of[s], &known.of[s]);
        status = interval_bounds(scratch, bounding, &known.of[s], err);
        if (!status)
            status = interval_growth(scratch, kept, &known.of[s], err);
    }
    for (size_t k = by->first[fold]; k < by->first[fold + 1] && !status; k++)
        state_bounds(p, &known, by->point[k], &c[by->point[k]]);
    return status;
}

static lm_status bounds_of_folds(const points *p, const char *model, const split *by, comparison *c,
                                 lm_error *err)
{
    residuals r[N_INTERVALS];
    size_t    n[N_INTERVALS];
    ranges   *seen    = NULL;
    residual *scratch = malloc((LOTS * p->n_points + 1) * sizeof *scratch);
    lm_status status  = scratch ? residuals_new(p, r, err) : no_memory(err);

    if (status) {
        free(scratch);
        return status;
    }
    status = add_residuals(p, by, false, c, N_INTERVALS, r, err);
    for (size_t s = 0; s < N_INTERVALS; s++)
        n[s] = r[s].n;
    if (!status && !(seen = ranges_without(p, by, c)))
        status = no_memory(err);
    if (!status)
        status = add_upper_octaves(p, model, r, err);
    for (size_t f = 0; f < by->n_folds && !status; f++)
        status = bounds_of_others(p, by, f, r, n, seen, scratch, c, err);
    free(seen);
    residuals_free(r);
    free(scratch);
    return status;
}

/* Of one fold, as a fit to the rest would state them. */
static lm_status bounds_of_rest(const points *p, const char *model, const split *by, size_t fold,
                                comparison *c, lm_error *err)
{
    points      rest = *p;
    split       networks;
    comparison *left_out = malloc((p->n_points + 1) * sizeof *left_out);
    intervals   known;
    lm_status   status;

    rest.n_points = 0;
    rest.point    = malloc((p->n_points + 1) * sizeof *rest.point);
    for (size_t i = 0; rest.point && i < p->n_points; i++)
        if (by->fold[i] != fold)
            rest.point[rest.n_points++] = p->point[i];
    status = rest.point && left_out
                 ? split_new(&rest, &(split_rule){ .kind = SPLIT_NETWORK }, &networks, err)
                 : no_memory(err);
    if (!status) {
        status = compare_points(&rest, model, &networks, NULL, left_out, err);
        if (!status)
            status = compare_intervals(&rest, model, &networks, left_out, &known, err);
        split_free(&networks);
    }
    for (size_t i = 0; i < p->n_points && !status; i++)
        if (by->fold[i] == fold)
            state_bounds(p, &known, i, &c[i]);
    free(rest.point);
    free(left_out);
    return status;
}

lm_status compare_left_out(const points *p, const char *model, const split *by, comparison *c,
                           lm_error *err)
{
    lm_status status = LM_OK;

    if (by->rule.kind == SPLIT_NETWORK || by->rule.kind == SPLIT_KFOLD)
        return bounds_of_folds(p, model, by, c, err);
    for (size_t f = 0; f < by->n_folds && !status; f++)
        status = bounds_of_rest(p, model, by, f, c, err);
    return status;
}

/* Steps in buckets. */
static lm_status predict_overlapped(const points *p, const char *model, const split *by,
                                    const calibration *cal, comparison *out, lm_error *err)
{
    overlapped_point *found = malloc((p->n_points + 1) * sizeof *found);
    lm_status status = found ? overlap_points(p, model, by, cal, found, err) : no_memory(err);

    for (size_t i = 0; i < p->n_points && !status; i++) {
        out[i].predicted[QUANTITY_EXPOSED]    = found[i].exposed;
        out[i].predicted[QUANTITY_OVERLAPPED] = found[i].step;
    }
    free(found);
    return status;
}

static lm_status compare(const points *p, const char *model, const split *by,
                         const calibration *cal, bool singles, comparison *out, lm_error *err)
{
    const intervals *known = cal && model_known(model) ? calibration_intervals(cal, model) : NULL;
    bool             measured[N_PARTS];
    lm_status        status = LM_OK;

    points_measured(p, measured);
    for (size_t i = 0; i < p->n_points; i++)
        for (part w = 0; w < N_PARTS; w++)
            out[i].part[w] = NAN;
    for (part w = 0; w < N_PARTS && !status; w++)
        status = predict_part(p, model, w, measured[w], by, cal, out, err);
    if (!status && singles)
        status = predict_singles(p, model, by, cal, out, err);
    for (size_t i = 0; i < p->n_points && !status; i++) {
        compare_measured(&p->point[i], &out[i]);
        predict(&p->point[i], model, out[i].part, out[i].predicted);
        for (quantity q = 0; q < N_QUANTITIES; q++)
            out[i].low[q] = out[i].high[q] = NAN;
    }
    if (!status)
        status = predict_overlapped(p, model, by, cal, out, err);
    for (size_t i = 0; i < p->n_points && !status && known; i++)
        state_bounds(p, known, i, &out[i]);
    return status;
}

lm_status compare_points(const points *p, const char *model, const split *by,
                         const calibration *cal, comparison *out, lm_error *err)
{
    return compare(p, model, by, cal, true, out, err);
}

lm_status compare_networks(const points *p, const char *model, const split *by_network,
                           comparison *out, lm_error *err)
{
    bool layers, alike;

    of_layers(p, &layers, &alike);
    return compare(p, model, by_network, NULL, !alike, out, err);
}
