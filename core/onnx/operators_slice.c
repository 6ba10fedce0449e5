/* Operators that join, cut and select. */
#include <math.h>
#include <string.h>

#include "onnx/fold.h"
#include "onnx/operators.h"

/* ---- joining and cutting --------------------------------------------------------------------- */

lm_status expand_to_batch(importer *im, value *v, value **out)
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

lm_status join_tensors(importer *im, conversion *c, value **in, size_t n, int64_t axis)
{
    const value *sample = NULL;
    value       *first  = in[0];
    size_t       m      = 0;
    lm_status    status;

    for (size_t i = 0; i < n; i++) {
        if (in[i]->batch_axis >= 0)
            sample = in[i];
        if (in[i]->role != ROLE_CONSTANT || value_elements(in[i], LANE_FILE))
            in[m++] = in[i]; /* an empty one adds nothing */
    }
    if (!m)
        return define_alias(im, 0, first);
    if (!axis_from_front(&axis, in[0]->shape[LANE_FILE].rank))
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
    recipe_set(&c->r, "axis", "%lld", (long long)axis);
    return convert_into(im, &c->r, in, m, NULL, 0);
}

lm_status convert_concat(importer *im, conversion *c)
{
    value          *in[INPUTS_MAX];
    const lm_status status = all_inputs(im, in);

    if (status)
        return status;
    return im->node->n_inputs ? join_tensors(im, c, in, im->node->n_inputs, node_int(im, "axis", 1))
                              : node_fail(im, LM_E_SYNTAX, "input 0 is missing");
}

/* One dimension, from `first` to before `end`, in a form that holds in all lanes. */
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

lm_status emit_slice(importer *im, value *v, uint32_t axis, const int64_t *first,
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

/* Adds a reversal of one dimension: a copy. */
static lm_status emit_flip(importer *im, value *v, uint32_t axis, value **out)
{
    recipe r = recipe_of("roll");

    recipe_set(&r, "shifts", "1");
    recipe_set(&r, "axes", "%u", (unsigned)axis);
    return emit_one(im, &r, v, out);
}

/* Handles an empty slice: only a constant may be empty. */
static lm_status take_nothing(importer *im, const value *v, int64_t axis)
{
    value *empty;

    if (v->role != ROLE_CONSTANT)
        return node_fail(im, LM_E_SHAPE, "it takes nothing of dimension %lld", (long long)axis);
    empty = value_new(im, ROLE_CONSTANT);
    if (!empty)
        return import_failed(im);
    memcpy(empty->shape, v->shape, sizeof empty->shape);
    for (int lane = 0; lane < N_LANES; lane++)
        empty->shape[lane].dim[axis] = 0;
    return define_alias(im, 0, empty);
}

/* Adds part i of a selection along one dimension. */
static lm_status take_part(importer *im, const slice_list s[N_LANES], size_t i, value **v)
{
    const slice_part *p    = &s[LANE_FILE].part[i];
    const int64_t     step = p->step < 0 ? -p->step : p->step;
    int64_t           first[N_LANES], end[N_LANES];
    value            *out[LM_MAX_RANK];
    lm_status         status;

    for (int lane = 0; lane < N_LANES; lane++) {
        const slice_part *q   = &s[lane].part[i];
        const int64_t     dim = (*v)->shape[lane].dim[q->axis];

        /* negative step: the same elements from the other end */
        first[lane] = q->step > 0 ? q->first : q->first - (q->count - 1) * step;
        end[lane]   = q->step > 0 && q->first + q->count * step >= dim
                          ? dim
                          : first[lane] + (q->count - 1) * step + 1;
    }
    if ((status = emit_slice(im, *v, (uint32_t)p->axis, first, end, step, out)) ||
        (p->step < 0 && p->count > 1 && (status = emit_flip(im, out[0], (uint32_t)p->axis, out))))
        return status;
    *v = out[0];
    return LM_OK;
}

lm_status convert_slice(importer *im, conversion *c)
{
    value     *v          = c->in[0];
    slice_list s[N_LANES] = { { .n = 0 } };
    lm_status  status;

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
        if (!s[LANE_FILE].part[i].count)
            return take_nothing(im, v, s[LANE_FILE].part[i].axis);
        if ((status = take_part(im, s, i, &v)))
            return status;
    }
    return define_alias(im, 0, v);
}

lm_status convert_split(importer *im, conversion *c)
{
    value                *in   = c->in[0];
    int64_t               axis = node_int(im, "axis", 0), size[64], from = 0, dim;
    const size_t          parts = im->node->n_outputs;
    size_t                n     = 0;
    bool                  equal = true;
    lm_status             status;
    const onnx_attribute *a = onnx_attribute_of(im->node, "split");
    const value          *v = node_input(im, 1);

    if (!axis_from_front(&axis, in->shape[LANE_FILE].rank) || parts > 64)
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
        if (!n) /* parts of equal size, the last one smaller */
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
            recipe r = c->r;

            recipe_set(&r, "axis", "%lld", (long long)axis);
            recipe_set(&r, "parts", "%zu", parts);
            if (i)
                recipe_set(&r, "part", "%zu", i);
            status = emit_one(im, &r, in, c->out);
        } else {
            status = emit_slice(im, in, (uint32_t)axis, first, end, 1, c->out);
        }
        if (status || (status = define_alias(im, i, c->out[0])))
            return status;
    }
    return im->status;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Selects one element of a dimension and removes the dimension. */
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
    status = emit_slice(im, in, axis, first, end, 1, out);
    return status ? status : convert_one(im, &r, out[0]);
}

/* Is it an embedding: a table whose rows are chosen by samples, or, by its name, a module's? */
static bool is_embedding(const value *table, const value *indices)
{
    const size_t n =
        table->role == ROLE_PARAMETER && table->n_origins == 1 ? strlen(table->origin[0]->name) : 0;

    return table->role == ROLE_PARAMETER && table->shape[LANE_FILE].rank == 2 &&
           (indices->role == ROLE_DATA ||
            (n > 7 && !strcmp(table->origin[0]->name + n - 7, ".weight")));
}

lm_status convert_gather(importer *im, conversion *c)
{
    value  *in = c->in[0], *indices = c->in[1];
    int64_t axis = node_int(im, "axis", 0);
    recipe  r    = recipe_of("embedding");

    if (!axis_from_front(&axis, in->shape[LANE_FILE].rank))
        return node_fail(im, LM_E_SHAPE, "no dimension %lld", (long long)axis);
    if (indices->shape[LANE_FILE].rank == 0 && indices->content[LANE_FILE] &&
        fabs(indices->content[LANE_FILE][0]) < 1e12)
        return gather_one(im, in, (uint32_t)axis, indices->content);
    if (axis == 0 && is_embedding(in, indices)) {
        recipe_set(&r, "vocabulary", "%lld", (long long)in->shape[LANE_FILE].dim[0]);
        recipe_set(&r, "width", "%lld", (long long)in->shape[LANE_FILE].dim[1]);
        return convert_into(im, &r, &indices, 1, &in, 1);
    }
    recipe_set(&c->r, "axis", "%lld", (long long)axis);
    return convert_into(im, &c->r, c->in, 2, NULL, 0);
}
