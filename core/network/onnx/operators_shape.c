/* What moves, cuts, joins and makes tensors. */
#include <math.h>
#include <string.h>

#include "network/onnx/fold.h"
#include "network/onnx/operators.h"

#define FAR_PAD 1000000000 /* elements that are added on one side */

static lm_status failed(const importer *im)
{
    return im->status ? im->status : im->err->code;
}

/* ---- names and constants ------------------------------------------------------------------------
 */

/* Of a weight: exporters store equal ones once, and give the others its contents by this operator.
 * They are trained apart, so each is a weight of its own. */
lm_status convert_identity(importer *im, const operation *op)
{
    value *in = need_input(im, 0), *own;

    (void)op;
    if (!in)
        return failed(im);
    if (in->role != ROLE_PARAMETER || in->node)
        return define_alias(im, 0, in);
    own = value_new(im, ROLE_PARAMETER);
    if (!own)
        return failed(im);
    memcpy(own->shape, in->shape, sizeof own->shape);
    own->n_origins = 1;
    own->origin    = arena_copy(im->arena, &own, 1, sizeof *own->origin);
    if (!own->origin)
        return lm_error_set(im->err, LM_E_NOMEM, "%s: out of memory", im->model->path);
    return define_alias(im, 0, own);
}

/* A constant of this shape in all lanes. */
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
        im->status = lm_error_set(im->err, LM_E_NOMEM, "%s: out of memory", im->model->path);
    v->content[lane] = content;
    return content;
}

lm_status convert_constant_node(importer *im, const operation *op)
{
    static const char *const lists[] = { "value_ints", "value_floats", "value_int", "value_float" };
    const onnx_attribute    *a       = onnx_attribute_of(im->node, "value");
    onnx_tensor              t       = { .name = "" };

    (void)op;
    if (!im->node->n_outputs)
        return LM_OK;
    if (a && a->tensor)
        return constant_define(im, im->node->output[0], a->tensor);
    for (size_t i = 0; i < 4; i++) {
        a = onnx_attribute_of(im->node, lists[i]);
        if (!a)
            continue;
        t.shape = (onnx_shape){ .type = i % 2 ? ONNX_FLOAT : ONNX_INT64, .known = true };
        t.n     = 1;
        t.ints  = i % 2 ? NULL : i == 0 ? a->ints : &a->i;

        t.floats = i % 2 ? i == 1 ? a->floats : &a->f : NULL;
        if (i < 2) {
            t.shape.rank   = 1;
            t.shape.dim[0] = (int64_t)(i == 0 ? a->n_ints : a->n_floats);
            t.n            = (size_t)t.shape.dim[0];
        }
        return constant_define(im, im->node->output[0], &t);
    }
    return node_fail(im, LM_E_UNSUPPORTED, "a constant that is no tensor of numbers");
}

lm_status convert_shape(importer *im, const operation *op)
{
    value  *in = need_input(im, 0), *v;
    int64_t rank, start, end;

    (void)op;
    if (!in)
        return failed(im);
    rank  = in->shape[LANE_FILE].rank;
    start = node_int(im, "start", 0);
    end   = node_int(im, "end", rank);
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
    return v ? define_alias(im, 0, v) : failed(im);
}

