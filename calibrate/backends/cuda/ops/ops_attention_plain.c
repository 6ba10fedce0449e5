/* Attention of f32: products by cuBLASLt, softmax between them by our own kernels. */
#include "ops/ops_attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "cuda_loops.h"
#include "ops/ops.h"

/*
 * PyTorch has its own fused kernel for f32 ("memory-efficient"), which no library offers. The
 * arithmetic here is the same: the backward pass computes scores again from the logarithms of sums
 * (Dao et al. 2022, algorithm 4). But scores of all pairs pass through scratch memory: one matrix
 * forward, two backward. This memory may exceed the workspace limit of library kernels.
 *
 * Heads that share keys are adjacent, so they form more rows of one product.
 */

enum { MAX_PRODUCTS = 5, WARP = 32 };

typedef struct plain {
    attention_places at;
    cuda_kernel      product[MAX_PRODUCTS];
    size_t           n_products;
    size_t           scratch;           /* a slot: scores, their gradients, the products' own */
    uint64_t         gradients, behind; /* bytes behind its begin */
} plain;

static void release(cuda_kernel *k)
{
    plain *p = k->made;

    for (size_t i = 0; p && i < p->n_products; i++)
        cuda_kernel_release(&p->product[i]);
    free(p);
    k->made = NULL;
}

/* ---- runs ---- */

typedef struct running {
    const cuda_kernel *k;
    const cuda_device *device;
    const plain       *p;
    void *const       *at;
    lm_status          status;
    lm_error          *err;
} running;

static void *behind(void *begin, uint64_t bytes)
{
    return (char *)begin + bytes;
}

static void multiply(running *r, size_t i, void *first, void *second, void *result)
{
    void *const        scratch       = behind(r->at[r->p->scratch], r->p->behind);
    void *const        at[MAX_SLOTS] = { first, second, result, scratch };
    const cuda_kernel *product       = &r->p->product[i];

    if (!r->status)
        r->status = product->run(product, r->device, at, r->err);
}

/* Work between products, in rows of scores. */
static void rows(running *r, cuda_loop loop, loop_args args)
{
    const lm_kernel *k = &r->k->base.kernel;

    args.n     = k->u.attention.batch * k->u.attention.heads * k->u.attention.queries;
    args.width = k->u.attention.keys;
    args.inner = k->u.attention.queries;
    args.head  = k->u.attention.causal;
    args.chunk = k->u.attention.value_width;
    args.scale = 1.0f / sqrtf((float)k->u.attention.width);
    args.kept  = k->u.attention.dropout ? (float)(1 - ATTENTION_DROPOUT) : 1.0f;
    if (!r->status)
        r->status = cuda_loop_rows(r->device, loop, k->dtype, WARP, args.n, &args, r->err);
}

static void run_forward(running *r)
{
    const attention_places *p      = &r->p->at;
    void *const             scores = r->at[r->p->scratch];

    multiply(r, 0, r->at[p->q], r->at[p->kv], scores);
    rows(r, LOOP_ATTEND, (loop_args){ .at = { scores, r->at[p->stats] } });
    multiply(r, 1, scores, behind(r->at[p->kv], p->v_offset), r->at[p->o]);
}

static void run_backward(running *r)
{
    const attention_places *p        = &r->p->at;
    void *const             scores   = r->at[r->p->scratch];
    void *const             d_scores = behind(scores, r->p->gradients);
    void *const q = r->at[p->q], *const keys = r->at[p->kv], *const d_o = r->at[p->d_o];
    void *const dq = r->at[p->dqkv];

    multiply(r, 0, q, keys, scores);
    multiply(r, 1, d_o, behind(keys, p->v_offset), d_scores);
    rows(r, LOOP_ATTEND_BACK,
         (loop_args){ .at = { scores, r->at[p->stats], d_scores, d_o, r->at[p->o] } });
    multiply(r, 2, scores, d_o, behind(dq, p->dv_offset));
    multiply(r, 3, d_scores, keys, dq);
    multiply(r, 4, d_scores, q, behind(dq, p->dk_offset));
}

static lm_status run(const cuda_kernel *k, const cuda_device *device, void *const *at,
                     lm_error *err)
{
    running r = { k, device, k->made, at, LM_OK, err };

    if (k->base.kernel.pass == LM_FORWARD)
        run_forward(&r);
    else
        run_backward(&r);
    return r.status;
}

