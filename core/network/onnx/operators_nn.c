/* Convolutions, pooling, norms, products. */
#include <stdio.h>
#include <string.h>

#include "network/onnx/operators.h"

/* ---- windows ------------------------------------------------------------------------------------
 */

enum { SPACE_MAX = 3 };

/* What a window over 1 to 3 spatial dimensions does. */
typedef struct window {
    uint32_t n; /* spatial dimensions */
    int64_t  size[SPACE_MAX], stride[SPACE_MAX], dilation[SPACE_MAX];
    int64_t  before[SPACE_MAX], after[SPACE_MAX];
    int64_t  more[SPACE_MAX]; /* output_padding of a transposed one */
} window;

static bool read_space(const importer *im, const char *name, uint32_t n, int64_t fallback,
                       int64_t *out)
{
    const onnx_attribute *a = onnx_attribute_of(im->node, name);

    for (uint32_t i = 0; i < n; i++)
        out[i] = a && a->n_ints == n ? a->ints[i] : fallback;
    return !a || a->n_ints == n;
}

/* SAME_UPPER and SAME_LOWER: as much that the output has ceil(input / stride) pixels. */
static void pad_same(importer *im, const value *in, bool upper, window *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t pad[N_LANES];

        for (int lane = 0; lane < N_LANES; lane++) {
            const int64_t pixels = in->shape[lane].dim[2 + i];
            const int64_t wanted = (pixels + w->stride[i] - 1) / w->stride[i];
            const int64_t reach  = (w->size[i] - 1) * w->dilation[i] + 1;

            pad[lane] = (wanted - 1) * w->stride[i] + reach - pixels;
            pad[lane] = pad[lane] < 0 ? 0 : pad[lane];
            if (im->alive[lane] && pad[lane] != pad[LANE_FILE])
                lane_drop(im, lane);
        }
        w->before[i] = upper ? pad[LANE_FILE] / 2 : (pad[LANE_FILE] + 1) / 2;
        w->after[i]  = pad[LANE_FILE] - w->before[i];
    }
}

/* The same of a transposed one, whose output has input * stride pixels (ONNX, ConvTranspose-22:
 * total_padding). On which side an odd one is cut changes no count. */
static lm_status pad_same_transposed(importer *im, window *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        const int64_t reach = (w->size[i] - 1) * w->dilation[i] + 1;
        const int64_t total = reach + w->more[i] - w->stride[i];

        if (total < 0)
            return node_fail(im, LM_E_UNSUPPORTED,
                             "auto_pad of a kernel that reaches less far than its stride");
        w->before[i] = (total + 1) / 2;
        w->after[i]  = total / 2;
    }
    return LM_OK;
}

static bool in_range(const window *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->size[i] < 1 || w->size[i] > 1000000 || w->stride[i] < 1 || w->stride[i] > 1000000 ||
            w->dilation[i] < 1 || w->dilation[i] > 1000000 || w->before[i] < 0 || w->after[i] < 0 ||
            w->before[i] > 1000000 || w->after[i] > 1000000 || w->more[i] < 0 ||
            w->more[i] > 1000000)
            return false;
    return true;
}

/* The window of im->node over `in`; `weight` has its size where no attribute says it. */
static lm_status read_window(importer *im, const value *in, const value *weight, bool transposed,
                             window *w)
{
    const char           *same  = node_text(im, "auto_pad", "NOTSET");
    const bool            upper = !strcmp(same, "SAME_UPPER"), lower = !strcmp(same, "SAME_LOWER");
    const onnx_attribute *pads = onnx_attribute_of(im->node, "pads");
    const uint32_t        rank = in->shape[LANE_FILE].rank;

    *w = (window){ .n = rank - 2 };
    if (rank < 3 || rank > 2 + SPACE_MAX || (weight && weight->shape[LANE_FILE].rank != rank))
        return node_fail(im, LM_E_UNSUPPORTED, "%u dimensions", (unsigned)rank);
    if (strcmp(same, "NOTSET") != 0) {
        if (!upper && !lower && strcmp(same, "VALID") != 0)
            return node_fail(im, LM_E_UNSUPPORTED, "auto_pad '%.40s'", same);
        pads = NULL; /* auto_pad says all */
    }
    if (!read_space(im, "kernel_shape", w->n, 0, w->size) ||
        (transposed && !read_space(im, "output_padding", w->n, 0, w->more)) ||
        !read_space(im, "strides", w->n, 1, w->stride) ||
        !read_space(im, "dilations", w->n, 1, w->dilation) || (pads && pads->n_ints != 2 * w->n))
        return node_fail(im, LM_E_SHAPE, "a window of another number of dimensions");
    for (uint32_t i = 0; i < w->n; i++) {
        if (weight)
            w->size[i] = weight->shape[LANE_FILE].dim[2 + i];
        if (pads) {
            w->before[i] = pads->ints[i];
            w->after[i]  = pads->ints[w->n + i];
        }
    }
    if (!in_range(w))
        return node_fail(im, LM_E_ARG, "a window outside what is supported");
    if ((upper || lower) && transposed) {
        const lm_status status = pad_same_transposed(im, w);

        if (status)
            return status;
    } else if (upper || lower) {
        pad_same(im, in, upper, w);
    }
    return in_range(w) ? LM_OK : node_fail(im, LM_E_ARG, "a margin outside what is supported");
}

