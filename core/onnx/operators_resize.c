/* Operators that repeat, pad and resize. */
#include <math.h>
#include <string.h>

#include "onnx/operators.h"

#define FAR_PAD 1000000000 /* limit of elements added on one side */

/* ---- repeating and padding ------------------------------------------------------------------- */

/* The shape after Expand in one lane, in the layer's format. */
static bool expand_list(const value *in, const value *shape, int lane, int64_t *out, size_t *n)
{
    const lm_tensor *t = &in->shape[lane];

    if (!value_ints_at(shape, lane, out, LM_MAX_RANK, n))
        return false;
    if (*n < t->rank) { /* a shorter list stretches the last dimensions */
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
            out[i] == file) /* the file's own size means this lane's */
            out[i] = i < added ? out[i] : -1;
    }
    return true;
}

typedef int64_t lane_lists[N_LANES][LM_MAX_RANK];

/* Expands a tensor of the file, or a constant, to one for each sample, without a layer. */
static lm_status stretch_to_samples(importer *im, value *in, lane_lists list, value **out)
{
    const int64_t samples[N_LANES] = { im->batch, 3 * im->batch, im->batch };
    const bool    frozen = list[LANE_FILE][0] == im->batch && list[LANE_BATCH][0] == im->batch;
    bool          fits   = true;
    lm_status     status;

    for (int lane = 0; lane < N_LANES; lane++)
        fits &= in->role == ROLE_CONSTANT || frozen || list[lane][0] == samples[lane];
    *out = in;
    if (!fits)
        return LM_OK;
    if ((status = expand_to_batch(im, in, out)) || *out == in)
        return status;
    for (int lane = 0; lane < N_LANES; lane++) {
        (*out)->shape[lane].dim[0] = frozen ? samples[lane] : list[lane][0];
        list[lane][0]              = -1;
    }
    return LM_OK;
}

/* Expands dimensions of 1 to the n given sizes of each lane; -1 keeps a dimension. */
static lm_status stretch(importer *im, conversion *c, lane_lists list, size_t n)
{
    value    *in = c->in[0], *pair[2];
    lm_tensor sizes[N_LANES];
    bool      keeps = true, copies = false;
    lm_status status;

    if (im->alive[LANE_BATCH] && n == in->shape[LANE_FILE].rank && in->batch_axis < 0 &&
        in->role != ROLE_DATA &&
        (list[LANE_BATCH][0] != list[LANE_FILE][0] || list[LANE_FILE][0] == im->batch) &&
        (status = stretch_to_samples(im, in, list, &in)))
        return status;
    for (int lane = 0; lane < N_LANES; lane++)
        sizes[lane] = (lm_tensor){ .dtype = LM_U8, .rank = (uint32_t)n };
    for (size_t i = 0; i < n; i++) {
        bool same = true;

        for (int lane = 1; lane < N_LANES; lane++)
            same &= !im->alive[lane] || list[lane][i] == list[LANE_FILE][i];
        for (int lane = 0; lane < N_LANES; lane++)
            sizes[lane].dim[i] = same || list[lane][i] < 0 ? 1 : list[lane][i];
        copies |= !same;
        keeps &= list[LANE_FILE][i] == -1 && same;
        if (!same)
            list[LANE_FILE][i] = -2;
    }
    if (keeps)
        return define_alias(im, 0, in);
    c->r = recipe_of("expand");
    recipe_list(&c->r, "shape", list[LANE_FILE], n, false);
    pair[0] = in;
    if (copies && !(pair[1] = sizes_like(im, sizes)))
        return im->status;
    return convert_into(im, &c->r, pair, 1 + copies, NULL, 0);
}

lm_status convert_expand(importer *im, conversion *c)
{
    value     *in = c->in[0], *shape = c->in[1];
    lane_lists list;
    size_t     n, m;

    if (!expand_list(in, shape, LANE_FILE, list[LANE_FILE], &n))
        return node_fail(im, LM_E_UNSUPPORTED, "the shape it is to get cannot be told");
    for (int lane = 1; lane < N_LANES; lane++) {
        memcpy(list[lane], list[LANE_FILE], sizeof list[lane]);
        if (im->alive[lane] && (!expand_list(in, shape, lane, list[lane], &m) || m != n))
            lane_drop(im, lane);
    }
    return stretch(im, c, list, n);
}

/* Reads the number of copies in each lane; false: unknown. */
static bool read_repeats(importer *im, const value *in, lane_lists times)
{
    const value *v = node_input(im, 1);
    size_t       n;

    for (int lane = 0; lane < N_LANES; lane++) {
        memcpy(times[lane], times[LANE_FILE], sizeof times[lane]);
        if (im->alive[lane] && (!v || !value_ints_at(v, lane, times[lane], LM_MAX_RANK, &n) ||
                                n != in->shape[LANE_FILE].rank || !n)) {
            if (lane == LANE_FILE)
                return false;
            memcpy(times[lane], times[LANE_FILE], sizeof times[lane]);
            lane_drop(im, lane);
        }
    }
    return true;
}

/* Tile by the number of samples: the number of copies differs between lanes. */
static lm_status repeat_samples(importer *im, conversion *c, lane_lists times)
{
    const uint32_t rank = c->in[0]->shape[LANE_FILE].rank;
    lm_tensor      shape[N_LANES];

    memcpy(shape, c->in[0]->shape, sizeof shape);
    for (int lane = 0; lane < N_LANES; lane++)
        for (uint32_t d = 0; d < rank; d++)
            shape[lane].dim[d] *= times[lane][d];
    c->r = recipe_of("traffic");
    return convert_traffic(im, &c->r, shape);
}

