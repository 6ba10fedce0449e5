/* PreNeT's features of a layer. The formulas, their source and what they leave out stand in
 * prenet.h. */
#include "layerwise/prenet.h"

#include <math.h>
#include <string.h>

#include "layers/schema.h"

const char *prenet_kind_name(prenet_kind kind)
{
    static const char *const names[] = { "none",      "conv",      "dense",    "rnn",
                                         "attention", "embedding", "layernorm" };

    return names[kind];
}

const char *prenet_feature_name(prenet_feature f)
{
    static const char *const names[N_PRENET_FEATURES] = {
        [PRENET_BATCHSIZE]         = "batchsize",
        [PRENET_MATSIZE]           = "matsize",
        [PRENET_KERNELSIZE]        = "kernelsize",
        [PRENET_CHANNELS_IN]       = "channels_in",
        [PRENET_CHANNELS_OUT]      = "channels_out",
        [PRENET_STRIDES]           = "strides",
        [PRENET_PADDING_SAME]      = "padding_same",
        [PRENET_USE_BIAS]          = "use_bias",
        [PRENET_DIM_INPUT]         = "dim_input",
        [PRENET_DIM_OUTPUT]        = "dim_output",
        [PRENET_SEQ_LEN]           = "seq_len",
        [PRENET_DIM_HIDDEN]        = "dim_hidden",
        [PRENET_NUM_LAYERS]        = "num_layers",
        [PRENET_IS_BIDIRECTIONAL]  = "is_bidirectional",
        [PRENET_GATES]             = "gates",
        [PRENET_EMBED_DIM]         = "embed_dim",
        [PRENET_NUM_HEADS]         = "num_heads",
        [PRENET_VOCAB_SIZE]        = "vocab_size",
        [PRENET_PRECISION]         = "precision",
        [PRENET_FLOPS]             = "flops",
        [PRENET_MEMORY_WEIGHTS]    = "memory_weights",
        [PRENET_MEMORY_IN]         = "memory_in",
        [PRENET_MEMORY_OUT]        = "memory_out",
        [PRENET_MEMORY_PROJECTION] = "memory_projection",
        [PRENET_MEMORY_ATTENTION]  = "memory_attention",
        [PRENET_MEMORY_EMBEDDINGS] = "memory_embeddings",
        [PRENET_MEMORY_TOTAL]      = "memory_total",
    };

    return names[f];
}

/* First value of an integer or boolean key; 0 where the type has no such key. */
static double key(const bound_layer *l, const char *name)
{
    const uint32_t i = schema_find(&l->entry->type, name);

    return i < l->entry->type.n_params ? (double)l->param[i].u.i[0] : 0;
}

/* Product of the dimensions from `first` up to, not including, `end`. */
static double volume(const lm_tensor *t, uint32_t first, uint32_t end)
{
    double product = 1;

    for (uint32_t d = first; d < end; d++)
        product *= (double)t->dim[d];
    return product;
}

static double square(double x)
{
    return x * x;
}

/* The forward kernel of a type that has one product; NULL if it is lowered otherwise. */
static const lm_kernel *product_of(const bound_layer *l, lm_op op)
{
    const lm_kernel *k = l->n_kernels[LM_FORWARD] ? &l->kernels[LM_FORWARD][0] : NULL;

    return k && k->op == op && k->pass == LM_FORWARD ? k : NULL;
}

/* One axis of a convolution: m pixels, what a window reaches over, and what is padded, all of it.
 */
typedef struct axis {
    double m, out, window, stride, reach, padding;
} axis;

/* `pad`: a layer that pads what comes in; NULL: none. Axes that do not exist have 1 pixel. */
static axis axis_of(const lm_kernel *k, const bound_layer *pad, int a)
{
    const int    first = pad ? 5 - (int)pad->input[0].rank : 3; /* axis behind the channels */
    const double in    = (double)k->u.conv.in[a];
    const double m     = a >= first ? (double)pad->input[0].dim[2 + a - first] : in;

    return (axis){ .m       = m,
                   .out     = (double)k->u.conv.out[a],
                   .window  = (double)k->u.conv.window[a],
                   .stride  = (double)k->u.conv.stride[a],
                   .reach   = (double)(k->u.conv.dilation[a] * (k->u.conv.window[a] - 1)),
                   .padding = in - m + 2 * (double)k->u.conv.pad[a] };
}

