/*
 * Justus' model: perceptrons on the keys of single layers.
 *
 * D. Justus, J. Brennan, S. Bonner, A. S. McGough, "Predicting the Computational Cost of Deep
 * Learning Models", IEEE Big Data 2018, arXiv:1811.11880. Features are the keys of a layer as they
 * are (no count is derived of them): fully connected, convolution, pooling, recurrent; its
 * activation and optimizer one-hot (no optimizer: the forward pass alone), and of models of several
 * GPUs memory, bandwidth, cores, clock and peak. The network has four or six hidden layers of 32,
 * 64, 128, 128 ... units with relu, and dropout after the last. Its loss is the mean square error
 * of log(1 + milliseconds), with L2. Adam's rate is halved every so many epochs. The prediction for
 * a network is the sum over its layers of these types.
 *
 * Where the paper says nothing: a size that is no square becomes the square root of its volume. A
 * convolution or a pool is `same` if any pixel is padded. Grouped, dilated and transposed
 * convolutions and adaptive pools are none of its layers. A flag distinguishes max pools and
 * average pools. Backward passes and updates by themselves are tasks of their own. Among its
 * features of GPUs (VII-C), technology (the architecture) and connection (slot, card or module) are
 * used with the setting gpu=1. The number of GPUs is always one, as layers are measured on one.
 */
#include "layerwise/layerwise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "counts/shape.h"
#include "layers/schema.h"
#include "layerwise/layerwise_learners.h"
#include "network/optimizer.h"

/* Types of layers that it knows. */
typedef enum layer_kind { KIND_NONE, KIND_CONV, KIND_DENSE, KIND_POOL, KIND_RNN } layer_kind;

static const char *const kind_names[] = { "none", "conv", "dense", "pool", "rnn" };

/* A case is a layer of these types, or a product with padding before it and a function behind it.
 */
typedef struct keys {
    layer_kind         kind;
    layer_shape        shape;      /* of products */
    const bound_layer *layer;      /* of others */
    const char        *activation; /* layer type; "": none */
} keys;

static layer_kind kind_of(const bound_layer *l, const layer_shape *s)
{
    static const struct {
        const char *type;
        layer_kind  kind;
    } known[] = { { "max_pool1d", KIND_POOL }, { "max_pool2d", KIND_POOL },
                  { "max_pool3d", KIND_POOL }, { "avg_pool1d", KIND_POOL },
                  { "avg_pool2d", KIND_POOL }, { "avg_pool3d", KIND_POOL },
                  { "rnn", KIND_RNN },         { "gru", KIND_RNN },
                  { "lstm", KIND_RNN } };

    if (s->kind != SHAPE_OTHER)
        return s->kind == SHAPE_CONV ? KIND_CONV : KIND_DENSE;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (!strcmp(known[i].type, l->entry->type.name))
            return known[i].kind;
    return KIND_NONE;
}

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
        layer_kind         kind;

        shape_of_layer(l, &s);
        kind = kind_of(l, &s);
        if (kind != KIND_NONE && !found) {
            out->kind  = kind;
            out->shape = s;
            out->layer = l;
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
    if (!found || (pad && out->kind != KIND_CONV))
        return false;
    if (pad)
        shape_add_pad(pad, &out->shape);
    return (out->kind != KIND_CONV && out->kind != KIND_DENSE) || plain(&out->shape);
}

static bool task(const layerwise_case *c, char *name)
{
    const bool together =
        c->phase == PHASE_FORWARD || c->phase == PHASE_INFERENCE || c->phase == PHASE_STEP;
    keys k;

    if (!find_keys(c, &k))
        return false;
    snprintf(name, LAYERWISE_NAME, "%s%s%s", kind_names[k.kind], together ? "" : ".",
             together ? "" : phase_name(c->phase));
    return true;
}

/* Side of a square. */
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

/* A key has a number for each axis, or one for all axes: the side of the square. */
static double axes_of(const bound_layer *l, const char *name, double none)
{
    const uint32_t i      = schema_find(&l->entry->type, name);
    double         volume = 1;

    if (i == l->entry->type.n_params || !l->param[i].count)
        return none;
    for (uint32_t k = 0; k < l->param[i].count; k++)
        volume *= (double)l->param[i].u.i[k];
    return volume > 0 ? sqrt(volume) : none;
}