/* Layers pad alike on both sides: what is more on one comes before. */
static lm_status even_out(importer *im, value *in, window *w, value **out)
{
    int64_t before[LM_MAX_RANK] = { 0 }, after[LM_MAX_RANK] = { 0 };
    bool    even = true;

    for (uint32_t i = 0; i < w->n; i++)
        even &= w->before[i] == w->after[i];
    *out = in;
    if (even)
        return LM_OK;
    for (uint32_t i = 0; i < w->n; i++) {
        before[2 + i] = w->before[i];
        after[2 + i]  = w->after[i];
        w->before[i] = w->after[i] = 0;
    }
    return emit_pad(im, in, before, after, out);
}

/* `base` with the number of spatial dimensions: conv2d. */
static const char *spatial_type(const importer *im, const char *base, uint32_t n)
{
    char                  name[40];
    const registry_entry *entry;

    snprintf(name, sizeof name, "%s%ud", base, (unsigned)n);
    entry = registry_find(im->reg, name);
    return entry ? entry->type.name : arena_text(im->arena, name, strlen(name));
}

static void set_unless(recipe *r, const char *key, const int64_t *item, uint32_t n, int64_t usual)
{
    for (uint32_t i = 0; i < n; i++)
        if (item[i] != usual) {
            recipe_list(r, key, item, n, true);
            return;
        }
}

/* ---- convolutions -------------------------------------------------------------------------------
 */

static lm_status begin_conv(importer *im, const char *base, bool transposed, window *w, value **in,
                            value *weight[2], size_t *n_weights, recipe *r)
{
    const int64_t groups = node_int(im, "group", 1);
    lm_status     status;

    *in       = need_input(im, 0);
    weight[0] = *in ? need_weight(im, 1) : NULL;
    if (!weight[0])
        return import_failed(im);
    if ((status = read_window(im, *in, weight[0], transposed, w)))
        return status;
    *n_weights = 1;
    if (node_input(im, 2) && !(weight[(*n_weights)++] = need_weight(im, 2)))
        return import_failed(im);
    if (groups < 1 || groups > 1000000000)
        return node_fail(im, LM_E_ARG, "%lld groups", (long long)groups);
    *r = recipe_of(spatial_type(im, base, w->n));
    recipe_set(r, "filters", "%lld",
               (long long)lm_mul((uint64_t)weight[0]->shape[LANE_FILE].dim[transposed],
                                 transposed ? (uint64_t)groups : 1));
    recipe_list(r, "kernel", w->size, w->n, true);
    set_unless(r, "stride", w->stride, w->n, 1);
    set_unless(r, "dilation", w->dilation, w->n, 1);
    if (groups > 1)
        recipe_set(r, "groups", "%lld", (long long)groups);
    if (*n_weights == 1)
        recipe_set(r, "bias", "no");
    return LM_OK;
}

lm_status convert_conv(importer *im, const operation *op)
{
    value    *in, *weight[2];
    size_t    n_weights;
    window    w;
    recipe    r;
    lm_status status = begin_conv(im, op->type, false, &w, &in, weight, &n_weights, &r);

    if (status || (status = even_out(im, in, &w, &in)))
        return status;
    set_unless(&r, "padding", w.before, w.n, 0);
    return convert_into(im, &r, &in, 1, weight, n_weights);
}

