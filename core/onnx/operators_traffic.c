/* Operators that move, select or map elements: traffic of the tensors that they read and write. */
#include <string.h>

#include "base/text.h"
#include "onnx/operators.h"

/* The input that has the output's dimensions wherever these differ between lanes; -1: none. */
static int like_of(const importer *im, value *const *in, size_t n, const lm_tensor *shape)
{
    for (size_t i = 0; i < n; i++) {
        bool fits = true;

        for (uint32_t d = 0; d < shape->rank; d++) {
            bool same = true, copied = d < in[i]->shape[LANE_FILE].rank;

            for (int lane = 0; lane < N_LANES; lane++) {
                same &= !im->alive[lane] || shape[lane].dim[d] == shape[LANE_FILE].dim[d];
                copied =
                    copied && (!im->alive[lane] || shape[lane].dim[d] == in[i]->shape[lane].dim[d]);
            }
            fits &= same || copied;
        }
        if (fits)
            return (int)i;
    }
    return -1;
}

value *sizes_like(importer *im, const lm_tensor *shape)
{
    value *v = value_new(im, ROLE_CONSTANT);

    for (int lane = 0; lane < N_LANES && v; lane++) {
        v->shape[lane] = (lm_tensor){ .dtype = LM_U8, .rank = shape->rank };
        for (uint32_t d = 0; d < shape->rank; d++) {
            bool same = true;

            for (int k = 1; k < N_LANES; k++)
                same &= !im->alive[k] || shape[k].dim[d] == shape[LANE_FILE].dim[d];
            v->shape[lane].dim[d] = same ? 1 : shape[lane].dim[d];
        }
    }
    return v;
}

/* Adds traffic with an output of `shape` in all lanes. */
static lm_status emit_traffic_of(importer *im, recipe *r, value *const *from, size_t n,
                                 const lm_tensor *shape, value **out)
{
    const uint32_t rank = shape[LANE_FILE].rank;
    value         *in[INPUTS_MAX];
    int64_t        dim[LM_MAX_RANK];
    int            like = like_of(im, from, n, shape);

    memcpy(in, from, n * sizeof *in);
    if (like < 0 && n == INPUTS_MAX)
        return node_fail(im, LM_E_UNSUPPORTED, "more than %d inputs", INPUTS_MAX);
    if (like < 0 && !(in[like = (int)n++] = sizes_like(im, shape)))
        return im->status;
    for (uint32_t d = 0; d < rank; d++) {
        dim[d] = shape[LANE_FILE].dim[d];
        for (int lane = 1; lane < N_LANES; lane++)
            if (im->alive[lane] && shape[lane].dim[d] != shape[LANE_FILE].dim[d])
                dim[d] = 0;
        if (shape[LANE_FILE].dim[d] < 1)
            return node_fail(im, LM_E_SHAPE, "it yields nothing");
    }
    recipe_list(r, "shape", dim, rank, false);
    if (like)
        recipe_set(r, "like", "%d", like);
    if (shape[LANE_FILE].dtype != LM_F32)
        recipe_set(r, "dtype", "%s", text_dtype_name(shape[LANE_FILE].dtype));
    return emit(im, r, in, n, NULL, 0, out);
}

/* Inputs that are tensors. Numbers, such as a count or a fill value, cost no traffic. */
static size_t tensors_of(const importer *im, value **in)
{
    size_t n = 0;

    for (size_t i = 0; i < im->node->n_inputs && n < INPUTS_MAX; i++) {
        value *v = node_input(im, i);

        if (v && v->shape[LANE_FILE].rank &&
            (v->role != ROLE_CONSTANT || im->virtual || value_elements(v, LANE_FILE) > 1))
            in[n++] = v;
    }
    return n;
}

