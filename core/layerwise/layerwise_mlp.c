/* A perceptron for each task. */
#include "base/order.h"
#include "layerwise/layerwise_learners.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/random.h"
#include "learn/mlp.h"

#define HELD 10 /* one row of so many */

/* In the order of LAYERWISE_MLP_SETTINGS. */
enum { LAYERS, EPOCHS, ROWS, RATE, HALVE, L2, DROPOUT, EPSILON };

typedef struct taught {
    mlp   *m;
    double unit; /* what 1 + ... is counted in: seconds in milliseconds, watts in watts */
} taught;

static double to_log(double y, double unit)
{
    return log1p(y / unit);
}

static double from_log(double z, double unit)
{
    return unit * fmax(0, expm1(z));
}

static mlp_options options_of(const double *setting, uint64_t seed)
{
    mlp_options o = { .n_layers    = (size_t)setting[LAYERS],
                      .epochs      = (size_t)setting[EPOCHS],
                      .batch       = (size_t)setting[ROWS],
                      .rate        = setting[RATE],
                      .decay       = 0.5,
                      .decay_every = (size_t)setting[HALVE],
                      .l2          = setting[L2],
                      .dropout     = setting[DROPOUT],
                      .epsilon     = setting[EPSILON],
                      .seed        = seed };

    for (size_t i = 0; i < o.n_layers; i++)
        o.width[i] = i < 2 ? (size_t)32 << i : 128;
    return o;
}

/* Rows in random order; the first ones are held out. */
typedef struct dealt {
    size_t *order;
    double *x, *y;
    size_t  held;
    bool    by_group; /* whole groups are held out */
} dealt;

static void dealt_free(dealt *d)
{
    free_all(d->order, d->x, d->y);
}

static void draw(size_t *order, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    random_shuffle(order, n, &seed);
}

typedef struct member {
    uint64_t group;
    size_t   place; /* in the order */
} member;

ORDER_BY_BOTH(by_group, member, group, place)

/*
 * Moves whole groups to the front of the order, by their first rows, up to `most` rows. All others
 * keep their order. Returns the number of rows moved.
 */
static size_t groups_first(const uint64_t *group, size_t *order, size_t n, size_t most, member *all,
                           bool *held)
{
    size_t *to = malloc((n + 1) * sizeof *to), front = 0, back;

    if (!to)
        return SIZE_MAX;
    for (size_t i = 0; i < n; i++)
        all[i] = (member){ group[order[i]], i };
    qsort(all, n, sizeof *all, by_group);
    for (size_t i = 0; i < n; i++)
        held[i] = false;
    for (size_t i = 0; i < n && front < most; i++) {
        const member  first = { group[order[i]], i };
        const member *at    = bsearch(&first, all, n, sizeof *all, by_group);
        size_t        rows  = 0;

        if (at > all && at[-1].group == at->group) /* it was looked at */
            continue;
        while (at + rows < all + n && at[rows].group == at->group)
            rows++;
        for (size_t k = 0; k < rows && front + rows <= most; k++)
            held[at[k].place] = true;
        front += front + rows <= most ? rows : 0;
    }
    back = front;
    for (size_t i = 0, next = 0; i < n; i++)
        to[held[i] ? next++ : back++] = order[i];
    memcpy(order, to, n * sizeof *order);
    free(to);
    return front;
}

static lm_status deal(const learner_rows *rows, double unit, uint64_t seed, dealt *out,
                      lm_error *err)
{
    const size_t width = rows->n_features;
    member      *all   = malloc((rows->n + 1) * sizeof *all);
    bool        *held  = malloc((rows->n + 1) * sizeof *held);
    size_t       whole = SIZE_MAX;

    *out = (dealt){ .order = malloc((rows->n + 1) * sizeof *out->order),
                    .x     = malloc((rows->n * width + 1) * sizeof *out->x),
                    .y     = malloc((rows->n + 1) * sizeof *out->y),
                    .held  = rows->n / HELD };
    if (all && held && out->order && out->x && out->y) {
        draw(out->order, rows->n, seed);
        whole = groups_first(rows->group, out->order, rows->n, out->held, all, held);
    }
    free(all);
    free(held);
    if (whole == SIZE_MAX)
        return no_memory(err);
    out->by_group = whole > 0;
    out->held     = whole ? whole : out->held;
    for (size_t i = 0; i < rows->n; i++) {
        memcpy(out->x + i * width, rows->x + out->order[i] * width, width * sizeof *out->x);
        out->y[i] = to_log(rows->y[out->order[i]], unit);
    }
    return LM_OK;
}

/* Predictions of the rows that are held out, and their error. */
static lm_status judge(const mlp *m, const dealt *d, double unit, layerwise_judgement *judged,
                       double *left_out, lm_error *err)
{
    double   *found  = malloc((d->held + 1) * sizeof *found);
    double    sum    = 0;
    lm_status status = found ? mlp_predict(m, d->x, d->held, found, err) : no_memory(err);

    for (size_t i = 0; i < d->held && !status; i++) {
        const double said = from_log(found[i], unit);

        sum += fabs(said / from_log(d->y[i], unit) - 1);
        if (d->by_group)
            left_out[d->order[i]] = said;
    }
    judged->mape = d->held ? sum / (double)d->held : NAN;
    free(found);
    return status;
}

static lm_status learn(const char *task, const learner_rows *rows, layerwise_target target,
                       const double *setting, uint64_t seed, void **out,
                       layerwise_judgement *judged, double *left_out, lm_error *err)
{
    const mlp_options o      = options_of(setting, seed);
    dealt             d      = { .held = 0 };
    taught           *t      = calloc(1, sizeof *t);
    lm_status         status = t ? LM_OK : no_memory(err);

    (void)task;
    for (size_t i = 0; i < rows->n; i++)
        left_out[i] = NAN;
    if (!status) {
        t->unit = target == LAYERWISE_SECONDS ? 1e-3 : 1;
        status  = deal(rows, t->unit, seed, &d, err);
    }
    if (!status) {
        const size_t     width = rows->n_features, n = d.held;
        const learn_rows held = { d.x, d.y, n, width };
        const learn_rows seen = { d.x + n * width, d.y + n, rows->n - n, width };

        *judged = (layerwise_judgement){ .seen = seen.n, .held = n };
        status  = mlp_train(&seen, &held, &o, NULL, NULL, &t->m, err);
        if (!status)
            status = judge(t->m, &d, t->unit, judged, left_out, err);
    }
    dealt_free(&d);
    if (!status) {
        *out = t;
        return LM_OK;
    }
    if (t)
        mlp_free(t->m);
    free(t);
    return status;
}

static lm_status predict(const void *learned, const double *x, size_t n, double *y, lm_error *err)
{
    const taught   *t      = learned;
    const lm_status status = mlp_predict(t->m, x, n, y, err);

    for (size_t i = 0; i < n && !status; i++)
        y[i] = from_log(y[i], t->unit);
    return status;
}

static size_t text(lines *l, void **learned)
{
    taught *t = *learned = lines_made(l, *learned, sizeof *t);

    if (!t)
        return 0;
    LINE(l, "unit_of_log", ITEM_REAL(&t->unit, DBL_TRUE_MIN, DBL_MAX));
    mlp_text(l, &t->m);
    return l->status ? 0 : mlp_n_features(t->m);
}

static void release(void *learned)
{
    taught *t = learned;

    mlp_free(t->m);
    free(t);
}

const layerwise_learner layerwise_mlp = { learn, predict, text, release, NULL, NULL, NULL };
