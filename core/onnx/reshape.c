/* Reshapes that follow the batch and the image. */
#include <string.h>

#include "onnx/import.h"

/* Target of a reshape, in each lane. */
typedef struct target {
    int64_t  dim[N_LANES][LM_MAX_RANK];
    uint32_t rank;
    int64_t  raw[LM_MAX_RANK]; /* as in the file, with 0 and -1 */
    int64_t  batch_outer;
    int      batch_axis;
} target;

static int64_t product(const int64_t *dim, uint32_t n)
{
    uint64_t p = 1;

    for (uint32_t i = 0; i < n; i++)
        p = lm_mul(p, (uint64_t)dim[i]);
    return p > INT64_MAX ? INT64_MAX : (int64_t)p;
}

/* ONNX's rules: 0 copies a dimension; one -1 takes the remaining elements. */
static bool resolve(const lm_tensor *in, const int64_t *raw, uint32_t n, int64_t *out)
{
    const int64_t all   = product(in->dim, in->rank);
    int           open  = -1;
    int64_t       given = 1;

    for (uint32_t i = 0; i < n; i++) {
        if (raw[i] == -1 && open < 0) {
            open   = (int)i;
            out[i] = 1;
            continue;
        }
        if (raw[i] < 0 || (raw[i] == 0 && i >= in->rank))
            return false;
        out[i] = raw[i] ? raw[i] : in->dim[i];
    }
    given = product(out, n);
    if (open >= 0) {
        if (!given || all % given)
            return false;
        out[open] = all / given;
        return out[open] > 0;
    }
    return given == all;
}

/* Rates how well dimension d of the target matches `size`. Several dimensions begin at one place if
 * some are 1. */
static int suits(const target *t, uint32_t d, int64_t size)
{
    const int64_t dim = t->dim[LANE_FILE][d];

    return dim == size ? 3 : t->raw[d] == -1 ? 2 : dim > 1 ? 1 : 0;
}

/* Index in the target of the input's dimension with `size` elements, behind `before` elements. */
static int find_place(const target *t, int64_t before, int64_t size)
{
    int     left = -1, right = -1, across = -1;
    int64_t prefix = 1;

    for (uint32_t d = 0; d < t->rank; d++) {
        const int64_t next = product(t->dim[LANE_FILE], d + 1);

        if (prefix == before && (right < 0 || suits(t, d, size) > suits(t, (uint32_t)right, size)))
            right = (int)d;
        else if (prefix < before && next == before)
            left = (int)d;
        else if (prefix < before && before < next)
            across = (int)d;
        prefix = next;
    }
    if (right < 0)
        return left >= 0 ? left : across;
    if (left >= 0 && suits(t, (uint32_t)right, size) < 2) {
        /* [L, N x heads, width] -> [L x N, features]: samples must not become features */
        if (t->raw[left] == -1 || right == (int)t->rank - 1)
            return left;
    }
    return right;
}

/* Dimensions of the target in a lane, from those of the file and the changes of the input. */
static bool follow(const value *in, int lane, target *t)
{
    const lm_tensor *file = &in->shape[LANE_FILE], *other = &in->shape[lane];

    memcpy(t->dim[lane], t->dim[LANE_FILE], sizeof t->dim[lane]);
    for (uint32_t p = 0; p < file->rank; p++) {
        const bool    batch  = lane == LANE_BATCH && (int)p == in->batch_axis;
        const int64_t outer  = batch ? in->batch_outer : 1;
        const int64_t before = (int64_t)lm_mul((uint64_t)product(file->dim, p), (uint64_t)outer);
        int           d;
        uint64_t      grown;

        if (file->dim[p] == other->dim[p])
            continue;
        d = find_place(t, before, file->dim[p] / outer);
        if (d < 0)
            return false;
        grown = lm_mul((uint64_t)t->dim[lane][d], (uint64_t)other->dim[p]);
        if (grown > INT64_MAX || grown % (uint64_t)file->dim[p])
            return false;
        t->dim[lane][d] = (int64_t)grown / file->dim[p];
        if (batch) {
            t->batch_axis  = d;
            t->batch_outer = before / product(t->dim[LANE_FILE], (uint32_t)d);
        }
    }
    return product(t->dim[lane], t->rank) == product(other->dim, other->rank);
}

/* Fills in the target for all lanes. Shapes computed by the graph are used directly; numbers in the
 * file follow the input. */
