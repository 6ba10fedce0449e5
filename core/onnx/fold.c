/* Computes small constants: the shapes that a graph derives from shapes. */
#include "onnx/fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOTAL_MAX 2000000            /* limit of elements of all constants */
#define FAR       ((int64_t)1 << 40) /* a step longer than any tensor */

/* Contents of the inputs and of the output of a node, in one lane. */
typedef struct lane_view {
    const importer  *im;
    const onnx_node *node;
    const value     *in[4];
    size_t           n_in;
    const value     *out;
    size_t           output; /* index of the node's output */
    int              lane;
} lane_view;

static const lm_tensor *shape_of(const lane_view *f, const value *v)
{
    return &v->shape[f->lane];
}

static double element(const lane_view *f, size_t input, size_t i)
{
    return f->in[input]->content[f->lane][i];
}

static bool whole_numbers(const lane_view *f)
{
    return f->in[0]->shape[LANE_FILE].dtype != LM_F32;
}

/* Index of an output's element in a broadcast input. */
static size_t broadcast_place(const lm_tensor *in, const lm_tensor *out, size_t place)
{
    size_t at = 0, stride = 1;

    for (uint32_t back = 1; back <= out->rank; back++) {
        const size_t size = (size_t)out->dim[out->rank - back], i = place % size;

        place /= size;
        if (back <= in->rank) {
            const size_t own = (size_t)in->dim[in->rank - back];

            at += own == 1 ? 0 : i * stride;
            stride *= own;
        }
    }
    return at;
}

/* ---- elements ---- */

static double divide(double a, double b, bool whole)
{
    if (b == 0)
        return 0;
    return whole ? trunc(a / b) : a / b;
}

static double modulo(double a, double b)
{
    return b == 0 ? 0 : a - floor(a / b) * b; /* has the sign of b, as in Mod */
}

static bool fold_binary(const lane_view *f, double *out, size_t n)
{
    const char *op    = f->node->type;
    const bool  whole = whole_numbers(f);

    for (size_t i = 0; i < n; i++) {
        const lm_tensor *to = shape_of(f, f->out);
        const double     a  = element(f, 0, broadcast_place(shape_of(f, f->in[0]), to, i));
        const double     b  = element(f, 1, broadcast_place(shape_of(f, f->in[1]), to, i));

        if (!strcmp(op, "Add") || !strcmp(op, "Sum"))
            out[i] = a + b;
        else if (!strcmp(op, "Sub"))
            out[i] = a - b;
        else if (!strcmp(op, "Mul"))
            out[i] = a * b;
        else if (!strcmp(op, "Div"))
            out[i] = divide(a, b, whole);
        else if (!strcmp(op, "Mod"))
            out[i] = modulo(a, b);
        else if (!strcmp(op, "Pow"))
            out[i] = pow(a, b);
        else if (!strcmp(op, "Min"))
            out[i] = a < b ? a : b;
        else if (!strcmp(op, "Max"))
            out[i] = a > b ? a : b;
        else if (!strcmp(op, "Equal"))
            out[i] = a == b;
        else if (!strcmp(op, "Less"))
            out[i] = a < b;
        else if (!strcmp(op, "LessOrEqual"))
            out[i] = a <= b;
        else if (!strcmp(op, "Greater"))
            out[i] = a > b;
        else if (!strcmp(op, "GreaterOrEqual"))
            out[i] = a >= b;
        else if (!strcmp(op, "And"))
            out[i] = a != 0 && b != 0;
        else if (!strcmp(op, "Or"))
            out[i] = a != 0 || b != 0;
        else if (!strcmp(op, "Xor"))
            out[i] = (a != 0) != (b != 0);
        else
            return false;
    }
    return f->n_in == 2;
}