/* Output k of the node. */
static lm_status traffic_output(importer *im, size_t k, recipe *r, const lm_tensor *shape)
{
    lm_tensor    whole[N_LANES];
    value       *in[INPUTS_MAX], *out[LM_MAX_RANK];
    const size_t n    = tensors_of(im, in);
    const bool   dots = !shape[LANE_FILE].rank;
    lm_status    status;

    if (!n)
        return node_fail(im, LM_E_UNSUPPORTED, "it has no input of a shape");
    memcpy(whole, shape, sizeof whole);
    for (int lane = 0; lane < N_LANES && dots; lane++) { /* a number: a tensor of one element */
        whole[lane].rank   = 1;
        whole[lane].dim[0] = 1;
    }
    status = emit_traffic_of(im, r, in, n, whole, out);
    if (!status && dots) {
        recipe less = recipe_of("squeeze");

        recipe_set(&less, "axis", "0");
        status = emit_one(im, &less, out[0], out);
    }
    return status ? status : define_alias(im, k, out[0]);
}

lm_status convert_traffic(importer *im, recipe *r, const lm_tensor *shape)
{
    return traffic_output(im, 0, r, shape);
}

/* ---- operators ------------------------------------------------------------------------------- */

static lm_status convert_like(importer *im, conversion *c, const value *like, lm_dtype dtype,
                              int flops)
{
    lm_tensor shape[N_LANES];

    memcpy(shape, like->shape, sizeof shape);
    for (int lane = 0; lane < N_LANES; lane++)
        shape[lane].dtype = dtype;
    if (flops)
        recipe_set(&c->r, "flops", "%d", flops);
    return convert_traffic(im, &c->r, shape);
}

/* The output has the first input's shape: the operator changes or moves elements. */
lm_status convert_like_first(importer *im, conversion *c)
{
    return convert_like(im, c, c->in[0], c->in[0]->shape[LANE_FILE].dtype, 0);
}

/* A function of each element, or of each element with those before it. */
lm_status convert_map(importer *im, conversion *c)
{
    return convert_like(im, c, c->in[0], c->in[0]->shape[LANE_FILE].dtype, 1);
}

lm_status convert_test(importer *im, conversion *c)
{
    return convert_like(im, c, c->in[0], LM_U8, 1);
}

/* The output has the second input's shape. GatherElements: an element for each index. */
lm_status convert_like_second(importer *im, conversion *c)
{
    return convert_like(im, c, c->in[1], c->in[0]->shape[LANE_FILE].dtype, 0);
}

/* Random numbers of the input's shape, or type. */
lm_status convert_random_like(importer *im, conversion *c)
{
    const lm_dtype dtype = value_dtype((int32_t)node_int(im, "dtype", 0));

    recipe_set(&c->r, "reads", "no");
    return convert_like(im, c, c->in[0], dtype ? dtype : c->in[0]->shape[LANE_FILE].dtype, 0);
}

/* GatherND: a row for each list of indices in the last dimension. */
lm_status convert_gather_nd(importer *im, conversion *c)
{
    const uint32_t batches = (uint32_t)node_int(im, "batch_dims", 0);
    lm_tensor      shape[N_LANES];

    for (int lane = 0; lane < N_LANES; lane++) {
        const lm_tensor *data = &c->in[0]->shape[lane], *at = &c->in[1]->shape[lane];
        const uint32_t   deep = at->rank ? (uint32_t)at->dim[at->rank - 1] : 0;

        shape[lane] = (lm_tensor){ .dtype = data->dtype, .rank = at->rank - 1 };
        if (!at->rank || batches >= at->rank || batches + deep > data->rank ||
            at->rank - 1 + data->rank - batches - deep > LM_MAX_RANK)
            return node_fail(im, LM_E_SHAPE, "its indices do not fit its input");
        memcpy(shape[lane].dim, at->dim, (at->rank - 1) * sizeof *at->dim);
        for (uint32_t d = batches + deep; d < data->rank; d++)
            shape[lane].dim[shape[lane].rank++] = data->dim[d];
    }
    return convert_traffic(im, &c->r, shape);
}

