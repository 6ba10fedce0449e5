/* Operators whose outputs follow from shapes: constants and sizes. Also Identity, If and Loop. */
#include <math.h>
#include <string.h>

#include "base/no_memory.h"
#include "onnx/operators.h"

/* Identity. Exporters store equal weights once and copy them by this operator. Copies are trained
 * separately, so each is its own weight. */
lm_status convert_identity(importer *im, conversion *c)
{
    value *in = c->in[0], *own;

    if (in->role != ROLE_PARAMETER || in->node)
        return define_alias(im, 0, in);
    own = value_parameter(im);
    if (!own)
        return import_failed(im);
    memcpy(own->shape, in->shape, sizeof own->shape);
    return define_alias(im, 0, own);
}

/* A new constant with this shape in all lanes. */
static value *new_constant(importer *im, lm_dtype dtype, const int64_t *dim, uint32_t rank)
{
    value *v = value_new(im, ROLE_CONSTANT);

    if (v)
        value_shape(v, dtype, dim, rank);
    return v;
}

static double *new_content(importer *im, value *v, int lane, size_t n)
{
    double *content = arena_array(im->arena, n + 1, sizeof *content);

    if (!content)
        im->status = no_memory(im->err);
    v->content[lane] = content;
    return content;
}

lm_status convert_constant_node(importer *im, conversion *c)
{
    static const char *const lists[] = { "value_ints", "value_floats", "value_int", "value_float" };
    const onnx_attribute    *a       = onnx_attribute_of(im->node, "value");
    onnx_tensor              t       = { .name = "", .n = 1, .shape.known = true };

    (void)c;
    if (!im->node->n_outputs)
        return LM_OK;
    if (a && a->tensor)
        return constant_define(im, im->node->output[0], a->tensor);
    for (size_t i = 0; i < 4; i++) {
        a = onnx_attribute_of(im->node, lists[i]);
        if (!a)
            continue;
        t.shape.type = i % 2 ? ONNX_FLOAT : ONNX_INT64;
        t.ints       = i % 2 ? NULL : i == 0 ? a->ints : &a->i;
        t.floats     = i % 2 ? i == 1 ? a->floats : &a->f : NULL;
        if (i < 2) {
            t.n            = i == 0 ? a->n_ints : a->n_floats;
            t.shape.rank   = 1;
            t.shape.dim[0] = (int64_t)t.n;
        }
        return constant_define(im, im->node->output[0], &t);
    }
    return node_fail(im, LM_E_UNSUPPORTED, "a constant that is no tensor of numbers");
}

lm_status convert_shape(importer *im, conversion *c)
{
    const value  *in    = c->in[0];
    const int64_t rank  = in->shape[LANE_FILE].rank;
    int64_t       start = node_int(im, "start", 0), end = node_int(im, "end", rank);
    value        *v;

    start = start < 0 ? start + rank : start;
    end   = end < 0 ? end + rank : end > rank ? rank : end;
    if (start < 0 || start > end)
        return node_fail(im, LM_E_SHAPE, "no such dimensions");
    v = new_constant(im, LM_I64, &(int64_t){ end - start }, 1);
    for (int lane = 0; lane < N_LANES && v; lane++) {
        double *content = new_content(im, v, lane, (size_t)(end - start));

        for (int64_t d = start; content && d < end; d++)
            content[d - start] = (double)in->shape[lane].dim[d];
    }
    return v ? define_alias(im, 0, v) : import_failed(im);
}

lm_status convert_size(importer *im, conversion *c)
{
    value *v = new_constant(im, LM_I64, NULL, 0);

    for (int lane = 0; lane < N_LANES && v; lane++) {
        double *content = new_content(im, v, lane, 1);

        if (content)
            content[0] =
                (double)(c->in[0]->item ? c->in[0]->n_items : value_elements(c->in[0], lane));
    }
    return v ? define_alias(im, 0, v) : import_failed(im);
}

/* Is the lane given up? Then the value takes the file's shape. */
static bool given_up(const importer *im, value *v, int lane)
{
    if (!im->alive[lane])
        v->shape[lane] = v->shape[LANE_FILE];
    return !im->alive[lane];
}

/* Sets a constant's dimensions in one lane; false if there are too many elements. */
static bool set_shape(value *v, int lane, lm_dtype dtype, const int64_t *dim, size_t n)
{
    lm_tensor t = { .dtype = dtype, .rank = (uint32_t)n };

    for (size_t i = 0; i < n; i++) {
        if (dim[i] < 0)
            return false;
        t.dim[i] = dim[i];
    }
    v->shape[lane] = t;
    return lm_bytes(&t) <= INT64_MAX / 1000;
}