static bool fold_unary(const lane_view *f, double *out, size_t n)
{
    const char *op    = f->node->type;
    const bool  whole = f->out->shape[LANE_FILE].dtype != LM_F32;

    for (size_t i = 0; i < n; i++) {
        const double x = element(f, 0, i);

        if (!strcmp(op, "Neg"))
            out[i] = -x;
        else if (!strcmp(op, "Abs"))
            out[i] = fabs(x);
        else if (!strcmp(op, "Not"))
            out[i] = x == 0;
        else if (!strcmp(op, "Floor"))
            out[i] = floor(x);
        else if (!strcmp(op, "Ceil"))
            out[i] = ceil(x);
        else if (!strcmp(op, "Round"))
            out[i] = rint(x);
        else if (!strcmp(op, "Sqrt"))
            out[i] = sqrt(x);
        else if (!strcmp(op, "Reciprocal"))
            out[i] = 1 / x;
        else if (!strcmp(op, "Exp"))
            out[i] = exp(x);
        else if (!strcmp(op, "Log"))
            out[i] = log(x);
        else if (!strcmp(op, "Sign"))
            out[i] = (x > 0) - (x < 0);
        else if (!strcmp(op, "Sin"))
            out[i] = sin(x);
        else if (!strcmp(op, "Cos"))
            out[i] = cos(x);
        else if (!strncmp(op, "Cast", 4))
            out[i] = whole ? trunc(x) : x;
        else
            return false;
    }
    return true;
}

static bool fold_where(const lane_view *f, double *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const lm_tensor *to = shape_of(f, f->out);
        const size_t     which =
            element(f, 0, broadcast_place(shape_of(f, f->in[0]), to, i)) != 0 ? 1 : 2;

        out[i] = element(f, which, broadcast_place(shape_of(f, f->in[which]), to, i));
    }
    return true;
}

/* Bounds are attributes before opset 11, inputs since then. */
static bool fold_clip(const lane_view *f, double *out, size_t n)
{
    static const char *const side[]  = { "min", "max" };
    double                   bound[] = { -HUGE_VAL, HUGE_VAL };

    for (size_t k = 0; k < 2; k++) {
        const onnx_attribute *a = onnx_attribute_of(f->node, side[k]);
        const value          *v = k + 1 < f->n_in ? f->in[k + 1] : NULL;

        if (a)
            bound[k] = (double)a->f;
        else if (v && (value_elements(v, f->lane) != 1 || !v->content[f->lane]))
            return false;
        else if (v)
            bound[k] = element(f, k + 1, 0);
    }
    for (size_t i = 0; i < n; i++) {
        const double x = element(f, 0, i), low = x < bound[0] ? bound[0] : x;

        out[i] = low > bound[1] ? bound[1] : low;
    }
    return true;
}

/* ---- places ---- */

/* Nodes that keep the order of elements: another shape, or repetition. */
static bool fold_same(const lane_view *f, double *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = element(f, 0, broadcast_place(shape_of(f, f->in[0]), shape_of(f, f->out), i));
    return true;
}

static bool fold_copy(const lane_view *f, double *out, size_t n)
{
    if (value_elements(f->in[0], f->lane) != n)
        return false;
    if (n)
        memcpy(out, f->in[0]->content[f->lane], n * sizeof *out);
    return true;
}

