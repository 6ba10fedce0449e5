/*
 * Single products of few rows with a weight matrix. Libraries have a kernel for each range of
 * sizes; the ranges are unknown, so prices go by bands of sizes.
 *
 * M x N from sums over K: forward (n, b, a), input gradient (n, a, b), weight gradient (a, b, n) of
 * n rows, a features in and b out.
 */
#include <math.h>
#include <stdio.h>

#include "counts/layer_class.h"

#define N_BANDS     8
#define BAND        512 /* width of each of N_BANDS bands of features; the last band is open */
#define N_ROW_BANDS 11

/* Last number of rows of each band. A few rows above a tile of 32 may run in a special kernel, in
 * two tiles or in larger ones: the library chooses the limit. */
static const int64_t row_bands[N_ROW_BANDS] = { 1, 4, 8, 16, 32, 34, 36, 38, 40, 48, 64 };

/* Sizes of output tiles. */
#define N_TILES 4
static const int64_t tile_sizes[N_TILES][2] = { { 32, 32 }, { 64, 64 }, { 128, 64 }, { 32, 128 } };

/* Columns of one product, in order. The columns by rows depend on whether rows are few. */
enum {
    P_MACS,
    P_FACTOR,
    P_RESULT,
    P_TILED,
    P_WEIGHTS,
    P_WIDTH,                       /* by bands of N */
    P_DEPTH   = P_WIDTH + N_BANDS, /* by bands of K */
    P_MATRIX  = P_DEPTH + N_BANDS, /* by bands of rows */
    P_STEPS   = P_MATRIX + N_ROW_BANDS,
    P_WAVES   = P_STEPS + N_ROW_BANDS,
    N_PRODUCT = P_WAVES + N_TILES
};

enum {
    CALL,
    CALL_ACTIVATION,
    ACTIVATION,
    TRAIN_CALL,
    TRAIN_ACTIVATION,
    LOSS,
    FORWARD,
    GRAD_INPUT  = FORWARD + N_PRODUCT,
    GRAD_WEIGHT = GRAD_INPUT + N_PRODUCT,
    N_COLUMNS   = GRAD_WEIGHT + N_PRODUCT
};

static const struct {
    const char *name, *unit;
    resource    resource;
} calls[FORWARD] = {
    [CALL]             = { "call", "call", RESOURCE_HOST },
    [CALL_ACTIVATION]  = { "call.activation", "call", RESOURCE_HOST },
    [ACTIVATION]       = { "forward.activation", "element", RESOURCE_BANDWIDTH },
    [TRAIN_CALL]       = { "backward.call", "call", RESOURCE_HOST },
    [TRAIN_ACTIVATION] = { "backward.call.activation", "call", RESOURCE_HOST },
    [LOSS]             = { "loss", "element", RESOURCE_BANDWIDTH },
};

static const char *const passes[LM_N_PASSES] = { "forward", "grad_input", "grad_weight" };

static bool describe(size_t j, column_spec *out)
{
    const char  *pass = passes[j < FORWARD ? 0 : (j - FORWARD) / N_PRODUCT % LM_N_PASSES];
    const size_t k    = j < FORWARD ? 0 : (j - FORWARD) % N_PRODUCT;
    const bool   macs = k == P_MACS || k == P_TILED,
               steps  = k >= P_WIDTH && (k < P_MATRIX || k >= P_STEPS);
    const size_t size = sizeof out->name;

    if (j >= N_COLUMNS)
        return false;
    out->unit     = macs ? "MAC" : steps ? "step" : "element";
    out->resource = macs ? RESOURCE_FLOPS : steps ? RESOURCE_DEPTH : RESOURCE_BANDWIDTH;
    if (j < FORWARD) {
        out->unit     = calls[j].unit;
        out->resource = calls[j].resource;
        snprintf(out->name, size, "%s", calls[j].name);
    } else if (k < P_WIDTH) {
        static const char *const names_of[P_WIDTH] = { "macs", "factor", "result", "tiled",
                                                       "matrix" };

        snprintf(out->name, size, "%s.%s", pass, names_of[k]);
    } else if (k < P_MATRIX) {
        snprintf(out->name, size, "%s.%s%d", pass, k < P_DEPTH ? "columns" : "depth",
                 (int)((k - P_WIDTH) % N_BANDS * BAND + 1));
    } else if (k < P_WAVES) {
        snprintf(out->name, size, "%s.%s.rows%d", pass, k < P_STEPS ? "matrix" : "steps",
                 (int)row_bands[(k - P_MATRIX) % N_ROW_BANDS]);
    } else {
        snprintf(out->name, size, "%s.waves%dx%d", pass, (int)tile_sizes[k - P_WAVES][0],
                 (int)tile_sizes[k - P_WAVES][1]);
    }
    return true;
}

