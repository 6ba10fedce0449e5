/* Weights of a multi-layer perceptron, and its two passes over a batch. */
#include "learn/mlp_net.h"

#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/no_memory.h"

mlp_layer mlp_layer_at(const mlp *m, size_t layer)
{
    mlp_layer l = { .inputs = m->n_features };

    for (size_t i = 0;; i++) {
        l.outputs = i < m->n_layers ? m->width[i] : 1;
        l.bias    = l.at + l.inputs * l.outputs;
        if (i == layer)
            return l;
        l.at     = l.bias + l.outputs;
        l.inputs = l.outputs;
    }
}

lm_status mlp_new(size_t n_features, const size_t *width, size_t n_layers, mlp **out, lm_error *err)
{
    mlp *m;

    if (n_features < 1 || n_features > MLP_WIDTH || n_layers > MLP_LAYERS)
        return lm_error_set(err, LM_E_ARG,
                            "%zu features and %zu hidden layers: 1 to %d and 0 to %d", n_features,
                            n_layers, MLP_WIDTH, MLP_LAYERS);
    for (size_t i = 0; i < n_layers; i++)
        if (width[i] < 1 || width[i] > MLP_WIDTH)
            return lm_error_set(err, LM_E_ARG, "a layer of %zu units: 1 to %d", width[i],
                                MLP_WIDTH);
    if (!(m = calloc(1, sizeof *m)))
        return no_memory(err);
    m->n_features = n_features;
    m->n_layers   = n_layers;
    memcpy(m->width, width, n_layers * sizeof *width);
    m->n_weights = mlp_layer_at(m, n_layers).bias + 1;
    m->weight    = calloc(m->n_weights, sizeof *m->weight);
    m->mean      = calloc(n_features, sizeof *m->mean);
    m->deviation = calloc(n_features, sizeof *m->deviation);
    if (!m->weight || !m->mean || !m->deviation) {
        mlp_free(m);
        return no_memory(err);
    }
    *out = m;
    return LM_OK;
}

void mlp_free(mlp *m)
{
    if (!m)
        return;
    free_all(m->weight, m->mean, m->deviation, m);
}

size_t mlp_n_features(const mlp *m)
{
    return m->n_features;
}

static size_t widest(const mlp *m)
{
    size_t most = 1;

    for (size_t i = 0; i < m->n_layers; i++)
        most = m->width[i] > most ? m->width[i] : most;
    return most;
}

void mlp_room_free(mlp_room *r)
{
    for (size_t i = 0; i < MLP_LAYERS + 2; i++)
        free(r->out[i]);
    free(r->delta[0]);
    free(r->delta[1]);
    free(r->mask);
}

lm_status mlp_room_new(const mlp *m, size_t batch, mlp_room *out, lm_error *err)
{
    mlp_room  r      = { .batch = batch };
    bool      all    = true;
    lm_status status = blas_load(err);

    if (status)
        return status;
    for (size_t i = 0; i <= m->n_layers + 1; i++) {
        const size_t width = i ? mlp_layer_at(m, i - 1).outputs : m->n_features;

        all &= (r.out[i] = calloc(batch * width, sizeof(float))) != NULL;
    }
    for (int i = 0; i < 2; i++)
        all &= (r.delta[i] = calloc(batch * widest(m), sizeof(float))) != NULL;
    if (!all) {
        mlp_room_free(&r);
        return no_memory(err);
    }
    *out = r;
    return LM_OK;
}

void mlp_scale(const mlp *m, const double *x, size_t row, mlp_room *r)
{
    float *to = r->out[0] + row * m->n_features;

    for (size_t k = 0; k < m->n_features; k++)
        to[k] = (float)((x[k] - m->mean[k]) / m->deviation[k]);
}

const float *mlp_forward(const mlp *m, mlp_room *r, size_t n)
{
    for (size_t i = 0; i <= m->n_layers; i++) {
        const mlp_layer l      = mlp_layer_at(m, i);
        const size_t    hidden = i < m->n_layers ? n * l.outputs : 0;
        const float    *mask   = i + 1 == m->n_layers ? r->mask : NULL;
        float          *out    = r->out[i + 1];

        for (size_t b = 0; b < n; b++)
            memcpy(out + b * l.outputs, m->weight + l.bias, l.outputs * sizeof *out);
        blas.cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)l.outputs,
                         (int)l.inputs, 1, r->out[i], (int)l.inputs, m->weight + l.at,
                         (int)l.inputs, 1, out, (int)l.outputs);
        for (size_t k = 0; k < hidden; k++)
            out[k] = out[k] > 0 ? out[k] : 0;
        for (size_t k = 0; mask && k < hidden; k++)
            out[k] *= mask[k];
    }
    return r->out[m->n_layers + 1];
}

/* Gradients of one layer, from the gradient by its outputs. */
static void layer_gradient(const mlp_layer *l, const float *in, const float *delta, size_t n,
                           float *gradient)
{
    const size_t outputs = l->outputs;
    float       *bias    = gradient + l->bias;

    blas.cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)l->outputs, (int)l->inputs,
                     (int)n, 1, delta, (int)l->outputs, in, (int)l->inputs, 0, gradient + l->at,
                     (int)l->inputs);
    memset(bias, 0, outputs * sizeof *bias);
    for (size_t b = 0; b < n; b++, delta += outputs)
        for (size_t k = 0; k < outputs; k++)
            bias[k] += delta[k];
}

void mlp_backward(const mlp *m, mlp_room *r, const float *y, size_t n, float *gradient)
{
    float       *delta = r->delta[0], *before = r->delta[1];
    const float *out = r->out[m->n_layers + 1];

    for (size_t b = 0; b < n; b++)
        delta[b] = (out[b] - y[b]) / (float)n;
    for (size_t i = m->n_layers + 1; i-- > 0;) {
        const mlp_layer l  = mlp_layer_at(m, i);
        const float    *in = r->out[i], *mask = i == m->n_layers ? r->mask : NULL;
        float          *swap = delta;

        layer_gradient(&l, in, delta, n, gradient);
        if (!i)
            break;
        blas.cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)l.inputs,
                         (int)l.outputs, 1, delta, (int)l.outputs, m->weight + l.at, (int)l.inputs,
                         0, before, (int)l.inputs);
        for (size_t k = 0; k < n * l.inputs; k++) {
            if (in[k] <= 0) /* relu, and what dropout left out */
                before[k] = 0;
            else if (mask)
                before[k] *= mask[k];
        }
        delta  = before;
        before = swap;
    }
}
