/*
 * Justus' model: perceptrons on the keys of single layers.
 *
 * D. Justus, J. Brennan, S. Bonner, A. S. McGough, "Predicting the Computational Cost of Deep
 * Learning Models", IEEE Big Data 2018, arXiv:1811.11880. Features are the keys of a convolution or
 * a fully connected layer as they are (no count is derived of them), its activation and optimizer
 * one-hot (no optimizer: the forward pass alone), and of models of several GPUs bandwidth, cores
 * and clock. Four or six hidden layers of 32, 64, 128, 128 ... units, relu, dropout behind the
 * last, the loss the mean square of log(1 + milliseconds), Adam at a rate that is halved every so
 * many epochs, L2. What it says of a network is the sum over its layers of these two types.
 *
 * Where the paper says nothing: sizes that are no squares are square roots of their volumes, a
 * convolution is `same` where any pixel is padded, and grouped, dilated and transposed ones are
 * none of its layers; backward passes and updates by themselves are tasks of their own.
 */
#include "models/layerwise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "counts/shape.h"
#include "models/layerwise_learners.h"
#include "network/optimizer.h"

/* What a case is: a convolution or a product, with padding before and a function behind it. */
typedef struct keys {
    layer_shape shape;
    const char *activation; /* layer type; "": none */
} keys;

static bool plain(const layer_shape *s)
{
    if (s->groups != 1)
        return false;
    for (int i = 0; i < 3 && s->kind == SHAPE_CONV; i++)
        if (s->dilation[i] != 1 && s->window[i] != 1)
            return false;
    return s->kind == SHAPE_CONV || s->kind == SHAPE_DENSE;
}

static bool is_function(const bound_layer *l)
{
    return l->n_inputs == 1 && l->n_kernels[LM_FORWARD] == 1 &&
           l->kernels[LM_FORWARD]->op == LM_OP_MAP && !l->n_weights;
}

static bool find_keys(const layerwise_case *c, keys *out)
{
    const bound_layer *pad   = NULL;
    bool               found = false, loss = false;

    out->activation = "";
    for (size_t i = 0; i < c->n_layers; i++) {
        const bound_layer *l = c->layer[i];
        layer_shape        s;

        shape_of_layer(l, &s);
        if (s.kind != SHAPE_OTHER && !found) {
            out->shape = s;
            found      = true;
        } else if (!found && !pad && !strcmp(l->decl->type, "pad")) {
            pad = l;
        } else if (found && !loss && layerwise_is_loss(l)) {
            loss = true; /* it has no feature */
        } else if (found && !loss && !*out->activation && is_function(l)) {
            out->activation = l->decl->type;
        } else {
            return false;
        }
    }
    if (!found || !plain(&out->shape) || (pad && out->shape.kind != SHAPE_CONV))
        return false;
    if (pad)
        shape_pad(pad, &out->shape);
    return true;
}

static bool task(const layerwise_case *c, char *name)
{
    const bool together =
        c->phase == PHASE_FORWARD || c->phase == PHASE_INFERENCE || c->phase == PHASE_STEP;
    keys k;

    if (!find_keys(c, &k))
        return false;
    snprintf(name, LAYERWISE_NAME, "%s%s%s", k.shape.kind == SHAPE_CONV ? "conv" : "dense",
             together ? "" : ".", together ? "" : phase_name(c->phase));
    return true;
}

/* Of a square the side. */
static double side(const int64_t x[3])
{
    return sqrt((double)x[0] * (double)x[1] * (double)x[2]);
}

static void add_conv(const layer_shape *s, layerwise_features *out)
{
    bool padded = false;

    for (int i = 0; i < 3; i++)
        padded |= s->before[i] > 0 || s->behind[i] > 0;
    layerwise_add(out, "batch", LAYERWISE_COUNT, (double)s->n);
    layerwise_add(out, "matsize", LAYERWISE_COUNT, side(s->in));
    layerwise_add(out, "kernelsize", LAYERWISE_COUNT, side(s->window));
    layerwise_add(out, "channels_in", LAYERWISE_COUNT, (double)s->c_in);
    layerwise_add(out, "channels_out", LAYERWISE_COUNT, (double)s->c_out);
    layerwise_add(out, "strides", LAYERWISE_COUNT, side(s->stride));
    layerwise_add(out, "padding.same", LAYERWISE_FLAG, padded);
    layerwise_add(out, "use_bias", LAYERWISE_FLAG, s->bias);
}

static void add_dense(const layer_shape *s, layerwise_features *out)
{
    layerwise_add(out, "batch", LAYERWISE_COUNT, (double)s->n);
    layerwise_add(out, "dim_input", LAYERWISE_COUNT, (double)s->c_in);
    layerwise_add(out, "dim_output", LAYERWISE_COUNT, (double)s->c_out);
}

static void features(const layerwise_case *c, layerwise_features *out)
{
    static const device_figure figures[] = { DEVICE_BANDWIDTH, DEVICE_CORES, DEVICE_CLOCK };
    keys                       k;

    if (!find_keys(c, &k))
        return;
    if (k.shape.kind == SHAPE_CONV)
        add_conv(&k.shape, out);
    else
        add_dense(&k.shape, out);
    layerwise_add_words(out, "activation", layerwise_activations, k.activation);
    layerwise_add_words(out, "optimizer", layerwise_optimizers, c->optimizer);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        layerwise_add(out, device_keys[figures[i]].key, LAYERWISE_DEVICE,
                      c->on ? c->on->figure[figures[i]] : NAN);
}

const layerwise_kind layerwise_justus = {
    .name     = "justus",
    .doc      = "perceptrons on the keys of convolutions and fully connected layers",
    .target   = { [LAYERWISE_SECONDS] = true },
    .fewest   = 200,
    .chains   = true,
    .task     = task,
    .features = features,
    .setting  = LAYERWISE_MLP_SETTINGS,
    .learner  = &layerwise_mlp,
};