static bool has(const layer_shape *s)
{
    return s->kind == SHAPE_DENSE && s->n <= row_bands[N_ROW_BANDS - 1];
}

static size_t band_of(double width)
{
    const double at = floor((width - 1) / BAND);

    return at < N_BANDS ? (size_t)at : N_BANDS - 1;
}

/* Steps of a product so wide: beyond the bands they take longer in proportion, as each reads so much more. */
static double wide_steps(double count, double width)
{
    return count * fmax(1, width / (BAND * N_BANDS));
}

static double up(double x, double t)
{
    return t * ceil(x / t);
}

static void add_product(rows *r, size_t at, double m, double n, double k, double multiprocessors)
{
    rows_item(r, at + P_MACS, m * n * k);
    rows_item(r, at + P_FACTOR, m * k);
    rows_item(r, at + P_RESULT, m * n);
    rows_item(r, at + P_WIDTH + band_of(n), wide_steps(k, n));
    rows_item(r, at + P_DEPTH + band_of(k), wide_steps(n, k));
    if (at == GRAD_WEIGHT) {
        rows_item(r, at + P_TILED, up(m, 64) * up(n, 64) * up(k, 8));
        rows_item(r, at + P_WEIGHTS, n * k);
    } else {
        size_t band = 0;

        while (band < N_ROW_BANDS - 1 && m > (double)row_bands[band])
            band++;
        rows_item(r, at + P_MATRIX + band, n * k);
        if (multiprocessors > 0)
            rows_item(r, at + P_STEPS + band, k);
    }
    for (size_t t = 0; t < N_TILES && multiprocessors > 0; t++)
        rows_item(r, at + P_WAVES + t,
                  ceil(ceil(m / (double)tile_sizes[t][0]) * ceil(n / (double)tile_sizes[t][1]) /
                       multiprocessors) *
                      up(k, 8));
}

static void add_call(const columns *c, rows *r, const layer_run *run, const layer_shape *s)
{
    (void)c;
    rows_item(r, CALL, 1);
    rows_item(r, CALL_ACTIVATION, s->activation);
    if (!run->backward)
        return;
    rows_item(r, TRAIN_CALL, 1);
    rows_item(r, TRAIN_ACTIVATION, s->activation);
    rows_item(r, LOSS, s->loss ? s->outputs : 0);
}

static void add_layer(const columns *c, rows *r, const layer_run *run, const layer_shape *s)
{
    const double n = (double)s->n, a = (double)s->c_in, b = (double)s->c_out;

    layer_update_item(c, r, run, s);
    if (run->forward) {
        rows_item(r, ACTIVATION, s->activation ? s->outputs : 0);
        add_product(r, FORWARD, n, b, a, run->multiprocessors);
    }
    if (run->backward && run->input_gradient)
        add_product(r, GRAD_INPUT, n, a, b, run->multiprocessors);
    if (run->backward)
        add_product(r, GRAD_WEIGHT, a, b, n, run->multiprocessors);
}

const layer_class layer_class_dense = { .name      = "dense",
                                        .options   = { .p      = 1,
                                                       .huber  = 0.2,
                                                       .power  = 0.5,
                                                       .rounds = 8,
                                                       .least  = 1,
                                                       .sample = 4000,
                                                       .seed   = 1 },
                                        .fewest    = 60,
                                        .has       = has,
                                        .describe  = describe,
                                        .add_call  = add_call,
                                        .add_layer = add_layer };
