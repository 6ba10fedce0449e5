/* Convolutions and pooling. */
#include <stdio.h>
#include <string.h>

#include "onnx/operators.h"

/* ---- windows --------------------------------------------------------------------------------- */

enum { SPACE_MAX = 3 };

/* A window over 1 to 3 spatial dimensions. */
typedef struct window {
    uint32_t n; /* spatial dimensions */
    int64_t  size[SPACE_MAX], stride[SPACE_MAX], dilation[SPACE_MAX];
    int64_t  before[SPACE_MAX], after[SPACE_MAX];
    int64_t  more[SPACE_MAX]; /* output_padding of a transposed convolution */
} window;

static bool read_space(const importer *im, const char *name, uint32_t n, int64_t fallback,
                       int64_t *out)
{
    const onnx_attribute *a = onnx_attribute_of(im->node, name);

    for (uint32_t i = 0; i < n; i++)
        out[i] = a && a->n_ints == n ? a->ints[i] : fallback;
    return !a || a->n_ints == n;
}

/* SAME_UPPER and SAME_LOWER: padding so that the output has ceil(input / stride) pixels. */
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

/* The same for a transposed convolution: the output has input * stride pixels (ONNX,
 * ConvTranspose-22: total_padding). The side of an odd pixel does not matter for counts. */
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

/* Reads the window of im->node over `in`. Without the attribute, `weight` gives the size. */
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
        pads = NULL; /* auto_pad replaces pads */
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

/* Layers pad both sides equally. The rest becomes a pad layer in front. */
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

/* A layer type with its number of spatial dimensions: conv2d. */
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

/* ---- convolutions ---------------------------------------------------------------------------- */

static lm_status begin_conv(importer *im, conversion *c, bool transposed, window *w,
                            value *weight[2], size_t *n_weights)
{
    const int64_t groups = node_int(im, "group", 1);
    recipe       *r      = &c->r;
    lm_status     status;

    if (!(weight[0] = need_weight(im, 1)))
        return import_failed(im);
    if ((status = read_window(im, c->in[0], weight[0], transposed, w)))
        return status;
    *n_weights = 1;
    if (node_input(im, 2) && !(weight[(*n_weights)++] = need_weight(im, 2)))
        return import_failed(im);
    if (groups < 1 || groups > 1000000000)
        return node_fail(im, LM_E_ARG, "%lld groups", (long long)groups);
    r->type = spatial_type(im, r->type, w->n);
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

lm_status convert_conv(importer *im, conversion *c)
{
    value    *weight[2];
    size_t    n_weights;
    window    w;
    lm_status status = begin_conv(im, c, false, &w, weight, &n_weights);

    if (status || (status = even_out(im, c->in[0], &w, c->in)))
        return status;
    set_unless(&c->r, "padding", w.before, w.n, 0);
    return convert_into(im, &c->r, c->in, 1, weight, n_weights);
}

lm_status convert_conv_transpose(importer *im, conversion *c)
{
    value    *weight[2];
    size_t    n_weights;
    window    w;
    lm_status status = begin_conv(im, c, true, &w, weight, &n_weights);

    if (status)
        return status;
    if (onnx_attribute_of(im->node, "output_shape"))
        return node_fail(im, LM_E_UNSUPPORTED, "an output shape given as such");
    for (uint32_t i = 0; i < w.n; i++) { /* a smaller cut at the end adds output there */
        if (w.before[i] > w.after[i])
            w.more[i] += w.before[i] - w.after[i];
        else if (w.before[i] < w.after[i])
            return node_fail(im, LM_E_UNSUPPORTED, "more padding behind than before");
    }
    set_unless(&c->r, "padding", w.before, w.n, 0);
    set_unless(&c->r, "output_padding", w.more, w.n, 0);
    return convert_into(im, &c->r, c->in, 1, weight, n_weights);
}

/* ---- pooling --------------------------------------------------------------------------------- */

/* Is it a mean over one pixel? Exporters write it for adaptive pooling with equal input and output.
 * At another image size it is not trivial. */
static bool does_nothing(const window *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->size[i] != 1 || w->stride[i] != 1 || w->before[i] || w->after[i])
            return false;
    return true;
}

lm_status convert_pool(importer *im, conversion *c)
{
    const char *type = c->r.type;
    const bool  max  = !strcmp(type, "max_pool");
    value      *in   = c->in[0];
    window      w;
    lm_status   status = read_window(im, in, NULL, false, &w);

    if (status)
        return status;
    for (uint32_t i = 0; i < w.n && !max; i++)
        if (w.dilation[i] > 1)
            return node_fail(im, LM_E_UNSUPPORTED, "dilations: a layer of type '%s' has none",
                             spatial_type(im, type, w.n));
    if (!strcmp(type, "avg_pool") && does_nothing(&w)) {
        c->r.type = spatial_type(im, "adaptive_avg_pool", w.n);
        recipe_list(&c->r, "size", &in->shape[LANE_FILE].dim[2], w.n, true);
        return convert_one(im, &c->r, in);
    }
    if ((status = even_out(im, in, &w, &in)))
        return status;
    c->r.type = spatial_type(im, type, w.n);
    recipe_list(&c->r, "kernel", w.size, w.n, true);
    recipe_list(&c->r, "stride", w.stride, w.n, true);
    set_unless(&c->r, "padding", w.before, w.n, 0);
    if (node_int(im, "ceil_mode", 0))
        recipe_set(&c->r, "ceil_mode", "yes");
    if (max)
        set_unless(&c->r, "dilation", w.dilation, w.n, 1);
    return convert_one(im, &c->r, in);
}
