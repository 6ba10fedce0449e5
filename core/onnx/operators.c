/* The operator table: which layer type each ONNX operator becomes. */
#include "onnx/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

/* Operators of a row become the same layer. Rows are sorted by their first names. */
static const operation operations[] = {
    { "Abs", convert_plain, "abs", 0 },
    { "Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cosh CumSum Hardmax LpNormalization "
      "MeanVarianceNormalization Sinh Tan",
      convert_map, "traffic", 0 },
    { "Add Sum", convert_binary, "add", OP_ANY },
    { "And Equal Greater GreaterOrEqual Less LessOrEqual Or Xor", convert_binary, "compare",
      OP_ANY },
    { "ArgMax", convert_reduce, "argmax", 0 },
    { "ArgMin", convert_reduce, "argmin", 0 },
    { "AveragePool", convert_pool, "avg_pool", 0 },
    { "BatchNormalization", convert_norm, "batch_norm", 0 },
    { "Bernoulli RandomNormalLike RandomUniformLike", convert_random_like, "traffic", 0 },
    { "BitShift Mul", convert_binary, "multiply", OP_ANY },
    { "Cast", convert_cast, "cast", OP_TURNS },
    { "CastLike", convert_cast, "cast", 0 },
    { "Ceil", convert_plain, "ceil", 0 },
    { "Celu", convert_plain, "celu", 0 },
    { "Clip", convert_clip, "clip", 0 },
    { "Concat", convert_concat, "concat", OP_TURNS | OP_ANY },
    { "ConcatFromSequence", convert_concat_sequence, "concat", OP_LIST },
    { "Constant", convert_constant_node, NULL, OP_FRESH | OP_ANY },
    { "ConstantOfShape", convert_fill, NULL, OP_CONSTANT },
    { "Conv", convert_conv, "conv", 0 },
    { "ConvTranspose", convert_conv_transpose, "conv_transpose", 0 },
    { "Cos", convert_plain, "cos", 0 },
    { "DepthToSpace", convert_depth_to_space, "pixel_shuffle", 0 },
    { "Div", convert_binary, "divide", OP_ANY },
    { "Dropout", convert_dropout, "dropout", 0 },
    { "Einsum", convert_einsum, "matmul", OP_ANY },
    { "Elu", convert_plain, "elu", 0 },
    { "Erf", convert_plain, "erf", 0 },
    { "Exp", convert_plain, "exp", 0 },
    { "Expand", convert_expand, "expand", OP_TWO },
    { "EyeLike ReverseSequence Scatter ScatterElements ScatterND Trilu", convert_like_first,
      "traffic", 0 },
    { "Flatten", convert_flatten, "flatten", OP_TURNS },
    { "Floor", convert_plain, "floor", 0 },
    { "GRU", convert_recurrent, "gru", 0 },
    { "Gather", convert_gather, "gather", OP_TWO },
    { "GatherElements", convert_like_second, "traffic", OP_TWO },
    { "GatherND", convert_gather_nd, "traffic", OP_TWO },
    { "Gelu", convert_gelu, "gelu", 0 },
    { "Gemm", convert_gemm, "linear", OP_TWO },
    { "GlobalAveragePool", convert_plain, "global_avg_pool", 0 },
    { "GlobalMaxPool", convert_plain, "global_max_pool", 0 },
    { "GridSample", convert_grid_sample, "traffic", OP_TWO },
    { "GroupNormalization", convert_group_norm, "group_norm", 0 },
    { "HardSigmoid", convert_plain, "hard_sigmoid", 0 },
    { "HardSwish", convert_plain, "hard_swish", 0 },
    { "Identity", convert_identity, NULL, OP_TURNS | OP_LIST },
    { "If", convert_if, NULL, OP_ANY | OP_LIST },
    { "InstanceNormalization", convert_norm, "instance_norm", 0 },
    { "IsInf IsNaN", convert_test, "traffic", 0 },
    { "LRN", convert_lrn, "local_response_norm", 0 },
    { "LSTM", convert_recurrent, "lstm", 0 },
    { "LayerNormalization", convert_layer_norm, "layer_norm", 0 },
    { "LeakyRelu", convert_plain, "leaky_relu", 0 },
    { "Log", convert_plain, "log", 0 },
    { "LogSoftmax", convert_softmax, "log_softmax", 0 },
    { "Loop", convert_loop, NULL, OP_ANY },
    { "LpPool", convert_pool, "lp_pool", 0 },
    { "MatMul", convert_matmul, "matmul", OP_TWO },
    { "Max", convert_binary, "maximum", OP_ANY },
    { "MaxPool", convert_pool, "max_pool", 0 },
    { "Mean", convert_mean, "add", OP_ANY },
    { "Min", convert_binary, "minimum", OP_ANY },
    { "Mish", convert_plain, "mish", 0 },
    { "Mod Sub", convert_binary, "subtract", OP_ANY },
    { "Neg Not", convert_plain, "neg", 0 },
    { "NegativeLogLikelihoodLoss", convert_loss, "nll_loss", OP_TWO },
    { "NonZero", convert_nonzero, NULL, OP_CONSTANT },
    { "OneHot", convert_one_hot, "traffic", OP_THREE },
    { "PRelu", convert_prelu, "prelu", 0 },
    { "Pad", convert_pad, "pad", 0 },
    { "Pow", convert_pow, "pow", OP_TWO },
    { "RNN", convert_recurrent, "rnn", 0 },
    { "Range", convert_range, NULL, OP_CONSTANT | OP_THREE },
    { "Reciprocal", convert_plain, "reciprocal", 0 },
    { "ReduceL1", convert_reduce, "l1", 0 },
    { "ReduceL2", convert_reduce, "l2", 0 },
    { "ReduceLogSum", convert_log_sum, "sum", 0 },
    { "ReduceLogSumExp", convert_reduce, "logsumexp", 0 },
    { "ReduceMax", convert_reduce, "max", 0 },
    { "ReduceMean", convert_reduce, "mean", 0 },
    { "ReduceMin", convert_reduce, "min", 0 },
    { "ReduceProd", convert_reduce, "prod", 0 },
    { "ReduceSum", convert_reduce, "sum", 0 },
    { "ReduceSumSquare", convert_reduce, "sumsquare", 0 },
    { "Relu", convert_plain, "relu", 0 },
    { "Reshape", convert_reshape, "reshape", OP_TURNS },
    { "Resize Upsample", convert_resize, "upsample", 0 },
    { "RoiAlign", convert_roi_align, "traffic", OP_TWO },
    { "Round", convert_plain, "round", 0 },
    { "Selu", convert_plain, "selu", 0 },
    { "SequenceAt", convert_sequence_at, NULL, OP_LIST },
    { "SequenceConstruct SequenceEmpty", convert_sequence, NULL, OP_ANY },
    { "SequenceErase SequenceInsert", convert_sequence_change, NULL, OP_LIST },
    { "SequenceLength Size", convert_size, NULL, OP_FRESH | OP_LIST },
    { "Shape", convert_shape, NULL, OP_FRESH },
    { "Shrink", convert_shrink, NULL, 0 },
    { "Sigmoid", convert_plain, "sigmoid", 0 },
    { "Sign", convert_plain, "sign", 0 },
    { "Sin", convert_plain, "sin", 0 },
    { "Slice", convert_slice, "slice", OP_TURNS },
    { "Softmax", convert_softmax, "softmax", 0 },
    { "SoftmaxCrossEntropyLoss", convert_loss, "cross_entropy", OP_TWO },
    { "Softplus", convert_plain, "softplus", 0 },
    { "Softsign", convert_plain, "softsign", 0 },
    { "SpaceToDepth", convert_depth_to_space, "pixel_unshuffle", 0 },
    { "Split", convert_split, "chunk", OP_TURNS },
    { "SplitToSequence", convert_split_to_sequence, NULL, 0 },
    { "Sqrt", convert_plain, "sqrt", 0 },
    { "Squeeze", convert_squeeze, "squeeze", OP_TURNS },
    { "Tanh", convert_plain, "tanh", 0 },
    { "ThresholdedRelu", convert_plain, "threshold", 0 },
    { "Tile", convert_tile, "tile", 0 },
    { "TopK", convert_top_k, "traffic", 0 },
    { "Transpose", convert_transpose, "permute", OP_TURNS },
    { "Unsqueeze", convert_unsqueeze, "unsqueeze", OP_TURNS },
    { "Where", convert_where, "where", OP_THREE },
};