static bool is_same(const axis *a, bool apart)
{
    return a->padding == a->reach || (apart && a->out == ceil(a->m / a->stride));
}

static bool conv_features(const bound_layer *l, const bound_layer *pad, bool training, double *v)
{
    const lm_kernel *k     = product_of(l, LM_OP_CONV);
    double           image = 1, window = 1, stride = 1, out = 1, batch, filter_in;
    bool             same = true, valid = true;

    if (!k)
        return false;
    for (int i = 0; i < 3; i++) {
        const axis a = axis_of(k, pad, i);

        image *= a.m;
        window *= a.window;
        stride *= a.stride;
        out *= (is_same(&a, pad) ? a.m : a.m + a.padding - a.reach) / a.stride;
        same &= is_same(&a, pad);
        valid &= a.padding == 0;
    }
    batch                  = (double)k->u.conv.n;
    v[PRENET_BATCHSIZE]    = batch;
    v[PRENET_MATSIZE]      = sqrt(image);
    v[PRENET_KERNELSIZE]   = sqrt(window);
    v[PRENET_STRIDES]      = sqrt(stride);
    v[PRENET_CHANNELS_IN]  = (double)k->u.conv.c_in;
    v[PRENET_CHANNELS_OUT] = (double)k->u.conv.c_out;
    v[PRENET_USE_BIAS]     = (double)k->u.conv.bias;
    v[PRENET_PADDING_SAME] = valid ? 0 : same ? 1 : NAN;

    filter_in                = v[PRENET_CHANNELS_IN] / (double)k->u.conv.groups;
    v[PRENET_FLOPS]          = batch * out * window * filter_in * v[PRENET_CHANNELS_OUT];
    v[PRENET_MEMORY_WEIGHTS] = (window * filter_in + v[PRENET_USE_BIAS]) * v[PRENET_CHANNELS_OUT];
    v[PRENET_MEMORY_IN]      = batch * image * v[PRENET_CHANNELS_IN];
    v[PRENET_MEMORY_OUT]     = batch * out * v[PRENET_CHANNELS_OUT];
    v[PRENET_MEMORY_TOTAL] = (training ? 2 : 1) * (v[PRENET_MEMORY_WEIGHTS] + v[PRENET_MEMORY_IN] +
                                                   v[PRENET_MEMORY_OUT]);
    return true;
}

/* Layers of a kind differ in their kernel, not in the layer in front of it. */
static bool plain_conv_features(const bound_layer *l, bool training, double *v)
{
    return conv_features(l, NULL, training, v);
}

static bool dense_features(const bound_layer *l, bool training, double *v)
{
    const uint32_t last  = l->input[0].rank - 1;
    const double   batch = volume(&l->input[0], 0, last), in = (double)l->input[0].dim[last],
                 out = (double)l->output[0].dim[last];

    v[PRENET_BATCHSIZE]      = batch;
    v[PRENET_DIM_INPUT]      = in;
    v[PRENET_DIM_OUTPUT]     = out;
    v[PRENET_FLOPS]          = 2 * batch * in * out;
    v[PRENET_MEMORY_WEIGHTS] = in * out;
    v[PRENET_MEMORY_IN]      = batch * in;
    v[PRENET_MEMORY_OUT]     = batch * out;
    v[PRENET_MEMORY_TOTAL] = (training ? 2 : 1) * (v[PRENET_MEMORY_WEIGHTS] + v[PRENET_MEMORY_IN] +
                                                   v[PRENET_MEMORY_OUT]);
    return true;
}