static uint32_t axis_of(const onnx_node *node, int64_t fallback, uint32_t rank)
{
    const onnx_attribute *a    = onnx_attribute_of(node, "axis");
    const int64_t         axis = a ? a->i : fallback;

    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

static bool fold_transpose(const lane_view *f, double *out, size_t n)
{
    const lm_tensor      *in = shape_of(f, f->in[0]), *to = shape_of(f, f->out);
    const onnx_attribute *perm = onnx_attribute_of(f->node, "perm");
    size_t                stride[LM_MAX_RANK];

    for (uint32_t d = in->rank, s = 1; d-- > 0; s *= (uint32_t)in->dim[d])
        stride[d] = s;
    for (size_t i = 0; i < n; i++) {
        size_t at = 0, place = i;

        for (uint32_t d = to->rank; d-- > 0;) {
            const size_t from =
                perm && perm->n_ints == to->rank ? (size_t)perm->ints[d] : to->rank - 1 - d;

            at += place % (size_t)to->dim[d] * stride[from];
            place /= (size_t)to->dim[d];
        }
        out[i] = element(f, 0, at);
    }
    return true;
}

static bool fold_gather(const lane_view *f, double *out, size_t n)
{
    const lm_tensor *in    = shape_of(f, f->in[0]);
    const uint32_t   axis  = axis_of(f->node, 0, in->rank);
    size_t           inner = 1;
    const size_t     rows = (size_t)value_elements(f->in[1], f->lane), size = (size_t)in->dim[axis];

    for (uint32_t d = axis + 1; d < in->rank; d++)
        inner *= (size_t)in->dim[d];
    for (size_t i = 0; i < n; i++) {
        const size_t outer = i / (rows * inner), row = i / inner % rows;
        double       which = element(f, 1, row);

        which += which < 0 ? (double)size : 0;
        if (!(which >= 0 && which < (double)size)) /* refuses NAN, too */
            return false;
        out[i] = element(f, 0, (outer * size + (size_t)which) * inner + i % inner);
    }
    return true;
}

/* Joins tensors of rank 1, as shapes are. There can be many inputs. */
static bool fold_concat(const lane_view *f, double *out, size_t n)
{
    size_t used = 0;

    if (shape_of(f, f->out)->rank != 1)
        return false;
    for (size_t i = 0; i < f->node->n_inputs; i++) {
        const value *v = value_find(f->im, f->node->input[i]);
        const size_t m = v ? (size_t)value_elements(v, f->lane) : 0;

        if (!v || used + m > n || (m && !v->content[f->lane]))
            return false;
        if (m)
            memcpy(out + used, v->content[f->lane], m * sizeof *out);
        used += m;
    }
    return used == n;
}

static bool fold_slice(const lane_view *f, double *out, size_t n)
{
    const lm_tensor *in = shape_of(f, f->in[0]), *to = shape_of(f, f->out);
    slice_list       s;
    int64_t          first[LM_MAX_RANK] = { 0 }, step[LM_MAX_RANK];

    if (!slice_read(f->im, f->node, in, f->lane, &s))
        return false;
    for (uint32_t d = 0; d < in->rank; d++)
        step[d] = 1;
    for (size_t i = 0; i < s.n; i++) {
        first[s.part[i].axis] = s.part[i].first;
        step[s.part[i].axis]  = s.part[i].step;
    }
    for (size_t i = 0; i < n; i++) {
        size_t place = i, at = 0, stride = 1;

        for (uint32_t d = to->rank; d-- > 0;) {
            const int64_t k = (int64_t)(place % (size_t)to->dim[d]);

            place /= (size_t)to->dim[d];
            at += (size_t)(first[d] + k * step[d]) * stride;
            stride *= (size_t)in->dim[d];
        }
        if (at >= value_elements(f->in[0], f->lane))
            return false;
        out[i] = element(f, 0, at);
    }
    return true;
}

/* Splits a tensor of rank 1: an output begins after the elements of earlier outputs. */
static bool fold_split(const lane_view *f, double *out, size_t n)
{
    size_t from = 0;

    if (shape_of(f, f->out)->rank != 1)
        return false;
    for (size_t k = 0; k < f->output; k++) {
        const value *v = value_find(f->im, f->node->output[k]);

        if (!v)
            return false;
        from += (size_t)value_elements(v, f->lane);
    }
    if (from + n > value_elements(f->in[0], f->lane))
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = element(f, 0, from + i);
    return true;
}

/* Reduces all elements to one. */
static bool fold_reduce(const lane_view *f, double *out, size_t n)
{
    const size_t all = (size_t)value_elements(f->in[0], f->lane);
    const char  *op  = f->node->type;
    double       r   = element(f, 0, 0);

    if (n != 1)
        return false;
    for (size_t i = 1; i < all; i++) {
        const double x = element(f, 0, i);

        if (!strcmp(op, "ReduceProd"))
            r *= x;
        else if (!strcmp(op, "ReduceSum"))
            r += x;
        else if (!strcmp(op, "ReduceMax"))
            r = x > r ? x : r;
        else
            r = x < r ? x : r;
    }
    out[0] = r;
    return true;
}

/* ---- nodes ---- */

typedef struct folding {
    const char *name;
    bool (*fold)(const lane_view *f, double *out, size_t n);
    size_t n_in; /* inputs with known contents */
} folding;

/* In name order. */
static const folding folds[] = {
    { "Abs", fold_unary, 1 },          { "Add", fold_binary, 2 },
    { "And", fold_binary, 2 },         { "Cast", fold_unary, 1 },
    { "CastLike", fold_unary, 1 },     { "Ceil", fold_unary, 1 },
    { "Clip", fold_clip, 1 },          { "Concat", fold_concat, 0 },
    { "Cos", fold_unary, 1 },          { "Div", fold_binary, 2 },
    { "Equal", fold_binary, 2 },       { "Exp", fold_unary, 1 },
    { "Expand", fold_same, 1 },        { "Flatten", fold_copy, 1 },
    { "Floor", fold_unary, 1 },        { "Gather", fold_gather, 2 },
    { "Greater", fold_binary, 2 },     { "GreaterOrEqual", fold_binary, 2 },
    { "Identity", fold_copy, 1 },      { "Less", fold_binary, 2 },
    { "LessOrEqual", fold_binary, 2 }, { "Log", fold_unary, 1 },
    { "Max", fold_binary, 2 },         { "Min", fold_binary, 2 },
    { "Mod", fold_binary, 2 },         { "Mul", fold_binary, 2 },
    { "Neg", fold_unary, 1 },          { "Not", fold_unary, 1 },
    { "Or", fold_binary, 2 },          { "Pow", fold_binary, 2 },
    { "Reciprocal", fold_unary, 1 },   { "ReduceMax", fold_reduce, 1 },
    { "ReduceMin", fold_reduce, 1 },   { "ReduceProd", fold_reduce, 1 },
    { "ReduceSum", fold_reduce, 1 },   { "Reshape", fold_copy, 1 },
    { "Round", fold_unary, 1 },        { "Sign", fold_unary, 1 },
    { "Sin", fold_unary, 1 },          { "Slice", fold_slice, 1 },
    { "Split", fold_split, 1 },        { "Sqrt", fold_unary, 1 },
    { "Squeeze", fold_copy, 1 },       { "Sub", fold_binary, 2 },
    { "Sum", fold_binary, 2 },         { "Transpose", fold_transpose, 1 },
    { "Unsqueeze", fold_copy, 1 },     { "Where", fold_where, 3 },
    { "Xor", fold_binary, 2 },
};

#define N_FOLDS (sizeof folds / sizeof folds[0])

/* Are the inputs equal to those of lane 0, so that its result is valid here? */
static bool same_inputs(const importer *im, const onnx_node *node, int lane)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        const value *v = value_find(im, node->input[i]);

        if (v && (v->content[lane] != v->content[LANE_FILE] ||
                  memcmp(&v->shape[lane], &v->shape[LANE_FILE], sizeof v->shape[lane]) != 0))
            return false;
    }
    return true;
}

