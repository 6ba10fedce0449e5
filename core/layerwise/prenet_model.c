/*
 * PreNeT's model: for each type of layer the best of several learners, on the keys of the layer and
 * the operations, memory and time that prenet.h derives of them.
 *
 * Pourali, Boukani, Khazaei, "PreNeT: Leveraging Computational Features to Predict Deep Neural
 * Network Training Time", ICPE 2025, arXiv:2412.15519. Six types: conv, dense, rnn (RNN, GRU and
 * LSTM, by a flag), attention, embedding, layernorm. As published, a forward pass by itself and a
 * whole step by an optimizer are one task, told apart by the flags of optimizers; backward passes
 * and updates by themselves, which it has not, are tasks of their own. Features of devices, in use
 * where several are learned from: clock, memory, bandwidth, cores of three kinds, the memory's bus and
 * clock, peak in 32 bits, and CT, the operations over that peak; by the setting gpu=1 a flag for each
 * GPU, too. Its code has the base clock and the types of the memory and of the bus besides, which not
 * all datasheets here have. The share of dropout is a feature where rows differ in it. Learners: layerwise_best.h. It
 * chooses by the root mean square of milliseconds on rows at random; here it is the mean relative
 * error on shapes that were left out, and logarithms may be learned.
 */
#include "layerwise/layerwise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "layers/schema.h"
#include "layerwise/layerwise_learners.h"
#include "layerwise/prenet.h"

/* A case is one layer that has features, with padding before it and a function behind it. */
typedef struct keys {
    prenet_features features;
    const char     *activation; /* layer type; "": none */
} keys;

static bool in_step(phase f)
{
    return f == PHASE_FORWARD || f == PHASE_INFERENCE || f == PHASE_STEP;
}

/* Attention with the products around it (layerwise_network.h): what it is in a network. */
static bool find_attention(const layerwise_case *c, bool training, keys *out)
{
    const bound_layer *product = NULL, *in = NULL;

    for (size_t i = 0; i < c->n_layers; i++) {
        const bound_layer *l = c->layer[i];

        if (layerwise_is_attention(l))
            product = l;
        else if (!in && !product && prenet_of_layer(l, training).kind == PRENET_DENSE)
            in = l;
    }
    if (!product || !in)
        return false;
    *out = (keys){ prenet_of_attention(product, in, training), "" };
    return true;
}

static bool find_keys(const layerwise_case *c, keys *out)
{
    const bool         training = c->phase != PHASE_FORWARD && c->phase != PHASE_INFERENCE;
    const bound_layer *pad      = NULL;
    bool               loss     = false;

    *out = (keys){ { .kind = PRENET_NONE }, "" };
    if (find_attention(c, training, out))
        return true;
    for (size_t i = 0; i < c->n_layers; i++) {
        const bound_layer    *l = c->layer[i];
        const prenet_features f =
            pad ? prenet_of_padded(pad, l, training) : prenet_of_layer(l, training);

        if (out->features.kind == PRENET_NONE && f.kind != PRENET_NONE)
            out->features = f;
        else if (out->features.kind == PRENET_NONE && !pad && !strcmp(l->decl->type, "pad"))
            pad = l;
        else if (out->features.kind == PRENET_NONE || loss || f.kind != PRENET_NONE)
            return false;
        else if (layerwise_is_loss(l))
            loss = true; /* it has no feature */
        else if (!*out->activation)
            out->activation = l->decl->type;
        else
            return false;
    }
    return out->features.kind != PRENET_NONE;
}

static bool task(const layerwise_case *c, char *name)
{
    keys k;

    if (!find_keys(c, &k))
        return false;
    snprintf(name, LAYERWISE_NAME, "%s%s%s", prenet_kind_name(k.features.kind),
             in_step(c->phase) ? "" : ".", in_step(c->phase) ? "" : phase_name(c->phase));
    return true;
}

static void add_flag(layerwise_features *to, const char *name, bool set)
{
    layerwise_add(to, name, LAYERWISE_FLAG, set);
}

