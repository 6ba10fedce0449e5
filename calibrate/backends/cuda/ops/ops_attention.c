/* Fused attention: a cuDNN graph of its parts, which the library runs as one kernel. */
#include "ops/ops_attention.h"

#include <float.h>
#include <math.h>

#include "ops/ops.h"
#include "ops/ops_graph.h"

/*
 * The library recognises the pattern, not a name: products, scale, masks, softmax, dropout,
 * product. Order and types must be those of its own front end (cudnn-frontend 1.14.1,
 * scaled_dot_product_flash_attention.h, attn_score_modifiers.h and sdpa_support_surface.h, which
 * PyTorch's cuDNN attention uses). The unified operation of newer releases has neither masks nor
 * dropout in 9.19.
 *
 * cuDNN 9.12, 9.14 and 9.19 make flash kernels' plans of these graphs for an H200 that is described
 * to them. With 9.14 they ran on an H100 and agree with a CPU's results.
 *
 * Keys and values share one buffer; so do the three gradients. All are packed as batch, head,
 * position, width. The backward kernel sums queries' gradients in f32 in scratch memory. The
 * library clears this memory since 9.6, so older versions are refused. Versions before 9.15 get a
 * padding mask for a last block of fewer than 128 keys; the lengths in it are those of all queries
 * and keys. Gradients of versions before 9.10 mask such keys twice. 9.10.0 and 9.10.1 are refused,
 * as the front end refuses them.
 */

enum { CLEARS_SUMS = 90600, MASKS_INFINITE = 91000, MASKS_LAST_BLOCK = 91500, BLOCK = 128 };

typedef struct attention {
    const lm_kernel *kernel;
    dnn_graph       *g;
    cudnnDataType_t  type;
    graph_layout     q, k, v, o, kt, vt, scores, turned, stats, full_k, full_v;
    attention_places at;
    graph_node       scale;
    graph_node       queries, keys; /* lengths; NULL: no padding mask */
} attention;

static const fill zero = { .kind = FILL_ZERO };

/* ---- shapes ---------------------------------------------------------------------------------- */

static graph_layout shape(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return graph_packed(4, (const int64_t[]){ a, b, c, d });
}

/* The same bytes with the last two axes exchanged. */
static graph_layout exchanged(const graph_layout *l)
{
    graph_layout t = *l;

    t.dim[2]    = l->dim[3];
    t.dim[3]    = l->dim[2];
    t.stride[2] = l->stride[3];
    t.stride[3] = l->stride[2];
    return t;
}

static size_t bytes_of(const attention *a, const graph_layout *l)
{
    const uint64_t bytes = lm_mul(graph_elements(l), lm_dtype_bytes(a->kernel->dtype));

    return (size_t)(lm_add(bytes, 255) / 256 * 256);
}

static void set_shapes(attention *a)
{
    const lm_kernel *k = a->kernel;
    const int64_t    b = k->u.attention.batch, h = k->u.attention.heads;
    const int64_t    kv = k->u.attention.kv_heads;
    const int64_t    sq = k->u.attention.queries, sk = k->u.attention.keys;
    const int64_t    width = k->u.attention.width, value = k->u.attention.value_width;

    a->q      = shape(b, h, sq, width);
    a->k      = shape(b, kv, sk, width);
    a->v      = shape(b, kv, sk, value);
    a->o      = shape(b, h, sq, value);
    a->kt     = exchanged(&a->k);
    a->vt     = exchanged(&a->v);
    a->scores = shape(b, h, sq, sk);
    a->turned = exchanged(&a->scores);
    a->stats  = shape(b, h, sq, 1);
    a->full_k = shape(b, h, sk, width);
    a->full_v = shape(b, h, sk, value);
}

/* Adds a buffer for several tensors. */
static size_t add_buffer(cuda_kernel *k, cuda_argument argument, slot_role role, size_t bytes)
{
    cuda_add_slot(k, argument, role, bytes, cuda_normal(k->base.kernel.dtype, 1.0));
    return k->base.n_slots - 1;
}