static bool fill_lanes(importer *im, const value *in, const value *shape, target *t)
{
    size_t n;

    if (!value_ints_at(shape, LANE_FILE, t->raw, LM_MAX_RANK, &n))
        return false;
    t->rank        = (uint32_t)n;
    t->batch_axis  = -1;
    t->batch_outer = 1;
    if (!resolve(&in->shape[LANE_FILE], t->raw, t->rank, t->dim[LANE_FILE]))
        return false;
    for (int lane = 1; lane < N_LANES; lane++) {
        int64_t raw[LM_MAX_RANK];
        size_t  m = 0;
        bool    computed, fits;

        memcpy(t->dim[lane], t->dim[LANE_FILE], sizeof t->dim[lane]);
        if (!im->alive[lane])
            continue;
        fits = value_ints_at(shape, lane, raw, LM_MAX_RANK, &m) && m == n &&
               resolve(&in->shape[lane], raw, t->rank, t->dim[lane]);
        computed = m == n && memcmp(raw, t->raw, n * sizeof *raw) != 0;
        if (fits && (computed || !memcmp(in->shape[lane].dim, in->shape[LANE_FILE].dim,
                                         sizeof in->shape[lane].dim)))
            continue;
        if (!follow(in, lane, t)) {
            memcpy(t->dim[lane], t->dim[LANE_FILE], sizeof t->dim[lane]);
            lane_drop(im, lane);
        }
    }
    return true;
}

static bool same(const importer *im, const target *t, uint32_t d)
{
    for (int lane = 1; lane < N_LANES; lane++)
        if (im->alive[lane] && t->dim[lane][d] != t->dim[LANE_FILE][d])
            return false;
    return true;
}

/* Does dimension d of the target equal the input's in every lane? */
static bool copies(const importer *im, const value *in, const target *t, uint32_t d)
{
    if (d >= in->shape[LANE_FILE].rank)
        return false;
    for (int lane = 0; lane < N_LANES; lane++)
        if (im->alive[lane] && t->dim[lane][d] != in->shape[lane].dim[d])
            return false;
    return true;
}

/* Values for `shape =`; false if more than one -1 were needed. */
static bool express(const importer *im, const value *in, const target *t, int64_t *out)
{
    bool open = false;

    for (uint32_t d = 0; d < t->rank; d++) {
        if (same(im, t, d)) {
            out[d] = t->dim[LANE_FILE][d];
        } else if (copies(im, in, t, d)) {
            out[d] = 0;
        } else if (open) {
            return false;
        } else {
            open   = true;
            out[d] = -1;
        }
    }
    return true;
}

/* Stores the position of the batch in its dimension, which the inference of layers does not
 * know. */
static void keep_batch(const target *t, value *out)
{
    if (out->batch_axis >= 0 && out->batch_axis == t->batch_axis)
        out->batch_outer = t->batch_outer;
}

static lm_status emit_expressed(importer *im, value *in, const target *t, const int64_t *shape,
                                value **out)
{
    recipe    r      = recipe_of("reshape");
    lm_status status = LM_OK;

    if (t->rank == 2 && in->shape[LANE_FILE].rank > 2 && !same(im, t, 0) && copies(im, in, t, 0)) {
        r = recipe_of("flatten"); /* from dimension 1 on */
    } else {
        recipe_list(&r, "shape", shape, t->rank, false);
    }
    status = emit_one(im, &r, in, out);
    if (!status)
        keep_batch(t, *out);
    return status;
}

/* ---- one group of dimensions after another ---- */

/* The shortest runs of dimensions from i and j on with the same product in every lane. */
static bool next_group(const importer *im, const value *in, const target *t, uint32_t i, uint32_t j,
                       uint32_t *i_end, uint32_t *j_end)
{
    const uint32_t rank = in->shape[LANE_FILE].rank;
    int64_t        a[N_LANES], b[N_LANES];

    for (int lane = 0; lane < N_LANES; lane++) {
        a[lane] = i < rank ? in->shape[lane].dim[i] : 1;
        b[lane] = j < t->rank ? t->dim[lane][j] : 1;
    }
    *i_end = i < rank ? i + 1 : i;
    *j_end = j < t->rank ? j + 1 : j;
    for (;;) {
        bool equal = true;

        for (int lane = 0; lane < N_LANES; lane++)
            equal &= !im->alive[lane] || a[lane] == b[lane];
        if (equal)
            return true;
        if (a[LANE_FILE] < b[LANE_FILE] || (a[LANE_FILE] == b[LANE_FILE] && *j_end == t->rank)) {
            if (*i_end == rank)
                return false;
            for (int lane = 0; lane < N_LANES; lane++)
                a[lane] *= in->shape[lane].dim[*i_end];
            ++*i_end;
        } else {
            if (*j_end == t->rank)
                return false;
            for (int lane = 0; lane < N_LANES; lane++)
                b[lane] *= t->dim[lane][*j_end];
            ++*j_end;
        }
    }
}

