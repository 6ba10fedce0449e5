/*
 * Single products of many rows with a weight matrix: arithmetic in output tiles, in waves over the
 * multiprocessors (tiles.h), and traffic.
 *
 * M x N from sums over K: forward (n, b, a), input gradient (n, a, b), weight gradient (a, b, n) of
 * n rows, a features in and b out.
 */
#include <stdio.h>

#include "counts/layer_class.h"
#include "counts/tiles.h"

enum { P_WAVES, P_TILES, P_STEPS, P_ELEMENTS, P_FACTORS, P_RESULT, P_WEIGHTS, N_PRODUCT };

enum {
    CALL,
    TRAIN_CALL,
    BIAS_CALL,
    ACTIVATION,
    TRAIN_ACTIVATION,
    LOSS,
    BIAS,
    FORWARD,
    GRAD_INPUT  = FORWARD + N_PRODUCT,
    GRAD_WEIGHT = GRAD_INPUT + N_PRODUCT,
    N_COLUMNS   = GRAD_WEIGHT + N_PRODUCT
};

typedef struct spec {
    const char *name, *unit;
    resource    resource;
} spec;

static const spec calls[FORWARD] = {
    [CALL]             = { "call", "call", RESOURCE_HOST },
    [TRAIN_CALL]       = { "backward.call", "call", RESOURCE_HOST },
    [BIAS_CALL]        = { "backward.call.bias", "call", RESOURCE_HOST },
    [ACTIVATION]       = { "forward.activation", "element", RESOURCE_BANDWIDTH },
    [TRAIN_ACTIVATION] = { "backward.activation", "element", RESOURCE_BANDWIDTH },
    [LOSS]             = { "loss", "element", RESOURCE_BANDWIDTH },
    [BIAS]             = { "backward.bias", "element", RESOURCE_BANDWIDTH },
};

static const char *const passes[LM_N_PASSES] = { "forward", "grad_input", "grad_weight" };

static const spec product[N_PRODUCT] = {
    [P_WAVES]    = { "waves", "FLOP", RESOURCE_FLOPS },
    [P_TILES]    = { "tiles", "FLOP", RESOURCE_FLOPS },
    [P_STEPS]    = { "steps", "step", RESOURCE_DEPTH },
    [P_ELEMENTS] = { "elements", "element", RESOURCE_BANDWIDTH },
    [P_FACTORS]  = { "factor", "element", RESOURCE_BANDWIDTH },
    [P_RESULT]   = { "result", "element", RESOURCE_BANDWIDTH },
    [P_WEIGHTS]  = { "weights", "element", RESOURCE_BANDWIDTH },
};

static bool describe(size_t j, column_spec *out)
{
    const spec *of = j < FORWARD ? &calls[j] : &product[(j - FORWARD) % N_PRODUCT];

    if (j >= N_COLUMNS)
        return false;
    out->unit     = of->unit;
    out->resource = of->resource;
    out->floor    = j <= BIAS_CALL;
    snprintf(out->name, sizeof out->name, "%s%s%s",
             j < FORWARD ? "" : passes[(j - FORWARD) / N_PRODUCT], j < FORWARD ? "" : ".",
             of->name);
    return true;
}

/* dense_layers.c has products of fewer rows. */
static bool has(const layer_shape *s)
{
    return s->kind == SHAPE_DENSE;
}

static void add_product(rows *r, size_t at, double m, double n, double k, double factors,
                        double result, double weights, double multiprocessors)
{
    const tiling    how  = { TILES_MIXED, true, multiprocessors };
    const tile_plan plan = tile_plan_of(1, m, n, k, &how);

    rows_item(r, at + P_WAVES, plan.wave_flops);
    rows_item(r, at + P_TILES, plan.tile_flops);
    rows_item(r, at + P_STEPS, plan.steps);
    rows_item(r, at + P_ELEMENTS, plan.elements);
    rows_item(r, at + P_FACTORS, factors);
    rows_item(r, at + P_RESULT, result);
    rows_item(r, at + P_WEIGHTS, weights);
}

static void add_call(const columns *c, rows *r, const layer_run *run, const layer_shape *s)
{
    (void)c;
    rows_item(r, CALL, 1);
    if (!run->backward)
        return;
    rows_item(r, TRAIN_CALL, 1);
    rows_item(r, BIAS_CALL, s->bias);
    rows_item(r, LOSS, s->loss ? s->outputs : 0);
}

static void add_layer(const columns *c, rows *r, const layer_run *run, const layer_shape *s)
{
    const double n = (double)s->n, a = (double)s->c_in, b = (double)s->c_out;

    layer_update_item(c, r, run, s);
    if (run->forward) {
        rows_item(r, ACTIVATION, s->activation ? s->outputs : 0);
        add_product(r, FORWARD, n, b, a, s->inputs, s->outputs, s->weights, run->multiprocessors);
    }
    if (!run->backward)
        return;
    rows_item(r, TRAIN_ACTIVATION, s->activation ? s->outputs : 0);
    rows_item(r, BIAS, s->bias ? s->outputs : 0);
    if (run->input_gradient)
        add_product(r, GRAD_INPUT, n, a, b, s->outputs, s->inputs, s->weights,
                    run->multiprocessors);
    add_product(r, GRAD_WEIGHT, a, b, n, s->outputs, s->inputs, s->weights, run->multiprocessors);
}

const layer_class layer_class_product = { .name      = "product",
                                          .options   = { .p           = 1,
                                                         .huber       = 0.1,
                                                         .power       = 1,
                                                         .may_overlap = true,
                                                         .rounds      = 8,
                                                         .least       = 10,
                                                         .sample      = 4000,
                                                         .seed        = 1 },
                                          .fewest    = 30,
                                          .has       = has,
                                          .describe  = describe,
                                          .add_call  = add_call,
                                          .add_layer = add_layer };