/* ---- prepare ---- */

typedef struct product_shape {
    int64_t m, n, k;
    bool    a_turned, b_turned;
} product_shape;

static lm_status add_product(const cuda_device *device, const settings *how, const lm_kernel *s,
                             const product_shape *shape, plain *p, lm_error *err)
{
    cuda_kernel *product = &p->product[p->n_products];
    lm_status    status;

    *product                          = (cuda_kernel){ .base.kernel = { .size   = sizeof(lm_kernel),
                                                                        .op     = LM_OP_GEMM,
                                                                        .dtype  = s->dtype,
                                                                        .repeat = 1 } };
    product->base.kernel.u.gemm.batch = s->u.attention.batch * s->u.attention.kv_heads;
    product->base.kernel.u.gemm.m     = shape->m;
    product->base.kernel.u.gemm.n     = shape->n;
    product->base.kernel.u.gemm.k     = shape->k;
    product->base.kernel.u.gemm.activations = 1;
    status = ops_product(device, how, product, shape->a_turned, shape->b_turned, err);
    p->n_products += !status;
    return status;
}

static lm_status add_products(const cuda_device *device, const settings *how, const lm_kernel *s,
                              plain *p, lm_error *err)
{
    const int64_t m = s->u.attention.queries * (s->u.attention.heads / s->u.attention.kv_heads);
    const int64_t n = s->u.attention.keys, w = s->u.attention.width, v = s->u.attention.value_width;
    const product_shape forward[]  = { { m, n, w, false, true }, { m, v, n, false, false } };
    const product_shape backward[] = { { m, n, w, false, true },
                                       { m, n, v, false, true },
                                       { n, v, m, true, false },
                                       { m, w, n, false, false },
                                       { n, w, m, true, false } };
    const bool          first      = s->pass == LM_FORWARD;
    const size_t        count      = first ? 2 : MAX_PRODUCTS;
    lm_status           status     = LM_OK;

    for (size_t i = 0; i < count && !status; i++)
        status = add_product(device, how, s, first ? &forward[i] : &backward[i], p, err);
    return status;
}

/* Adds one slot for all scratch memory: scratch slots of a kernel would begin at the same
 * address. */
static void add_scratch(cuda_kernel *k, plain *p)
{
    const lm_kernel *s       = &k->base.kernel;
    const int64_t    rows    = s->u.attention.batch * s->u.attention.heads * s->u.attention.queries;
    const uint64_t   pairs   = lm_mul((uint64_t)rows, (uint64_t)s->u.attention.keys);
    const uint64_t   matrix  = (lm_mul(pairs, lm_dtype_bytes(s->dtype)) + 255) / 256 * 256;
    uint64_t         product = 0;

    for (size_t i = 0; i < p->n_products; i++) {
        const plan_kernel *b = &p->product[i].base;

        for (size_t j = 0; j < b->n_slots; j++)
            if (b->slot[j].role == ROLE_SCRATCH && b->slot[j].bytes > product)
                product = b->slot[j].bytes;
    }
    p->gradients = matrix;
    p->behind    = s->pass == LM_FORWARD ? matrix : lm_mul(2, matrix);
    p->scratch   = k->base.n_slots;
    cuda_add_slot(k, CUDA_SCRATCH, ROLE_SCRATCH, lm_add(p->behind, product),
                  (fill){ .kind = FILL_NONE });
}

lm_status ops_attention_plain(const cuda_device *device, const settings *how, cuda_kernel *k,
                              lm_error *err)
{
    const lm_kernel *s = &k->base.kernel;
    plain           *p;
    lm_status        status;

    if (s->u.attention.kv_heads < 1 || s->u.attention.heads % s->u.attention.kv_heads)
        return cuda_unsupported(k, "the backend cudnn", "heads that do not share keys evenly", err);
    p = calloc(1, sizeof *p);
    if (!p)
        return no_memory(err);
    k->made = p;
    status  = add_products(device, how, s, p, err);
    if (status) {
        release(k);
        return status;
    }
    p->at = ops_attention_slots(k);
    add_scratch(k, p);
    k->run          = run;
    k->release      = release;
    k->tensor_cores = p->product[0].tensor_cores;
    snprintf(k->implementation, sizeof k->implementation, "plain, %.56s",
             p->product[0].implementation);
    return LM_OK;
}