attention_places ops_attention_slots(cuda_kernel *k)
{
    attention        a       = { .kernel = &k->base.kernel };
    attention_places p       = { 0 };
    const bool       forward = k->base.kernel.pass == LM_FORWARD;
    const lm_dtype   t       = k->base.kernel.dtype;
    const fill       normal  = cuda_normal(t, 1.0);

    set_shapes(&a);
    p.v_offset  = bytes_of(&a, &a.k);
    p.dk_offset = bytes_of(&a, &a.q);
    p.dv_offset = p.dk_offset + bytes_of(&a, &a.k);
    if (!forward)
        p.d_o = ops_slot(k, CUDA_DIFF_DST, ROLE_IN, &a.o, t, normal);
    p.q     = ops_slot(k, CUDA_SRC, forward ? ROLE_IN : ROLE_SAVED_IN, &a.q, t, normal);
    p.kv    = add_buffer(k, CUDA_SRC_OTHER, ROLE_IN_OTHER, p.v_offset + bytes_of(&a, &a.v));
    p.o     = ops_slot(k, CUDA_DST, forward ? ROLE_OUT : ROLE_SAVED_OUT, &a.o, t, normal);
    p.stats = ops_slot(k, CUDA_MEAN, ROLE_STATE, &a.stats, LM_F32, zero);
    if (!forward)
        p.dqkv = add_buffer(k, CUDA_DIFF_SRC, ROLE_OUT, p.dv_offset + bytes_of(&a, &a.v));
    if (k->base.kernel.u.attention.dropout) {
        cuda_add_slot(k, CUDA_MASK, ROLE_STATE, sizeof(int64_t), (fill){ FILL_ZERO, LM_U8, 0 });
        p.seed = k->base.n_slots - 1;
    }
    return p;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static graph_node between(attention *a, const graph_layout *l)
{
    return graph_virtual(a->g, l, CUDNN_DATA_FLOAT);
}

static graph_node combine(attention *a, cudnnPointwiseMode_t mode, graph_node x, graph_node b,
                          graph_node y)
{
    graph_pointwise(a->g, mode, CUDNN_DATA_FLOAT, x, b, NULL, y);
    return y;
}

static graph_node times(attention *a, graph_node scores, graph_node b)
{
    return combine(a, CUDNN_POINTWISE_MUL, scores, b, between(a, &a->scores));
}

/* Row or column of each score. */
static graph_node place(attention *a, int axis, graph_node scores)
{
    const graph_node y = graph_virtual(a->g, &a->scores, CUDNN_DATA_INT32);

    graph_index(a->g, axis, scores, y);
    return y;
}

static graph_node truth(attention *a, cudnnPointwiseMode_t mode, graph_node x, graph_node b)
{
    const graph_node y = graph_virtual(a->g, &a->scores, CUDNN_DATA_BOOLEAN);

    graph_pointwise(a->g, mode, CUDNN_DATA_BOOLEAN, x, b, NULL, y);
    return y;
}

/* Scores that are not seen become the least number. */
static graph_node hide(attention *a, graph_node scores, graph_node seen)
{
    const float      lowest = cudnnGetVersion() < MASKS_INFINITE ? -FLT_MAX : -INFINITY;
    const graph_node least = graph_number(a->g, 4, lowest), y = between(a, &a->scores);

    graph_pointwise(a->g, CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, scores, least, seen, y);
    return y;
}

/* Query i sees keys 0..i. */
static graph_node mask(attention *a, graph_node scores)
{
    graph_node row, column;

    if (!a->kernel->u.attention.causal)
        return scores;
    row    = place(a, 2, scores);
    column = place(a, 3, scores);
    return hide(a, scores, truth(a, CUDNN_POINTWISE_CMP_GE, row, column));
}

/* What lies behind the lengths of sequences is not seen. */
static graph_node mask_padding(attention *a, graph_node scores)
{
    graph_node row, column;

    if (!a->keys)
        return scores;
    row    = place(a, 2, scores);
    column = place(a, 3, scores);
    row    = truth(a, CUDNN_POINTWISE_CMP_LT, row, a->queries);
    column = truth(a, CUDNN_POINTWISE_CMP_LT, column, a->keys);
    return hide(a, scores, truth(a, CUDNN_POINTWISE_LOGICAL_AND, row, column));
}

/* Lengths in a product of scores and a tensor of keys or queries. */
static graph_lengths lengths(graph_node rows, graph_node columns, graph_node summands)
{
    return (graph_lengths){ rows, columns, summands };
}

/* Mask of dropout: 1 keeps a probability; NULL: no dropout. */
static graph_node draw_kept(attention *a)
{
    const graph_layout one = shape(1, 1, 1, 1);
    graph_node         kept, seed, offset;

    if (!a->kernel->u.attention.dropout)
        return NULL;
    kept   = between(a, &a->scores);
    seed   = graph_argument(a->g, a->at.seed, &one, CUDNN_DATA_INT64);
    offset = graph_argument(a->g, a->at.seed, &one, CUDNN_DATA_INT64);
    graph_random(a->g, 1 - ATTENTION_DROPOUT, seed, offset, kept);
    return kept;
}

/* Scores of all pairs, scaled. */
static graph_node draw_scores(attention *a, graph_node q)
{
    const float      root = (float)(1 / sqrt((double)a->kernel->u.attention.width));
    const graph_node kt   = graph_argument(a->g, a->at.kv, &a->kt, a->type);
    const graph_node raw  = between(a, &a->scores);

    graph_matmul(a->g, q, kt, lengths(a->queries, a->keys, NULL), raw);
    a->scale = graph_number(a->g, 4, root);
    return mask_padding(a, times(a, raw, a->scale));
}

/* ---- forward --------------------------------------------------------------------------------- */

static graph_node draw_softmax(attention *a, graph_node scores, graph_node y)
{
    const graph_node most = between(a, &a->stats), sum = between(a, &a->stats);
    const graph_node stats = graph_argument(a->g, a->at.stats, &a->stats, CUDNN_DATA_FLOAT);
    graph_node       powers;

    graph_reduce(a->g, CUDNN_REDUCE_TENSOR_MAX, scores, most);
    powers = combine(a, CUDNN_POINTWISE_SUB, scores, most, between(a, &a->scores));
    powers = combine(a, CUDNN_POINTWISE_EXP, powers, NULL, between(a, &a->scores));
    graph_reduce(a->g, CUDNN_REDUCE_TENSOR_ADD, powers, sum);
    combine(a, CUDNN_POINTWISE_ADD, most,
            combine(a, CUDNN_POINTWISE_LOG, sum, NULL, between(a, &a->stats)), stats);
    return combine(a, CUDNN_POINTWISE_DIV, powers, sum, y);
}

static void draw_forward(attention *a)
{
    const graph_node q      = graph_argument(a->g, a->at.q, &a->q, a->type);
    const graph_node v      = graph_part(a->g, a->at.kv, a->at.v_offset, &a->v, a->type);
    const graph_node o      = graph_argument(a->g, a->at.o, &a->o, a->type);
    const graph_node scores = mask(a, draw_scores(a, q));
    const graph_node last   = graph_virtual(a->g, &a->scores, a->type);
    const graph_node kept   = draw_kept(a);
    graph_node       p;

    if (kept) {
        p = draw_softmax(a, scores, between(a, &a->scores));
        p = times(a, p, kept);
        combine(a, CUDNN_POINTWISE_MUL, p,
                graph_number(a->g, 4, (float)(1 / (1 - ATTENTION_DROPOUT))), last);
    } else {
        draw_softmax(a, scores, last);
    }
    graph_matmul(a->g, last, v, lengths(a->queries, NULL, a->keys), o);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* The sum of dO O for each query, on which the gradients of all its scores depend. */
static graph_node draw_sums(attention *a, graph_node d_o)
{
    const graph_node o        = graph_argument(a->g, a->at.o, &a->o, a->type);
    const graph_node products = between(a, &a->o), sums = between(a, &a->stats);
    const double     inverse = a->kernel->u.attention.dropout ? 1 - ATTENTION_DROPOUT : 1;

    combine(a, CUDNN_POINTWISE_MUL, d_o, o, products);
    graph_reduce(a->g, CUDNN_REDUCE_TENSOR_ADD, products, sums);
    return combine(a, CUDNN_POINTWISE_MUL, sums, graph_number(a->g, 4, (float)inverse),
                   graph_scratch(a->g, &a->stats, CUDNN_DATA_FLOAT));
}

/* The product of the transpose of `scores` and a tensor of queries, summed over heads that share
 * keys. */
static void draw_turned(attention *a, graph_node scores, graph_node queries, graph_node out,
                        const graph_layout *full)
{
    const graph_node turned = graph_virtual(a->g, &a->turned, a->type);

    graph_reshape(a->g, scores, turned);
    if (a->kernel->u.attention.heads == a->kernel->u.attention.kv_heads) {
        graph_matmul(a->g, turned, queries, lengths(a->keys, NULL, a->queries), out);
    } else {
        const graph_node all = graph_virtual(a->g, full, a->type);

        graph_matmul(a->g, turned, queries, lengths(a->keys, NULL, a->queries), all);
        graph_reduce(a->g, CUDNN_REDUCE_TENSOR_ADD, all, out);
    }
}

static graph_node rescale(attention *a, graph_node x, graph_node back)
{
    return back ? times(a, x, back) : x;
}

static void draw_backward(attention *a)
{
    const graph_node d_o   = graph_argument(a->g, a->at.d_o, &a->o, a->type);
    const graph_node q     = graph_argument(a->g, a->at.q, &a->q, a->type);
    const graph_node vt    = graph_part(a->g, a->at.kv, a->at.v_offset, &a->vt, a->type);
    const graph_node stats = graph_argument(a->g, a->at.stats, &a->stats, CUDNN_DATA_FLOAT);
    const graph_node dq    = graph_argument(a->g, a->at.dqkv, &a->q, a->type);
    const graph_node dk    = graph_part(a->g, a->at.dqkv, a->at.dk_offset, &a->k, a->type);
    const graph_node dv    = graph_part(a->g, a->at.dqkv, a->at.dv_offset, &a->v, a->type);
    const graph_node kept  = draw_kept(a);
    const graph_node back  = kept ? graph_number(a->g, 4, (float)(1 / (1 - ATTENTION_DROPOUT)))
                                  : NULL; /* undoes its loss */
    const graph_node sums  = draw_sums(a, d_o);
    const graph_node k     = between(a, &a->k);
    const graph_node dq32  = graph_scratch(a->g, &a->q, CUDNN_DATA_FLOAT);
    graph_node       p, s, scores = draw_scores(a, q);

    scores = combine(a, CUDNN_POINTWISE_SUB, scores, stats, between(a, &a->scores));
    if (cudnnGetVersion() < MASKS_INFINITE)
        scores = mask_padding(a, scores);
    p = combine(a, CUDNN_POINTWISE_EXP, mask(a, scores), NULL, between(a, &a->scores));
    draw_turned(a, rescale(a, kept ? times(a, p, kept) : p, back), d_o, dv, &a->full_v);

    s = between(a, &a->scores);
    graph_matmul(a->g, d_o, vt, lengths(a->queries, a->keys, NULL), s);
    if (kept)
        s = times(a, s, kept);
    s = combine(a, CUDNN_POINTWISE_SUB, s, sums, between(a, &a->scores));
    s = times(a, rescale(a, times(a, s, p), back), a->scale);
    draw_turned(a, s, q, dk, &a->full_k);

    graph_reshape(a->g, graph_argument(a->g, a->at.kv, &a->kt, a->type), k);
    graph_matmul(a->g, s, k, lengths(a->queries, NULL, a->keys), dq32);
    combine(a, CUDNN_POINTWISE_IDENTITY, dq32, NULL, dq);
}

/* Fault of this version of the library, or missing feature; NULL: none. */
static const char *lacks(const lm_kernel *k)
{
    const size_t version  = cudnnGetVersion();
    const bool   backward = k->pass != LM_FORWARD;

    if (backward && version < CLEARS_SUMS)
        return "before 9.6 its sums begin at chance";
    if (version == 91000 || version == 91001)
        return "9.10.0 and 9.10.1 have faults";
    return NULL;
}

static bool needs_padding_mask(const lm_kernel *k)
{
    return k->u.attention.keys % BLOCK && cudnnGetVersion() < MASKS_LAST_BLOCK;
}

/* A length for each sample. */
static size_t add_lengths(cuda_kernel *k, cuda_argument argument, int64_t length)
{
    const uint64_t samples = (uint64_t)k->base.kernel.u.attention.batch;

    cuda_add_slot(k, argument, ROLE_STATE, lm_mul(samples, sizeof(int32_t)),
                  (fill){ FILL_LENGTH, LM_I32, (double)length });
    return k->base.n_slots - 1;
}

static void draw_lengths(attention *a, cuda_kernel *k)
{
    const graph_layout l = shape(a->kernel->u.attention.batch, 1, 1, 1);

    if (!needs_padding_mask(a->kernel))
        return;
    a->at.queries = add_lengths(k, CUDA_QUERIES, a->kernel->u.attention.queries);
    a->at.keys    = add_lengths(k, CUDA_KEYS, a->kernel->u.attention.keys);
    a->queries    = graph_argument(a->g, a->at.queries, &l, CUDNN_DATA_INT32);
    a->keys       = graph_argument(a->g, a->at.keys, &l, CUDNN_DATA_INT32);
}

lm_status ops_attention(const cuda_device *device, const settings *how, cuda_kernel *k,
                        lm_error *err)
{
    const lm_kernel *s     = &k->base.kernel;
    graph_rules      rules = ops_rules(device, how, s->dtype, CUDNN_HEUR_MODE_A);
    attention        a     = { .kernel = s };

    if (s->dtype == LM_F32)
        return ops_attention_plain(device, how, k, err);
    if (s->dtype != LM_F16 && s->dtype != LM_BF16)
        return cuda_unsupported(k, "cuDNN", "no such element type", err);
    if (lacks(s))
        return cuda_unsupported(k, "cuDNN", lacks(s), err);
    (void)ops_type(s->dtype, &a.type);
    set_shapes(&a);
    a.at = ops_attention_slots(k);
    a.g  = ops_graph_new(device);
    if (a.g)
        draw_lengths(&a, k);
    if (a.g && s->pass == LM_FORWARD)
        draw_forward(&a);
    else if (a.g)
        draw_backward(&a);
    return ops_graph_finish(device, k, a.g, NULL, &rules, err);
}
