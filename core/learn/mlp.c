/* Multi-layer perceptrons: training, and predictions. */
#include "learn/mlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/random.h"
#include "learn/mlp_net.h"

#define BETA1          0.9
#define BETA2          0.999
#define EPSILON        1e-8
#define LEAST_GRADIENT 1e-15F
#define LEAST_SQUARE   1e-30F
#define LEAST_WEIGHT   1e-12F

/** Rows of a prediction that are taken at once. */
#define CHUNK 1024

typedef struct mlp_training {
    const learn_rows  *rows, *held;
    const mlp_options *o;
    mlp               *m;
    mlp_room           room;
    float             *y;                         /* scaled, of all rows */
    size_t            *order;                     /* of rows, anew in each epoch */
    float             *gradient, *first, *second; /* Adam's moments */
    float             *target;                    /* of a batch */
    float             *best;
    uint64_t           random;
    uint64_t           step;
} mlp_training;

/* ---- opening ---- */

static lm_status check_options(const mlp_options *o, lm_error *err)
{
    if (o->epochs < 1 || o->batch < 1)
        return lm_error_set(err, LM_E_ARG, "%zu epochs of batches of %zu: must be 1 or more",
                            o->epochs, o->batch);
    if (!(o->rate > 0) || !(o->decay > 0) || !(o->l2 >= 0))
        return lm_error_set(err, LM_E_ARG, "rate %g, decay %g, l2 %g: above 0, above 0, 0 or more",
                            o->rate, o->decay, o->l2);
    if (!(o->dropout >= 0 && o->dropout < 1))
        return lm_error_set(err, LM_E_ARG, "dropout %g: 0 to less than 1", o->dropout);
    return LM_OK;
}

/* Mean and standard deviation of every stride-th value; 1 where all are equal. */
static void moments(const double *x, size_t n, size_t stride, double *mean, double *deviation)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i * stride];
    *mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i * stride] - *mean) * (x[i * stride] - *mean);
    *deviation = squares > 0 ? sqrt(squares / (double)n) : 1;
}

