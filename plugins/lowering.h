/** Emits a kernel in one line, and sums a layer's cost over its kernels, for the layer types of
 * this folder. */
#ifndef PLUGINS_LOWERING_H
#define PLUGINS_LOWERING_H

#include <layermeter/plugin.h>

/** Emits `kernel`; fills in its size, and 1 for a missing `repeat`. */
static inline void emit(lm_sink *sink, lm_kernel kernel)
{
    kernel.size = sizeof kernel;
    if (!kernel.repeat)
        kernel.repeat = 1;
    sink->kernel(sink, &kernel);
}

/** Emits a parameter tensor: fills in its size. */
static inline void emit_weight(lm_sink *sink, lm_weight weight)
{
    weight.size = sizeof weight;
    sink->weight(sink, &weight);
}

/** A sink that sums the work of the kernels put into it. */
typedef struct work_sink {
    lm_sink sink; /* first */
    lm_work work;
} work_sink;

static inline void work_sink_take(lm_sink *sink, const lm_kernel *kernel)
{
    lm_work      *sum = &((work_sink *)(void *)sink)->work;
    const lm_work one = lm_kernel_work(kernel);

    sum->flops         = lm_add(sum->flops, lm_mul(kernel->repeat, one.flops));
    sum->read_bytes    = lm_add(sum->read_bytes, lm_mul(kernel->repeat, one.read_bytes));
    sum->written_bytes = lm_add(sum->written_bytes, lm_mul(kernel->repeat, one.written_bytes));
}

/** Sums the work of each pass over the layer's kernels. */
static inline lm_status cost_of_kernels(const lm_layer *layer, lm_cost *cost)
{
    for (lm_pass pass = 0; pass < LM_N_PASSES; pass++) {
        work_sink       sum    = { .sink = { sizeof(lm_sink), NULL, work_sink_take } };
        const lm_status status = layer->type->lower(layer, pass, &sum.sink);

        if (status)
            return status;
        cost->pass[pass] = sum.work;
    }
    return LM_OK;
}

/** No kernels: for views and sources. */
static inline lm_status lower_nothing(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    (void)layer;
    (void)pass;
    (void)sink;
    return LM_OK;
}

#endif