static void fold_output(importer *im, const onnx_node *node, size_t output, value *v,
                        const folding *how)
{
    lane_view f = { .im = im, .node = node, .out = v, .output = output };

    for (size_t i = 0; i < node->n_inputs && i < 4; i++) {
        f.in[i] = value_find(im, node->input[i]);
        f.n_in  = i + 1;
    }
    for (int lane = 0; lane < N_LANES; lane++) {
        const uint64_t n = value_elements(v, lane);
        double        *out;

        if (!im->alive[lane])
            continue;
        if (lane && same_inputs(im, node, lane)) {
            v->content[lane] = v->content[LANE_FILE];
            continue;
        }
        if (n > CONTENT_MAX || im->folded + n > TOTAL_MAX || f.n_in < how->n_in)
            return;
        for (size_t i = 0; i < how->n_in; i++)
            if (!f.in[i] || !f.in[i]->content[lane])
                return;
        out = arena_array(im->arena, (size_t)n + 1, sizeof *out);
        if (!out)
            return; /* an unknown result is no error */
        f.lane = lane;
        im->folded += (size_t)n + 1;
        if (!how->fold(&f, out, (size_t)n))
            return;
        v->content[lane] = out;
    }
}

void fold_node(importer *im, const onnx_node *node)
{
    const folding *how = bsearch(node->type, folds, N_FOLDS, sizeof *folds, compare_name);

    for (size_t k = 0; k < node->n_outputs && how; k++) {
        value *v = *node->output[k] ? value_find(im, node->output[k]) : NULL;

        if (v && v->role == ROLE_CONSTANT && !v->content[LANE_FILE])
            fold_output(im, node, k, v, how);
    }
}

