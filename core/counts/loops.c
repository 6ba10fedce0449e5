/* Kernels that mostly move data: functions of elements, copies, gathers, reductions, and all
 * unknown kernels. */
#include "counts/kernel_class.h"
#include "counts/layer_class.h"

size_t loop_terms(const term_sum *t)
{
    const lm_kernel *k     = t->k;
    const int        bytes = t->cached ? SLOT_MAP_AFTER_BYTES : SLOT_MAP_BYTES;

    term_put(t, bytes, t->bytes);
    if (k->op == LM_OP_MAP && k->u.map.flops_per_element > 2)
        term_put(t, SLOT_MAP_ELEMENTS, (double)k->u.map.elements);
    term_put(t, t->after ? SLOT_AFTER_LAUNCHES : SLOT_OTHER_LAUNCHES, 1);
    return (size_t)bytes;
}

static double map_elements(const lm_kernel *k)
{
    return (double)k->u.map.elements;
}

static double copy_elements(const lm_kernel *k)
{
    return (double)k->u.copy.bytes / (double)lm_dtype_bytes(k->dtype);
}

/* Columns of a launch. Names are kept apart, because the host's time differs: launching `add` or
 * `gelu` takes longer than the kernel. */
static void launch_counts(launch_row *l, const lm_kernel *k)
{
    launch_put(l, "bytes", l->tag, "byte", RESOURCE_BANDWIDTH, launch_traffic(k));
}

static void features(feature_list *l, const lm_kernel *k, double multiprocessors)
{
    const bool map = k->op == LM_OP_MAP;

    (void)multiprocessors;
    feature_put(l, "map", FEATURE_FLAG, map);
    feature_put(l, "copy", FEATURE_FLAG, k->op == LM_OP_COPY);
    feature_put(l, "gather", FEATURE_FLAG, k->op == LM_OP_GATHER);
    feature_put(l, "reduce", FEATURE_FLAG, k->op == LM_OP_REDUCE);
    feature_put(l, "operands", FEATURE_FLAG, map ? (double)k->u.map.operands : 1);
    feature_put(l, "elements.rest4", FEATURE_FREE,
                map ? feature_rest((double)k->u.map.elements, 4) : 0);
}

static uint64_t map_shape(const lm_kernel *k, uint64_t h)
{
    return shape_mix(h, k->u.map.elements);
}

#define LAUNCHES                                                                               \
    .tagged = true, .terms = loop_terms, .launch = LAUNCH_MAP, .launch_counts = launch_counts, \
    .features = features

const kernel_class kernel_opaque = { .name = "opaque", .terms = loop_terms, .work = N_WORK_KINDS };
const kernel_class kernel_map    = { .name        = "map",
                                     .follows     = true,
                                     .elementwise = true,
                                     .elements    = map_elements,
                                     .work        = WORK_MAP,
                                     .shape       = map_shape,
                                     LAUNCHES };
const kernel_class kernel_copy   = {
      .name = "copy", .elementwise = true, .elements = copy_elements, .work = WORK_MAP, LAUNCHES
};
const kernel_class kernel_gather = { .name = "gather", .work = WORK_GATHER, LAUNCHES };
const kernel_class kernel_reduce = { .name = "reduce", .work = WORK_REDUCE, LAUNCHES };
