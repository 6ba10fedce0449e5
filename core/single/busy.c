/* How long a device is busy with a layer, and for how much of it its clock matters. */
#include "single/busy.h"

#include <math.h>

/* Memory takes at most so many times what moving each byte does. Layers of a GPU at two clocks
 * (tests/accuracy/run.sh energy) have a border there: up to it traffic took 0.98 times as long at
 * the lower one (median of 138), beyond it 1.10 to 1.20 (70), as arithmetic did (1.12). */
#define MOST    1.25
#define STREAM  "forward.map.bytes"
#define ELEMENT 4 /* bytes, as shape_bytes() has it */

static size_t by_resource(const column *c)
{
    return (size_t)c->resource;
}

/* Seconds for a byte of functions of elements; NAN: none were measured. */
static double stream_price(const layer_model *m)
{
    const columns *c  = &m->of[LAYER_OTHER].columns;
    const size_t   at = m->of[LAYER_OTHER].present ? columns_find(c, STREAM) : COLUMN_NONE;

    return at != COLUMN_NONE && c->column[at].rows && c->column[at].price > 0 ? c->column[at].price
                                                                              : (double)NAN;
}

/* Two tensors are read and one is written in each pass of a product. */
static double product_bytes(const layer_shape *s, const layer_run *run)
{
    const double once   = s->inputs + s->outputs + s->weights;
    const double passes = (run->forward ? 1 : 0) + (run->backward ? 1 : 0) +
                          (run->backward && run->input_gradient ? 1 : 0);
    const double functions = (run->forward ? 2 : 0) + (run->backward ? 3 : 0);

    return ELEMENT * (passes * once + (s->activation ? functions * s->outputs : 0));
}

/* Channels of a batch are too long to stay: they are read for their statistics, and again. */
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

/* An update reads a gradient and what it moves, and writes that. */
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