static bool recurrent_features(const bound_layer *l, bool training, double gates, double *v)
{
    const double batch = (double)l->input[0].dim[0], steps = (double)l->input[0].dim[1];
    const double in = (double)l->input[0].dim[2], hidden = key(l, "hidden");
    const double ways    = key(l, "bidirectional") != 0 ? 2 : 1;
    const double weights = in * hidden + square(hidden);
    const double extra =
        gates > 1 ? 2 * hidden : 0; /* what an LSTM and a GRU do with their state */

    v[PRENET_BATCHSIZE]        = batch;
    v[PRENET_SEQ_LEN]          = steps;
    v[PRENET_DIM_INPUT]        = in;
    v[PRENET_DIM_HIDDEN]       = hidden;
    v[PRENET_NUM_LAYERS]       = key(l, "layers");
    v[PRENET_IS_BIDIRECTIONAL] = ways - 1;
    v[PRENET_GATES]            = gates;
    v[PRENET_FLOPS] =
        (training ? 3 : 1) * ways * batch * steps * (gates * (2 * weights + hidden) + extra);
    v[PRENET_MEMORY_WEIGHTS] = (training ? 2 : 1) * ways * gates * weights;
    v[PRENET_MEMORY_IN]      = batch * steps * in;
    v[PRENET_MEMORY_OUT]     = batch * steps * hidden;
    v[PRENET_MEMORY_TOTAL] = v[PRENET_MEMORY_WEIGHTS] + v[PRENET_MEMORY_IN] + v[PRENET_MEMORY_OUT];
    return true;
}

static bool rnn_features(const bound_layer *l, bool training, double *v)
{
    return recurrent_features(l, training, 1, v);
}

static bool gru_features(const bound_layer *l, bool training, double *v)
{
    return recurrent_features(l, training, 3, v);
}

static bool lstm_features(const bound_layer *l, bool training, double *v)
{
    return recurrent_features(l, training, 4, v);
}

/* Sizes of attention: samples, queries and keys of each, width of the input, heads. */
typedef struct attention_sizes {
    double batch, queries, keys, width, heads;
} attention_sizes;

static void sized_attention_features(const attention_sizes *a, bool training, double *v)
{
    const double pairs      = a->queries * a->keys;
    const double projection = a->batch * a->queries * square(a->width);
    const double scores     = a->batch * pairs * a->width;

    v[PRENET_BATCHSIZE] = a->batch;
    v[PRENET_SEQ_LEN]   = a->queries;
    v[PRENET_EMBED_DIM] = a->width;
    v[PRENET_NUM_HEADS] = a->heads;
    v[PRENET_FLOPS] = a->heads * (projection + 2 * scores + a->batch * pairs + scores + projection);
    v[PRENET_MEMORY_PROJECTION] = 3 * a->batch * a->queries * a->width;
    v[PRENET_MEMORY_ATTENTION]  = a->batch * pairs;
    v[PRENET_MEMORY_OUT]        = a->batch * a->queries * a->width;
    v[PRENET_MEMORY_TOTAL] =
        (training ? 3 : 1) *
        (v[PRENET_MEMORY_PROJECTION] + v[PRENET_MEMORY_ATTENTION] + v[PRENET_MEMORY_OUT]);
}

static bool attention_features(const bound_layer *l, bool training, double *v)
{
    const lm_tensor      *query = &l->input[0], *keys = &l->input[l->n_inputs > 1];
    const attention_sizes a = { (double)query->dim[0], (double)query->dim[1], (double)keys->dim[1],
                                (double)query->dim[2], key(l, "heads") };

    sized_attention_features(&a, training, v);
    return true;
}