lm_status convert_conv_transpose(importer *im, const operation *op)
{
    value    *in, *weight[2];
    size_t    n_weights;
    window    w;
    recipe    r;
    lm_status status = begin_conv(im, op->type, true, &w, &in, weight, &n_weights, &r);

    if (status)
        return status;
    if (onnx_attribute_of(im->node, "output_shape"))
        return node_fail(im, LM_E_UNSUPPORTED, "an output shape given as such");
    for (uint32_t i = 0; i < w.n; i++) { /* cutting less behind is more output there */
        if (w.before[i] > w.after[i])
            w.more[i] += w.before[i] - w.after[i];
        else if (w.before[i] < w.after[i])
            return node_fail(im, LM_E_UNSUPPORTED, "more padding behind than before");
    }
    set_unless(&r, "padding", w.before, w.n, 0);
    set_unless(&r, "output_padding", w.more, w.n, 0);
    return convert_into(im, &r, &in, 1, weight, n_weights);
}

/* ---- pooling ------------------------------------------------------------------------------------
 */

/* A mean over one pixel does nothing: exporters write it for adaptive pooling whose output equals
 * its input. At another image it does not. */
static bool does_nothing(const window *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->size[i] != 1 || w->stride[i] != 1 || w->before[i] || w->after[i])
            return false;
    return true;
}

lm_status convert_pool(importer *im, const operation *op)
{
    value    *in = need_input(im, 0);
    window    w;
    recipe    r;
    lm_status status = in ? read_window(im, in, NULL, false, &w) : import_failed(im);

    if (status)
        return status;
    for (uint32_t i = 0; i < w.n && strcmp(op->type, "max_pool") != 0; i++)
        if (w.dilation[i] > 1)
            return node_fail(im, LM_E_UNSUPPORTED, "dilations: a layer of type '%s' has none",
                             spatial_type(im, op->type, w.n));
    if (!strcmp(op->type, "avg_pool") && does_nothing(&w)) {
        r = recipe_of(spatial_type(im, "adaptive_avg_pool", w.n));
        recipe_list(&r, "size", &in->shape[LANE_FILE].dim[2], w.n, true);
        return convert_into(im, &r, &in, 1, NULL, 0);
    }
    if ((status = even_out(im, in, &w, &in)))
        return status;
    r = recipe_of(spatial_type(im, op->type, w.n));
    recipe_list(&r, "kernel", w.size, w.n, true);
    recipe_list(&r, "stride", w.stride, w.n, true);
    set_unless(&r, "padding", w.before, w.n, 0);
    if (node_int(im, "ceil_mode", 0))
        recipe_set(&r, "ceil_mode", "yes");
    if (!strcmp(op->type, "max_pool"))
        set_unless(&r, "dilation", w.dilation, w.n, 1);
    return convert_into(im, &r, &in, 1, NULL, 0);
}

/* ---- norms --------------------------------------------------------------------------------------
 */

/* The weights among inputs 1 and 2; *n of them. A scale that is no weight is none at all. */
static lm_status norm_weights(importer *im, value *weight[2], size_t *n)
{
    *n = 0;
    for (size_t i = 1; i <= 2; i++) {
        value *v = node_input(im, i);

        if (v && v->role == ROLE_PARAMETER)
            weight[(*n)++] = v;
        else if (v && v->role == ROLE_DATA)
            return node_fail(im, LM_E_UNSUPPORTED, "its weight '%.60s' is computed in the graph",
                             v->name);
    }
    return LM_OK;
}

lm_status convert_batch_norm(importer *im, const operation *op)
{
    recipe    r      = recipe_of(op->type);
    value    *in     = need_input(im, 0), *weight[2];
    size_t    n      = 0;
    lm_status status = in ? norm_weights(im, weight, &n) : import_failed(im);

    if (status)
        return status;
    if (!n)
        recipe_set(&r, "affine", "no");
    return convert_into(im, &r, &in, 1, weight, n);
}

lm_status convert_instance_norm(importer *im, const operation *op)
{
    recipe    r      = recipe_of(op->type);
    value    *in     = need_input(im, 0), *weight[2];
    size_t    n      = 0;
    lm_status status = in ? norm_weights(im, weight, &n) : import_failed(im);

    if (status)
        return status;
    if (n)
        recipe_set(&r, "affine", "yes");
    return convert_into(im, &r, &in, 1, weight, n);
}