static lm_status move_ones(importer *im, const char *type, value *in, uint32_t axis, uint32_t n,
                           value **out)
{
    recipe  r = recipe_of(type);
    int64_t at[LM_MAX_RANK];

    for (uint32_t i = 0; i < n; i++)
        at[i] = axis + i;
    recipe_list(&r, "axis", at, n, false);
    return emit_one(im, &r, in, out);
}

/* Replaces dimensions i .. i_end of `in` by j .. j_end of `all`. Ones align the other dimensions. */
static lm_status reshape_group(importer *im, value *in, const target *all, uint32_t i,
                               uint32_t i_end, uint32_t j, uint32_t j_end, bool *fits, value **out)
{
    const uint32_t n_in = i_end - i, n_out = j_end - j, wide = n_in > n_out ? n_in : n_out;
    const uint32_t rank = in->shape[LANE_FILE].rank - n_in + wide;
    target         t    = { .rank = rank, .batch_axis = -1, .batch_outer = 1 };
    int64_t        shape[LM_MAX_RANK];
    lm_status      status = LM_OK;

    *fits = rank <= LM_MAX_RANK;
    if (!*fits)
        return LM_OK;
    *out = in;
    if (n_in < wide && (status = move_ones(im, "unsqueeze", in, i, wide - n_in, out)))
        return status;
    for (int lane = 0; lane < N_LANES; lane++) {
        memcpy(t.dim[lane], (*out)->shape[lane].dim, sizeof t.dim[lane]);
        for (uint32_t k = 0; k < wide; k++)
            t.dim[lane][i + k] = k < wide - n_out ? 1 : all->dim[lane][j + k - (wide - n_out)];
    }
    *fits = express(im, *out, &t, shape);
    if (!*fits)
        return LM_OK;
    status = emit_expressed(im, *out, &t, shape, out);
    if (!status && n_out < wide)
        status = move_ones(im, "squeeze", *out, i, wide - n_out, out);
    return status;
}

/* Reshapes in several steps. Windows of an image change height and width, so one -1 does not
 * suffice. */
static lm_status emit_in_groups(importer *im, value *in, const target *t, bool *fits, value **out)
{
    uint32_t  i = 0, j = 0, i_end, j_end;
    value    *v      = in;
    lm_status status = LM_OK;

    *fits = true;
    while (*fits && !status && (i < in->shape[LANE_FILE].rank || j < t->rank)) {
        *fits = next_group(im, in, t, i, j, &i_end, &j_end);
        if (*fits && (i_end - i != 1 || j_end - j != 1))
            status = reshape_group(im, v, t, j, j + (i_end - i), j, j_end, fits, &v);
        i = i_end;
        j = j_end;
    }
    if (*fits && !status) {
        *out = v;
        keep_batch(t, v);
    }
    return status;
}

/* ---- entrances ---- */

static lm_status emit_target(importer *im, value *in, target *t, value **out)
{
    int64_t   shape[LM_MAX_RANK];
    bool      same_shape = t->rank == in->shape[LANE_FILE].rank, fits;
    lm_status status;

    for (uint32_t d = 0; d < t->rank && same_shape; d++)
        same_shape = copies(im, in, t, d);
    if (same_shape) {
        *out = in;
        return LM_OK;
    }
    for (;;) {
        if (express(im, in, t, shape))
            return emit_expressed(im, in, t, shape, out);
        if ((status = emit_in_groups(im, in, t, &fits, out)) || fits)
            return status;
        lane_drop(im, im->alive[LANE_IMAGE] ? LANE_IMAGE : LANE_BATCH);
    }
}

lm_status emit_reshape(importer *im, value *in, const value *shape, value **out)
{
    target t;

    if (!fill_lanes(im, in, shape, &t))
        return node_fail(im, LM_E_SHAPE,
                         shape->content[LANE_FILE]
                             ? "its input does not fit the shape it is to get"
                             : "the shape it is to get is computed from samples");
    return emit_target(im, in, &t, out);
}

lm_status emit_reshape_to(importer *im, value *in, const int64_t *dim, uint32_t rank, value **out)
{
    double content[LM_MAX_RANK];
    value  shape = { .role = ROLE_CONSTANT, .batch_axis = -1 };

    for (uint32_t i = 0; i < rank; i++)
        content[i] = (double)dim[i];
    value_shape(&shape, LM_I64, &(int64_t){ rank }, 1);
    for (int lane = 0; lane < N_LANES; lane++)
        shape.content[lane] = content;
    return emit_reshape(im, in, &shape, out);
}
