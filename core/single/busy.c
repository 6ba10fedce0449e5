/* Busy seconds of a device with a layer, and the share that depends on the clock. */
#include "single/busy.h"

#include <math.h>

/* Limit of a layer's time / time of its traffic for layers bound by memory. Source: layers of a GPU
 * at two clocks (tests/accuracy/run.sh energy). Below the limit traffic took 0.98 times as long at
 * the lower clock (median of 138 layers). Above it the factor was 1.10 to 1.20 (70 layers), as for
 * arithmetic (1.12). */
#define MOST    1.25
#define STREAM  "forward.map.bytes"
#define ELEMENT 4 /* bytes, as in shape_bytes() */

static size_t by_resource(const column *c)
{
    return (size_t)c->resource;
}

/* Seconds per byte of element-wise functions; NAN: not measured. */
static double stream_price(const layer_model *m)
{
    const columns *c  = &m->of[LAYER_OTHER].columns;
    const size_t   at = m->of[LAYER_OTHER].present ? columns_find(c, STREAM) : COLUMN_NONE;

    return at != COLUMN_NONE && c->column[at].rows && c->column[at].price > 0 ? c->column[at].price
                                                                              : (double)NAN;
}

/* Bytes of a product: each pass reads two tensors and writes one. */
static double product_bytes(const layer_shape *s, const layer_run *run)
{
    const double once   = s->inputs + s->outputs + s->weights;
    const double passes = (run->forward ? 1 : 0) + (run->backward ? 1 : 0) +
                          (run->backward && run->input_gradient ? 1 : 0);
    const double functions = (run->forward ? 2 : 0) + (run->backward ? 3 : 0);

    return ELEMENT * (passes * once + (s->activation ? functions * s->outputs : 0));
}

/* Bytes of a batch norm. Channels of a batch do not fit into caches: they are read for statistics,
 * and again. */
static double batch_norm_bytes(double bytes, lm_pass p)
{
    return p == LM_FORWARD ? bytes * 3 / 2 : bytes * 5 / 3;
}

static double work_bytes(const layer_shape *s, const layer_run *run)
{
    const bool runs[LM_N_PASSES] = { [LM_FORWARD]     = run->forward,
                                     [LM_GRAD_INPUT]  = run->backward && run->input_gradient,
                                     [LM_GRAD_WEIGHT] = run->backward };
    double     sum               = 0;

    for (work_kind k = 0; k < N_WORK_KINDS; k++)
        for (lm_pass p = 0; p < LM_N_PASSES; p++) {
            const double bytes =
                run->evaluation ? s->work->inference[k].bytes : s->work->of[k][p].bytes;

            if (runs[p])
                sum += k == WORK_BATCH_NORM ? batch_norm_bytes(bytes, p) : bytes;
        }
    return sum;
}

/* Bytes of an update: it reads the gradient, and reads and writes weights and states. */
static double update_bytes(const layer_shape *s, const layer_run *run)
{
    const double moved = s->weights + (run->trains_inputs ? s->inputs + s->outputs : 0);

    return run->update ? 3 * ELEMENT * moved : 0;
}

lm_status layer_busy_of(layer_asker *a, const layer_shape *s, const layer_run *run, layer_busy *out,
                        lm_error *err)
{
    const double stream          = stream_price(a->m);
    double       by[N_RESOURCES] = { 0 }, bytes;
    lm_status    status;

    *out = (layer_busy){ .seconds = layer_model_seconds(a, s, run) };
    if (!(out->seconds > 0))
        return LM_OK;
    if ((status = layer_model_busy(a, s, run, by_resource, by, err)))
        return status;
    out->join       = columns_join(&a->m->of[layer_model_class(a->m, s)].columns);
    out->arithmetic = by[RESOURCE_FLOPS] + by[RESOURCE_DEPTH];
    out->traffic = out->memory = by[RESOURCE_BANDWIDTH];
    if (!(stream > 0))
        return LM_OK;
    bytes       = update_bytes(s, run) + (s->work ? work_bytes(s, run) : product_bytes(s, run));
    out->memory = fmin(fmax(out->memory, stream * bytes), MOST * stream * bytes);
    out->memory = fmin(out->memory, out->arithmetic + out->traffic);
    return LM_OK;
}