/* Words are flags each, as published. */
static void add_feature(layerwise_features *to, prenet_feature f, double value)
{
    if (f == PRENET_PADDING_SAME) {
        add_flag(to, "padding.same", value == 1);
        add_flag(to, "padding.valid", value == 0);
    } else if (f == PRENET_GATES) {
        add_flag(to, "rnn_type.rnn", value == 1);
        add_flag(to, "rnn_type.gru", value == 3);
        add_flag(to, "rnn_type.lstm", value == 4);
    } else if (f == PRENET_USE_BIAS || f == PRENET_IS_BIDIRECTIONAL) {
        add_flag(to, prenet_feature_name(f), value != 0);
    } else {
        layerwise_add(to, prenet_feature_name(f), LAYERWISE_COUNT, value);
    }
}

static void add_device(const keys *k, const device *on, layerwise_features *to)
{
    static const device_figure figures[] = { DEVICE_CLOCK,    DEVICE_MEMORY, DEVICE_BANDWIDTH,
                                             DEVICE_CORES,    DEVICE_F32,    DEVICE_TENSOR_CORES,
                                             DEVICE_RT_CORES, DEVICE_BUS };
    const double               peak      = on ? on->figure[DEVICE_F32] : NAN;

    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        layerwise_add(to, device_keys[figures[i]].key, LAYERWISE_DEVICE,
                      on ? on->figure[figures[i]] : NAN);
    layerwise_add(to, "memory_clock", LAYERWISE_DEVICE, on ? device_memory_clock(on->figure) : NAN);
    if (!isnan(k->features.value[PRENET_FLOPS]))
        layerwise_add(to, "flops/speed", LAYERWISE_OVER, prenet_time(&k->features, peak / 1e9));
}

/* The largest share of elements that a layer of the case drops: of a layer of its own, or by its key.
 * In evaluation mode nothing is dropped. */
static double dropout_of(const layerwise_case *c)
{
    double most = 0;

    for (size_t i = 0; i < c->n_layers && c->phase != PHASE_INFERENCE; i++) {
        const bound_layer *l   = c->layer[i];
        const bool         own = !strcmp(l->decl->type, "dropout");
        const uint32_t     at  = schema_find(&l->entry->type, own ? "p" : "dropout");

        if (at < l->entry->type.n_params)
            most = fmax(most, l->param[at].u.f[0]);
    }
    return most;
}

static void features(const layerwise_case *c, layerwise_features *out)
{
    keys k;

    if (!find_keys(c, &k))
        return;
    for (prenet_feature f = 0; f < N_PRENET_FEATURES; f++)
        if (!isnan(k.features.value[f]) ||
            (f == PRENET_PADDING_SAME && k.features.kind == PRENET_CONV))
            add_feature(out, f, k.features.value[f]);
    layerwise_add_words(out, "activation", layerwise_activations, k.activation);
    layerwise_add_words(out, "optimizer", layerwise_optimizers, c->optimizer);
    layerwise_add(out, "dropout", LAYERWISE_SOME, dropout_of(c));
    add_device(&k, c->on, out);
}

/* As the paper's ablation has them: operations (CO), memory (CM), time (CT). */
static const char *group(const char *feature)
{
    if (!strcmp(feature, "flops"))
        return "co";
    if (!strcmp(feature, "flops/speed"))
        return "ct";
    return strncmp(feature, "memory_", strlen("memory_")) != 0 ? "baseline" : "cm";
}

const layerwise_kind layerwise_prenet = {
    .name      = "prenet",
    .doc       = "the best of five learners for each type of layer, on its operations and memory",
    .target    = { [LAYERWISE_SECONDS] = true },
    .fewest    = 50,
    .chains    = true,
    .task      = task,
    .features  = features,
    .group     = group,
    .word      = { "gpu" },
    .setting   = { LAYERWISE_BEST_SETTINGS(0, 1) },
    .published = "learner=0,logs=0", /* seconds */
    .learner   = &layerwise_best,
};