#define N_OPERATIONS (sizeof operations / sizeof operations[0])

int compare_name(const void *name, const void *row)
{
    return strcmp(name, *(const char *const *)row);
}

const operation *operation_find(const onnx_node *node)
{
    const size_t n = strlen(node->type);

    for (const operation *o = operations;
         n && !strchr(node->type, ' ') && o < operations + N_OPERATIONS; o++)
        for (const char *at = o->name; (at = strstr(at, node->type)); at += n)
            if ((at == o->name || at[-1] == ' ') && (!at[n] || at[n] == ' '))
                return o;
    return NULL;
}

lm_status import_failed(const importer *im)
{
    return im->status ? im->status : im->err->code;
}

int64_t node_int(const importer *im, const char *name, int64_t fallback)
{
    const onnx_attribute *a = onnx_attribute_of(im->node, name);

    return a ? a->i : fallback;
}

double node_real(const importer *im, const char *name, double fallback)
{
    const onnx_attribute *a = onnx_attribute_of(im->node, name);

    return a && isfinite(a->f) ? (double)a->f : fallback;
}

const char *node_text(const importer *im, const char *name, const char *fallback)
{
    const onnx_attribute *a = onnx_attribute_of(im->node, name);

    return a && *a->text ? a->text : fallback;
}