/* Is a tensor without samples repeated as often as the file has samples? */
static bool repeats_samples(const importer *im, const value *in, int64_t times)
{
    return im->alive[LANE_BATCH] && im->batch > 1 && times == im->batch && in->batch_axis < 0 &&
           in->shape[LANE_FILE].dim[0] == 1;
}

lm_status convert_tile(importer *im, conversion *c)
{
    const uint32_t rank = c->in[0]->shape[LANE_FILE].rank;
    lane_lists     times;
    bool           once = true, same = true;

    if (!read_repeats(im, c->in[0], times))
        return node_fail(im, LM_E_UNSUPPORTED, "how often cannot be told");
    for (int lane = 0; lane < N_LANES; lane++)
        for (uint32_t d = 0; d < rank; d++) {
            if (times[lane][d] < 1 || times[lane][d] > FAR_PAD)
                return node_fail(im, LM_E_SHAPE, "%lld times", (long long)times[lane][d]);
            once &= times[lane][d] == 1;
            same &= times[lane][d] == times[LANE_FILE][d];
        }
    if (once)
        return define_alias(im, 0, c->in[0]);
    if (same && repeats_samples(im, c->in[0], times[LANE_FILE][0])) { /* a number of the file */
        times[LANE_BATCH][0] = 3 * im->batch;
        same                 = false;
    }
    if (!same)
        return repeat_samples(im, c, times);
    recipe_list(&c->r, "repeats", times[LANE_FILE], rank, false);
    return convert_one(im, &c->r, c->in[0]);
}

/* Reads the elements that a Pad adds before and after each dimension in one lane; negative:
 * removes. */
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
        if (!axis_from_front(&axes[i], rank) || pads[i] > FAR_PAD || pads[n_axes + i] > FAR_PAD ||
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

lm_status convert_pad(importer *im, conversion *c)
{
    value         *v    = c->in[0];
    const uint32_t rank = v->shape[LANE_FILE].rank;
    int64_t        before[N_LANES][LM_MAX_RANK], after[N_LANES][LM_MAX_RANK];
    lm_status      status;

    if (!read_pads(im, v, LANE_FILE, before[LANE_FILE], after[LANE_FILE]))
        return node_fail(im, LM_E_UNSUPPORTED, "what it adds cannot be told");
    for (int lane = 1; lane < N_LANES; lane++)
        if (im->alive[lane] &&
            (!read_pads(im, v, lane, before[lane], after[lane]) ||
             memcmp(before[lane], before[LANE_FILE], rank * sizeof **before) != 0 ||
             memcmp(after[lane], after[LANE_FILE], rank * sizeof **after) != 0))
            lane_drop(im, lane);
    for (uint32_t d = 0; d < rank; d++) { /* negative: a slice */
        int64_t first[N_LANES], end[N_LANES];

        for (int lane = 0; lane < N_LANES; lane++) {
            const int64_t cut = after[LANE_FILE][d] < 0 ? after[LANE_FILE][d] : 0;

            first[lane] = before[LANE_FILE][d] < 0 ? -before[LANE_FILE][d] : 0;
            end[lane]   = v->shape[lane].dim[d] + cut;
            if (first[lane] >= end[lane])
                return node_fail(im, LM_E_SHAPE, "nothing is left of dimension %u", d);
        }
        if ((status = emit_slice(im, v, d, first, end, 1, c->out)))
            return status;
        v                    = c->out[0];
        before[LANE_FILE][d] = before[LANE_FILE][d] < 0 ? 0 : before[LANE_FILE][d];
        after[LANE_FILE][d]  = after[LANE_FILE][d] < 0 ? 0 : after[LANE_FILE][d];
    }
    status = emit_pad(im, v, before[LANE_FILE], after[LANE_FILE], &v);
    return status ? status : define_alias(im, 0, v);
}

#define NOT_RESIZED SIZE_MAX

/* ---- images ---------------------------------------------------------------------------------- */

/* Positions of the resized dimensions in the list `axes`; without it all dimensions. False if one
 * is out of range or occurs twice. */
static bool resize_places(const onnx_attribute *axes, uint32_t rank, size_t *place, size_t *n)
{
    *n = axes ? axes->n_ints : rank;
    for (uint32_t d = 0; d < rank; d++)
        place[d] = axes ? NOT_RESIZED : d;
    for (size_t i = 0; axes && i < *n; i++) {
        int64_t d = axes->ints[i];

        if (!axis_from_front(&d, rank) || place[d] != NOT_RESIZED)
            return false;
        place[d] = i;
    }
    return true;
}

/* Target of a resize: the ratio of each dimension if all lanes have the same, else the size in the
 * file. */
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

lm_status convert_resize(importer *im, conversion *c)
{
    value         *in     = c->in[0];
    const uint32_t rank   = in->shape[LANE_FILE].rank;
    const char    *mode   = node_text(im, "mode", "nearest");
    const char    *aspect = node_text(im, "keep_aspect_ratio_policy", "stretch");
    double         factor[LM_MAX_RANK];
    int64_t        size[LM_MAX_RANK];
    bool           by_factor, same = true, one = true;
    lm_status      status;

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
        recipe_set(&c->r, "factor", "%.17g", factor[2]);
    else
        recipe_list(&c->r, "size", size + 2, rank - 2, true);
    recipe_set(&c->r, "mode", "%s",
               !strcmp(mode, "linear")  ? rank == 3   ? "linear"
                                          : rank == 4 ? "bilinear"
                                                      : "trilinear"
               : !strcmp(mode, "cubic") ? "bicubic"
                                        : "nearest");
    return convert_one(im, &c->r, in);
}

lm_status convert_depth_to_space(importer *im, conversion *c)
{
    recipe_set(&c->r, "factor", "%lld", (long long)node_int(im, "blocksize", 1));
    return convert_one(im, &c->r, c->in[0]);
}
