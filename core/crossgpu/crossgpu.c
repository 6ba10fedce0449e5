/* Predictions for other GPUs; what was learned, as text. */
#include "crossgpu/crossgpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

const char *const        crossgpu_method_names[N_CROSSGPU_METHODS] = { "layermeter", "stacking",
                                                                       "forest",     "xgboost",
                                                                       "boosted",    "pair-ratio" };
static const char *const features_names[] = { "static", "dynamic", "both" }; /* from 1 on */

lm_status crossgpu_method_parse(const char *name, crossgpu_method *out, lm_error *err)
{
    const size_t at = text_place(name, crossgpu_method_names, N_CROSSGPU_METHODS);

    if (at == N_CROSSGPU_METHODS)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "'%.40s' is not a method: expected " CROSSGPU_METHODS, name);
    *out = (crossgpu_method)at;
    return LM_OK;
}

static void gpus_text(lines *l, crossgpu *c)
{
    if (!LINE(l, "gpus", ITEM_COUNT(&c->n_gpus, 2, GPUS_MAX)))
        return;
    if (!l->out)
        c->gpu = lines_array(l, c->n_gpus, sizeof *c->gpu);
    for (size_t f = 0; f < N_FIGURES && !l->out; f++)
        c->s.uses[f] = true;
    for (size_t i = 0; i < c->n_gpus && !l->status; i++) {
        gpu   *g = &c->gpu[i];
        double figure[N_FIGURES]; /* -1: its datasheet lacks it */

        for (size_t f = 0; f < N_FIGURES; f++)
            figure[f] = figure_known(f, g->figure[f]) ? g->figure[f] : -1;
        LINE(l, "gpu", ITEM_REALS(figure, N_FIGURES, -1, DBL_MAX), ITEM_REST(g->name));
        for (size_t f = 0; f < N_FIGURES && !l->out; f++) {
            const bool known = figure_known(f, figure[f]);

            lines_check(l, known || f > FIGURE_BANDWIDTH, "%s of %g", figure_name(f), figure[f]);
            g->figure[f] = known ? figure[f] : (double)NAN;
            c->s.uses[f] &= known;
        }
    }
}

static void metrics_text(lines *l, space *s)
{
    if (!LINE(l, "metrics", ITEM_COUNT(&s->n_metrics, 0, LEARNER_FEATURES / 2)))
        return;
    if (!l->out)
        s->metric = lines_array(l, s->n_metrics, sizeof *s->metric);
    for (size_t i = 0; i < s->n_metrics && !l->status; i++) {
        space_metric *m = &s->metric[i];

        LINE(l, "metric", ITEM_ANY(&m->low), ITEM_ANY(&m->high), ITEM_REST(m->name));
        lines_check(l, m->low <= m->high, "a range from %g to %g", m->low, m->high);
        if (!l->out && !l->status)
            space_metric_unit(s, m);
    }
}

static void medians_text(lines *l, crossgpu *c)
{
    const size_t n = c->n_gpus * c->n_gpus;

    if (!l->out)
        c->median = lines_array(l, n, sizeof *c->median);
    for (size_t i = 0; i < n && !l->status; i++)
        LINE(l, "median", ITEM_KNOWN(&c->median[i], 1, -DBL_MAX, DBL_MAX));
}

/* Shares, and trees where they have one. */
static void shares_text(lines *l, crossgpu *c)
{
    const size_t n = space_n_run(&c->s) + space_n_pair(&c->s);

    if (!LINE(l, "shares", ITEM_REALS(c->share, N_BY, 0, 1)) || !(c->share[BY_TREES] > 0))
        return;
    learner_text(l, &c->trees);
    if (!l->status)
        lines_check(l, learner_n_features(c->trees) == n, "trees of %zu features, there are %zu",
                    learner_n_features(c->trees), n);
}