lm_status convert_fill(importer *im, conversion *c)
{
    const onnx_attribute *a     = onnx_attribute_of(im->node, "value");
    const onnx_tensor    *t     = a ? a->tensor : NULL;
    const lm_dtype        dtype = t ? value_dtype(t->shape.type) : LM_F32;
    const double fill = t && t->n == 1 ? (t->ints ? (double)t->ints[0] : (double)t->floats[0]) : 0;
    value       *v    = new_constant(im, dtype, NULL, 0);
    int64_t      dim[LM_MAX_RANK];
    size_t       n;

    for (int lane = 0; lane < N_LANES && v; lane++) {
        if (given_up(im, v, lane))
            continue;
        if (!dtype || !value_ints_at(c->in[0], lane, dim, LM_MAX_RANK, &n) ||
            !set_shape(v, lane, dtype, dim, n))
            return node_fail(im, LM_E_UNSUPPORTED, "its shape cannot be told");
        if (value_elements(v, lane) <= CONTENT_MAX && (!t || t->n == 1)) {
            double *content = new_content(im, v, lane, (size_t)value_elements(v, lane));

            for (size_t i = 0; content && i < value_elements(v, lane); i++)
                content[i] = fill;
        }
    }
    return v ? define_alias(im, 0, v) : import_failed(im);
}

lm_status convert_range(importer *im, conversion *c)
{
    value *const *in = c->in;
    value        *v  = value_new(im, ROLE_CONSTANT);

    for (int lane = 0; lane < N_LANES && v; lane++) {
        const double *from = in[0]->content[lane], *to = in[1]->content[lane],
                     *step = in[2]->content[lane];
        double n;

        if (given_up(im, v, lane))
            continue;
        if (!from || !to || !step || *step == 0)
            return node_fail(im, LM_E_UNSUPPORTED, "its length cannot be told");
        n = ceil((*to - *from) / *step);
        n = n > 0 ? n : 0;
        if (!(n < 1e12) ||
            !set_shape(v, lane, in[0]->shape[lane].dtype, &(int64_t){ (int64_t)n }, 1))
            return node_fail(im, LM_E_OVERFLOW, "too long");
        if (n <= CONTENT_MAX) {
            double *content = new_content(im, v, lane, (size_t)n);

            for (size_t i = 0; content && i < (size_t)n; i++)
                content[i] = *from + (double)i * *step;
        }
    }
    return v ? define_alias(im, 0, v) : import_failed(im);
}

/* NonZero. Before opset 11 exporters computed the length of a range with it. */
lm_status convert_nonzero(importer *im, conversion *c)
{
    const value *in = c->in[0];
    value       *v  = value_new(im, ROLE_CONSTANT);

    for (int lane = 0; lane < N_LANES && v; lane++) {
        const uint64_t elements = value_elements(in, lane);
        const uint32_t rank     = in->shape[lane].rank;
        double        *content;
        int64_t        n = 0, k = 0;

        if (given_up(im, v, lane))
            continue;
        if (!in->content[lane])
            return node_fail(im, LM_E_UNSUPPORTED, "how many are not 0 cannot be told");
        for (uint64_t i = 0; i < elements; i++)
            n += in->content[lane][i] != 0;
        set_shape(v, lane, LM_I64, (const int64_t[]){ rank, n }, 2);
        content = rank == 1 ? new_content(im, v, lane, (size_t)n) : NULL;
        for (uint64_t i = 0; content && i < elements; i++)
            if (in->content[lane][i] != 0)
                content[k++] = (double)i;
    }
    return v ? define_alias(im, 0, v) : import_failed(im);
}

/* If. Inputs: the condition, the outputs of one branch, those of the other. */
lm_status convert_if(importer *im, conversion *c)
{
    const size_t n = im->node->n_outputs;
    lm_status    status;
    double       holds;

    (void)c;
    if (!value_choice(im, node_input(im, 0), &holds))
        return node_fail(im, LM_E_UNSUPPORTED,
                         "its condition depends on samples, or on how many there are");
    for (size_t k = 0; k < n; k++) {
        value *v = need_input(im, 1 + (holds != 0 ? 0 : n) + k);

        if (!v)
            return import_failed(im);
        if ((status = define_alias(im, k, v)))
            return status;
    }
    return im->status;
}

/* Loop. The number of steps is known now, but not while nodes were planned. onnx_load() then
 * expands the loop. */
lm_status convert_loop(importer *im, conversion *c)
{
    const value *v = im->node->n_inputs ? node_input(im, 0) : NULL;
    double       steps;

    (void)c;
    if (!im->node->n_inputs || !*im->node->input[0])
        return node_fail(im, LM_E_UNSUPPORTED, "it runs until a condition ends it");
    if (!value_choice(im, v, &steps))
        return node_fail(im, LM_E_UNSUPPORTED,
                         "its number of steps depends on samples, or on how many there are");
    im->loop.known = true;
    im->loop.steps = steps < 0 ? 0 : steps < 1e9 ? (int64_t)steps : (int64_t)1e9;
    return node_fail(im, LM_E_UNSUPPORTED, "a loop");
}
