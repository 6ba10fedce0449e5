/* A perceptron for each task. */
#include "baselines/layerwise_mlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/random.h"
#include "learn/mlp.h"

#define HELD 10 /* one row of so many */

/* In the order of LAYERWISE_MLP_SETTINGS. */
enum { LAYERS, EPOCHS, ROWS, RATE, HALVE, L2, DROPOUT };

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
                      .seed        = seed };

    for (size_t i = 0; i < o.n_layers; i++)
        o.width[i] = i < 2 ? (size_t)32 << i : 128;
    return o;
}

/* Rows in random order: the first are held. */
static lm_status part(const learner_rows *rows, double unit, uint64_t seed, double **x, double **y,
                      lm_error *err)
{
    const size_t width = rows->n_features;
    size_t      *order = malloc((rows->n + 1) * sizeof *order);

    *x = malloc((rows->n * width + 1) * sizeof **x);
    *y = malloc((rows->n + 1) * sizeof **y);
    if (!order || !*x || !*y) {
        free(order);
        return no_memory(err);
    }
    for (size_t i = 0; i < rows->n; i++)
        order[i] = i;
    for (size_t i = rows->n; i > 1; i--) {
        const size_t other = (size_t)random_below(&seed, i), swap = order[i - 1];

        order[i - 1] = order[other];
        order[other] = swap;
    }
    for (size_t i = 0; i < rows->n; i++) {
        memcpy(*x + i * width, rows->x + order[i] * width, width * sizeof **x);
        (*y)[i] = to_log(rows->y[order[i]], unit);
    }
    free(order);
    return LM_OK;
}

static lm_status judge(const mlp *m, const learn_rows *held, double unit, double *out,
                       lm_error *err)
{
    double   *found  = malloc((held->n + 1) * sizeof *found);
    double    sum    = 0;
    lm_status status = found ? mlp_predict(m, held->x, held->n, found, err) : no_memory(err);

    for (size_t i = 0; i < held->n && !status; i++)
        sum += fabs(from_log(found[i], unit) / from_log(held->y[i], unit) - 1);
    *out = held->n ? sum / (double)held->n : NAN;
    free(found);
    return status;
}

static lm_status learn(const char *task, const learner_rows *rows, layerwise_target target,
                       const double *setting, uint64_t seed, void **out,
                       layerwise_judgement *judged, lm_error *err)
{
    const mlp_options o = options_of(setting, seed);
    const size_t      n = rows->n / HELD;
    double           *x = NULL, *y = NULL;
    taught           *t      = calloc(1, sizeof *t);
    lm_status         status = t ? LM_OK : no_memory(err);

    (void)task;
    if (!status) {
        t->unit = target == LAYERWISE_SECONDS ? 1e-3 : 1;
        status  = part(rows, t->unit, seed, &x, &y, err);
    }
    if (!status) {
        const learn_rows held = { x, y, n, rows->n_features };
        const learn_rows seen = { x + n * rows->n_features, y + n, rows->n - n, rows->n_features };

        *judged = (layerwise_judgement){ .seen = seen.n, .held = n };
        status  = mlp_train(&seen, &held, &o, NULL, NULL, &t->m, err);
        if (!status)
            status = judge(t->m, &held, t->unit, &judged->mape, err);
    }
    free(x);
    free(y);
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

static void write(FILE *out, const void *learned)
{
    const taught *t = learned;

    fprintf(out, "unit_of_log %.17g\n", t->unit);
    mlp_write(out, t->m);
}

static lm_status read(lines *in, void **out, size_t *n_features, lm_error *err)
{
    taught    t = { NULL, 0 };
    char     *rest;
    lm_status status = lines_expect(in, "unit_of_log", &rest, err);

    if (status || (status = lines_numbers(in, rest, &t.unit, 1, err)))
        return status;
    if (!(t.unit > 0))
        return lines_fail(in, err, LM_E_ARG, "a unit of %g", t.unit);
    if ((status = mlp_read(in, &t.m, err)))
        return status;
    if (!(*out = malloc(sizeof t))) {
        mlp_free(t.m);
        return no_memory(err);
    }
    *n_features = mlp_n_features(t.m);
    memcpy(*out, &t, sizeof t);
    return LM_OK;
}

static void release(void *learned)
{
    taught *t = learned;

    mlp_free(t->m);
    free(t);
}

const layerwise_learner layerwise_mlp = { learn, predict, write, read, release, NULL };