static void learned_text(lines *l, crossgpu *c)
{
    switch (c->method) {
    case CROSSGPU_PAIR_RATIO: medians_text(l, c); return;
    case CROSSGPU_STACKING:
    case CROSSGPU_FOREST:
    case CROSSGPU_XGBOOST:
    case CROSSGPU_BOOSTED:
        stacking_text(l, space_n_run(&c->s) + space_n_pair(&c->s), c->method == CROSSGPU_STACKING,
                      &c->stack);
        return;
    case CROSSGPU_LAYERMETER:
        bounds_text(l, &c->s, &c->bounds);
        nearest_text(l, space_n_run(&c->s), c->n_gpus, &c->nearest);
        parts_text(l, &c->s, c->n_gpus, &c->parts);
        shares_text(l, c);
        return;
    case N_CROSSGPU_METHODS: return;
    }
}

static void text(lines *l, void **both)
{
    crossgpu *c = *both = lines_made(l, *both, sizeof *c);
    size_t    method, seed, features;

    if (!c)
        return;
    method   = c->method;
    seed     = c->seed;
    features = c->s.features - FEATURES_STATIC;
    LINE(l, "method", ITEM_CHOICE(&method, crossgpu_method_names, N_CROSSGPU_METHODS));
    LINE(l, "seed", ITEM_COUNT(&seed, 0, HUGE_VAL));
    LINE(l, "rows", ITEM_COUNT(&c->n_rows, 0, HUGE_VAL), ITEM_COUNT(&c->n_groups, 0, HUGE_VAL));
    LINE(l, "features", ITEM_CHOICE(&features, features_names, FEATURES_BOTH));
    c->method     = (crossgpu_method)method;
    c->seed       = seed;
    c->s.features = FEATURES_STATIC + (unsigned)features;
    interval_line(l, "learned", &c->known);
    interval_line(l, "unknown_target", &c->unknown[UNKNOWN_TARGET]);
    interval_line(l, "unknown_source", &c->unknown[UNKNOWN_SOURCE]);
    gpus_text(l, c);
    metrics_text(l, &c->s);
    if (!l->status)
        learned_text(l, c);
}

static void release(void *what)
{
    crossgpu_free(what);
}

const kept_kind crossgpu_kept = { "learned runs", text, release, "layermeter learn RUNS -o FILE" };

lm_status crossgpu_load(const char *path, crossgpu **out, lm_error *err)
{
    void           *read   = NULL;
    const lm_status status = kept_load(&crossgpu_kept, CROSSGPU_FILE, path, &read, err);

    if (!status)
        *out = read;
    return status;
}

void crossgpu_free(crossgpu *c)
{
    if (!c)
        return;
    space_free(&c->s);
    free(c->gpu);
    bounds_free(&c->bounds);
    nearest_free(&c->nearest);
    parts_free(&c->parts);
    learner_free(c->trees);
    stacking_free(&c->stack);
    free(c->median);
    free(c);
}

size_t crossgpu_gpu(const crossgpu *c, const char *name)
{
    size_t i = 0;

    while (i < c->n_gpus && !device_same_name(c->gpu[i].name, name))
        i++;
    return i;
}

/* ---- predicting ------------------------------------------------------------------------------ */

/* Features of a pair of GPUs; one of them may be unknown. */
static lm_status pair_features(const crossgpu *c, const double *x, const gpu *from, const gpu *to,
                               double **out, lm_error *err)
{
    const size_t n = space_n_run(&c->s);
    lm_status    status;

    if (!(*out = malloc((n + space_n_pair(&c->s)) * sizeof **out)))
        return no_memory(err);
    memcpy(*out, x, n * sizeof **out);
    if ((status = space_pair(&c->s, from, to, *out + n, err)))
        free(*out);
    return status;
}

lm_status crossgpu_trees(const learner *l, const double *x, double *out, lm_error *err)
{
    lm_status status = learner_predict(l, x, 1, out, err);

    *out = log(*out);
    return status;
}