/* In [0, 1). */
static double uniform(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

static void begin_weights(mlp *m, uint64_t *random)
{
    for (size_t i = 0; i <= m->n_layers; i++) {
        const mlp_layer l     = mlp_layer_at(m, i);
        const double    bound = sqrt(6 / (double)l.inputs);

        for (size_t k = l.at; k < l.bias; k++)
            m->weight[k] = (float)(bound * (2 * uniform(random) - 1));
    }
}

static lm_status training_new(mlp_training *t, lm_error *err)
{
    const size_t n = t->rows->n, weights = t->m->n_weights;
    lm_status    status;

    t->y        = malloc(n * sizeof *t->y);
    t->order    = malloc(n * sizeof *t->order);
    t->gradient = calloc(weights, sizeof *t->gradient);
    t->first    = calloc(weights, sizeof *t->first);
    t->second   = calloc(weights, sizeof *t->second);
    t->best     = calloc(weights, sizeof *t->best);
    t->target   = malloc(t->o->batch * sizeof *t->target);
    if (!t->y || !t->order || !t->gradient || !t->first || !t->second || !t->best || !t->target)
        return no_memory(err);
    if ((status = mlp_room_new(t->m, t->o->batch, &t->room, err)))
        return status;
    if (t->o->dropout > 0 && t->m->n_layers) {
        t->room.mask = calloc(t->o->batch * t->m->width[t->m->n_layers - 1], sizeof(float));
        if (!t->room.mask)
            return no_memory(err);
    }
    for (size_t k = 0; k < t->m->n_features; k++)
        moments(t->rows->x + k, n, t->m->n_features, &t->m->mean[k], &t->m->deviation[k]);
    moments(t->rows->y, n, 1, &t->m->y_mean, &t->m->y_deviation);
    for (size_t i = 0; i < n; i++) {
        t->y[i]     = (float)((t->rows->y[i] - t->m->y_mean) / t->m->y_deviation);
        t->order[i] = i;
    }
    begin_weights(t->m, &t->random);
    return LM_OK;
}

static void training_free(mlp_training *t)
{
    free_all(t->y, t->order, t->gradient, t->first, t->second, t->best, t->target);
    mlp_room_free(&t->room);
}

/* ---- epochs ---- */

static void draw_mask(mlp_training *t, size_t n)
{
    const float  keep  = (float)(1 / (1 - t->o->dropout));
    const size_t units = t->room.mask ? n * t->m->width[t->m->n_layers - 1] : 0;

    for (size_t k = 0; k < units; k++)
        t->room.mask[k] = uniform(&t->random) < t->o->dropout ? 0 : keep;
}

/* l2 is of weights, not of biases. */
static void shrink(const mlp_training *t)
{
    const float *weight = t->m->weight, l2 = (float)t->o->l2;
    float       *gradient = t->gradient;

    for (size_t i = 0; l2 > 0 && i <= t->m->n_layers; i++) {
        const mlp_layer l = mlp_layer_at(t->m, i);

        for (size_t k = l.at; k < l.bias; k++)
            gradient[k] += l2 * weight[k];
    }
}

/* Weights of units that no row activates decay towards denormal numbers by l2. Products of
 * denormals take a hundred times as long: they become zero. Adam's epsilon is far above them. */
static float zeroed(float x, float least)
{
    return fabsf(x) < least ? 0 : x;
}

static void adam(mlp_training *t, double rate)
{
    const double step = (double)++t->step, epsilon = t->o->epsilon > 0 ? t->o->epsilon : EPSILON;
    const float  by   = (float)(rate * sqrt(1 - pow(BETA2, step)) / (1 - pow(BETA1, step)));
    const float  tiny = (float)(epsilon * sqrt(1 - pow(BETA2, step)));
    const float  b1 = (float)BETA1, b2 = (float)BETA2;
    const float *gradient = t->gradient;
    float       *first = t->first, *second = t->second, *weight = t->m->weight;
    const size_t n = t->m->n_weights;

    for (size_t k = 0; k < n; k++) {
        const float g = zeroed(gradient[k], LEAST_GRADIENT);
        const float a = zeroed(b1 * first[k] + (1 - b1) * g, LEAST_GRADIENT);
        const float b = zeroed(b2 * second[k] + (1 - b2) * g * g, LEAST_SQUARE);

        first[k]  = a;
        second[k] = b;
        weight[k] = zeroed(weight[k] - by * a / (sqrtf(b) + tiny), LEAST_WEIGHT);
    }
}

/* Scaled mean squared error of the rows, with dropout; each row by the weights at its turn. */
static double epoch(mlp_training *t, double rate)
{
    const size_t n       = t->rows->n;
    double       squares = 0;

    random_shuffle(t->order, n, &t->random);
    for (size_t at = 0; at < n; at += t->o->batch) {
        const size_t size = n - at < t->o->batch ? n - at : t->o->batch;
        const float *out;

        for (size_t b = 0; b < size; b++) {
            const size_t row = t->order[at + b];

            mlp_scale(t->m, t->rows->x + row * t->m->n_features, b, &t->room);
            t->target[b] = t->y[row];
        }
        draw_mask(t, size);
        out = mlp_forward(t->m, &t->room, size);
        for (size_t b = 0; b < size; b++)
            squares += pow((double)(out[b] - t->target[b]), 2);
        mlp_backward(t->m, &t->room, t->target, size, t->gradient);
        shrink(t);
        adam(t, rate);
    }
    return squares / (double)n;
}

/* Root mean squared error of others. */
static lm_status judge(const mlp_training *t, double *out, lm_error *err)
{
    const learn_rows *held    = t->held;
    double           *found   = held ? malloc((held->n + 1) * sizeof *found) : NULL;
    double            squares = 0;
    lm_status         status;

    *out = NAN;
    if (!held)
        return LM_OK;
    if (!found)
        return no_memory(err);
    status = mlp_predict(t->m, held->x, held->n, found, err);
    for (size_t i = 0; i < held->n && !status; i++)
        squares += (found[i] - held->y[i]) * (found[i] - held->y[i]);
    if (!status)
        *out = sqrt(squares / (double)held->n);
    free(found);
    return status;
}

static lm_status train(mlp_training *t, mlp_listener *said, void *context, lm_error *err)
{
    const size_t bytes = t->m->n_weights * sizeof *t->best;
    double       rate = t->o->rate, best = HUGE_VAL;

    for (size_t e = 0; e < t->o->epochs; e++) {
        double    mine, held;
        lm_status status;

        if (e && t->o->decay_every && e % t->o->decay_every == 0)
            rate *= t->o->decay;
        mine = sqrt(epoch(t, rate)) * t->m->y_deviation;
        if ((status = judge(t, &held, err)))
            return status;
        if (said)
            said(context, e + 1, mine, held);
        if (!t->held || held < best) {
            best = held;
            memcpy(t->best, t->m->weight, bytes);
        }
    }
    memcpy(t->m->weight, t->best, bytes);
    for (size_t k = 0; k < t->m->n_weights; k++)
        if (!isfinite(t->best[k]))
            return lm_error_set(err, LM_E_ARG, "training diverged: take a rate below %g",
                                t->o->rate);
    return LM_OK;
}

lm_status mlp_train(const learn_rows *rows, const learn_rows *held, const mlp_options *o,
                    mlp_listener *said, void *context, mlp **out, lm_error *err)
{
    mlp_training t      = { .rows = rows, .held = held, .o = o, .random = o->seed };
    lm_status    status = check_options(o, err);

    if (held && !held->n)
        t.held = NULL;
    if (!status && t.held && held->n_features != rows->n_features)
        status = lm_error_set(err, LM_E_ARG, "%zu features to learn from, %zu to judge by",
                              rows->n_features, held->n_features);
    if (status || (status = learn_rows_check(rows, MLP_WIDTH, err)) ||
        (t.held && (status = learn_rows_check(held, MLP_WIDTH, err))) ||
        (status = mlp_new(rows->n_features, o->width, o->n_layers, &t.m, err)))
        return status;
    if (!(status = training_new(&t, err)))
        status = train(&t, said, context, err);
    training_free(&t);
    if (status)
        mlp_free(t.m);
    else
        *out = t.m;
    return status;
}

/* ---- predictions ---- */

lm_status mlp_predict(const mlp *m, const double *x, size_t n, double *y, lm_error *err)
{
    mlp_room  room;
    lm_status status = mlp_room_new(m, n < CHUNK ? n + 1 : CHUNK, &room, err);

    if (status)
        return status;
    for (size_t at = 0; at < n; at += CHUNK) {
        const size_t size = n - at < CHUNK ? n - at : CHUNK;
        const float *out;

        for (size_t b = 0; b < size; b++)
            mlp_scale(m, x + (at + b) * m->n_features, b, &room);
        out = mlp_forward(m, &room, size);
        for (size_t b = 0; b < size; b++)
            y[at + b] = m->y_mean + m->y_deviation * (double)out[b];
    }
    mlp_room_free(&room);
    return LM_OK;
}