lm_status convert_one_hot(importer *im, conversion *c)
{
    const uint32_t rank = c->in[0]->shape[LANE_FILE].rank;
    int64_t        axis = node_int(im, "axis", -1);
    double         depth;
    lm_tensor      shape[N_LANES];

    if (!value_number(im, c->in[1], &depth) || !(depth >= 1 && depth < 1e9))
        return node_fail(im, LM_E_UNSUPPORTED, "how many there are cannot be told");
    if (rank == LM_MAX_RANK || !axis_from_front(&axis, rank + 1))
        return node_fail(im, LM_E_SHAPE, "no dimension %lld", (long long)axis);
    for (int lane = 0; lane < N_LANES; lane++) {
        const lm_tensor *in = &c->in[0]->shape[lane];

        shape[lane] = (lm_tensor){ .dtype = c->in[2]->shape[lane].dtype, .rank = rank + 1 };
        for (uint32_t d = 0; d <= rank; d++)
            shape[lane].dim[d] = d == axis ? (int64_t)depth : in->dim[d - (d > axis)];
    }
    return convert_traffic(im, &c->r, shape);
}

/* TopK: the greatest elements of a dimension and their indices. The input counts once. */
lm_status convert_top_k(importer *im, conversion *c)
{
    const uint32_t        rank = c->in[0]->shape[LANE_FILE].rank;
    const onnx_attribute *k    = onnx_attribute_of(im->node, "k"); /* before opset 10 */
    int64_t               axis = node_int(im, "axis", -1);
    lm_tensor             shape[N_LANES];
    value                *in     = c->in[0], *places[LM_MAX_RANK];
    recipe                second = recipe_of("traffic");
    lm_status             status;

    if (!axis_from_front(&axis, rank))
        return node_fail(im, LM_E_SHAPE, "no dimension %lld", (long long)axis);
    for (int lane = 0; lane < N_LANES; lane++) {
        const value *v = node_input(im, 1);
        int64_t      n = k ? k->i : 0;
        size_t       one;

        shape[lane] = c->in[0]->shape[lane];
        if (im->alive[lane] && !k && (!v || !value_ints_at(v, lane, &n, 1, &one) || one != 1)) {
            if (lane == LANE_FILE)
                return node_fail(im, LM_E_UNSUPPORTED, "how many it takes cannot be told");
            lane_drop(im, lane);
        }
        if (im->alive[lane])
            shape[lane].dim[axis] = n;
    }
    recipe_set(&c->r, "flops", "1");
    if ((status = emit_traffic_of(im, &c->r, &in, 1, shape, c->out)) ||
        (status = define_alias(im, 0, c->out[0])) || im->node->n_outputs < 2)
        return status;
    for (int lane = 0; lane < N_LANES; lane++)
        shape[lane].dtype = LM_I64;
    recipe_set(&second, "reads", "no");
    status = emit_traffic_of(im, &second, &c->out[0], 1, shape, places);
    return status ? status : define_alias(im, 1, places[0]);
}

/* Output with dimension 0 of `n`, dimension 1 of the first input, and an image of the given
 * size. */
static lm_status convert_image(importer *im, conversion *c, const value *n, int64_t height,
                               int64_t width, int flops)
{
    lm_tensor shape[N_LANES];

    for (int lane = 0; lane < N_LANES; lane++) {
        shape[lane] = (lm_tensor){ .dtype = c->in[0]->shape[lane].dtype, .rank = 4 };
        if (c->in[0]->shape[lane].rank != 4 || !n->shape[lane].rank)
            return node_fail(im, LM_E_SHAPE, "expected images of N x C x height x width");
        shape[lane].dim[0] = n->shape[lane].dim[0];
        shape[lane].dim[1] = c->in[0]->shape[lane].dim[1];
        shape[lane].dim[2] = height ? height : n->shape[lane].dim[1];
        shape[lane].dim[3] = width ? width : n->shape[lane].dim[2];
    }
    recipe_set(&c->r, "flops", "%d", flops);
    return convert_traffic(im, &c->r, shape);
}

/* RoiAlign. Bilinear: 4 products and 3 sums for each output and sampling point. With 0 sampling
 * points their number depends on the regions: 1 is counted. */
