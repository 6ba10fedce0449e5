/* Learns residuals of prices. */
#include "learn/lesson.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "learn/boost.h"

#define FOLDS    5    /* of shapes */
#define JUDGED   2000 /* rows, after which no more folds are left out */
#define GAIN     0.03 /* of the error: less is not worth trees */
#define QUANTILE 0.001
#define FEW      400 /* rows to learn from, of which single trees tell more of chance ... */
#define TOGETHER 4   /* ... than the mean of so many */

static const boost_options growth = { .trees     = 500,
                                      .depth     = 8,
                                      .rate      = 0.1,
                                      .rows      = 0.8,
                                      .features  = 0.5,
                                      .leaf_rows = 5,
                                      .l2        = 1,
                                      .seed      = 1 };

void residual_free(residual_trees *r)
{
    if (!r)
        return;
    residual_space_free(&r->space);
    trees_free(r->trees);
    free(r);
}

double residual_at(const residual_trees *r, bool word, const double *x)
{
    if (!residual_space_holds(&r->space, word, x))
        return 0;
    return fmin(r->high, fmax(r->low, trees_predict(r->trees, x)));
}

/* State of a lesson: training rows [0] and held-out rows [1]. */
typedef struct hearing {
    const lesson *l;
    bool         *some; /* rows of the fit of the moment */
    double       *x[2], *y[2];
    size_t        n[2];
} hearing;

static bool taken(const lesson *l, size_t i)
{
    return l->seconds[i] > 0;
}

/* Fits prices without a fold (FOLDS: to all rows), and computes features of all rows. */
static lm_status prepare(hearing *h, size_t fold, residual_trees *to, lm_error *err)
{
    const lesson *l     = h->l;
    const size_t  width = to->space.n;
    lm_status     status;

    for (size_t i = 0; i < l->n; i++)
        h->some[i] = taken(l, i) && l->shape[i] % FOLDS != fold;
    if ((status = l->price(l->context, h->some, err)))
        return status;
    h->n[0] = h->n[1] = 0;
    residual_space_free(&to->space); /* other prices may have other columns */
    residual_space_narrow(&to->space);
    for (size_t i = 0; i < l->n && !status; i++) {
        const size_t part = !h->some[i];
        double      *x    = h->x[part] + h->n[part] * width;
        priced_look  row;

        if (!taken(l, i) || (status = l->look(l->context, i, &to->space, x, &row, err)) ||
            !(row.seconds > 0))
            continue;
        if (!part)
            residual_space_widen(&to->space, x);
        h->y[part][h->n[part]++] = log(l->seconds[i] / row.seconds);
    }
    return status;
}

/* Quantiles of the training data. */
static lm_status hold(const hearing *h, residual_trees *to, lm_error *err)
{
    double *y = malloc((h->n[0] + 1) * sizeof *y);

    if (!y)
        return no_memory(err);
    for (size_t i = 0; i < h->n[0]; i++)
        y[i] = h->y[0][i];
    to->low  = stats_quantile(y, h->n[0], QUANTILE);
    to->high = stats_quantile(y, h->n[0], 1 - QUANTILE);
    free(y);
    return LM_OK;
}

static unsigned together(const hearing *h)
{
    return h->n[0] < FEW ? TOGETHER : 1;
}

/* Grows at most `most` rounds of trees; with `by_held` the held-out rows choose the number. */
static lm_status grow(const hearing *h, unsigned most, bool by_held, residual_trees *to,
                      lm_error *err)
{
    const learn_rows seen = { h->x[0], h->y[0], h->n[0], to->space.n };
    const learn_rows held = { h->x[1], h->y[1], h->n[1], to->space.n };
    boost_options    how  = growth;
    lm_status        status;

    how.trees    = most;
    how.together = together(h);
    trees_free(to->trees);
    to->trees = NULL;
    status    = boost_train(&seen, by_held ? &held : NULL, &how, &to->trees, err);
    return status ? status : hold(h, to, err);
}