static bool embedding_features(const bound_layer *l, bool training, double *v)
{
    const lm_tensor *numbers = &l->input[0];
    const double     rows = key(l, "vocabulary"), width = key(l, "width");

    v[PRENET_BATCHSIZE]         = (double)numbers->dim[0];
    v[PRENET_SEQ_LEN]           = volume(numbers, 1, numbers->rank);
    v[PRENET_VOCAB_SIZE]        = rows;
    v[PRENET_EMBED_DIM]         = width;
    v[PRENET_FLOPS]             = v[PRENET_BATCHSIZE] * v[PRENET_SEQ_LEN] * width;
    v[PRENET_MEMORY_EMBEDDINGS] = rows * width;
    v[PRENET_MEMORY_IN]         = v[PRENET_FLOPS]; /* the same number: what comes out, in fact */
    v[PRENET_MEMORY_TOTAL] =
        (training ? 2 : 1) * (v[PRENET_MEMORY_EMBEDDINGS] + v[PRENET_MEMORY_IN]);
    return true;
}

static bool layer_norm_features(const bound_layer *l, bool training, double *v)
{
    const lm_tensor *in   = &l->input[0];
    const uint32_t   from = in->rank - (uint32_t)key(l, "dims");

    (void)training;
    v[PRENET_BATCHSIZE] = (double)in->dim[0];
    v[PRENET_SEQ_LEN]   = volume(in, 1, from);
    v[PRENET_EMBED_DIM] = volume(in, from, in->rank);
    return true;
}

static const struct {
    const char *type;
    prenet_kind kind;
    bool (*features)(const bound_layer *l, bool training, double *v);
} known[] = {
    { "conv1d", PRENET_CONV, plain_conv_features },
    { "conv2d", PRENET_CONV, plain_conv_features },
    { "conv3d", PRENET_CONV, plain_conv_features },
    { "linear", PRENET_DENSE, dense_features },
    { "rnn", PRENET_RNN, rnn_features },
    { "gru", PRENET_RNN, gru_features },
    { "lstm", PRENET_RNN, lstm_features },
    { "multi_head_attention", PRENET_ATTENTION, attention_features },
    { "embedding", PRENET_EMBEDDING, embedding_features },
    { "layer_norm", PRENET_LAYERNORM, layer_norm_features },
};

static prenet_features unknown_features(void)
{
    prenet_features f = { .kind = PRENET_NONE };

    for (int i = 0; i < N_PRENET_FEATURES; i++)
        f.value[i] = NAN;
    return f;
}

/* Features that all kinds share. */
static prenet_features complete(const bound_layer *l, prenet_kind kind, prenet_features f)
{
    f.kind                    = kind;
    f.value[PRENET_PRECISION] = 8 * (double)lm_dtype_bytes(l->output[0].dtype);
    return f;
}

prenet_features prenet_of_layer(const bound_layer *l, bool training)
{
    prenet_features f = unknown_features();

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (!strcmp(known[i].type, l->entry->type.name) && known[i].features(l, training, f.value))
            return complete(l, known[i].kind, f);
    return f;
}

prenet_features prenet_of_padded(const bound_layer *pad, const bound_layer *l, bool training)
{
    prenet_features f = unknown_features();

    if (prenet_of_layer(l, training).kind == PRENET_CONV &&
        pad->input[0].rank == l->input[0].rank && conv_features(l, pad, training, f.value))
        return complete(l, PRENET_CONV, f);
    return f;
}

prenet_features prenet_of_attention(const bound_layer *product, const bound_layer *in,
                                    bool training)
{
    prenet_features  f     = unknown_features();
    const lm_tensor *query = &product->input[0], *keys = &product->input[1];
    const lm_tensor *x   = &in->input[0];
    const bool       cut = query->rank == 4; /* by heads already */
    attention_sizes  a   = { (double)query->dim[0], (double)query->dim[cut ? 2 : 1],
                             (double)keys->dim[cut ? 2 : 1], (double)x->dim[x->rank - 1],
                          cut ? (double)query->dim[1] : key(product, "heads") };

    sized_attention_features(&a, training, f.value);
    return complete(product, PRENET_ATTENTION, f);
}

double prenet_time(const prenet_features *f, double gflop_per_second)
{
    return f->value[PRENET_FLOPS] / gflop_per_second;
}
