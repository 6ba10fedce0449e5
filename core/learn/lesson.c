/* Learns residuals of prices. */
#include "learn/lesson.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "learn/boost.h"
#include "solve/folds.h"

#define FOLDS    5    /* of shapes */
#define JUDGED   2000 /* after so many rows no more folds are left out */
#define GAIN     0.03 /* share of the error: trees must gain more */
#define QUANTILE 0.001
#define FEW      400 /* with fewer training rows single trees learn chance ... */
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
    const lesson   *l;
    residual_trees *to;
    size_t         *fold; /* of each row, by its shape */
    bool           *some; /* rows of the fit of the moment */
    double         *x[2], *y[2];
    size_t          n[2];
    double          sum[2]; /* relative errors of held-out rows, without and with the residual */
    double          rounds; /* sum over the folds judged */
    size_t          folds;
    bool            hopeless; /* one shape has nearly all rows */
} hearing;

static bool taken(const lesson *l, size_t i)
{
    return l->seconds[i] > 0;
}

/* Fits prices to the rows of a turn (NULL: all rows), and computes features of all rows. */
static lm_status prepare(hearing *h, const fold_turn *t, lm_error *err)
{
    const lesson   *l     = h->l;
    residual_trees *to    = h->to;
    const size_t    width = to->space.n;
    lm_status       status;

    for (size_t i = 0; i < l->n; i++)
        h->some[i] = taken(l, i) && (!t || fold_in(t, i));
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
static lm_status grow(const hearing *h, unsigned most, bool by_held, lm_error *err)
{
    residual_trees  *to   = h->to;
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

/* Sums relative errors of the left-out rows. */
static lm_status judge(hearing *h, const fold_turn *t, lm_error *err)
{
    const lesson *l      = h->l;
    double       *x      = h->x[1]; /* which has been used */
    lm_status     status = LM_OK;

    for (size_t i = 0; i < l->n && !status; i++) {
        priced_look row;

        if (!taken(l, i) || !fold_out(t, i) ||
            (status = l->look(l->context, i, &h->to->space, x, &row, err)))
            continue;
        h->sum[0] += fabs(row.seconds / l->seconds[i] - 1);
        h->sum[1] +=
            fabs(row.seconds * (row.seconds > 0 ? exp(residual_at(h->to, row.word, x)) : 1) /
                     l->seconds[i] -
                 1);
        h->to->judged++;
    }
    return status;
}

static lm_status try_fold(void *context, const fold_turn *t, lm_error *err)
{
    hearing  *h = context;
    lm_status status;

    if (h->hopeless || h->to->judged >= JUDGED)
        return LM_OK;
    if ((status = prepare(h, t, err)) == LM_E_ARG) {
        h->hopeless = true;
        return lm_error_set(err, LM_OK, "%s", "");
    }
    if (status || !h->n[0] || !h->n[1])
        return status;
    if ((status = grow(h, growth.trees, true, err)) || (status = judge(h, t, err)))
        return status;
    h->rounds += (double)(h->to->trees->n_trees / together(h));
    h->folds++;
    return LM_OK;
}

/* Finds the best number of rounds on held-out folds, and the errors. */
static lm_status try_folds(hearing *h, unsigned *best, lm_error *err)
{
    const folds     by     = { .of = h->fold, .rows = h->l->n, .n = FOLDS };
    const lm_status status = folds_leave_out(&by, try_fold, h, err);

    if (status || h->hopeless || !h->folds)
        return status;
    *best              = (unsigned)ceil(h->rounds / (double)h->folds);
    h->to->mape_priced = h->sum[0] / (double)h->to->judged;
    h->to->mape        = h->sum[1] / (double)h->to->judged;
    return LM_OK;
}

static lm_status hearing_new(const lesson *l, residual_trees *to, hearing *out, lm_error *err)
{
    const size_t n = l->n + 1, width = to->space.n;
    bool         ok = true;

    *out = (hearing){ .l = l, .to = to, .some = malloc(n), .fold = malloc(n * sizeof *out->fold) };
    for (int part = 0; part < 2; part++) {
        out->x[part] = malloc(n * width * sizeof(double));
        out->y[part] = malloc(n * sizeof(double));
        ok &= out->x[part] && out->y[part];
    }
    if (!ok || !out->some || !out->fold)
        return no_memory(err);
    for (size_t i = 0; i < l->n; i++)
        out->fold[i] = l->shape[i] % FOLDS;
    return LM_OK;
}

static void hearing_free(hearing *h)
{
    for (int part = 0; part < 2; part++) {
        free(h->x[part]);
        free(h->y[part]);
    }
    free(h->some);
    free(h->fold);
}

static lm_status learn(hearing *h, bool *gained, lm_error *err)
{
    unsigned  best   = 0;
    lm_status status = try_folds(h, &best, err);

    if (status)
        return status;
    *gained = best > 0 && h->to->mape < (1 - GAIN) * h->to->mape_priced;
    if ((status = prepare(h, NULL, err)) || !*gained)
        return status;
    h->to->rows = h->n[0];
    return grow(h, best, false, err);
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
    else if (!(status = hearing_new(l, to, &h, err)))
        status = count < RESIDUAL_ROWS ? price_all(&h, err) : learn(&h, &gained, err);
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