bool node_has_list(const importer *im, const char *name, size_t input)
{
    return onnx_attribute_of(im->node, name) ||
           (input && input < im->node->n_inputs && *im->node->input[input]);
}

bool node_list(const importer *im, const char *name, size_t input, int64_t *out, size_t *n)
{
    const onnx_attribute *a = onnx_attribute_of(im->node, name);
    const value          *v = input ? node_input(im, input) : NULL;

    *n = 0;
    if (!a)
        return v && value_ints(im, v, out, LM_MAX_RANK, n);
    if (a->n_ints > LM_MAX_RANK)
        return false;
    for (size_t i = 0; i < a->n_ints; i++)
        out[i] = a->ints[i];
    *n = a->n_ints;
    return true;
}

value *need_input(importer *im, size_t i)
{
    value *v = node_input(im, i);

    if (!v)
        node_fail(im, LM_E_SYNTAX, "input %zu is missing", i);
    return v;
}

/* The tensor behind a weight that earlier layers standardise or scale. The layer shares it. */
static value *computed_weight(importer *im, value *v)
{
    value   *w = value_new(im, ROLE_PARAMETER);
    net_edge edge;

    if (!w || materialise(im, v, &edge))
        return NULL;
    build_output(im->build, edge.layer); /* keeps these layers, which have no other reader */
    memcpy(w->shape, v->shape, sizeof w->shape);
    w->name      = v->name;
    w->origin    = arena_copy(im->arena, &v->of_weight, 1, sizeof *w->origin);
    w->n_origins = 1;
    if (!w->origin)
        im->status = no_memory(im->err);
    return w->origin ? w : NULL;
}

value *need_weight(importer *im, size_t i)
{
    value *v = need_input(im, i);

    if (v && v->role == ROLE_DATA && v->of_weight)
        return computed_weight(im, v);
    if (v && v->role != ROLE_PARAMETER) {
        node_fail(im, LM_E_UNSUPPORTED, "its weight '%.60s' is computed of samples", v->name);
        return NULL;
    }
    return v;
}

lm_status operation_convert(importer *im, const operation *op)
{
    conversion   c = { .r = recipe_of(op->type) };
    const size_t n = op->flags & OP_ANY ? 0 : op->flags & OP_TWO ? 2 : op->flags & OP_THREE ? 3 : 1;

    for (size_t i = 0; i < n; i++)
        if (!(c.in[i] = need_input(im, i)))
            return import_failed(im);
    return op->convert(im, &c);
}

lm_status all_inputs(importer *im, value *in[INPUTS_MAX])
{
    const size_t n = im->node->n_inputs;

    if (n > INPUTS_MAX)
        return node_fail(im, LM_E_UNSUPPORTED, "more than %d inputs", INPUTS_MAX);
    for (size_t i = 0; i < n; i++)
        if (!(in[i] = need_input(im, i)))
            return import_failed(im);
    return LM_OK;
}

/* Is the tensor only an output of the graph? */
static bool only_yielded(const importer *im, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < im->model->n_outputs; i++)
        n += !strcmp(im->model->output[i].name, name);
    return n == tensor_uses(im, name);
}

lm_status check_outputs(importer *im)
{
    const onnx_node *node = im->node;
    const bool       statistics =
        !strcmp(node->type, "BatchNormalization") || !strcmp(node->type, "LayerNormalization");

    for (size_t k = 0; k < node->n_outputs; k++) {
        const char *name = node->output[k];
        value      *v;

        if (!node_output_used(im, k) || value_find(im, name))
            continue;
        if (!k || !statistics || !only_yielded(im, name))
            return node_fail(im, LM_E_UNSUPPORTED, "output %zu of '%.40s' is not supported", k,
                             node->type);
        if (!(v = value_new(im, ROLE_CONSTANT))) /* independent of samples: counts nothing more */
            return im->status;
        value_define(im, name, v);
    }
    return im->status;
}

lm_status convert_into(importer *im, const recipe *r, value *const *in, size_t n_in,
                       value *const *weight, size_t n_weights)
{
    value          *out[LM_MAX_RANK];
    const lm_status status = emit(im, r, in, n_in, weight, n_weights, out);

    return status ? status : define_alias(im, 0, out[0]);
}

lm_status convert_one(importer *im, const recipe *r, value *in)
{
    return convert_into(im, r, &in, 1, NULL, 0);
}

lm_status convert_lazily(importer *im, const recipe *r, value *in)
{
    value          *out[LM_MAX_RANK];
    const lm_status status = emit_lazy(im, r, in, out);

    return status ? status : define_alias(im, 0, out[0]);
}
