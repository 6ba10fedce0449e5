/* Learners: training, prediction and text. */
#include "learn/learner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "learn/extra.h"
#include "learn/linear.h"

typedef enum learner_body { BODY_LINEAR, BODY_TREES, BODY_MLP } learner_body;

static learner_body learner_body_of(learner_kind kind)
{
    return kind == LEARNER_LINEAR ? BODY_LINEAR : kind == LEARNER_MLP ? BODY_MLP : BODY_TREES;
}

/* Just one of the three is there. */
struct learner {
    learner_kind kind;
    bool         log;
    size_t       n_features;
    bool        *logged;    /**< of each feature: log(1 + x) is what is learned from */
    double       low, high; /**< of what was told */
    double       unit;      /**< the mean of that: without logarithms what the three tell is in
                               this, as XGBoost makes no branch that gains less than 1e-6 */
    linear      *linear;
    trees       *trees;
    mlp         *mlp;
};

const boost_options boost_default = { .trees     = 500,
                                      .depth     = 8,
                                      .rate      = 0.1,
                                      .rows      = 0.8,
                                      .features  = 0.8,
                                      .leaf_rows = 2,
                                      .l2        = 1,
                                      .seed      = 1 };

const boost_options forest_default = { .forest    = true,
                                       .trees     = 100,
                                       .depth     = 16,
                                       .rate      = 1,
                                       .rows      = 0.63, /* what a sample with replacement holds */
                                       .features  = 0.5,
                                       .leaf_rows = 1,
                                       .l2        = 0,
                                       .seed      = 1 };

static const char *const names[N_LEARNERS] = { "linear",  "forest", "boosted",
                                               "xgboost", "mlp",    "extra" };

const char *learner_name(learner_kind kind)
{
    return names[kind];
}

bool learner_available(learner_kind kind)
{
    return learner_body_of(kind) != BODY_TREES || kind == LEARNER_EXTRA || boost_available();
}

learner_options learner_usual(learner_kind kind, bool log)
{
    learner_options o = { .kind  = kind,
                          .log   = log,
                          .boost = kind == LEARNER_FOREST || kind == LEARNER_EXTRA ? forest_default
                                                                                   : boost_default,
                          .mlp   = { .width    = { 64, 64 },
                                     .n_layers = 2,
                                     .epochs   = 200,
                                     .batch    = 64,
                                     .rate     = 1e-3,
                                     .decay    = 0.5,
                                     .seed     = 1 } };

    if (kind == LEARNER_EXTRA)
        o.boost.leaf_rows = 2;
    if (kind == LEARNER_FOREST)
        o.boost.features = 1;
    if (kind == LEARNER_BOOSTED) {
        o.boost.trees     = 100;
        o.boost.depth     = 3;
        o.boost.rows      = 1;
        o.boost.features  = 1;
        o.boost.leaf_rows = 1;
        o.boost.l2        = 0;
    }
    o.mlp.decay_every = o.mlp.epochs / 5;
    return o;
}

void learner_free(learner *l)
{
    if (!l)
        return;
    linear_free(l->linear);
    trees_free(l->trees);
    mlp_free(l->mlp);
    free(l->logged);
    free(l);
}

learner_kind learner_kind_of(const learner *l)
{
    return l->kind;
}

bool learner_is_log(const learner *l)
{
    return l->log;
}

size_t learner_n_features(const learner *l)
{
    return l->n_features;
}

/* ---- training ---- */

static lm_status check(const learner_rows *r, lm_error *err)
{
    const learn_rows rows   = { r->x, r->y, r->n, r->n_features };
    const lm_status  status = learn_rows_check(&rows, LEARNER_FEATURES, err);

    for (size_t i = 0; i < r->n && !status; i++)
        if (!(r->y[i] > 0))
            return lm_error_set(err, LM_E_ARG, "row %zu: %g to be told, expected more than 0",
                                i + 1, r->y[i]);
    return status;
}