lm_status convert_size(importer *im, const operation *op)
{
    value *in = need_input(im, 0), *v = new_constant(im, LM_I64, NULL, 0);

    (void)op;
    if (!in || !v)
        return failed(im);
    for (int lane = 0; lane < N_LANES; lane++) {
        double *content = new_content(im, v, lane, 1);

        if (content)
            content[0] = (double)value_elements(in, lane);
    }
    return define_alias(im, 0, v);
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

lm_status convert_fill(importer *im, const operation *op)
{
    const onnx_attribute *a     = onnx_attribute_of(im->node, "value");
    const onnx_tensor    *t     = a ? a->tensor : NULL;
    const lm_dtype        dtype = t ? value_dtype(t->shape.type) : LM_F32;
    const double fill = t && t->n == 1 ? (t->ints ? (double)t->ints[0] : (double)t->floats[0]) : 0;
    value       *in = need_input(im, 0), *v = new_constant(im, dtype, NULL, 0);
    int64_t      dim[LM_MAX_RANK];
    size_t       n;

    (void)op;
    if (!in || !v)
        return failed(im);
    for (int lane = 0; lane < N_LANES; lane++) {
        if (!im->alive[lane]) {
            v->shape[lane] = v->shape[LANE_FILE];
            continue;
        }
        if (!dtype || !value_ints_at(in, lane, dim, LM_MAX_RANK, &n) ||
            !set_shape(v, lane, dtype, dim, n))
            return node_fail(im, LM_E_UNSUPPORTED, "its shape cannot be told");
        if (value_elements(v, lane) <= CONTENT_MAX && (!t || t->n == 1)) {
            double *content = new_content(im, v, lane, (size_t)value_elements(v, lane));

            for (size_t i = 0; content && i < value_elements(v, lane); i++)
                content[i] = fill;
        }
    }
    return define_alias(im, 0, v);
}

lm_status convert_range(importer *im, const operation *op)
{
    value *in[3], *v = value_new(im, ROLE_CONSTANT);

    (void)op;
    for (size_t i = 0; i < 3; i++)
        if (!(in[i] = need_input(im, i)))
            return failed(im);
    for (int lane = 0; lane < N_LANES && v; lane++) {
        const double *from = in[0]->content[lane], *to = in[1]->content[lane],
                     *step = in[2]->content[lane];
        double n;

        if (!im->alive[lane]) {
            v->shape[lane] = v->shape[LANE_FILE];
            continue;
        }
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
    return v ? define_alias(im, 0, v) : failed(im);
}

/* How many of a constant's elements are not 0: before opset 11 a range is counted out of them. */
lm_status convert_nonzero(importer *im, const operation *op)
{
    value *in = need_input(im, 0), *v = value_new(im, ROLE_CONSTANT);

    (void)op;
    if (!in || !v)
        return failed(im);
    for (int lane = 0; lane < N_LANES; lane++) {
        const uint64_t elements = value_elements(in, lane);
        const uint32_t rank     = in->shape[lane].rank;
        double        *content;
        int64_t        n = 0, k = 0;

        if (!im->alive[lane]) {
            v->shape[lane] = v->shape[LANE_FILE];
            continue;
        }
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
    return define_alias(im, 0, v);
}

/* Constants that are changed in places keep their shape. */
lm_status convert_like_first(importer *im, const operation *op)
{
    value *in = need_input(im, 0), *v = value_new(im, ROLE_CONSTANT);

    (void)op;
    if (!in || !v)
        return failed(im);
    memcpy(v->shape, in->shape, sizeof v->shape);
    return define_alias(im, 0, v);
}

/* ---- other shapes -------------------------------------------------------------------------------
 */

lm_status convert_reshape(importer *im, const operation *op)
{
    const onnx_attribute *a  = onnx_attribute_of(im->node, "shape"); /* before opset 5 */
    value                *in = need_input(im, 0), *out, *shape;
    lm_status             status;

    (void)op;
    if (!in)
        return failed(im);
    if (a) {
        if (a->n_ints > LM_MAX_RANK)
            return node_fail(im, LM_E_UNSUPPORTED, "more than %d dimensions", LM_MAX_RANK);
        status = emit_reshape_to(im, in, a->ints, (uint32_t)a->n_ints, &out);
    } else {
        shape = need_input(im, 1);
        if (!shape)
            return failed(im);
        status = emit_reshape(im, in, shape, &out);
    }
    return status ? status : define_alias(im, 0, out);
}

/* A dimension counted from the last if it is below 0; false if there is none. */
static bool normalise(int64_t *axis, uint32_t rank)
{
    *axis += *axis < 0 ? rank : 0;
    return *axis >= 0 && *axis < rank;
}

/* Two dimensions: those before `axis`, and the others. */
lm_status convert_flatten(importer *im, const operation *op)
{
    value    *v    = need_input(im, 0), *out[LM_MAX_RANK];
    int64_t   axis = node_int(im, "axis", 1), rank;
    recipe    r;
    lm_status status;

    if (!v)
        return failed(im);
    rank = v->shape[LANE_FILE].rank;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank)
        return node_fail(im, LM_E_SHAPE, "no dimension %lld", (long long)axis);
    if (rank - axis > 1) {
        r = recipe_of(op->type);
        recipe_set(&r, "start", "%lld", (long long)axis);
        if ((status = emit_one(im, &r, v, out)))
            return status;
        v = out[0];
    }
    if (axis > 1) {
        r = recipe_of(op->type);
        recipe_set(&r, "start", "0");
        recipe_set(&r, "end", "%lld", (long long)axis - 1);
        if ((status = emit_one(im, &r, v, out)))
            return status;
        v = out[0];
    }
    if (axis == 0 || axis == rank) {
        r = recipe_of("unsqueeze");
        recipe_set(&r, "axis", "%d", axis == 0 ? 0 : 1);
        if ((status = emit_one(im, &r, v, out)))
            return status;
        v = out[0];
    }
    return define_alias(im, 0, v);
}

/* The dimensions a Squeeze leaves out where it names none: those of 1, but not the batch. */
static void ones_of(const importer *im, const value *v, int64_t *axes, size_t *n)
{
    *n = 0;
    for (uint32_t d = 0; d < v->shape[LANE_FILE].rank; d++)
        if (v->shape[LANE_FILE].dim[d] == 1 && value_same_in_lanes(im, v, d))
            axes[(*n)++] = d;
}

lm_status convert_squeeze(importer *im, const operation *op)
{
    value    *in = need_input(im, 0), *out[LM_MAX_RANK];
    recipe    r  = recipe_of(op->type);
    int64_t   axes[LM_MAX_RANK];
    size_t    n;
    lm_status status;

    if (!in)
        return failed(im);
    if (!node_list(im, "axes", 1, axes, &n)) {
        if (node_has_list(im, "axes", 1))
            return node_fail(im, LM_E_UNSUPPORTED, "the dimensions are computed");
        ones_of(im, in, axes, &n);
    }
    if (!n)
        return define_alias(im, 0, in);
    for (size_t i = 0; i < n; i++)
        if (!normalise(&axes[i], in->shape[LANE_FILE].rank))
            return node_fail(im, LM_E_SHAPE, "no such dimension");
    recipe_list(&r, "axis", axes, n, false);
    status = emit_lazy(im, &r, in, out);
    return status ? status : define_alias(im, 0, out[0]);
}

lm_status convert_unsqueeze(importer *im, const operation *op)
{
    value    *in = need_input(im, 0), *out[LM_MAX_RANK];
    recipe    r  = recipe_of(op->type);
    int64_t   axes[LM_MAX_RANK];
    size_t    n;
    lm_status status;

    if (!in)
        return failed(im);
    if (!node_list(im, "axes", 1, axes, &n) || !n)
        return node_fail(im, LM_E_UNSUPPORTED, "the dimensions are computed, or missing");
    for (size_t i = 0; i < n; i++)
        if (!normalise(&axes[i], in->shape[LANE_FILE].rank + (uint32_t)n))
            return node_fail(im, LM_E_SHAPE, "no such dimension");
    recipe_list(&r, "axis", axes, n, false);
    status = emit_lazy(im, &r, in, out);
    return status ? status : define_alias(im, 0, out[0]);
}

lm_status convert_transpose(importer *im, const operation *op)
{
    const onnx_attribute *perm = onnx_attribute_of(im->node, "perm");
    value                *in   = need_input(im, 0), *out[LM_MAX_RANK];
    recipe                r    = recipe_of(op->type);
    int64_t               order[LM_MAX_RANK];
    bool                  moves = false;
    lm_status             status;
    uint32_t              rank;

    if (!in)
        return failed(im);
    rank = in->shape[LANE_FILE].rank;
    if (perm && perm->n_ints != rank)
        return node_fail(im, LM_E_SHAPE, "an order of %zu dimensions for %u", perm->n_ints, rank);
    for (uint32_t d = 0; d < rank; d++) {
        order[d] = perm ? perm->ints[d] : (int64_t)(rank - 1 - d);
        if (order[d] < 0 || order[d] >= rank)
            return node_fail(im, LM_E_SHAPE, "no such dimension");
        moves |= order[d] != d;
    }
    if (!moves)
        return define_alias(im, 0, in);
    recipe_list(&r, "order", order, rank, false);
    status = emit_lazy(im, &r, in, out);
    return status ? status : define_alias(im, 0, out[0]);
}

/* ---- joining and cutting ------------------------------------------------------------------------
 */

/* A token of the network beside tokens of samples: one for each of them. */
static lm_status expand_to_batch(importer *im, value *v, value **out)
{
    const lm_tensor *t = &v->shape[LANE_FILE];
    value           *own;

    *out = v;
    if (!im->alive[LANE_BATCH] || v->placed || v->node || v->lazy || t->rank < 2 || t->dim[0] != 1)
        return LM_OK;
    own = value_new(im, v->role);
    if (!own)
        return im->status;
    *own = (value){ .name        = v->name,
                    .number      = own->number,
                    .role        = v->role,
                    .batch_axis  = 0,
                    .batch_outer = 1,
                    .origin      = v->origin,
                    .n_origins   = v->n_origins };
    memcpy(own->shape, v->shape, sizeof own->shape);
    *out = own;
    return LM_OK;
}

lm_status convert_concat(importer *im, const operation *op)
{
    recipe       r = recipe_of(op->type);
    value       *in[INPUTS_MAX];
    const value *sample = NULL;
    const size_t n      = im->node->n_inputs;
    int64_t      axis   = node_int(im, "axis", 1);
    size_t       m      = 0;
    lm_status    status;

    if (n > INPUTS_MAX)
        return node_fail(im, LM_E_UNSUPPORTED, "more than %d inputs", INPUTS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (!(in[m] = need_input(im, i)))
            return failed(im);
        if (in[m]->batch_axis >= 0)
            sample = in[m];
        if (in[m]->role != ROLE_CONSTANT || value_elements(in[m], LANE_FILE))
            m++; /* an empty one adds nothing */
    }
    if (!m)
        return define_alias(im, 0, need_input(im, 0));
    if (!normalise(&axis, in[0]->shape[LANE_FILE].rank))
        return node_fail(im, LM_E_SHAPE, "no dimension %lld", (long long)axis);
    for (size_t i = 0; i < m && sample && sample->batch_axis == 0 && axis != 0; i++) {
        if (in[i]->batch_axis >= 0 || in[i]->role == ROLE_DATA)
            continue;
        if ((status = expand_to_batch(im, in[i], &in[i])))
            return status;
        for (int lane = 0; lane < N_LANES && in[i]->batch_axis == 0; lane++)
            in[i]->shape[lane].dim[0] = sample->shape[lane].dim[0];
    }
    if (m == 1)
        return define_alias(im, 0, in[0]);
    recipe_set(&r, "axis", "%lld", (long long)axis);
    return convert_into(im, &r, in, m, NULL, 0);
}

/* One dimension, from `first` to before `end`, as it can be said for all lanes. */
static bool slice_recipe(const importer *im, const value *v, uint32_t axis, const int64_t *first,
                         const int64_t *end, int64_t step, recipe *r)
{
    bool start_same = true, start_tail = true, end_same = true, end_tail = true;

    *r = recipe_of("slice");
    for (int lane = 1; lane < N_LANES; lane++) {
        const int64_t grown = v->shape[lane].dim[axis] - v->shape[LANE_FILE].dim[axis];

        if (!im->alive[lane])
            continue;
        start_same &= first[lane] == first[LANE_FILE];
        start_tail &= first[lane] - first[LANE_FILE] == grown;
        end_same &= end[lane] == end[LANE_FILE];
        end_tail &= end[lane] - end[LANE_FILE] == grown;
    }
    if ((!start_same && !start_tail) || (!end_same && !end_tail))
        return false;
    recipe_set(r, "axis", "%u", (unsigned)axis);
    if (!start_same)
        recipe_set(r, "start", "%lld",
                   (long long)(first[LANE_FILE] - v->shape[LANE_FILE].dim[axis]));
    else if (first[LANE_FILE])
        recipe_set(r, "start", "%lld", (long long)first[LANE_FILE]);
    if (end_tail && end[LANE_FILE] != v->shape[LANE_FILE].dim[axis])
        recipe_set(r, "end", "%lld",
                   end_same ? (long long)end[LANE_FILE]
                            : (long long)(end[LANE_FILE] - v->shape[LANE_FILE].dim[axis]));
    else if (!end_tail)
        recipe_set(r, "end", "%lld", (long long)end[LANE_FILE]);
    if (step > 1)
        recipe_set(r, "step", "%lld", (long long)step);
    return true;
}

/* Cuts one dimension; drops lanes in which it cannot be said. */
static lm_status emit_slice(importer *im, value *v, uint32_t axis, const int64_t *first,
                            const int64_t *end, int64_t step, value **out)
{
    bool   all = step == 1;
    recipe r;

    for (int lane = 0; lane < N_LANES; lane++)
        all &= !im->alive[lane] || (first[lane] == 0 && end[lane] == v->shape[lane].dim[axis]);
    if (all) {
        *out = v;
        return LM_OK;
    }
    while (!slice_recipe(im, v, axis, first, end, step, &r))
        lane_drop(im, im->alive[LANE_IMAGE] ? LANE_IMAGE : LANE_BATCH);
    return emit_one(im, &r, v, out);
}

/* Elements backwards: a copy. */
static lm_status emit_flip(importer *im, value *v, uint32_t axis, value **out)
{
    recipe r = recipe_of("roll");

    recipe_set(&r, "shifts", "1");
    recipe_set(&r, "axes", "%u", (unsigned)axis);
    return emit_one(im, &r, v, out);
}

lm_status convert_slice(importer *im, const operation *op)
{
    value     *v = need_input(im, 0), *out[LM_MAX_RANK];
    slice_list s[N_LANES];
    lm_status  status;

    (void)op;
    if (!v)
        return failed(im);
    for (int lane = 0; lane < N_LANES; lane++) {
        s[lane] = s[LANE_FILE];
        if (im->alive[lane] && (!slice_read(im, im->node, &v->shape[lane], lane, &s[lane]) ||
                                (lane && s[lane].n != s[LANE_FILE].n))) {
            if (lane == LANE_FILE)
                return node_fail(im, LM_E_UNSUPPORTED, "what it takes cannot be told");
            lane_drop(im, lane);
        }
    }
    for (size_t i = 0; i < s[LANE_FILE].n; i++) {
        const slice_part *p    = &s[LANE_FILE].part[i];
        const int64_t     step = p->step < 0 ? -p->step : p->step;
        int64_t           first[N_LANES], end[N_LANES];

        for (int lane = 0; lane < N_LANES; lane++) {
            const slice_part *q = &s[lane].part[i];

            /* backwards: the same elements, from the other end */
            first[lane] = q->step > 0 ? q->first : q->first - (q->count - 1) * step;
            end[lane]   = q->step > 0 && q->first + q->count * step >= v->shape[lane].dim[q->axis]
                              ? v->shape[lane].dim[q->axis]
                              : first[lane] + (q->count - 1) * step + 1;
        }
        if (!p->count && v->role == ROLE_CONSTANT) { /* nothing is left: a constant may be empty */
            value *empty = value_new(im, ROLE_CONSTANT);

            if (!empty)
                return failed(im);
            memcpy(empty->shape, v->shape, sizeof empty->shape);
            for (int lane = 0; lane < N_LANES; lane++)
                empty->shape[lane].dim[p->axis] = 0;
            return define_alias(im, 0, empty);
        }
        if (!p->count)
            return node_fail(im, LM_E_SHAPE, "it takes nothing of dimension %lld",
                             (long long)p->axis);
        if ((status = emit_slice(im, v, (uint32_t)p->axis, first, end, step, out)))
            return status;
        v = out[0];
        if (p->step < 0 && p->count > 1) {
            if ((status = emit_flip(im, v, (uint32_t)p->axis, out)))
                return status;
            v = out[0];
        }
    }
    return define_alias(im, 0, v);
}

lm_status convert_split(importer *im, const operation *op)
{
    value                *in   = need_input(im, 0), *out[LM_MAX_RANK];
    int64_t               axis = node_int(im, "axis", 0), size[64], from = 0, dim;
    const size_t          parts = im->node->n_outputs;
    size_t                n     = 0;
    bool                  equal = true;
    lm_status             status;
    const onnx_attribute *a = onnx_attribute_of(im->node, "split");
    const value          *v = node_input(im, 1);

    if (!in)
        return failed(im);
    if (!normalise(&axis, in->shape[LANE_FILE].rank) || parts > 64)
        return node_fail(im, LM_E_UNSUPPORTED, "%zu parts of dimension %lld", parts,
                         (long long)axis);
    dim = in->shape[LANE_FILE].dim[axis];
    if (a && a->n_ints == parts) {
        for (n = 0; n < parts; n++)
            size[n] = a->ints[n];
    } else if (v ? !value_ints_at(v, LANE_FILE, size, 64, &n) || n != parts : a != NULL) {
        return node_fail(im, LM_E_UNSUPPORTED, "its parts cannot be told");
    }
    for (size_t i = 0; i < parts; i++) {
        if (!n) /* as equal as can be, the last one smaller */
            size[i] = (dim + (int64_t)parts - 1) / (int64_t)parts;
        equal &= size[i] == size[0];
    }
    for (size_t i = 0; i < parts; i++) {
        int64_t first[N_LANES], end[N_LANES];

        if (size[i] < 0 || from > dim - (n ? size[i] : 0))
            return node_fail(im, LM_E_SHAPE, "its parts are more than the whole");
        for (int lane = 0; lane < N_LANES; lane++) {
            first[lane] = from;
            end[lane]   = from + size[i] > dim ? dim : from + size[i];
        }
        from += size[i];
        if (!im->virtual && !node_output_used(im, i))
            continue;
        if (equal && dim == size[0] * (int64_t)parts) {
            recipe r = recipe_of(op->type);

            recipe_set(&r, "axis", "%lld", (long long)axis);
            recipe_set(&r, "parts", "%zu", parts);
            if (i)
                recipe_set(&r, "part", "%zu", i);
            status = emit_one(im, &r, in, out);
        } else {
            status = emit_slice(im, in, (uint32_t)axis, first, end, 1, out);
        }
        if (status || (status = define_alias(im, i, out[0])))
            return status;
    }
    return im->status;
}

/* ---- choosing -----------------------------------------------------------------------------------
 */

/* One element of a dimension, which goes away. */
static lm_status gather_one(importer *im, value *in, uint32_t axis, const double *const *which)
{
    int64_t   first[N_LANES], end[N_LANES];
    value    *out[LM_MAX_RANK];
    recipe    r = recipe_of("squeeze");
    lm_status status;

    for (int lane = 0; lane < N_LANES; lane++) {
        const int64_t dim = in->shape[lane].dim[axis];
        const double  w   = which[lane] ? *which[lane] : *which[LANE_FILE];

        first[lane] = (int64_t)w + (w < 0 ? dim : 0);
        end[lane]   = first[lane] + 1;
        if (im->alive[lane] && (first[lane] < 0 || end[lane] > dim)) {
            if (lane == LANE_FILE)
                return node_fail(im, LM_E_SHAPE, "element %g of %lld", w, (long long)dim);
            lane_drop(im, lane);
        }
    }
    recipe_set(&r, "axis", "%u", (unsigned)axis);
    if ((status = emit_slice(im, in, axis, first, end, 1, out)) ||
        (status = emit_one(im, &r, out[0], out)))
        return status;
    return define_alias(im, 0, out[0]);
}

/* A table of which samples choose rows; or a module's, by its weight's name. */
static bool is_embedding(const value *table, const value *indices)
{
    const size_t n =
        table->role == ROLE_PARAMETER && table->n_origins == 1 ? strlen(table->origin[0]->name) : 0;

    return table->role == ROLE_PARAMETER && table->shape[LANE_FILE].rank == 2 &&
           (indices->role == ROLE_DATA ||
            (n > 7 && !strcmp(table->origin[0]->name + n - 7, ".weight")));
}

lm_status convert_gather(importer *im, const operation *op)
{
    value  *in = need_input(im, 0), *indices = in ? need_input(im, 1) : NULL;
    int64_t axis = node_int(im, "axis", 0);
    recipe  r    = recipe_of(op->type);
    value  *both[2];

    if (!indices)
        return failed(im);
    if (!normalise(&axis, in->shape[LANE_FILE].rank))
        return node_fail(im, LM_E_SHAPE, "no dimension %lld", (long long)axis);
    if (indices->shape[LANE_FILE].rank == 0 && indices->content[LANE_FILE] &&
        fabs(indices->content[LANE_FILE][0]) < 1e12)
        return gather_one(im, in, (uint32_t)axis, indices->content);
    if (axis == 0 && is_embedding(in, indices)) {
        r = recipe_of("embedding");
        recipe_set(&r, "vocabulary", "%lld", (long long)in->shape[LANE_FILE].dim[0]);
        recipe_set(&r, "width", "%lld", (long long)in->shape[LANE_FILE].dim[1]);
        return convert_into(im, &r, &indices, 1, &in, 1);
    }
    recipe_set(&r, "axis", "%lld", (long long)axis);
    both[0] = in;
    both[1] = indices;
    return convert_into(im, &r, both, 2, NULL, 0);
}

/* ---- repeating and padding ----------------------------------------------------------------------
 */

/* The shape that stretching leads to in one lane, as the layer's list has it. */
static bool expand_list(const value *in, const value *shape, int lane, int64_t *out, size_t *n)
{
    const lm_tensor *t = &in->shape[lane];

    if (!value_ints_at(shape, lane, out, LM_MAX_RANK, n))
        return false;
    if (*n < t->rank) { /* fewer dimensions than there are stretch the last ones */
        memmove(out + t->rank - *n, out, *n * sizeof *out);
        for (size_t i = 0; i < t->rank - *n; i++)
            out[i] = 1;
        *n = t->rank;
    }
    for (size_t i = 0; i < *n; i++) {
        const size_t  added = *n - t->rank;
        const int64_t own   = i < added ? 1 : t->dim[i - added];
        const int64_t file  = i < added ? 1 : in->shape[LANE_FILE].dim[i - added];

        if (out[i] < 1)
            return false;
        if (out[i] == 1 || out[i] == own ||
            out[i] == file) /* the file's number stands for its own */
            out[i] = i < added ? out[i] : -1;
    }
    return true;
}

lm_status convert_expand(importer *im, const operation *op)
{
    value  *in = need_input(im, 0), *shape = in ? need_input(im, 1) : NULL, *own, *out[LM_MAX_RANK];
    int64_t list[N_LANES][LM_MAX_RANK];
    size_t  n, m;
    recipe  r     = recipe_of(op->type);
    bool    keeps = true;
    lm_status status;

    if (!shape)
        return failed(im);
    if (!expand_list(in, shape, LANE_FILE, list[LANE_FILE], &n))
        return node_fail(im, LM_E_UNSUPPORTED, "the shape it is to get cannot be told");
    for (int lane = 1; lane < N_LANES; lane++) {
        memcpy(list[lane], list[LANE_FILE], sizeof list[lane]);
        if (im->alive[lane] && (!expand_list(in, shape, lane, list[lane], &m) || m != n))
            lane_drop(im, lane);
    }
    /* over the batch: a weight is one for each sample, anything else goes on as it is and is
     * stretched by whoever takes it */
    if (im->alive[LANE_BATCH] && n == in->shape[LANE_FILE].rank && in->batch_axis < 0 &&
        (list[LANE_BATCH][0] != list[LANE_FILE][0] ||
         (list[LANE_FILE][0] == im->batch && in->role != ROLE_DATA))) {
        const int64_t samples[N_LANES] = { im->batch, 3 * im->batch, im->batch };

        if ((status = expand_to_batch(im, in, &own)))
            return status;
        for (int lane = 0; lane < N_LANES; lane++) {
            if (own != in)
                own->shape[lane].dim[0] = samples[lane];
            list[lane][0] = -1;
        }
        in = own;
    }
    for (size_t i = 0; i < n; i++) {
        for (int lane = 1; lane < N_LANES; lane++)
            if (im->alive[lane] && list[lane][i] != list[LANE_FILE][i])
                lane_drop(im, lane);
        keeps &= list[LANE_FILE][i] == -1;
    }
    if (keeps)
        return define_alias(im, 0, in);
    recipe_list(&r, "shape", list[LANE_FILE], n, false);
    status = emit_one(im, &r, in, out);
    return status ? status : define_alias(im, 0, out[0]);
}

lm_status convert_tile(importer *im, const operation *op)
{
    value  *in = need_input(im, 0);
    recipe  r  = recipe_of(op->type);
    int64_t times[LM_MAX_RANK];
    size_t  n;
    bool    once = true;

    if (!in)
        return failed(im);
    if (!node_list(im, "repeats", 1, times, &n) || !n)
        return node_fail(im, LM_E_UNSUPPORTED, "how often cannot be told");
    for (size_t i = 0; i < n; i++)
        once &= times[i] == 1;
    if (once)
        return define_alias(im, 0, in);
    recipe_list(&r, "repeats", times, n, false);
    return convert_into(im, &r, &in, 1, NULL, 0);
}

/* What a Pad adds before and behind each dimension in one lane; below 0 it takes away. */
static bool read_pads(const importer *im, const value *in, int lane, int64_t *before,
                      int64_t *after)
{
    const onnx_attribute *a    = onnx_attribute_of(im->node, "pads");
    const uint32_t        rank = in->shape[LANE_FILE].rank;
    const value          *v = node_input(im, 1), *w = node_input(im, 3);
    int64_t               pads[2 * LM_MAX_RANK], axes[LM_MAX_RANK];
    size_t                n = 0, n_axes = 0;

    for (uint32_t d = 0; d < rank; d++) {
        before[d] = after[d] = 0;
        axes[d]              = d;
    }
    if (a) {
        for (n = 0; n < a->n_ints && n < 2 * LM_MAX_RANK; n++)
            pads[n] = a->ints[n];
    } else if (!v || !value_ints_at(v, lane, pads, 2 * LM_MAX_RANK, &n)) {
        return false;
    }
    if (w && !value_ints_at(w, lane, axes, LM_MAX_RANK, &n_axes))
        return false;
    if (!w)
        n_axes = rank;
    if (n != 2 * n_axes)
        return false;
    for (size_t i = 0; i < n_axes; i++) {
        if (!normalise(&axes[i], rank) || pads[i] > FAR_PAD || pads[n_axes + i] > FAR_PAD ||
            pads[i] < -FAR_PAD || pads[n_axes + i] < -FAR_PAD)
            return false;
        before[axes[i]] = pads[i];
        after[axes[i]]  = pads[n_axes + i];
    }
    return true;
}

lm_status emit_pad(importer *im, value *in, const int64_t *before, const int64_t *after,
                   value **out)
{
    const uint32_t rank = in->shape[LANE_FILE].rank;
    recipe         r    = recipe_of("pad");
    bool           any  = false;

    for (uint32_t d = 0; d < rank; d++)
        any |= before[d] || after[d];
    *out = in;
    if (!any)
        return LM_OK;
    recipe_list(&r, "before", before, rank, false);
    recipe_list(&r, "after", after, rank, false);
    return emit_one(im, &r, in, out);
}

lm_status convert_pad(importer *im, const operation *op)
{
    value    *v = need_input(im, 0), *out[LM_MAX_RANK];
    int64_t   before[N_LANES][LM_MAX_RANK], after[N_LANES][LM_MAX_RANK];
    uint32_t  rank;
    lm_status status;

    (void)op;
    if (!v)
        return failed(im);
    rank = v->shape[LANE_FILE].rank;
    if (!read_pads(im, v, LANE_FILE, before[LANE_FILE], after[LANE_FILE]))
        return node_fail(im, LM_E_UNSUPPORTED, "what it adds cannot be told");
    for (int lane = 1; lane < N_LANES; lane++)
        if (im->alive[lane] &&
            (!read_pads(im, v, lane, before[lane], after[lane]) ||
             memcmp(before[lane], before[LANE_FILE], rank * sizeof **before) != 0 ||
             memcmp(after[lane], after[LANE_FILE], rank * sizeof **after) != 0))
            lane_drop(im, lane);
    for (uint32_t d = 0; d < rank; d++) { /* below 0: a cut */
        int64_t first[N_LANES], end[N_LANES];

        for (int lane = 0; lane < N_LANES; lane++) {
            const int64_t cut = after[LANE_FILE][d] < 0 ? after[LANE_FILE][d] : 0;

            first[lane] = before[LANE_FILE][d] < 0 ? -before[LANE_FILE][d] : 0;
            end[lane]   = v->shape[lane].dim[d] + cut;
            if (first[lane] >= end[lane])
                return node_fail(im, LM_E_SHAPE, "nothing is left of dimension %u", d);
        }
        if ((status = emit_slice(im, v, d, first, end, 1, out)))
            return status;
        v                    = out[0];
        before[LANE_FILE][d] = before[LANE_FILE][d] < 0 ? 0 : before[LANE_FILE][d];
        after[LANE_FILE][d]  = after[LANE_FILE][d] < 0 ? 0 : after[LANE_FILE][d];
    }
    status = emit_pad(im, v, before[LANE_FILE], after[LANE_FILE], &v);
    return status ? status : define_alias(im, 0, v);
}

#define NOT_RESIZED SIZE_MAX

/* ---- images -------------------------------------------------------------------------------------
 */

/* Where the resized dimensions are in `axes`, of which there are n; all are without it. False if
 * one is out of range or there twice. */
static bool resize_places(const onnx_attribute *axes, uint32_t rank, size_t *place, size_t *n)
{
    *n = axes ? axes->n_ints : rank;
    for (uint32_t d = 0; d < rank; d++)
        place[d] = axes ? NOT_RESIZED : d;
    for (size_t i = 0; axes && i < *n; i++) {
        int64_t d = axes->ints[i];

        if (!normalise(&d, rank) || place[d] != NOT_RESIZED)
            return false;
        place[d] = i;
    }
    return true;
}

/* The output's size of each dimension over the input's, where that is the same in all lanes; else
 * its size in the file. */
static lm_status resize_target(importer *im, const value *in, double *factor, int64_t *size,
                               bool *by_factor)
{
    const bool            upsample = !strcmp(im->node->type, "Upsample") || im->model->opset < 11;
    const uint32_t        rank     = in->shape[LANE_FILE].rank;
    const value          *scales = node_input(im, upsample ? 1 : 2), *sizes = node_input(im, 3);
    const onnx_attribute *a = onnx_attribute_of(im->node, "scales");
    size_t                place[LM_MAX_RANK], n;

    *by_factor = true;
    if (!resize_places(onnx_attribute_of(im->node, "axes"), rank, place, &n))
        return LM_E_SHAPE;
    for (uint32_t d = 0; d < rank; d++) {
        const size_t at = place[d];

        if (at == NOT_RESIZED) {
            factor[d] = 1;
        } else if (a) {
            if (a->n_floats != n)
                return LM_E_SHAPE;
            factor[d] = (double)a->floats[at];
        } else if (scales && value_elements(scales, LANE_FILE) == n && scales->content[LANE_FILE]) {
            factor[d] = scales->content[LANE_FILE][at];
        } else if (sizes && value_elements(sizes, LANE_FILE) == n && sizes->content[LANE_FILE]) {
            factor[d] = sizes->content[LANE_FILE][at] / (double)in->shape[LANE_FILE].dim[d];
            for (int lane = 1; lane < N_LANES; lane++)
                if (im->alive[lane] && d > 1 &&
                    (!sizes->content[lane] ||
                     sizes->content[lane][at] / (double)in->shape[lane].dim[d] != factor[d]))
                    *by_factor = false;
        } else {
            return LM_E_UNSUPPORTED;
        }
        if (!(factor[d] > 0 && factor[d] < 1e6) || in->shape[LANE_FILE].dim[d] > FAR_PAD)
            return LM_E_SHAPE;
        size[d] = (int64_t)floor(factor[d] * (double)in->shape[LANE_FILE].dim[d] + 1e-6);
    }
    return LM_OK;
}

lm_status convert_resize(importer *im, const operation *op)
{
    value      *in     = need_input(im, 0), *out[LM_MAX_RANK];
    const char *mode   = node_text(im, "mode", "nearest");
    const char *aspect = node_text(im, "keep_aspect_ratio_policy", "stretch");
    recipe      r      = recipe_of(op->type);
    double      factor[LM_MAX_RANK];
    int64_t     size[LM_MAX_RANK];
    bool        by_factor, same = true, one = true;
    uint32_t    rank;
    lm_status   status;

    if (!in)
        return failed(im);
    rank = in->shape[LANE_FILE].rank;
    if (strcmp(aspect, "stretch") != 0)
        return node_fail(im, LM_E_UNSUPPORTED, "keep_aspect_ratio_policy '%.40s'", aspect);
    if ((status = resize_target(im, in, factor, size, &by_factor)))
        return node_fail(im, status, "its size cannot be told");
    if (rank < 3 || size[0] != in->shape[LANE_FILE].dim[0] ||
        size[1] != in->shape[LANE_FILE].dim[1])
        return node_fail(im, LM_E_UNSUPPORTED, "of the batch or of channels");
    for (uint32_t d = 2; d < rank; d++) {
        one &= factor[d] == 1;
        same &= factor[d] == factor[2];
    }
    if (one && by_factor)
        return define_alias(im, 0, in);
    if (by_factor && same)
        recipe_set(&r, "factor", "%.17g", factor[2]);
    else
        recipe_list(&r, "size", size + 2, rank - 2, true);
    recipe_set(&r, "mode", "%s",
               !strcmp(mode, "linear")  ? rank == 3   ? "linear"
                                          : rank == 4 ? "bilinear"
                                                      : "trilinear"
               : !strcmp(mode, "cubic") ? "bicubic"
                                        : "nearest");
    status = emit_one(im, &r, in, out);
    return status ? status : define_alias(im, 0, out[0]);
}

lm_status convert_depth_to_space(importer *im, const operation *op)
{
    recipe r  = recipe_of(op->type);
    value *in = need_input(im, 0);

    if (!in)
        return failed(im);
    recipe_set(&r, "factor", "%lld", (long long)node_int(im, "blocksize", 1));
    return convert_into(im, &r, &in, 1, NULL, 0);
}