static bool pads(const bound_layer *l)
{
    const uint32_t i   = schema_find(&l->entry->type, "padding");
    bool           any = false;

    for (uint32_t k = 0; i < l->entry->type.n_params && k < l->param[i].count; k++)
        any |= l->param[i].u.i[k] > 0;
    return any;
}

static void add_pool(const bound_layer *l, layerwise_features *out)
{
    const lm_tensor *x      = &l->input[0];
    const double     kernel = axes_of(l, "kernel", 1);
    double           image  = 1;

    for (uint32_t d = 2; d < x->rank; d++)
        image *= (double)x->dim[d];
    layerwise_add(out, "batch", LAYERWISE_COUNT, (double)x->dim[0]);
    layerwise_add(out, "matsize", LAYERWISE_COUNT, sqrt(image));
    layerwise_add(out, "kernelsize", LAYERWISE_COUNT, kernel);
    layerwise_add(out, "channels_in", LAYERWISE_COUNT, (double)x->dim[1]);
    layerwise_add(out, "strides", LAYERWISE_COUNT, axes_of(l, "stride", kernel));
    layerwise_add(out, "padding.same", LAYERWISE_FLAG, pads(l));
    layerwise_add(out, "pool.max", LAYERWISE_FLAG, !strncmp(l->entry->type.name, "max", 3));
}

static double number_of(const bound_layer *l, const char *name)
{
    const uint32_t i = schema_find(&l->entry->type, name);

    return i < l->entry->type.n_params ? (double)l->param[i].u.i[0] : 0;
}

static void add_rnn(const bound_layer *l, layerwise_features *out)
{
    static const char *const types[] = { "rnn", "gru", "lstm", NULL };
    const lm_tensor         *x       = &l->input[0];

    layerwise_add(out, "batch", LAYERWISE_COUNT, (double)x->dim[0]);
    layerwise_add(out, "sequence", LAYERWISE_COUNT, (double)x->dim[1]);
    layerwise_add(out, "dim_input", LAYERWISE_COUNT, (double)x->dim[2]);
    layerwise_add(out, "dim_hidden", LAYERWISE_COUNT, number_of(l, "hidden"));
    layerwise_add(out, "layers", LAYERWISE_COUNT, number_of(l, "layers"));
    layerwise_add(out, "bidirectional", LAYERWISE_FLAG, number_of(l, "bidirectional") != 0);
    layerwise_add_words(out, "recurrence", types, l->entry->type.name);
}

static void features(const layerwise_case *c, layerwise_features *out)
{
    static const device_figure figures[] = { DEVICE_BANDWIDTH, DEVICE_CORES, DEVICE_CLOCK,
                                             DEVICE_MEMORY, DEVICE_F32 };
    keys                       k;

    if (!find_keys(c, &k))
        return;
    switch (k.kind) {
    case KIND_CONV: add_conv(&k.shape, out); break;
    case KIND_DENSE: add_dense(&k.shape, out); break;
    case KIND_POOL: add_pool(k.layer, out); break;
    case KIND_RNN: add_rnn(k.layer, out); break;
    case KIND_NONE: break;
    }
    layerwise_add_words(out, "activation", layerwise_activations, k.activation);
    layerwise_add_words(out, "optimizer", layerwise_optimizers, c->optimizer);
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        layerwise_add(out, device_keys[figures[i]].key, LAYERWISE_DEVICE,
                      c->on ? c->on->figure[figures[i]] : NAN);
}

const layerwise_kind layerwise_justus = {
    .name = "justus",
    .doc = "perceptrons on the keys of convolutions, fully connected, pooling and recurrent layers",
    .target    = { [LAYERWISE_SECONDS] = true },
    .fewest    = 200,
    .chains    = true,
    .task      = task,
    .features  = features,
    .word      = { "technology", "connection" },
    .setting   = LAYERWISE_MLP_SETTINGS,
    .published = "epochs=300,rate=0.1,epsilon=0.1", /* epsilon by its code */
    .learner   = &layerwise_mlp,
};