lm_status convert_layer_norm(importer *im, const operation *op)
{
    recipe    r      = recipe_of(op->type);
    value    *in     = need_input(im, 0), *weight[2];
    int64_t   axis   = node_int(im, "axis", -1), rank;
    size_t    n      = 0;
    lm_status status = in ? norm_weights(im, weight, &n) : import_failed(im);

    if (status)
        return status;
    rank = in->shape[LANE_FILE].rank;
    if (axis < -rank || axis >= rank)
        return node_fail(im, LM_E_SHAPE, "axis %lld of %lld dimensions", (long long)axis,
                         (long long)rank);
    axis += axis < 0 ? rank : 0;
    if (axis != rank - 1)
        recipe_set(&r, "dims", "%lld", (long long)(rank - axis));
    if (!n)
        recipe_set(&r, "affine", "no");
    else if (n == 1)
        recipe_set(&r, "bias", "no");
    return convert_into(im, &r, &in, 1, weight, n);
}

lm_status convert_group_norm(importer *im, const operation *op)
{
    recipe    r      = recipe_of(op->type);
    value    *in     = need_input(im, 0), *weight[2];
    size_t    n      = 0;
    lm_status status = in ? norm_weights(im, weight, &n) : import_failed(im);

    if (status)
        return status;
    recipe_set(&r, "groups", "%lld", (long long)node_int(im, "num_groups", 1));
    if (!n)
        recipe_set(&r, "affine", "no");
    return convert_into(im, &r, &in, 1, weight, n);
}

lm_status convert_lrn(importer *im, const operation *op)
{
    recipe r  = recipe_of(op->type);
    value *in = need_input(im, 0);

    if (!in)
        return import_failed(im);
    recipe_set(&r, "size", "%lld", (long long)node_int(im, "size", 1));
    return convert_into(im, &r, &in, 1, NULL, 0);
}

/* ---- products -----------------------------------------------------------------------------------
 */

/* Swaps the last two dimensions and nothing else: a product can take the source as it is. */
static bool is_swap(const value *v)
{
    const uint32_t rank = v->shape[LANE_FILE].rank;
    char           swap[2 * LM_MAX_RANK + 1];
    size_t         n = 0;

    if (!v->lazy || strcmp(v->lazy->type, "permute") != 0 || rank < 2)
        return false;
    for (uint32_t d = 0; d < rank; d++)
        n += (size_t)snprintf(swap + n, sizeof swap - n, "%s%u", d ? "," : "",
                              d < rank - 2    ? d
                              : d == rank - 2 ? rank - 1
                                              : rank - 2);
    return !strcmp(swap, v->lazy->key[0].text);
}

static lm_status emit_matmul(importer *im, value *a, value *b, bool transpose_a, bool transpose_b,
                             value **out)
{
    recipe r       = recipe_of("matmul");
    value *in[2]   = { a, b };
    bool   swap[2] = { transpose_a, transpose_b };

    for (int i = 0; i < 2; i++)
        if (in[i]->role == ROLE_DATA && !in[i]->placed && is_swap(in[i])) {
            in[i]   = in[i]->source;
            swap[i] = !swap[i];
        }
    if (swap[0])
        recipe_set(&r, "transpose_a", "yes");
    if (swap[1])
        recipe_set(&r, "transpose_b", "yes");
    return emit(im, &r, in, 2, NULL, 0, out);
}

lm_status emit_linear(importer *im, value *in, int64_t features, value *const *weight, size_t n,
                      value **out)
{
    recipe r = recipe_of("linear");

    recipe_set(&r, "features", "%lld", (long long)features);
    if (n == 1)
        recipe_set(&r, "bias", "no");
    return emit(im, &r, &in, 1, weight, n, out);
}

lm_status convert_matmul(importer *im, const operation *op)
{
    value    *a = need_input(im, 0), *b = a ? need_input(im, 1) : NULL, *out[LM_MAX_RANK];
    lm_status status;

    (void)op;
    if (!b)
        return import_failed(im);
    if (b->role == ROLE_PARAMETER && b->shape[LANE_FILE].rank == 2 && a->role != ROLE_PARAMETER)
        status = emit_linear(im, a, b->shape[LANE_FILE].dim[1], &b, 1, out);
    else
        status = emit_matmul(im, a, b, false, false, out);
    return status ? status : define_alias(im, 0, out[0]);
}

/* A weight's bias: as many elements as features, along the last dimension. */
static bool is_bias(const value *v, int64_t features)
{
    return v && v->role == ROLE_PARAMETER && value_elements(v, LANE_FILE) == (uint64_t)features &&
           v->shape[LANE_FILE].rank > 0 &&
           v->shape[LANE_FILE].dim[v->shape[LANE_FILE].rank - 1] == features;
}

