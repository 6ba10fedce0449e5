/* What prices of single layers leave over, learned. */
#include "single/residual.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "learn/boost.h"

#define FOLDS    5    /* of shapes */
#define JUDGED   2000 /* rows, after which no more folds are left out */
#define GAIN     0.03 /* of the error: less is not worth trees */
#define QUANTILE 0.001

static const boost_options growth = { .trees     = 500,
                                      .depth     = 8,
                                      .rate      = 0.1,
                                      .rows      = 0.8,
                                      .features  = 0.5,
                                      .leaf_rows = 5,
                                      .l2        = 1,
                                      .seed      = 1 };

bool residual_learnable(size_t class)
{
    return class < N_LAYER_CLASSES;
}

void residual_free(layer_residual *r)
{
    if (!r)
        return;
    residual_space_free(&r->space);
    trees_free(r->trees);
    free(r);
}

void residual_set_free(residual_set *s)
{
    for (size_t c = 0; s && c < N_LAYER_CLASSES; c++)
        residual_free(s->of[c]);
    free(s);
}

lm_status residual_of(layer_residual *r, const priced_row *row, double *out, lm_error *err)
{
    double    x[RESIDUAL_FEATURES];
    lm_status status = LM_OK;

    *out = 0;
    if (!(row->seconds > 0))
        return LM_OK;
    status = residual_features(&r->space, row, x, err);
    if (!status && residual_space_holds(&r->space, row->run, x))
        *out = fmin(r->high, fmax(r->low, trees_predict(r->trees, x)));
    return status;
}

/* ---- learning -----------------------------------------------------------------------------------
 */

/* Everything that one class is learned from. */
typedef struct lesson {
    layer_rows       *r;
    const layer_time *time;
    const bool       *in;
    double           *price;
    uint8_t          *fold;        /* of each row: by its shape, whatever the batch */
    bool             *some;        /* rows of the fit of the moment */
    double           *x[2], *y[2]; /* rows to learn from, rows to judge by */
    size_t            n[2];
} lesson;

static bool taken(const lesson *l, size_t i)
{
    return (!l->in || l->in[i]) && l->r->rows.row[i].seconds > 0;
}

static uint64_t mix(uint64_t state, double value)
{
    state ^= (uint64_t)(int64_t)value;
    return random_next(&state);
}

/* Shapes of one kind belong together, so that none is judged by its own other batches. */
static uint8_t fold_of(const layer_shape *s)
{
    uint64_t h = mix(mix((uint64_t)s->groups, (double)s->c_in), (double)s->c_out);

    for (int i = 0; i < 3 && s->kind == SHAPE_CONV; i++)
        h = mix(mix(mix(h, (double)s->in[i]), (double)s->window[i]), (double)s->stride[i]);
    if (s->kind == SHAPE_WORK)
        h = mix(mix(mix(h, s->inputs), s->outputs), s->weights);
    return (uint8_t)(h % FOLDS);
}

static priced_row row_at(const lesson *l, size_t i)
{
    return (priced_row){ .shape   = l->time[i].shape,
                         .run     = &l->time[i].run,
                         .rows    = &l->r->rows,
                         .at      = i,
                         .columns = &l->r->columns,
                         .price   = l->price,
                         .seconds = cheapest_seconds(&l->r->rows, i, &l->r->columns,
                                                     columns_join(&l->r->columns)) };
}

/* Prices without a fold (FOLDS: with all), and features of all rows: those of the fold apart. */
static lm_status prepare(lesson *l, size_t fold, layer_residual *to, lm_error *err)
{
    const size_t width = to->space.n;
    size_t       count;
    lm_status    status;

    for (size_t i = 0; i < l->r->rows.n; i++)
        l->some[i] = taken(l, i) && l->fold[i] != fold;
    if ((status = layer_rows_fit(l->r, l->some, &count, err)))
        return status;
    for (size_t j = 0; j < l->r->columns.n; j++)
        l->price[j] = l->r->columns.column[j].price;
    l->n[0] = l->n[1] = 0;
    for (size_t f = 0; f < to->space.n; f++) {
        to->space.feature[f].low  = HUGE_VAL;
        to->space.feature[f].high = -HUGE_VAL;
    }
    for (size_t i = 0; i < l->r->rows.n && !status; i++) {
        const priced_row row  = row_at(l, i);
        const size_t     part = !l->some[i];
        double          *x    = l->x[part] + l->n[part] * width;

        if (!taken(l, i) || !(row.seconds > 0))
            continue;
        l->y[part][l->n[part]] = log(l->time[i].seconds / row.seconds);
        status                 = residual_features(&to->space, &row, x, err);
        if (!part)
            residual_space_widen(&to->space, x);
        l->n[part]++;
    }
    return status;
}

/* Quantiles of what was learned from. */
static lm_status hold(const lesson *l, layer_residual *to, lm_error *err)
{
    double *y = malloc((l->n[0] + 1) * sizeof *y);

    if (!y)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    for (size_t i = 0; i < l->n[0]; i++)
        y[i] = l->y[0][i];
    to->low  = stats_quantile(y, l->n[0], QUANTILE);
    to->high = stats_quantile(y, l->n[0], 1 - QUANTILE);
    free(y);
    return LM_OK;
}