/* Finds range and mean of the values, and the features without negative values. */
static void look(const learner_rows *r, learner *to)
{
    to->low  = HUGE_VAL;
    to->high = to->unit = 0;
    for (size_t k = 0; k < to->n_features; k++)
        to->logged[k] = to->log;
    for (size_t i = 0; i < r->n; i++) {
        to->low  = fmin(to->low, r->y[i]);
        to->high = fmax(to->high, r->y[i]);
        to->unit += r->y[i] / (double)r->n;
        for (size_t k = 0; k < to->n_features; k++)
            to->logged[k] &= r->x[i * r->n_features + k] >= 0;
    }
}

static void scale(const learner *l, const double *x, double *out)
{
    for (size_t k = 0; k < l->n_features; k++)
        out[k] = l->logged[k] ? log1p(fmax(0, x[k])) : x[k];
}

/* Scaled rows for the body. */
typedef struct scaled {
    double *x, *y;
    size_t  n;
} scaled;

static void scaled_free(scaled *s)
{
    free(s->x);
    free(s->y);
    *s = (scaled){ .n = 0 };
}

static lm_status scaled_new(const learner *l, const learner_rows *r, scaled *out, lm_error *err)
{
    *out = (scaled){ malloc(r->n * l->n_features * sizeof(double)), malloc(r->n * sizeof(double)),
                     r->n };
    if (!out->x || !out->y) {
        scaled_free(out);
        return no_memory(err);
    }
    for (size_t i = 0; i < r->n; i++) {
        scale(l, r->x + i * l->n_features, out->x + i * l->n_features);
        out->y[i] = l->log ? log(r->y[i]) : r->y[i] / l->unit;
    }
    return LM_OK;
}

static lm_status train_body(const scaled *rows, const learner_options *o, learner *to, lm_error *err)
{
    const learn_rows    seen  = { rows->x, rows->y, rows->n, to->n_features };
    const extra_options extra = { o->boost.trees, o->boost.depth, (size_t)(2 * o->boost.leaf_rows),
                                  o->boost.seed };

    switch (learner_body_of(o->kind)) {
    case BODY_LINEAR: return linear_train(&seen, &to->linear, err);
    case BODY_TREES:
        return o->kind == LEARNER_EXTRA ? extra_train(&seen, &extra, &to->trees, err)
                                        : boost_train(&seen, NULL, &o->boost, &to->trees, err);
    case BODY_MLP: break;
    }
    return mlp_train(&seen, NULL, &o->mlp, NULL, NULL, &to->mlp, err);
}

static lm_status learner_new(const learner_options *o, size_t n_features, learner **out,
                             lm_error *err)
{
    learner *l = calloc(1, sizeof *l);

    if (!l || !(l->logged = calloc(n_features, sizeof *l->logged))) {
        free(l);
        return no_memory(err);
    }
    l->kind       = o->kind;
    l->log        = o->log;
    l->n_features = n_features;
    *out          = l;
    return LM_OK;
}

lm_status learner_train(const learner_rows *rows, const learner_options *o, learner **out,
                        lm_error *err)
{
    scaled    seen   = { 0 };
    learner  *l      = NULL;
    lm_status status = check(rows, err);

    if (status || (status = learner_new(o, rows->n_features, &l, err)))
        return status;
    look(rows, l);
    if (!(status = scaled_new(l, rows, &seen, err)))
        status = train_body(&seen, o, l, err);
    scaled_free(&seen);
    if (status)
        learner_free(l);
    else
        *out = l;
    return status;
}

/* ---- asking ---- */

#define BEYOND 10 /* a prediction stays within this factor of the learned range */

static double back(const learner *l, double y)
{
    const double told = l->log ? exp(y) : y * l->unit;

    return fmin(BEYOND * l->high, fmax(l->low / BEYOND, told));
}

lm_status learner_predict(const learner *l, const double *x, size_t n, double *y, lm_error *err)
{
    double   *row    = malloc((n ? n : 1) * l->n_features * sizeof *row);
    lm_status status = row ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n && !status; i++) {
        double *at = row + i * l->n_features;

        scale(l, x + i * l->n_features, at);
        if (!l->mlp)
            y[i] = l->linear ? linear_predict(l->linear, at) : trees_predict(l->trees, at);
    }
    if (!status && l->mlp)
        status = mlp_predict(l->mlp, row, n, y, err);
    for (size_t i = 0; i < n && !status; i++)
        y[i] = back(l, y[i]);
    free(row);
    return status;
}

