/* Rows of one formula by fold. */
#include "fit/form_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "counts/feature_set.h"
#include "device/roofline.h"
#include "fit/calibration.h"
#include "shrink/shrink_rows.h"

/* Rows of one place: regressors, times, weights. */
static lm_status factor_rows(const points *p, const form_data *d, size_t place, lm_error *err)
{
    const form  *f     = &forms[d->form];
    const size_t first = d->first[place], n = d->first[place + 1] - first;
    double      *a       = malloc(n * f->n_features * sizeof *a);
    double      *weight  = malloc(n * sizeof *weight);
    lsq_block   *block   = malloc(sizeof *block);
    lsq_problem  problem = {
         .a = a, .b = d->seconds + first, .weight = weight, .rows = n, .columns = f->n_features
    };
    lm_status status = a && weight && block ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n && !status; i++) {
        const point *pt = &p->point[d->point[first + i]];

        for (size_t k = 0; k < f->n_features; k++)
            a[i * f->n_features + k] =
                d->known[k] ? feature_value(f->feature[k], point_load(pt, f->part)) : 0;
        weight[i] = f->relative ? 1 / d->seconds[first + i] : 1;
    }
    if (!status)
        status = lsq_factor(&problem, block, err);
    free(a);
    free(weight);
    if (status)
        free(block);
    else
        d->block[place] = block;
    return status;
}

/* Value of the form's part at a row. */
static const workload *form_load(const form_data *d, size_t row)
{
    return point_load(&d->points->point[d->point[row]], forms[d->form].part);
}

/* Upper bound of the price of a byte of weights, in passes over memory: read for a product, read
 * again by other tiles, reordered (read and write). Without it, fits give weights the time that
 * large networks take for other reasons, because networks hold few bytes of weights for their time.
 * Decoding, which mostly reads weights, would be a hundred times too slow. */
#define WEIGHTS_PASSES 4

/* Bounds of coefficients, from the device's datasheet. */
static term_bounds bounds_of(const points *p)
{
    const observation *row = NULL;
    term_bounds        out = { 0, INFINITY, 0 };
    roofline           best;

    for (size_t i = 0; i < p->n_points && !row; i++)
        if (p->point[i].row->kind == OBS_NETWORK)
            row = p->point[i].row;
    if (!row)
        return out;
    best = roofline_of(p->figure, settings_product_dtype(row->settings, row->dtype), true);
    out.least_flop = roofline_flop(&best);
    if (p->figure[DEVICE_BANDWIDTH] > 0)
        out.most_byte = WEIGHTS_PASSES / p->figure[DEVICE_BANDWIDTH];
    return out;
}

/* Rows of networks that are known by counts alone, or of the others, with the terms of a fit. */
static lm_status term_rows(const form_data *d, bool want_counted, const count_knots *knots,
                           shrink_rows *out, lm_error *err)
{
    shrink_row *row    = malloc((d->n_rows + 1) * sizeof *row);
    arena      *terms  = arena_new();
    size_t      n      = 0;
    lm_status   status = row && terms ? LM_OK : no_memory(err);

    for (size_t f = 0; f <= d->by->n_folds; f++)
        for (size_t i = d->first[f]; i < d->first[f + 1] && !status; i++) {
            const point    *pt   = &d->points->point[d->point[i]];
            const workload *load = form_load(d, i);
            term_item       room[N_TERMS];
            term_vector     v;

            if (counted_only(load) != want_counted)
                continue;
            v = form_terms(&forms[d->form], load, knots, room);
            if (v.item == room && v.n && !(v.item = arena_copy(terms, room, v.n, sizeof *room)))
                status = no_memory(err);
            row[n++] = (shrink_row){ v, d->seconds[i], f, pt->group };
        }
    if (!status)
        status = shrink_rows_new(row, n, want_counted ? shrink_counted.alike : shrink_default.alike,
                                 out, err);
    if (!status)
        out->bounds = bounds_of(d->points);
    arena_free(terms);
    free(row);
    return status;
}

/* Seconds of the form's part at a point; NAN: it has none, or the form needs kernels that are
 * unknown. */
static double row_seconds(const form_data *d, const point *pt)
{
    const form *f = &forms[d->form];

    const workload *load = point_load(pt, f->part);

    return f->n_features || load->forward.n || counted_only(load) ? point_seconds(pt, f->part)
                                                                  : NAN;
}

bool form_takes(const points *p, feature f)
{
    return !feature_chosen(f) || feature_set_has(p->features, feature_name(f));
}

bool form_left(const points *p, const form *f)
{
    bool chosen = false, left = false;

    for (size_t k = 0; k < f->n_features; k++) {
        chosen |= feature_chosen(f->feature[k]);
        left |= feature_chosen(f->feature[k]) && form_takes(p, f->feature[k]);
    }
    return left || !chosen;
}