/* ---- slices ---- */

/* Starts, ends, axes or steps: an attribute before opset 10, an input since then. */
static bool slice_numbers(const importer *im, const onnx_node *node, const char *name, size_t input,
                          int lane, int64_t *out, size_t *n)
{
    const onnx_attribute *a = onnx_attribute_of(node, name);
    const value          *v;

    *n = 0;
    if (a) {
        if (a->n_ints > LM_MAX_RANK)
            return false;
        if (a->n_ints)
            memcpy(out, a->ints, a->n_ints * sizeof *out);
        *n = a->n_ints;
        return true;
    }
    if (input >= node->n_inputs || !*node->input[input])
        return true;
    v = value_find(im, node->input[input]);
    return v && value_ints_at(v, lane, out, LM_MAX_RANK, n);
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

bool slice_read(const importer *im, const onnx_node *node, const lm_tensor *in, int lane,
                slice_list *out)
{
    int64_t start[LM_MAX_RANK], end[LM_MAX_RANK], axis[LM_MAX_RANK], step[LM_MAX_RANK];
    size_t  n, n_ends, n_axes, n_steps;

    if (!slice_numbers(im, node, "starts", 1, lane, start, &n) ||
        !slice_numbers(im, node, "ends", 2, lane, end, &n_ends) ||
        !slice_numbers(im, node, "axes", 3, lane, axis, &n_axes) ||
        !slice_numbers(im, node, "steps", 4, lane, step, &n_steps) || n != n_ends ||
        (n_axes && n_axes != n) || (n_steps && n_steps != n) || n > in->rank)
        return false;
    out->n = n;
    for (size_t i = 0; i < n; i++) {
        slice_part *p = &out->part[i];
        int64_t     dim, from = start[i], to = end[i];

        p->axis = n_axes ? (axis[i] < 0 ? axis[i] + in->rank : axis[i]) : (int64_t)i;
        p->step = n_steps ? clamp(step[i], -FAR, FAR) : 1;
        if (p->axis < 0 || p->axis >= in->rank || p->step == 0)
            return false;
        dim  = in->dim[p->axis];
        from = clamp(from < 0 ? from + dim : from, 0, p->step > 0 ? dim : dim - 1);
        /* backwards: -1, after adding the dimension, means "to the first element" */
        to       = p->step > 0 ? clamp(to < 0 ? to + dim : to, 0, dim)
                               : clamp(to < 0 && to >= -dim ? to + dim : to, -1, dim);
        p->first = from;
        p->count = p->step > 0 ? (to - from + p->step - 1) / p->step
                               : (from - to - p->step - 1) / -p->step;
        if (p->count < 0)
            p->count = 0;
    }
    return true;
}
