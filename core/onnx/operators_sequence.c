/* Sequences: lists of tensors, all of which are known while the file is read. */
#include <string.h>

#include "base/no_memory.h"
#include "onnx/operators.h"

static value *new_sequence(importer *im, size_t n)
{
    value *v = value_new(im, ROLE_CONSTANT);

    if (v && !(v->item = arena_array(im->arena, n + 1, sizeof *v->item)))
        im->status = no_memory(im->err);
    if (v)
        v->n_items = n;
    return im->status ? NULL : v;
}

/* The first input; NULL and the error if it is no list that is known. */
static const value *sequence_in(importer *im)
{
    const value *v = need_input(im, 0);

    if (v && !v->item)
        node_fail(im, LM_E_UNSUPPORTED, "the tensors in its sequence cannot be told");
    return v && v->item ? v : NULL;
}

/* A place in a list, of which there are n; of the last one counted from the end, below 0. */
static lm_status place_in(importer *im, size_t input, int64_t fallback, size_t n, size_t *out)
{
    const bool   given = input < im->node->n_inputs && *im->node->input[input];
    const value *v     = node_input(im, input);
    double       at    = (double)fallback;

    if (given && !value_number(im, v, &at))
        return node_fail(im, LM_E_UNSUPPORTED, "the place in its sequence cannot be told");
    at += at < 0 ? (double)n : 0;
    if (!(at >= 0 && at < (double)n))
        return node_fail(im, LM_E_SHAPE, "no such place in its sequence");
    *out = (size_t)at;
    return LM_OK;
}

/* From all inputs; from none it is empty. */
lm_status convert_sequence(importer *im, conversion *c)
{
    value       *in[INPUTS_MAX];
    const size_t n      = im->node->n_inputs;
    lm_status    status = all_inputs(im, in);
    value       *v      = status ? NULL : new_sequence(im, n);

    (void)c;
    if (!v)
        return status ? status : import_failed(im);
    if (n)
        memcpy(v->item, in, n * sizeof *in);
    return define_alias(im, 0, v);
}

lm_status convert_sequence_at(importer *im, conversion *c)
{
    const value *of = sequence_in(im);
    size_t       at = 0;
    lm_status    status;

    (void)c;
    if (!of)
        return import_failed(im);
    status = place_in(im, 1, 0, of->n_items, &at);
    return status ? status : define_alias(im, 0, of->item[at]);
}

/* SequenceInsert and SequenceErase, at the end if no place is given. */
lm_status convert_sequence_change(importer *im, conversion *c)
{
    const value *of      = sequence_in(im);
    const bool   inserts = !strcmp(im->node->type, "SequenceInsert");
    const size_t n       = of ? of->n_items : 0;
    value       *v, *more = of && inserts ? need_input(im, 1) : NULL;
    size_t       at = 0;
    lm_status    status;

    (void)c;
    if (!of || (inserts && !more))
        return import_failed(im);
    if ((status = place_in(im, inserts ? 2 : 1, inserts ? (int64_t)n : (int64_t)n - 1,
                           inserts ? n + 1 : n, &at)))
        return status;
    if (!(v = new_sequence(im, inserts ? n + 1 : n - 1)))
        return import_failed(im);
    for (size_t i = 0; i < v->n_items; i++)
        v->item[i] = inserts && i == at ? more : of->item[i < at ? i : inserts ? i - 1 : i + 1];
    return define_alias(im, 0, v);
}

lm_status convert_split_to_sequence(importer *im, conversion *c)
{
    value    *in   = c->in[0], *v;
    int64_t   axis = node_int(im, "axis", 0), size[INPUTS_MAX] = { 1 }, dim, from = 0;
    size_t    n = 1, parts;
    lm_status status;
    value    *told  = node_input(im, 1);
    bool      equal = !told || !told->shape[LANE_FILE].rank;

    if (!axis_from_front(&axis, in->shape[LANE_FILE].rank) || !node_int(im, "keepdims", 1))
        return node_fail(im, LM_E_UNSUPPORTED, "parts without dimension %lld", (long long)axis);
    if (im->node->n_inputs > 1 && *im->node->input[1] &&
        (!told || !value_ints_at(told, LANE_FILE, size, INPUTS_MAX, &n)))
        return node_fail(im, LM_E_UNSUPPORTED, "its parts cannot be told");
    dim   = in->shape[LANE_FILE].dim[axis];
    parts = !equal ? n : size[0] > 0 ? (size_t)((dim + size[0] - 1) / size[0]) : 0;
    if (!parts || parts > INPUTS_MAX)
        return node_fail(im, LM_E_UNSUPPORTED, "%zu parts", parts);
    for (int lane = 1; lane < N_LANES; lane++)
        if (im->alive[lane] && in->shape[lane].dim[axis] != dim)
            lane_drop(im, lane); /* as many parts as the file's size has */
    if (!(v = new_sequence(im, parts)))
        return import_failed(im);
    for (size_t i = 0; i < parts; i++) {
        const int64_t own = equal ? size[0] < dim - from ? size[0] : dim - from : size[i];

        if (own < 0 || own > dim - from)
            return node_fail(im, LM_E_SHAPE, "its parts are more than the whole");
        if ((status = emit_slice(
                 im, in, (uint32_t)axis, (const int64_t[N_LANES]){ from, from, from },
                 (const int64_t[N_LANES]){ from + own, from + own, from + own }, 1, c->out)))
            return status;
        v->item[i] = c->out[0];
        from += own;
    }
    return define_alias(im, 0, v);
}

lm_status convert_concat_sequence(importer *im, conversion *c)
{
    const value *of   = sequence_in(im);
    int64_t      axis = node_int(im, "axis", 0);
    value       *in[INPUTS_MAX];
    lm_status    status;

    if (!of)
        return import_failed(im);
    if (!of->n_items || of->n_items > INPUTS_MAX)
        return node_fail(im, LM_E_UNSUPPORTED, "a join of %zu tensors", of->n_items);
    memcpy(in, of->item, of->n_items * sizeof *in);
    for (size_t i = 0; i < of->n_items && node_int(im, "new_axis", 0); i++) {
        recipe  r  = recipe_of("unsqueeze");
        int64_t at = axis;

        if (!axis_from_front(&at, in[i]->shape[LANE_FILE].rank + 1))
            return node_fail(im, LM_E_SHAPE, "no dimension %lld", (long long)axis);
        recipe_set(&r, "axis", "%lld", (long long)at);
        if ((status = emit_one(im, &r, in[i], c->out)))
            return status;
        in[i] = c->out[0];
    }
    return join_tensors(im, c, in, of->n_items, axis);
}