lm_status convert_roi_align(importer *im, conversion *c)
{
    const int64_t samples = node_int(im, "sampling_ratio", 0), n = samples ? samples * samples : 1;

    return convert_image(im, c, c->in[1], node_int(im, "output_height", 1),
                         node_int(im, "output_width", 1), 7 * (int)(n < 10000 ? n : 10000));
}

lm_status convert_grid_sample(importer *im, conversion *c)
{
    return convert_image(im, c, c->in[1], 0, 0, 7);
}

/* ---- what nobody knows ----------------------------------------------------------------------- */

/* Size of a symbolic dimension among the inputs, in a lane; 0: none has it. */
static int64_t symbol_size(const importer *im, const char *symbol, int lane)
{
    for (size_t i = 0; i < im->model->n_inputs && symbol && *symbol; i++) {
        const onnx_value_info *info = &im->model->input[i];
        const value           *v    = value_find(im, info->name);

        for (uint32_t d = 0; d < info->shape.rank && d < LM_MAX_RANK && v; d++)
            if (info->shape.symbol[d] && !strcmp(info->shape.symbol[d], symbol) &&
                v->shape[lane].rank == info->shape.rank)
                return v->shape[lane].dim[d];
    }
    return 0;
}

const onnx_shape *told_shape(const importer *im, const char *name)
{
    const onnx_model *m  = im->model;
    const size_t      at = names_find(&im->told, name);
    const onnx_shape *s  = at == NAMES_NONE ? NULL : &m->inner[at].shape;

    for (size_t i = 0; i < m->n_outputs && !s; i++)
        if (!strcmp(m->output[i].name, name))
            s = &m->output[i].shape;
    if (!s || !s->known || s->rank > LM_MAX_RANK || !value_dtype(s->type))
        return NULL;
    for (uint32_t d = 0; d < s->rank; d++)
        if (!s->dim[d] && !symbol_size(im, s->symbol[d], LANE_FILE))
            return NULL;
    return s;
}

/* Dimensions of the other lanes. A number of the file that equals that dimension of the first input
 * of samples follows the input. Gives a lane up if the output does not follow it. */
static void told_lanes(importer *im, const onnx_shape *s, lm_tensor *out)
{
    const value *like = NULL;

    for (size_t i = 0; i < im->node->n_inputs && !like; i++)
        like = node_input(im, i) && node_input(im, i)->role == ROLE_DATA ? node_input(im, i) : NULL;
    for (int lane = 0; lane < N_LANES; lane++) {
        bool varies = false, follows = !s->rank; /* a scalar does not depend on samples */

        out[lane] = (lm_tensor){ .dtype = value_dtype(s->type), .rank = s->rank };
        for (uint32_t d = 0; d < s->rank; d++) {
            const bool same = s->dim[d] && like && d < like->shape[LANE_FILE].rank &&
                              like->shape[LANE_FILE].dim[d] == s->dim[d];

            out[lane].dim[d] = same        ? like->shape[lane].dim[d]
                               : s->dim[d] ? s->dim[d]
                                           : symbol_size(im, s->symbol[d], lane);
            follows |= out[lane].dim[d] != out[LANE_FILE].dim[d];
        }
        for (uint32_t d = 0; like && d < like->shape[lane].rank; d++)
            varies |= like->shape[lane].dim[d] != like->shape[LANE_FILE].dim[d];
        if (lane && varies && !follows)
            lane_drop(im, lane);
        if (!im->alive[lane])
            out[lane] = out[LANE_FILE];
    }
}

lm_status convert_assumed(importer *im)
{
    lm_status status = LM_OK;
    bool      first  = true;

    for (size_t k = 0; k < im->node->n_outputs && !status; k++) {
        const onnx_shape *s = *im->node->output[k] ? told_shape(im, im->node->output[k]) : NULL;
        recipe            r = recipe_of("traffic");
        lm_tensor         shape[N_LANES];

        if (!s)
            continue;
        if (!first) /* its inputs are read once */
            recipe_set(&r, "reads", "no");
        first = false;
        told_lanes(im, s, shape);
        status = traffic_output(im, k, &r, shape);
    }
    return status;
}