/* Points that have the form's part, fold by fold. */
static void take_points(const points *p, form_data *d)
{
    for (size_t f = 0; f <= d->by->n_folds; f++) {
        for (size_t k = d->by->first[f]; k < d->by->first[f + 1]; k++) {
            const size_t i       = d->by->point[k];
            const double seconds = row_seconds(d, &p->point[i]);

            if (isnan(seconds) || !form_left(p, &forms[d->form]))
                continue;
            d->point[d->n_rows]     = i;
            d->seconds[d->n_rows++] = seconds;
        }
        d->first[f + 1] = d->n_rows;
    }
}

static bool known_everywhere(const form_data *d, feature f)
{
    for (size_t i = 0; i < d->n_rows; i++)
        if (isnan(feature_value(f, form_load(d, i))))
            return false;
    return true;
}

/* Least price of a launch by a solution; 0: it has none. */
static double least_launch(const shrink_fit *f)
{
    double least = INFINITY;

    for (size_t t = 0; t < N_TERMS; t++)
        if (term_family_of(t) == FAMILY_LAUNCHES && f->coefficient[t] > 0)
            least = fmin(least, f->coefficient[t]);
    return isfinite(least) ? least : 0;
}

/* Least price of a launch by all rows of a form. */
static lm_status launch_of(const form_data *d, double *out, lm_error *err)
{
    form_solution found;
    lm_status     status = LM_OK;

    if (d->n_rows >= form_rows(&forms[d->form]) &&
        !(status = form_data_fit(d, SPLIT_ALWAYS, &found, err)))
        *out = least_launch(&found.terms);
    return status;
}

/* Inference is often measured with large batches alone, whose times do not show launches. Their
 * fitted price is 0 then, and a batch of one would take no time. A launch of training is the same
 * call: its least price is the lower limit. */
static lm_status bound_launches(form_data *d, lm_error *err)
{
    static const phase training[] = { PHASE_FORWARD, PHASE_STEP };
    double             least      = INFINITY;
    lm_status          status     = launch_of(d, &least, err);

    for (size_t i = 0; i < 2 && least == 0 && !status; i++) {
        const size_t at = form_find(forms[d->form].model, training[i]);
        form_data    other;

        if (at == n_forms)
            continue;
        if ((status = form_data_new(d->points, at, d->by, &other, err)))
            break;
        status                       = launch_of(&other, &least, err);
        d->terms.bounds.least_launch = least;
        form_data_free(&other);
    }
    return status;
}

lm_status form_data_new(const points *p, size_t form_at, const split *by, form_data *out,
                        lm_error *err)
{
    form_data d      = { .form    = form_at,
                         .points  = p,
                         .by      = by,
                         .point   = malloc((p->n_points + 1) * sizeof *d.point),
                         .seconds = malloc((p->n_points + 1) * sizeof *d.seconds),
                         .first   = calloc(by->n_folds + 2, sizeof *d.first),
                         .block   = calloc(by->n_folds + 1, sizeof(lsq_block *)) };
    lm_status status = d.point && d.seconds && d.first && d.block ? LM_OK : no_memory(err);

    if (!status)
        take_points(p, &d);
    for (size_t k = 0; k < forms[form_at].n_features && !status; k++)
        d.known[k] = form_takes(p, forms[form_at].feature[k]) &&
                     known_everywhere(&d, forms[form_at].feature[k]);
    if (!status && !forms[form_at].n_features) {
        for (size_t i = 0; i < d.n_rows; i++)
            d.counted |= counted_only(form_load(&d, i));
        if (!(status = term_rows(&d, false, &count_knots_none, &d.terms, err)) &&
            forms[form_at].part == PHASE_INFERENCE)
            status = bound_launches(&d, err);
    }
    for (size_t f = 0; f <= by->n_folds && !status; f++)
        if (forms[form_at].n_features && d.first[f + 1] > d.first[f])
            status = factor_rows(p, &d, f, err);
    if (status)
        form_data_free(&d);
    else
        *out = d;
    return status;
}

void form_data_free(form_data *d)
{
    for (size_t f = 0; d->block && f <= d->by->n_folds; f++)
        free(d->block[f]);
    free(d->block);
    shrink_rows_free(&d->terms);
    free_all(d->first, d->point, d->seconds);
    *d = (form_data){ .n_rows = 0 };
}

/* Rows with counts: knots from the rows of a fit, and terms of all rows. */
static lm_status counted_rows(const form_data *d, size_t without, count_knots *knots,
                              shrink_rows *out, lm_error *err)
{
    const workload **load = malloc((d->n_rows + 1) * sizeof *load);
    size_t           n    = 0;
    lm_status        status;

    if (!load)
        return no_memory(err);
    for (size_t f = 0; f <= d->by->n_folds; f++)
        for (size_t i = d->first[f]; i < d->first[f + 1] && f != without; i++) {
            const workload *l = form_load(d, i);

            if (counted_only(l))
                load[n++] = l;
        }
    status = counted_knots(load, n, knots, err);
    free(load);
    return status ? status : term_rows(d, true, knots, out, err);
}