/* `most` trees; with `by_held` as many as are best on the rows to judge by. */
static lm_status learn(const lesson *l, unsigned most, bool by_held, layer_residual *to,
                       lm_error *err)
{
    const boost_rows seen = { l->x[0], l->y[0], l->n[0], to->space.n };
    const boost_rows held = { l->x[1], l->y[1], l->n[1], to->space.n };
    boost_options    how  = growth;
    lm_status        status;

    how.trees = most;
    trees_free(to->trees);
    to->trees = NULL;
    status    = boost_train(&seen, by_held ? &held : NULL, &how, &to->trees, err);
    return status ? status : hold(l, to, err);
}

/* Sums of relative errors on the rows to judge by: without the residual, and with it. */
static lm_status judge(const lesson *l, size_t fold, layer_residual *to, double sum[2],
                       lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < l->r->rows.n && !status; i++) {
        const priced_row row = row_at(l, i);
        double           r;

        if (!taken(l, i) || l->fold[i] != fold)
            continue;
        if ((status = residual_of(to, &row, &r, err)))
            break;
        sum[0] += fabs(row.seconds / l->time[i].seconds - 1);
        sum[1] += fabs(row.seconds * exp(r) / l->time[i].seconds - 1);
        to->judged++;
    }
    return status;
}

/* How many trees are best on folds left out, and what is gained by them. */
static lm_status try_folds(lesson *l, layer_residual *to, unsigned *trees_best, lm_error *err)
{
    double    sum[2] = { 0, 0 }, trees_sum = 0;
    size_t    folds  = 0;
    lm_status status = LM_OK;

    for (size_t f = 0; f < FOLDS && to->judged < JUDGED && !status; f++) {
        if ((status = prepare(l, f, to, err)) == LM_E_ARG) /* one shape has nearly all rows */
            return lm_error_set(err, LM_OK, "%s", "");
        if (status || !l->n[0] || !l->n[1])
            continue;
        if (!(status = learn(l, growth.trees, true, to, err)) &&
            !(status = judge(l, f, to, sum, err))) {
            trees_sum += (double)to->trees->n_trees;
            folds++;
        }
    }
    if (!folds)
        return status;
    *trees_best     = (unsigned)ceil(trees_sum / (double)folds);
    to->mape_priced = sum[0] / (double)to->judged;
    to->mape        = sum[1] / (double)to->judged;
    return status;
}

static lm_status lesson_new(lesson *l, size_t width, lm_error *err)
{
    const size_t n  = l->r->rows.n + 1;
    bool         ok = true;

    l->price = malloc((l->r->columns.n + 1) * sizeof *l->price);
    l->fold  = malloc(n);
    l->some  = malloc(n);
    for (int part = 0; part < 2; part++) {
        l->x[part] = malloc(n * width * sizeof(double));
        l->y[part] = malloc(n * sizeof(double));
        ok &= l->x[part] && l->y[part];
    }
    if (!ok || !l->price || !l->fold || !l->some)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    for (size_t i = 0; i + 1 < n; i++)
        l->fold[i] = fold_of(l->time[i].shape);
    return LM_OK;
}

static void lesson_free(lesson *l)
{
    for (int part = 0; part < 2; part++) {
        free(l->x[part]);
        free(l->y[part]);
    }
    free(l->price);
    free(l->fold);
    free(l->some);
}

static lm_status learn_rows(lesson *l, layer_residual *to, bool *gained, lm_error *err)
{
    unsigned  best = 0;
    lm_status status;

    *gained = false;
    if ((status = residual_space_new(&l->r->rows, &l->r->columns, &to->space, err)) ||
        (status = lesson_new(l, to->space.n, err)) || (status = try_folds(l, to, &best, err)))
        return status;
    *gained = best > 0 && to->mape < (1 - GAIN) * to->mape_priced;
    if ((status = prepare(l, FOLDS, to, err)) || !*gained)
        return status;
    to->rows = l->n[0];
    return learn(l, best, false, to, err);
}

lm_status residual_learn(layer_rows *r, const layer_time *time, const bool *in,
                         layer_residual **out, layer_residual *judged, lm_error *err)
{
    lesson          l      = { .r = r, .time = time, .in = in };
    layer_residual *to     = calloc(1, sizeof *to);
    size_t          count  = 0;
    bool            gained = false;
    lm_status       status = LM_OK;

    *out = NULL;
    if (!to)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    for (size_t i = 0; i < r->rows.n; i++)
        count += taken(&l, i);
    if (!boost_available())
        status = boost_train(NULL, NULL, &growth, &to->trees, err);
    else if (count < RESIDUAL_ROWS)
        status = layer_rows_fit(r, in, &count, err);
    else
        status = learn_rows(&l, to, &gained, err);
    lesson_free(&l);
    if (judged) /* its figures alone */
        *judged = (layer_residual){
            .rows = to->rows, .judged = to->judged, .mape_priced = to->mape_priced, .mape = to->mape
        };
    if (!status && gained)
        *out = to;
    else
        residual_free(to);
    return status;
}