lm_status convert_gemm(importer *im, const operation *op)
{
    const bool swap_a = node_int(im, "transA", 0) != 0, swap_b = node_int(im, "transB", 0) != 0;
    value     *a = need_input(im, 0), *b = a ? need_input(im, 1) : NULL, *c, *weight[2], *out[8];
    recipe     add = recipe_of("add");
    int64_t    features;
    lm_status  status;

    (void)op;
    if (!b)
        return import_failed(im);
    if (b->shape[LANE_FILE].rank != 2)
        return node_fail(im, LM_E_SHAPE, "a factor of %u dimensions",
                         (unsigned)b->shape[LANE_FILE].rank);
    c         = node_input(im, 2);
    weight[0] = b;
    weight[1] = c;
    features  = b->shape[LANE_FILE].dim[swap_b ? 0 : 1];
    if (b->role == ROLE_PARAMETER && a->role != ROLE_PARAMETER && !swap_a) {
        const bool bias = is_bias(c, features);

        status = emit_linear(im, a, features, weight, bias ? 2 : 1, out);
        c      = bias ? NULL : c;
    } else {
        status = emit_matmul(im, a, b, swap_a, swap_b, out);
    }
    if (status)
        return status;
    if (!c || (c->role == ROLE_CONSTANT && value_is_scalar(c)))
        return define_alias(im, 0, out[0]);
    return convert_into(im, &add, (value *[]){ out[0], c }, 2, NULL, 0);
}

lm_status convert_dropout(importer *im, const operation *op)
{
    recipe r  = recipe_of(op->type);
    value *in = need_input(im, 0);
    double p  = node_real(im, "ratio", 0.5);

    if (!in)
        return import_failed(im);
    if (node_input(im, 1) && !value_number(im, node_input(im, 1), &p))
        p = 0.5;
    if (p >= 0 && p < 1)
        recipe_set(&r, "p", "%.9g", p);
    return convert_into(im, &r, &in, 1, NULL, 0);
}

/* ---- Einsum -------------------------------------------------------------------------------------
 *
 * "bhid,bhjd->bhij": letters in both factors and the result go through all, those in both factors
 * only are summed. Each factor is arranged as (all, own, summed), and one product follows.
 */

typedef struct term {
    char   letter[LM_MAX_RANK + 1];
    size_t n;
} term;

static bool read_term(const char **text, term *t)
{
    t->n = 0;
    for (; **text && **text != ',' && **text != '-'; ++*text) {
        if (**text == ' ')
            continue;
        if (**text == '.' || t->n == LM_MAX_RANK || memchr(t->letter, **text, t->n))
            return false;
        t->letter[t->n++] = **text;
    }
    t->letter[t->n] = '\0';
    return true;
}

static bool has(const term *t, char letter)
{
    return memchr(t->letter, letter, t->n) != NULL;
}

static void append(term *t, char letter)
{
    t->letter[t->n++] = letter;
    t->letter[t->n]   = '\0';
}

static size_t place_of(const term *t, char letter)
{
    return (size_t)((const char *)memchr(t->letter, letter, t->n) - t->letter);
}

/* The dimensions in the order of `to`. */
static lm_status arrange(importer *im, value *v, const term *from, const term *to, value **out)
{
    recipe  r = recipe_of("permute");
    int64_t order[LM_MAX_RANK];
    bool    moves = false;

    for (size_t i = 0; i < to->n; i++) {
        order[i] = (int64_t)place_of(from, to->letter[i]);
        moves |= order[i] != (int64_t)i;
    }
    *out = v;
    if (!moves)
        return LM_OK;
    recipe_list(&r, "order", order, to->n, false);
    return emit_one(im, &r, v, out);
}

/* Joins `n` dimensions from `at` on; puts a 1 there for none. */
static lm_status join(importer *im, value *v, size_t at, size_t n, value **out)
{
    recipe r = recipe_of(n ? "flatten" : "unsqueeze");

    *out = v;
    if (n == 1)
        return LM_OK;
    if (n) {
        recipe_set(&r, "start", "%zu", at);
        recipe_set(&r, "end", "%zu", at + n - 1);
    } else {
        recipe_set(&r, "axis", "%zu", at);
    }
    return emit_one(im, &r, v, out);
}

