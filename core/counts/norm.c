/* Norms and softmax: statistics of rows. */
#include "counts/kernel_class.h"
#include "counts/layer_class.h"

static size_t terms(const term_sum *t)
{
    const lm_kernel *k     = t->k;
    const int        bytes = t->after ? SLOT_NORM_AFTER_BYTES : SLOT_NORM_BYTES;

    term_put(t, bytes, t->bytes);
    if (k->u.norm.inner > 0 && k->u.norm.inner < k->u.norm.group)
        term_put(t, SLOT_NORM_PLANES,
                 (double)k->u.norm.rows * (double)k->u.norm.group / (double)k->u.norm.inner);
    term_put(t, t->after ? SLOT_AFTER_LAUNCHES : SLOT_NORM_LAUNCHES, 1);
    return (size_t)bytes;
}

static double elements(const lm_kernel *k)
{
    return (double)k->u.norm.rows * (double)k->u.norm.group;
}

/* Kind of a norm. Statistics of channels over the batch make a batch norm, also without running
 * statistics. */
static work_kind work_of(const lm_kernel *k)
{
    return k->u.norm.inner < k->u.norm.group ? WORK_BATCH_NORM : WORK_NORM;
}

static void statistics(const lm_kernel *k, int64_t *rows_of, int64_t *group)
{
    *rows_of = k->u.norm.rows;
    *group   = k->u.norm.group;
}

static void features(feature_list *l, const lm_kernel *k, double multiprocessors)
{
    feature_put(l, "rms", FEATURE_FLAG, (double)k->u.norm.rms);
    feature_put_count(l, "inner", (double)k->u.norm.inner);
    feature_put_rows(l, k, multiprocessors);
}

static uint64_t shape(const lm_kernel *k, uint64_t h)
{
    return shape_mix(h, k->u.norm.group);
}

static void softmax_statistics(const lm_kernel *k, int64_t *rows_of, int64_t *group)
{
    *rows_of = k->u.softmax.rows;
    *group   = k->u.softmax.group;
}

static uint64_t softmax_shape(const lm_kernel *k, uint64_t h)
{
    return shape_mix(h, k->u.softmax.group);
}

const kernel_class kernel_norm    = { .name          = "norm",
                                      .follows       = true,
                                      .elementwise   = true,
                                      .elements      = elements,
                                      .terms         = terms,
                                      .work_of       = work_of,
                                      .statistics    = statistics,
                                      .launch        = LAUNCH_NORM,
                                      .launch_counts = launch_put_rows,
                                      .features      = features,
                                      .shape         = shape };
const kernel_class kernel_softmax = { .name          = "softmax",
                                      .terms         = loop_terms,
                                      .work          = WORK_SOFTMAX,
                                      .statistics    = softmax_statistics,
                                      .launch        = LAUNCH_SOFTMAX,
                                      .launch_counts = launch_put_rows,
                                      .features      = feature_put_rows,
                                      .shape         = softmax_shape };
