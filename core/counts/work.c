/* What any layer makes a device do, by kind of kernel. */
#include "counts/work.h"

const char *work_kind_name(work_kind k)
{
    static const char *const names[N_WORK_KINDS] = {
        [WORK_PRODUCT] = "product",     [WORK_CONV] = "conv",
        [WORK_POOL] = "pool",           [WORK_MAP] = "map",
        [WORK_NORM] = "norm",           [WORK_BATCH_NORM] = "batch_norm",
        [WORK_SCALE] = "scale",         [WORK_SOFTMAX] = "softmax",
        [WORK_GATHER] = "gather",       [WORK_REDUCE] = "reduce",
        [WORK_ATTENTION] = "attention",
    };

    return names[k];
}

/* Batch norm: channels over the batch. What keeps no running statistics is one, too, though it has
 * none to scale by in evaluation. */
static bool across_batch(const lm_kernel *k)
{
    return k->u.norm.inner < k->u.norm.group;
}

/* N_WORK_KINDS: of none. */
static work_kind kind_of(const lm_kernel *k)
{
    switch ((enum lm_ops)k->op) {
    case LM_OP_GEMM: return WORK_PRODUCT;
    case LM_OP_CONV: return WORK_CONV;
    case LM_OP_POOL: return WORK_POOL;
    case LM_OP_MAP:
    case LM_OP_COPY: return WORK_MAP;
    case LM_OP_NORM: return across_batch(k) ? WORK_BATCH_NORM : WORK_NORM;
    case LM_OP_SOFTMAX: return WORK_SOFTMAX;
    case LM_OP_GATHER: return WORK_GATHER;
    case LM_OP_REDUCE: return WORK_REDUCE;
    case LM_OP_ATTENTION: return WORK_ATTENTION;
    case LM_OP_OPAQUE:
    case LM_OP_ALLREDUCE: break;
    }
    return N_WORK_KINDS;
}

static void add_rows(const lm_kernel *k, double times, kernel_work *to)
{
    const int64_t *of = k->op == LM_OP_NORM ? (const int64_t[]){ k->u.norm.rows, k->u.norm.group }
                        : k->op == LM_OP_SOFTMAX
                            ? (const int64_t[]){ k->u.softmax.rows, k->u.softmax.group }
                            : NULL;

    if (!of)
        return;
    to->rows += times * (double)of[0];
    to->elements += times * (double)of[0] * (double)of[1];
}

static void add_kernel(const lm_kernel *k, double times, kernel_work *to)
{
    const lm_work work = lm_kernel_work(k);

    to->launches += times;
    to->bytes += times * (double)lm_add(work.read_bytes, work.written_bytes);
    to->flops += times * (double)work.flops;
}

static void add_inference(const bound_layer *l, const lm_kernel *k, work_kind kind, double times,
                          layer_work *to)
{
    if (l->entry->type.flags & LM_TRAINING_ONLY)
        return;
    if (kind == WORK_BATCH_NORM) {
        add_kernel(k, times, &to->inference[WORK_SCALE]);
        return;
    }
    add_kernel(k, times, &to->inference[kind]);
    add_rows(k, times, &to->inference[kind]);
}

bool work_add(const bound_layer *l, layer_work *to)
{
    if (!l->lowered)
        return false;
    for (lm_pass p = 0; p < LM_N_PASSES; p++)
        for (size_t i = 0; i < l->n_kernels[p]; i++) {
            const lm_kernel *k     = &l->kernels[p][i];
            const work_kind  kind  = kind_of(k);
            const double     times = k->repeat > 1 ? k->repeat : 1;

            if (kind == N_WORK_KINDS)
                return false;
            add_kernel(k, times, &to->of[kind][p]);
            add_rows(k, times, &to->of[kind][p]);
            if (p == LM_FORWARD)
                add_inference(l, k, kind, times, to);
        }
    return true;
}