/* Sums relative errors on held-out rows, without and with the residual. */
static lm_status judge(const hearing *h, size_t fold, residual_trees *to, double sum[2],
                       lm_error *err)
{
    const lesson *l      = h->l;
    double       *x      = h->x[1]; /* which has been used */
    lm_status     status = LM_OK;

    for (size_t i = 0; i < l->n && !status; i++) {
        priced_look row;

        if (!taken(l, i) || l->shape[i] % FOLDS != fold ||
            (status = l->look(l->context, i, &to->space, x, &row, err)))
            continue;
        sum[0] += fabs(row.seconds / l->seconds[i] - 1);
        sum[1] += fabs(row.seconds * (row.seconds > 0 ? exp(residual_at(to, row.word, x)) : 1) /
                           l->seconds[i] -
                       1);
        to->judged++;
    }
    return status;
}

/* Finds the best number of rounds on held-out folds, and the errors. */
static lm_status try_folds(hearing *h, residual_trees *to, unsigned *best, lm_error *err)
{
    double    sum[2] = { 0, 0 }, rounds_sum = 0;
    size_t    folds  = 0;
    lm_status status = LM_OK;

    for (size_t f = 0; f < FOLDS && to->judged < JUDGED && !status; f++) {
        if ((status = prepare(h, f, to, err)) == LM_E_ARG) /* one shape has nearly all rows */
            return lm_error_set(err, LM_OK, "%s", "");
        if (status || !h->n[0] || !h->n[1])
            continue;
        if (!(status = grow(h, growth.trees, true, to, err)) &&
            !(status = judge(h, f, to, sum, err))) {
            rounds_sum += (double)(to->trees->n_trees / together(h));
            folds++;
        }
    }
    if (!folds)
        return status;
    *best           = (unsigned)ceil(rounds_sum / (double)folds);
    to->mape_priced = sum[0] / (double)to->judged;
    to->mape        = sum[1] / (double)to->judged;
    return status;
}

static lm_status hearing_new(const lesson *l, size_t width, hearing *out, lm_error *err)
{
    const size_t n  = l->n + 1;
    bool         ok = true;

    *out = (hearing){ .l = l, .some = malloc(n) };
    for (int part = 0; part < 2; part++) {
        out->x[part] = malloc(n * width * sizeof(double));
        out->y[part] = malloc(n * sizeof(double));
        ok &= out->x[part] && out->y[part];
    }
    return ok && out->some ? LM_OK : no_memory(err);
}

static void hearing_free(hearing *h)
{
    for (int part = 0; part < 2; part++) {
        free(h->x[part]);
        free(h->y[part]);
    }
    free(h->some);
}

static lm_status learn(hearing *h, residual_trees *to, bool *gained, lm_error *err)
{
    unsigned  best   = 0;
    lm_status status = try_folds(h, to, &best, err);

    if (status)
        return status;
    *gained = best > 0 && to->mape < (1 - GAIN) * to->mape_priced;
    if ((status = prepare(h, FOLDS, to, err)) || !*gained)
        return status;
    to->rows = h->n[0];
    return grow(h, best, false, to, err);
}

static lm_status price_all(hearing *h, lm_error *err)
{
    for (size_t i = 0; i < h->l->n; i++)
        h->some[i] = taken(h->l, i);
    return h->l->price(h->l->context, h->some, err);
}

lm_status lesson_learn(const lesson *l, const residual_space *space, residual_trees **out,
                       residual_trees *judged, lm_error *err)
{
    hearing         h      = { .l = l };
    residual_trees *to     = calloc(1, sizeof *to);
    size_t          count  = 0;
    bool            gained = false;
    lm_status       status = LM_OK;

    *out = NULL;
    if (!to)
        return no_memory(err);
    to->space          = *space;
    to->space.share_of = to->space.other_of = NULL;
    to->space.n_columns                     = 0;
    for (size_t i = 0; i < l->n; i++)
        count += taken(l, i);
    if (!boost_available())
        status = boost_train(NULL, NULL, &growth, &to->trees, err);
    else if (!(status = hearing_new(l, to->space.n, &h, err)))
        status = count < RESIDUAL_ROWS ? price_all(&h, err) : learn(&h, to, &gained, err);
    hearing_free(&h);
    residual_space_free(&to->space); /* who asks may have other columns */
    if (judged)                      /* its figures alone */
        *judged = (residual_trees){
            .rows = to->rows, .judged = to->judged, .mape_priced = to->mape_priced, .mape = to->mape
        };
    if (!status && gained)
        *out = to;
    else
        residual_free(to);
    return status;
}