/* Splits dimension `at` of the product into those of `letters` again. */
static lm_status split_again(importer *im, value *v, size_t at, const term *letters,
                             const term *from, const value *source, value **out)
{
    const uint32_t rank = v->shape[LANE_FILE].rank;
    recipe         r    = recipe_of("squeeze");
    double         content[N_LANES][LM_MAX_RANK];
    value          shape = { .role = ROLE_CONSTANT, .batch_axis = -1 };
    uint32_t       n     = 0;

    *out = v;
    if (letters->n == 1)
        return LM_OK;
    if (!letters->n) {
        recipe_set(&r, "axis", "%zu", at);
        return emit_one(im, &r, v, out);
    }
    for (uint32_t d = 0; d < rank; d++)
        for (size_t k = 0; k < (d == at ? letters->n : 1) && n < LM_MAX_RANK; k++, n++)
            for (int lane = 0; lane < N_LANES; lane++)
                content[lane][n] =
                    (double)(d == at ? source->shape[lane].dim[place_of(from, letters->letter[k])]
                                     : v->shape[lane].dim[d]);
    value_shape(&shape, LM_I64, &(int64_t){ n }, 1);
    for (int lane = 0; lane < N_LANES; lane++)
        shape.content[lane] = content[lane];
    return emit_reshape(im, v, &shape, out);
}

lm_status convert_einsum(importer *im, const operation *op)
{
    const char *text = node_text(im, "equation", "");
    value      *in[2], *v[2], *out[LM_MAX_RANK];
    term factor[2], result, all = { "", 0 }, own[2] = { { "", 0 }, { "", 0 } }, summed = { "", 0 },
                            wanted[2], product;
    lm_status status = LM_OK;

    (void)op;
    if (im->node->n_inputs != 2)
        return node_fail(im, LM_E_UNSUPPORTED, "%zu factors: only products of two are supported",
                         im->node->n_inputs);
    in[0] = need_input(im, 0);
    in[1] = in[0] ? need_input(im, 1) : NULL;
    if (!in[1])
        return import_failed(im);
    if (!read_term(&text, &factor[0]) || *text++ != ',' || !read_term(&text, &factor[1]) ||
        strncmp(text, "->", 2) != 0)
        return node_fail(im, LM_E_UNSUPPORTED, "an equation that is no product of two factors");
    text += 2;
    if (!read_term(&text, &result) || *text || factor[0].n != in[0]->shape[LANE_FILE].rank ||
        factor[1].n != in[1]->shape[LANE_FILE].rank)
        return node_fail(im, LM_E_UNSUPPORTED, "an equation that does not fit its inputs");
    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < factor[f].n; i++) {
            const char c = factor[f].letter[i];

            if (!has(&factor[1 - f], c) && !has(&result, c))
                return node_fail(im, LM_E_UNSUPPORTED, "a sum over one factor alone");
            if (!has(&factor[1 - f], c))
                append(&own[f], c);
            else if (f == 0)
                append(has(&result, c) ? &all : &summed, c);
        }
    for (size_t i = 0; i < result.n; i++)
        if (!has(&factor[0], result.letter[i]) && !has(&factor[1], result.letter[i]))
            return node_fail(im, LM_E_UNSUPPORTED, "a letter that no factor has");
    for (int f = 0; f < 2 && !status; f++) {
        wanted[f] = all;
        for (size_t i = 0; i < own[f].n; i++)
            append(&wanted[f], own[f].letter[i]);
        for (size_t i = 0; i < summed.n; i++)
            append(&wanted[f], summed.letter[i]);
        if ((status = arrange(im, in[f], &factor[f], &wanted[f], &v[f])) ||
            (status = join(im, v[f], all.n + own[f].n, summed.n, &v[f])) ||
            (status = join(im, v[f], all.n, own[f].n, &v[f])))
            return status;
    }
    if ((status = emit_matmul(im, v[0], v[1], false, true, out)) ||
        (status = split_again(im, out[0], all.n + 1, &own[1], &factor[1], in[1], out)) ||
        (status = split_again(im, out[0], all.n, &own[0], &factor[0], in[0], out)))
        return status;
    product = all;
    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < own[f].n; i++) {
            if (product.n == LM_MAX_RANK)
                return node_fail(im, LM_E_UNSUPPORTED, "more than %d dimensions", LM_MAX_RANK);
            append(&product, own[f].letter[i]);
        }
    if ((status = arrange(im, out[0], &product, &result, out)))
        return status;
    return define_alias(im, 0, out[0]);
}