/* Logarithm of the ratio for a pair of known GPUs. */
static lm_status learned_log_ratio(const crossgpu *c, const double *x, const gpu *from,
                                   const gpu *to, size_t a, size_t b, double *out, lm_error *err)
{
    double    said[N_BY] = { nearest_log_ratio(&c->nearest, x, a, b), 0, 0 }, *room;
    lm_status status     = LM_OK;

    if (!(room = malloc(c->parts.n * sizeof *room)))
        return no_memory(err);
    said[BY_PARTS] = parts_log_ratio(&c->parts, &c->s, x, a, b, room);
    free(room);
    if (c->trees && !(status = pair_features(c, x, from, to, &room, err))) {
        status = crossgpu_trees(c->trees, room, &said[BY_TREES], err);
        free(room);
    }
    *out = 0;
    for (size_t k = 0; k < N_BY; k++)
        *out += c->share[k] > 0 ? c->share[k] * said[k] : 0;
    return status;
}

static lm_status predict_ours(const crossgpu *c, const double *x, const gpu *from, const gpu *to,
                              size_t a, size_t b, crossgpu_prediction *out, lm_error *err)
{
    double    log_ratio = NAN;
    lm_status status    = LM_OK;

    if (a < c->n_gpus && b < c->n_gpus)
        status = learned_log_ratio(c, x, from, to, a, b, &log_ratio, err);
    if (status)
        return status;
    out->basis = isnan(log_ratio) ? BASIS_DATASHEET : BASIS_LEARNED;
    if (isnan(log_ratio))
        log_ratio = bounds_log_ratio(&c->bounds, &c->s, x, from, to);
    out->seconds = exp(x[c->s.n_metrics] + log_ratio);
    return LM_OK;
}

static lm_status predict_stacked(const crossgpu *c, const double *x, const gpu *from, const gpu *to,
                                 crossgpu_prediction *out, lm_error *err)
{
    double   *all;
    lm_status status = pair_features(c, x, from, to, &all, err);

    if (status)
        return status;
    status = stacking_seconds(&c->stack, all, &out->seconds, err);
    free(all);
    return status;
}

/* Bounds of the prediction for a run on GPU number a, carried over to number b. */
static void state_bounds(const crossgpu *c, size_t a, size_t b, crossgpu_prediction *p)
{
    const interval *i = &c->unknown[UNKNOWN_TARGET], *k = &c->unknown[UNKNOWN_SOURCE];

    if (p->basis == BASIS_LEARNED)
        i = k = &c->known;
    else if (nearest_knows(&c->nearest, a) && !nearest_knows(&c->nearest, b))
        k = i;
    else if (nearest_knows(&c->nearest, b) && !nearest_knows(&c->nearest, a))
        i = k;
    p->low = p->high = NAN;
    if (!interval_known(i) || !interval_known(k))
        return;
    p->low  = p->seconds * fmin(i->low, k->low);
    p->high = p->seconds * fmax(i->high, k->high);
}

lm_status crossgpu_predict(const crossgpu *c, const double *x, const gpu *from, const gpu *to,
                           crossgpu_prediction *out, lm_error *err)
{
    const size_t        a = crossgpu_gpu(c, from->name), b = crossgpu_gpu(c, to->name);
    const bool          known = a < c->n_gpus && b < c->n_gpus;
    crossgpu_prediction p     = { .basis = known ? BASIS_LEARNED : BASIS_DATASHEET };
    lm_status           status;

    if (c->method == CROSSGPU_PAIR_RATIO) {
        if (!known || isnan(c->median[a * c->n_gpus + b]))
            return lm_error_set(err, LM_E_NOTFOUND,
                                "'%s' and '%s' have no common workloads, and pair-ratio needs some",
                                from->name, to->name);
        p.seconds = exp(x[c->s.n_metrics] + c->median[a * c->n_gpus + b]);
        status    = LM_OK;
    } else if (c->method == CROSSGPU_LAYERMETER) {
        status = predict_ours(c, x, from, to, a, b, &p, err);
    } else {
        status = predict_stacked(c, x, from, to, &p, err);
    }
    if (status)
        return status;
    state_bounds(c, a, b, &p);
    *out = p;
    return LM_OK;
}