/* Prediction of one tree of a mean. */
static double alone(const trees *t, const tree_way *w)
{
    return t->base + (double)t->n_trees * w->value;
}

lm_status learner_decide(const learner *l, const double *x, learner_way *out, lm_error *err)
{
    const bool  mean = l->kind == LEARNER_FOREST || l->kind == LEARNER_EXTRA;
    double     *at = mean ? malloc(l->n_features * sizeof *at) : NULL, all, least = HUGE_VAL;
    learner_way way;
    lm_status   status = LM_OK;

    *out = (learner_way){ .trees = mean ? l->trees->n_trees : 0 };
    if (!mean)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "%s is no forest, of which each tree decides (fit --learn learner=2)",
                            names[l->kind]);
    if (!at)
        return no_memory(err);
    scale(l, x, at);
    all = trees_predict(l->trees, at);
    for (size_t k = 0; k < l->trees->n_trees && !status; k++) {
        status = trees_way(l->trees, k, at, &way.way, err);
        if (status || !(fabs(alone(l->trees, &way.way) - all) < least))
            continue;
        least     = fabs(alone(l->trees, &way.way) - all);
        out->tree = k + 1;
        out->way  = way.way;
    }
    free(at);
    if (status)
        return status;
    out->value = back(l, alone(l->trees, &out->way));
    for (size_t i = 0; i < out->way.n; i++)
        if (l->logged[out->way.step[i].feature])
            out->way.step[i].threshold = expm1(out->way.step[i].threshold);
    return LM_OK;
}

/* ---- text ---- */

/* Which features are logarithms. */
static void logged_text(lines *l, learner *x)
{
    double *flag = lines_array(l, x->n_features, sizeof *flag);

    if (!l->out)
        x->logged = lines_array(l, x->n_features, sizeof *x->logged);
    for (size_t k = 0; k < x->n_features && l->out && flag; k++)
        flag[k] = x->logged[k];
    LINE(l, "logged", ITEM_REALS(flag, x->n_features, 0, 1));
    for (size_t k = 0; k < x->n_features && !l->status; k++)
        x->logged[k] = flag[k] > 0;
    free(flag);
}

/* Returns its number of features. */
static size_t body_text(lines *l, learner *x)
{
    switch (learner_body_of(x->kind)) {
    case BODY_LINEAR: linear_text(l, &x->linear); return l->status ? 0 : x->linear->n_features;
    case BODY_TREES: trees_text(l, &x->trees); return l->status ? 0 : x->trees->n_features;
    case BODY_MLP: mlp_text(l, &x->mlp); return l->status ? 0 : mlp_n_features(x->mlp);
    }
    return 0;
}

void learner_text(lines *l, learner **both)
{
    static const char *const scales[] = { "plain", "log" };
    learner                 *x = *both = lines_made(l, *both, sizeof *x);
    size_t                   kind, log, width;

    if (!x)
        return;
    kind = x->kind;
    log  = x->log;
    if (!LINE(l, "learner", ITEM_CHOICE(&kind, names, N_LEARNERS), ITEM_CHOICE(&log, scales, 2),
              ITEM_COUNT(&x->n_features, 1, LEARNER_FEATURES)))
        return;
    x->kind = (learner_kind)kind;
    x->log  = log;
    LINE(l, "range", ITEM_REAL(&x->low, DBL_TRUE_MIN, DBL_MAX),
         ITEM_REAL(&x->high, DBL_TRUE_MIN, DBL_MAX), ITEM_REAL(&x->unit, DBL_TRUE_MIN, DBL_MAX));
    lines_check(l, x->low <= x->high, "a range from %g to %g", x->low, x->high);
    logged_text(l, x);
    width = body_text(l, x);
    lines_check(l, width == x->n_features, "%s of %zu features, a learner of %zu", names[kind],
                width, x->n_features);
}
