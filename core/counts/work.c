/* Work of any layer, by kind of kernel. */
#include "counts/work.h"

#include "counts/kernel_class.h"

#define WORK_NAME(kind, text) [kind] = text,

const char *work_kind_name(work_kind k)
{
    static const char *const text_of[N_WORK_KINDS] = { WORK_TABLE(WORK_NAME) };

    return text_of[k];
}

/* Kind of a kernel; N_WORK_KINDS: none. */
static work_kind kind_of(const lm_kernel *k)
{
    const kernel_class *class = kernel_class_of(k->op);

    return class->work_of ? class->work_of(k) : class->work;
}

static void add_rows(const lm_kernel *k, double times, kernel_work *to)
{
    const kernel_class *class = kernel_class_of(k->op);
    int64_t n, group;

    if (!class->statistics)
        return;
    class->statistics(k, &n, &group);
    to->rows += times * (double)n;
    to->elements += times * (double)n * (double)group;
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
