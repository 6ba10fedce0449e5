/* reduce: many elements become one along some dimensions, as NumPy's sum, mean, max ... */
#include <stdbool.h>

#include "tensors.h"

enum { OP, AXES, KEEP };
enum { SUM, MEAN, MAX, MIN, PROD, L1, L2, LOGSUMEXP, SUMSQUARE, ARGMAX, ARGMIN };

static const lm_param params[] = {
    [OP]   = { .name    = "op",
               .kind    = LM_ENUM,
               .choices = "sum|mean|max|min|prod|l1|l2|logsumexp|sumsquare|argmax|argmin",
               .doc     = "what becomes of them; argmax and argmin yield i64, without a gradient" },
    [AXES] = { .name = "axes",
               TENSOR_AXIS(LM_LIST),
               .fallback = "-1",
               .doc      = "dimensions that are reduced; below 0: from the last" },
    [KEEP] = { .name     = "keep",
               .kind     = LM_BOOL,
               .fallback = "no",
               .doc      = "leave a 1 in place of each reduced dimension" },
};

/*
 * FLOPs count as in activation.c. x is an element, y its result, dy the result's gradient, n the
 * number of elements of a result. The reduction counts 1 for each x. Further FLOPs: before it for
 * every x, after it for every y, backward for every x:
 *
 *                 before         after          backward
 *  - sum                                        dy: 0
 *  - mean                                       dy / n: 1
 *  - max, min                                   dy where x = y: 1
 *  - prod                                       dy y / x: 2
 *  - l1           |x|: 1                        dy where x > 0, else -dy: 2
 *  - l2           x x: 1         sqrt: 1        dy x / y: 2
 *  - sumsquare    x x: 1                        2 x dy: 2
 *  - logsumexp    exp(x - m): 2  m + log y: 2   dy exp(x - y): 3
 *       where m is the maximum, another reduction in front
 *  - argmax, argmin: none of these
 *
 * The division of a forward mean does not count: kernel.h counts input elements.
 */
typedef struct reduction {
    int64_t  before, after;      /* FLOP; 0: no such kernel */
    int64_t  operands, backward; /* tensors read and FLOP; operands 0: no gradient */
    uint32_t keeps;
} reduction;

static const reduction reductions[] = {
    [SUM]       = { 0, 0, 1, 0, 0 },
    [MEAN]      = { 0, 0, 1, 1, 0 },
    [MAX]       = { 0, 0, 3, 1, LM_KEEPS_INPUT | LM_KEEPS_OUTPUT },
    [MIN]       = { 0, 0, 3, 1, LM_KEEPS_INPUT | LM_KEEPS_OUTPUT },
    [PROD]      = { 0, 0, 3, 2, LM_KEEPS_INPUT | LM_KEEPS_OUTPUT },
    [L1]        = { 1, 0, 2, 2, LM_KEEPS_INPUT },
    [L2]        = { 1, 1, 3, 2, LM_KEEPS_INPUT | LM_KEEPS_OUTPUT },
    [LOGSUMEXP] = { 2, 2, 3, 3, LM_KEEPS_INPUT | LM_KEEPS_OUTPUT },
    [SUMSQUARE] = { 1, 0, 2, 2, LM_KEEPS_INPUT },
    [ARGMAX]    = { 0, 0, 0, 0, 0 },
    [ARGMIN]    = { 0, 0, 0, 0, 0 },
};

static const reduction *reduction_of(const lm_layer *layer)
{
    return &reductions[lm_int(layer, OP)];
}

static bool yields_places(const lm_layer *layer)
{
    return lm_int(layer, OP) == ARGMAX || lm_int(layer, OP) == ARGMIN;
}

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    const lm_tensor *in     = &layer->input[0];
    lm_tensor        out    = { .dtype = yields_places(layer) ? LM_I64 : in->dtype };
    uint32_t         axes   = 0;
    const lm_status  status = tensor_axes(layer, AXES, in->rank, &axes);

    if (status)
        return status;
    for (uint32_t d = 0; d < in->rank; d++)
        if (!(axes >> d & 1))
            out.dim[out.rank++] = in->dim[d];
        else if (lm_int(layer, KEEP))
            out.dim[out.rank++] = 1;
    output[0] = out;
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const reduction *self = reduction_of(layer);
    const lm_tensor *in   = &layer->input[0];
    const int64_t    x = (int64_t)lm_elements(in), y = (int64_t)lm_elements(&layer->output[0]);
    uint32_t         axes = 0, last = 0;
    const lm_status  status = tensor_axes(layer, AXES, in->rank, &axes);
    lm_kernel        map    = { .op = LM_OP_MAP, .pass = pass, .dtype = in->dtype };
    lm_kernel        sum    = { .op = LM_OP_REDUCE, .pass = pass, .dtype = in->dtype };

    if (status)
        return status;
    if (pass == LM_GRAD_INPUT && self->operands) { /* dy; also x (2), y (3) */
        const int64_t reads = y + (self->operands > 1 ? x : 0) + (self->operands > 2 ? y : 0);

        map.u.map.elements          = x;
        map.u.map.operands          = self->operands;
        map.u.map.flops_per_element = self->backward;
        map.u.map.reads             = x == y ? 0 : reads;
        emit(sink, map);
    }
    if (pass != LM_FORWARD)
        return LM_OK;
    for (uint32_t d = 0; d < in->rank; d++)
        if (axes >> d & 1)
            last = d;
    sum.u.reduce.rows  = y;
    sum.u.reduce.group = x / y;
    sum.u.reduce.inner = (int64_t)tensor_span(in, last + 1, in->rank);
    if (lm_int(layer, OP) == LOGSUMEXP)
        emit(sink, sum);
    if (self->before) {
        map.u.map.elements          = x;
        map.u.map.operands          = lm_int(layer, OP) == LOGSUMEXP ? 2 : 1;
        map.u.map.flops_per_element = self->before;
        map.u.map.reads             = lm_int(layer, OP) == LOGSUMEXP && x != y ? x + y : 0;
        emit(sink, map);
    }
    emit(sink, sum);
    if (self->after) {
        map.u.map.elements          = y;
        map.u.map.operands          = lm_int(layer, OP) == LOGSUMEXP ? 2 : 1;
        map.u.map.flops_per_element = self->after;
        map.u.map.reads             = 0;
        emit(sink, map);
    }
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    cost->keeps = reduction_of(layer)->keeps;
    return cost_of_kernels(layer, cost);
}

static const lm_layer_type reduce = {
    .size = sizeof(lm_layer_type),
    .name = "reduce",
    .doc  = "many elements become one along some dimensions: their sum, mean, maximum ...",
    LM_PARAMS(params),
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .flags      = LM_FUNCTIONAL,
    .infer      = infer,
    .cost       = cost,
    .lower      = lower,
};

static const lm_layer_type *const types[] = { &reduce };

LM_PLUGIN = {
    .name    = "layermeter-reduce",
    .version = "0.1.0",
    .license = "Apache-2.0",
    LM_PLUGIN_HEAD,
    LM_TYPES(types),
};