/* Does the fit without this fold have any rows? */
static bool has_rows(const shrink_rows *r, size_t without)
{
    size_t n = 0;

    for (size_t f = 0; f < r->n_folds; f++)
        n += f == without ? 0 : r->of[f].n;
    return n > 0;
}

/* Coefficients of one kind of terms, from a fit to its rows. */
static void merge_terms(const shrink_fit *from, bool of_counts, shrink_fit *to)
{
    for (size_t t = 0; t < N_TERMS; t++) {
        if (term_counted(t) != of_counts || (of_counts && t % LM_N_PASSES != LM_FORWARD))
            continue;
        to->coefficient[t] = from->coefficient[t];
        to->spread[t]      = from->spread[t];
        to->known[t]       = from->known[t];
        to->at_bound[t]    = from->at_bound[t];
    }
    to->rows += from->rows;
    to->n_used += from->n_used;
    to->weighted_rss += from->weighted_rss;
}

/* Two fits without common coefficients: one to rows with kernels, one to rows with counts only. */
static lm_status fit_terms(const form_data *d, size_t without, form_solution *out, lm_error *err)
{
    shrink_rows counted = { .n = 0 };
    shrink_fit  found;
    bool        any    = false;
    lm_status   status = LM_OK;

    memset(&out->terms, 0, sizeof out->terms);
    for (size_t t = 0; t < N_TERMS; t++)
        out->terms.coefficient[t] = out->terms.spread[t] = NAN;
    out->knots = count_knots_none;
    if (d->counted)
        status = counted_rows(d, without, &out->knots, &counted, err);
    for (int of_counts = 0; of_counts < 2 && !status; of_counts++) {
        const shrink_rows    *rows = of_counts ? &counted : &d->terms;
        const shrink_options *how  = of_counts ? &shrink_counted : &shrink_default;

        if (!has_rows(rows, without))
            continue;
        any = true;
        if (!(status = shrink_solve(rows, without, how, &found, err)))
            merge_terms(&found, of_counts, &out->terms);
    }
    shrink_rows_free(&counted);
    return status || any ? status : lm_error_set(err, LM_E_ARG, "no rows to fit");
}

lm_status form_data_rank(const form_data *d, const count_knots *knots, size_t *out, lm_error *err)
{
    shrink_rows counted = { .n = 0 };
    size_t      more    = 0;
    lm_status   status  = term_rank(&d->terms, out, err);

    /* no row has terms of both */
    if (!status && d->counted && !(status = term_rows(d, true, knots, &counted, err)))
        status = term_rank(&counted, &more, err);
    if (!status)
        *out += more;
    shrink_rows_free(&counted);
    return status;
}

lm_status form_data_fit(const form_data *d, size_t without, form_solution *out, lm_error *err)
{
    const size_t      n_places = d->by->n_folds + 1;
    const lsq_block **use;
    lm_status         status;

    if (!forms[d->form].n_features)
        return fit_terms(d, without, out, err);
    use = calloc(n_places, sizeof *use);
    if (!use)
        return no_memory(err);
    for (size_t f = 0; f < n_places; f++)
        use[f] = f == without ? NULL : d->block[f];
    status = lsq_solve(use, n_places, forms[d->form].non_negative, &out->linear, err);
    free(use);
    return status;
}

double form_seconds(size_t form_at, const form_solution *s, const workload *load)
{
    double seconds = 0;

    if (!forms[form_at].n_features) {
        term_item         room[N_TERMS];
        const term_vector v = form_terms(&forms[form_at], load, &s->knots, room);

        return v.n ? shrink_seconds(&s->terms, &v) : NAN;
    }
    for (size_t k = 0; k < forms[form_at].n_features; k++)
        seconds += feature_seconds(forms[form_at].feature[k], s->linear.x[k], load);
    return seconds;
}

/* Times to be predicted. */
typedef struct predicting {
    const form_data *d;
    const points    *p;
    double          *predicted;
} predicting;

/* Predicts the rows of a fold by a fit without it. */
static lm_status predict_fold(void *context, const fold_turn *t, lm_error *err)
{
    const predicting *w     = context;
    const form_data  *d     = w->d;
    const size_t      place = t->by->all ? d->by->n_folds : t->fold;
    form_solution     s;
    lm_status         status;

    if (d->first[place] == d->first[place + 1])
        return LM_OK;
    status = form_data_fit(d, t->fold, &s, err);
    for (size_t i = d->first[place]; i < d->first[place + 1] && !status; i++)
        w->predicted[i] =
            form_seconds(d->form, &s, point_load(&w->p->point[d->point[i]], forms[d->form].part));
    return status;
}

lm_status form_data_predict(const form_data *d, const points *p, double *predicted, lm_error *err)
{
    predicting w = { d, p, predicted };
    folds      f = split_folds(d->by, d->points);

    f.parallel = f.silent = true;
    for (size_t i = 0; i < d->n_rows; i++)
        predicted[i] = NAN;
    return folds_leave_out(&f, predict_fold, &w, err);
}
