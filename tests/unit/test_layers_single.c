/* Single layers as counts in columns, each count by hand; prices that made the times come back. */
#include "check.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"
#include "nets.h"
#include "network/single.h"
#include "single/model.h"
#include "single/store.h"
#include "single/whole.h"

static const layer_run forward = { .forward = true, .alone = true };
static const layer_run step    = { .forward        = true,
                                   .backward       = true,
                                   .update         = true,
                                   .alone          = true,
                                   .input_gradient = true,
                                   .trains_inputs  = true,
                                   .optimizer      = "adam" };

static layer_shape shape(const char *type, const char *geometry, const char *input, int64_t batch)
{
    network       *net;
    bound_network *bound;
    layer_shape    s;
    lm_error       err = { 0 };

    if (single_bind(type, geometry, input, batch, LM_F32, nets_registry, &net, &bound, &err))
        fail_msg("%s", err.text);
    shape_of_chain(bound, NULL, &s);
    bound_network_free(bound);
    network_free(net);
    return s;
}

/* One row of a class, and which alternative of a part is looked at. */
typedef struct counted {
    columns c;
    rows    r;
} counted;

static counted count(const layer_class *class, const layer_shape *s, const layer_run *run)
{
    counted k = { .c = { 0 } };

    assert_true(class->make(&k.c));
    rows_begin(&k.r, NAN, 1, 0);
    class->add_call(&k.c, &k.r, run, s);
    class->add_layer(&k.c, &k.r, run, s);
    assert_int_equal(rows_check(&k.r, NULL), LM_OK);
    return k;
}

static void discard(counted *k)
{
    rows_free(&k->r);
    columns_free(&k->c);
}

/* Sum over the row of a column's counts, in all alternatives: each is in one of them. */
static double of(const counted *k, const char *name)
{
    const size_t at  = columns_find(&k->c, name);
    double       sum = 0;

    if (at == COLUMN_NONE)
        fail_msg("no column '%s'", name);
    for (size_t i = 0; i < k->r.n_items; i++)
        sum += k->r.item[i].column == at ? k->r.item[i].value : 0;
    return sum;
}

typedef struct expected {
    const char *name;
    double      value;
} expected;

/* All of these, and no other column. */
static void assert_counts(const counted *k, const expected *e, size_t n)
{
    size_t there = 0;

    for (size_t i = 0; i < n; i++)
        if (of(k, e[i].name) != e[i].value)
            fail_msg("%s: %.17g, expected %.17g", e[i].name, of(k, e[i].name), e[i].value);
    for (size_t j = 0; j < k->c.n; j++)
        there += of(k, k->c.column[j].name) != 0;
    if (there != n)
        for (size_t j = 0; j < k->c.n; j++)
            if (of(k, k->c.column[j].name) != 0)
                print_error("%s %.17g\n", k->c.column[j].name, of(k, k->c.column[j].name));
    assert_int_equal(there, n);
}
#define assert_all_counts(k, e) assert_counts((k), (e), sizeof(e) / sizeof *(e))

static void chains_of_a_few_layers_have_a_shape(void **state)
{
    layer_shape s =
        shape("pad; conv2d; relu; mse_loss",
              "before=1,2 after=2,2; filters=6 kernel=4,5 stride=2,1 bias=no", "3x8x9", 7);

    (void)state;
    assert_int_equal(s.kind, SHAPE_CONV);
    assert_true(s.n == 7 && s.c_in == 3 && s.c_out == 6 && s.groups == 1);
    assert_true(s.in[0] == 1 && s.in[1] == 8 && s.in[2] == 9);
    assert_true(s.out[1] == (8 + 3 - 4) / 2 + 1 && s.out[2] == 9 + 4 - 5 + 1);
    assert_true(s.before[1] == 1 && s.before[2] == 2);
    /* the last row of windows ends at 3 x 2 + 4 = 10 of the 11 padded rows */
    assert_true(s.behind[1] == 1 && s.behind[2] == 2);
    assert_true(!s.bias && s.activation && s.loss);
    assert_true(s.inputs == 7 * 3 * 72 && s.outputs == 7 * 6 * 4 * 9 && s.weights == 6 * 3 * 20);
    assert_true(shape_flops(&s) == 2.0 * 7 * 36 * 360);
    assert_true(shape_bytes(&s) == 4.0 * (7 * 3 * 72 + 7 * 6 * 36));

    s = shape("linear", "features=5", "4x6", 3);
    assert_int_equal(s.kind, SHAPE_DENSE);
    assert_true(s.n == 12 && s.c_in == 6 && s.c_out == 5 && s.bias && !s.activation && !s.loss);
    assert_true(s.inputs == 72 && s.outputs == 60 && s.weights == 30);
    assert_true(shape_flops(&s) == 2.0 * 12 * 30);

    assert_int_equal(shape("relu", "", "8", 3).kind, SHAPE_OTHER);
    assert_int_equal(
        shape("conv2d; conv2d", "filters=4 kernel=1; filters=4 kernel=1", "3x8x8", 2).kind,
        SHAPE_OTHER);
    assert_int_equal(shape("conv_transpose2d", "filters=4 kernel=2", "3x8x8", 2).kind, SHAPE_OTHER);
    assert_int_equal(shape("conv2d; max_pool2d", "filters=4 kernel=1; kernel=2", "3x8x8", 2).kind,
                     SHAPE_OTHER);
}

static void a_product_of_flattened_images_is_a_convolution_over_them(void **state)
{
    layer_shape     s     = shape("linear", "features=10", "75", 2);
    const lm_tensor image = { .dtype = LM_F32, .rank = 4, .dim = { 2, 3, 5, 5 } };

    (void)state;
    shape_as_conv(&s, &image);
    assert_true(s.kind == SHAPE_CONV && s.c_in == 3 && s.in[1] == 5 && s.window[2] == 5);
    assert_true(s.in[0] == 1 && s.out[1] == 1 && s.stride[1] == 1 && s.weights == 750);
}

/* 2 samples of 20 channels, 10 x 10, 3 x 3 windows with padding 1, 40 filters, bias, relu. */
static void columns_of_a_convolution_forward(void **state)
{
    const layer_shape s = shape("conv2d; relu", "filters=40 kernel=3 padding=1", "20x10x10", 2);
    counted           k = count(&layer_class_conv, &s, &forward);
    const double      x = 2 * 20 * 100, y = 2 * 40 * 100, w = 9 * 20 * 40;
    const expected    e[] = {
           { "call", 1 },
           { "forward.activation", y },
           { "forward.bias", y },
           { "forward.input", x },
           { "forward.output", y },
           { "forward.weights", w },
           { "forward.weights.long", w * (w / 2e7) * (1 - 1 / 9.0) },
           { "forward.direct.flops", 2.0 * 200 * 180 * 64 },
           { "forward.direct.depth", 180 },
           /* one tile of 32 holds 30 outputs each way */
           { "forward.tiles", 1 },
           { "forward.tiles.input", 2 * 20 * 1024 },
           { "forward.tiles.output", 2 * 40 * 1024 },
           { "forward.tiles.flops", 32.0 * 24 * 64 * 1024 },
           /* 12 padded pixels: 16 */
           { "forward.plane.input", 2 * 20 * 256 },
           { "forward.plane.output", 2 * 40 * 256 },
           { "forward.plane.weights", 20 * 40 * 256 },
           /* 3 x 3 tiles of 4 outputs, 6 x 6 inputs each */
           { "forward.winograd4.input", 2 * 9 * 20 * 36 },
           { "forward.winograd4.output", 2 * 9 * 40 * 36 },
           { "forward.winograd4.weights", 20 * 40 * 36 },
           { "forward.winograd4.flops", 2.0 * 2 * 9 * 24 * 64 * 36 },
           { "forward.winograd2.flops", 2.0 * 2 * 25 * 16 * 24 * 64 },
    };

    (void)state;
    assert_all_counts(&k, e);
    /* what a call costs, what comes anyway, one product of five algorithms */
    assert_int_equal(k.r.n_parts, 3);
    assert_int_equal(k.r.n_alternatives, 7);
    discard(&k);
}

/* Stride 2 in TensorFlow's way: 7 pixels of 12 channels become 4, one of padding, behind. */
static void padding_behind_is_a_copy_and_strides_leave_the_direct_product(void **state)
{
    const layer_shape s = shape(
        "pad; conv2d", "before=0 after=0,1; filters=8 kernel=2 stride=2 bias=no", "12x7x7", 3);
    counted           k;
    const layer_shape even = shape(
        "pad; conv2d", "before=0,0 after=1,1; filters=8 kernel=2 stride=2 bias=no", "12x7x7", 3);
    const double   x = 3 * 12 * 49, y = 3 * 8 * 16, w = 4 * 12 * 8;
    const expected e[] = {
        { "call", 1 },
        { "forward.input", x },
        { "forward.input.narrow", x },
        { "forward.input.padded", x },
        { "forward.output", y },
        { "forward.output.narrow", y },
        { "forward.weights", w },
        { "forward.weights.long", w * (w / 2e7) * (1 - 1 / 4.0) },
        { "forward.direct.flops", 2.0 * 48 * 48 * 32 },
        { "forward.direct.depth", 48 },
    };

    (void)state;
    assert_true(s.out[1] == 3 && s.out[2] == 4);
    k = count(&layer_class_conv, &even, &forward);
    assert_all_counts(&k, e);
    discard(&k);
}

static void columns_of_a_pointwise_convolution(void **state)
{
    const layer_shape s = shape("conv2d; mse_loss", "filters=10 kernel=1 bias=yes;", "20x5x5", 6);
    counted           k = count(&layer_class_conv, &s, &step);
    const double      x = 6 * 20 * 25, y = 6 * 10 * 25, w = 200;
    const expected    e[] = {
           { "call", 1 },
           { "backward.call", 1 },
           { "backward.call.bias", 1 },
           { "loss", y },
           { "update.adam", w + x + y },
           { "update.adam.call", 1 },
           { "forward.bias", y },
           { "forward.pointwise.input", x },
           { "forward.pointwise.output", y },
           { "forward.pointwise.weights", w },
           { "forward.pointwise.flops", 2.0 * 256 * 64 * 24 }, /* 150 rows */
           { "backward.pointwise.input", x },
           { "backward.pointwise.output", y },
           { "backward.pointwise.weights", w },
           { "backward.pointwise.flops", 2.0 * 32 * 32 * 152 },
           { "backward.pointwise.depth", 150 },
    };

    (void)state;
    assert_all_counts(&k, e);
    discard(&k);
}

/* 7 x 7 windows of one channel without padding: no Winograd for them. */
static void columns_of_a_convolution_step(void **state)
{
    const layer_shape s =
        shape("conv2d; tanh; mse_loss", "filters=20 kernel=7 bias=no;;", "1x40x40", 5);
    layer_run      run = step;
    counted        k   = count(&layer_class_conv, &s, &run);
    const double   x = 5 * 1600, y = 5 * 20 * 34 * 34, w = 49 * 20, m = 5 * 34 * 34;
    const expected e[] = {
        { "call", 1 },
        { "backward.call", 1 },
        { "loss", y },
        { "update.adam", w + x + y },
        { "update.adam.call", 1 },
        { "backward.activation", y },
        { "forward.activation", y },
        { "forward.output", y },
        { "forward.weights", w },
        { "forward.weights.long", w * (w / 2e7) * (1 - 1 / 49.0) },
        { "forward.direct.flops", 2 * m * 49 * 32 },
        { "forward.direct.depth", 49 },
        /* 26 outputs of a tile each way: 2 x 2 of them */
        { "forward.tiles", 4 },
        { "forward.tiles.input", 5 * 4 * 1024 },
        { "forward.tiles.output", 5 * 4 * 20 * 1024 },
        { "forward.tiles.flops", 4.0 * 32 * 8 * 64 * 1024 },
        { "forward.plane.input", 5 * 4096 },
        { "forward.plane.output", 5 * 20 * 4096 },
        { "forward.plane.weights", 20 * 4096 },
        { "backward.output", y },
        { "backward.weights", w },
        { "backward.weights.window", w * (1 - 1 / 49.0) },
        { "backward.weights.long", w * (w / 2e7) * (1 - 1 / 49.0) },
        { "backward.weights.samples", 5 * w },
        { "grad_input.direct.flops", 2 * m * 64 * 24 },
        { "grad_input.direct.scatter", m * 49 },
        /* the same with channels exchanged, on the plane of the input */
        { "grad_input.tiles", 4 },
        { "grad_input.tiles.input", 5 * 4 * 20 * 1024 },
        { "grad_input.tiles.output", 5 * 4 * 1024 },
        { "grad_input.tiles.flops", 4.0 * 32 * 24 * 64 * 1024 },
        { "grad_input.plane.input", 5 * 20 * 4096 },
        { "grad_input.plane.output", 5 * 4096 },
        { "grad_input.plane.weights", 20 * 4096 },
        { "grad_weight.direct.flops", 2 * m * 64 * 32 },
        { "grad_weight.direct.flops.wide", 2 * m * 128 * 32 },
        { "grad_weight.short.flops", 2 * m * 56 * 64 },
        { "grad_weight.short.depth", m },
        { "grad_weight.short.output", y },
        { "grad_weight.tiles", 4 },
        { "grad_weight.tiles.input", 5 * 4 * 1024 },
        { "grad_weight.tiles.output", 5 * 4 * 20 * 1024 },
        { "grad_weight.tiles.flops", 4.0 * 32 * 8 * 64 * 1024 },
        { "grad_weight.plane.input", 5 * 4096 },
        { "grad_weight.plane.output", 5 * 20 * 4096 },
        { "grad_weight.plane.weights", 20 * 4096 },
    };

    (void)state;
    assert_all_counts(&k, e);
    discard(&k);
    /* in the first layer of a network: no input gradient, the update of weights alone */
    run.alone          = false;
    run.trains_inputs  = false;
    run.input_gradient = false;
    k                  = count(&layer_class_conv, &s, &run);
    assert_true(of(&k, "grad_input.direct.flops") == 0 && of(&k, "grad_input.tiles") == 0);
    assert_true(of(&k, "update.adam") == w);
    assert_int_equal(columns_find(&k.c, "update.adam.call"), COLUMN_NONE);
    discard(&k);
}

/* 6 rows, 600 features in, 1100 out. */
static void columns_of_a_product_of_few_rows(void **state)
{
    const layer_shape s   = shape("linear; relu; mse_loss", "features=1100;;", "600", 6);
    layer_run         run = step;
    counted           k;
    const double      n = 6, a = 600, b = 1100;
    const expected    e[] = {
           { "call", 1 },
           { "call.activation", 1 },
           { "backward.call", 1 },
           { "backward.call.activation", 1 },
           { "loss", n * b },
           { "update.sgd", a * b + n * a + n * b }, /* plain: nothing launched for what it keeps */
           { "forward.activation", n * b },
           { "forward.macs", n * a * b },
           { "forward.factor", n * a },
           { "forward.result", n * b },
           { "forward.columns1025", a },
           { "forward.depth513", b },
           { "forward.matrix.rows8", a * b },
           { "forward.steps.rows8", a },
           /* 10 multiprocessors: 35 tiles, 18, 18 and 9 */
           { "forward.waves32x32", 4 * a },
           { "forward.waves64x64", 2 * a },
           { "forward.waves128x64", 2 * a },
           { "forward.waves32x128", a },
           { "grad_input.macs", n * a * b },
           { "grad_input.factor", n * b },
           { "grad_input.result", n * a },
           { "grad_input.columns513", b },
           { "grad_input.depth1025", a },
           { "grad_input.matrix.rows8", a * b },
           { "grad_input.steps.rows8", b },
           /* 19, 10, 10, 5; 1100 counts as 1104 */
           { "grad_input.waves32x32", 2 * 1104 },
           { "grad_input.waves64x64", 1104 },
           { "grad_input.waves128x64", 1104 },
           { "grad_input.waves32x128", 1104 },
           { "grad_weight.macs", n * a * b },
           { "grad_weight.factor", a * n },
           { "grad_weight.result", a * b },
           { "grad_weight.columns1025", n },
           { "grad_weight.depth1", b },
           { "grad_weight.tiled", 640.0 * 1152 * 8 },
           { "grad_weight.matrix", b * n },
           /* 19 x 35, 10 x 18, 5 x 18, 19 x 9 tiles */
           { "grad_weight.waves32x32", 67 * 8 },
           { "grad_weight.waves64x64", 18 * 8 },
           { "grad_weight.waves128x64", 9 * 8 },
           { "grad_weight.waves32x128", 18 * 8 },
    };

    (void)state;
    run.optimizer       = "sgd";
    run.multiprocessors = 10;
    k                   = count(&layer_class_dense, &s, &run);
    assert_all_counts(&k, e);
    discard(&k);
    run.multiprocessors = NAN;
    k                   = count(&layer_class_dense, &s, &run);
    assert_true(of(&k, "forward.waves32x32") == 0 && of(&k, "forward.steps.rows8") == 0);
    assert_true(of(&k, "forward.matrix.rows8") == a * b);
    discard(&k);
}

static void bands_hold_their_ends(void **state)
{
    layer_shape s = shape("linear", "features=512", "4096", 64);
    counted     k = count(&layer_class_dense, &s, &forward);

    (void)state;
    assert_true(of(&k, "forward.columns1") == 4096 && of(&k, "forward.depth3585") == 512);
    assert_true(of(&k, "forward.matrix.rows64") == 4096 * 512);
    discard(&k);
    s = shape("linear", "features=513", "9000", 1);
    k = count(&layer_class_dense, &s, &forward);
    assert_true(of(&k, "forward.columns513") == 9000 && of(&k, "forward.depth3585") == 513);
    assert_true(of(&k, "forward.matrix.rows1") == 9000.0 * 513);
    discard(&k);
    assert_int_equal(layer_class_of(&s), LAYER_DENSE);
    assert_int_equal(layer_class_among(&s, LAYER_DENSE_ROWS), LAYER_DENSE);
    assert_int_equal(layer_class_among(&s, LAYER_DENSE_ROWS - 1), LAYER_PRODUCT);
    s = shape("linear", "features=513", "9000", 65);
    assert_int_equal(layer_class_of(&s), LAYER_PRODUCT);
}

/* 256 rows of 512 to 128 features over 4 multiprocessors: two whole tiles of 128 x 128 take as long
 * as four, and halves of the sum fill these; 64 x 64 fills 8 of 8. By hand of tiles.h: the least is
 * 2 x 8 x 64 x 64 x 512 / 0.95. */
static void products_of_many_rows_count_in_waves(void **state)
{
    const layer_run   run = { .forward = true, .multiprocessors = 4 };
    const layer_shape s   = shape("linear", "features=128", "512", 256);
    counted           k   = count(&layer_class_product, &s, &run);

    (void)state;
    assert_close(of(&k, "forward.waves"), 2.0 * 8 * 64 * 64 * 512 / 0.95, 1);
    assert_true(of(&k, "forward.factor") == 256 * 512 && of(&k, "forward.result") == 256 * 128);
    assert_true(of(&k, "forward.weights") == 512 * 128 && of(&k, "grad_weight.waves") == 0);
    discard(&k);
}

/* Times that prices made: a direct product, or Winograd's where it is cheaper. */
static size_t invent(layer_shape *s, layer_time *time, size_t most)
{
    uint64_t seed = 5;
    size_t   n    = 0;

    for (size_t i = 0; i < most; i++) {
        char      keys[60], input[40];
        counted   k;
        double   *price;
        layer_run run = i % 2 ? step : forward;

        snprintf(keys, sizeof keys, "filters=%d kernel=%d", 16 + (int)random_below(&seed, 200),
                 2 + (int)random_below(&seed, 2));
        snprintf(input, sizeof input, "%dx%dx%d", 16 + (int)random_below(&seed, 200),
                 8 + (int)random_below(&seed, 40), 8 + (int)random_below(&seed, 40));
        s[i]  = shape("conv2d", keys, input, 1 + (int64_t)random_below(&seed, 16));
        k     = count(&layer_class_conv, &s[i], &run);
        price = calloc(k.c.n, sizeof *price);
        price[columns_find(&k.c, "call")]          = 1e-4;
        price[columns_find(&k.c, "forward.input")] = 1e-10;
        for (size_t j = 0; j < k.c.n; j++)
            if (strstr(k.c.column[j].name, "direct.flops"))
                price[j] = 1e-13;
            else if (strstr(k.c.column[j].name, "winograd2.flops"))
                price[j] = 1.5e-13;
            else if (strstr(k.c.column[j].name, ".tiles") || strstr(k.c.column[j].name, ".plane") ||
                     strstr(k.c.column[j].name, ".winograd4") ||
                     strstr(k.c.column[j].name, ".short"))
                price[j] = 1;
            else if (strstr(k.c.column[j].name, "update.adam"))
                price[j] = 2e-11;
        time[n++] = (layer_time){ &s[i], run,
                                  rows_seconds(rows_cost(&k.r, 0, &k.c, price, NULL, NULL), 1) };
        free(price);
        discard(&k);
    }
    return n;
}

static void assert_predicts(layer_model *m, const layer_time *time, size_t n, double tolerance)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += fabs(layer_model_seconds(m, time[i].shape, &time[i].run) / time[i].seconds - 1);
    if (!(sum / (double)n < tolerance))
        fail_msg("mean error %g", sum / (double)n);
}

static void invented_times_are_predicted_and_kept_in_a_file(void **state)
{
    enum { N = 400 };
    static layer_shape s[N];
    static layer_time  time[N];
    layer_model        m, back = { .multiprocessors = NAN };
    char               path[] = "/tmp/layers-XXXXXX";
    const int          fd     = mkstemp(path);
    FILE              *out    = fdopen(fd, "w");
    ini_document      *doc;
    lm_error           err = { 0 };
    layer_run          other;

    (void)state;
    assert_int_equal(invent(s, time, N), N);
    assert_int_equal(layer_model_fit(time, N, &m, &err), LM_OK);
    assert_true(layer_model_any(&m) && m.of[0].present && !m.of[1].present);
    assert_int_equal(m.of[0].rows, N);
    assert_predicts(&m, time, N, 0.02);
    assert_true(m.of[0].errors.mape < 0.02);
    /* an optimizer nobody measured */
    other           = step;
    other.optimizer = "rmsprop";
    assert_true(isnan(layer_model_seconds(&m, &s[0], &other)));

    layer_model_print(out, &m);
    fclose(out);
    assert_int_equal(ini_load(path, &doc, &err), LM_OK);
    assert_int_equal(doc->n_sections, 1);
    assert_true(layer_model_section(doc->section[0].name));
    assert_int_equal(layer_model_read(&doc->section[0], path, &back, &err), LM_OK);
    for (size_t i = 0; i < N; i++)
        assert_true(layer_model_seconds(&back, &s[i], &time[i].run) ==
                    layer_model_seconds(&m, &s[i], &time[i].run));
    assert_int_equal(back.of[0].rows, N);
    ini_free(doc);
    layer_model_free(&back);
    layer_model_free(&m);
    unlink(path);
}

static void bad_sections_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        { "[layermeter.single.pool]\nrows = 1\n",
          "m.ini:1: [layermeter.single.pool]: no class of single layers of that name" },
        { "[layermeter.single.conv]\nforward.inputs = 1 s/element\n",
          "m.ini:2: 'forward.inputs' is no key of layermeter.single.conv" },
        { "[layermeter.single.conv]\nforward.input = 1 s/byte\n",
          "m.ini:2: forward.input: expected a number and 's/element', found '1 s/byte'" },
        { "[layermeter.single.conv]\nforward.input = -1 s/element\n",
          "m.ini:2: forward.input: a price below 0, or more than one: '-1 s/element'" },
        { "[layermeter.single.conv]\ncall = 1 s/call, 5 rows\n",
          "m.ini:2: call: unknown word '5 rows'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        layer_model   m = { .multiprocessors = NAN };
        ini_document *doc;
        lm_error      err = { 0 };

        assert_int_equal(ini_load_text("m.ini", bad[i].text, &doc, &err), LM_OK);
        assert_true(layer_model_read(&doc->section[0], "m.ini", &m, &err) != LM_OK);
        assert_string_equal(err.text, bad[i].message);
        ini_free(doc);
        layer_model_free(&m);
    }
}

/* A network of one convolution, one more on what it yields, and a product of the flattened image:
 * by hand from the prices. */
static void networks_are_sums_of_their_layers(void **state)
{
    static const char text[] =
        "[network]\nname = n\n[x]\ntype = input\nshape = 16x6x6\n"
        "[c]\ntype = conv2d\nfilters = 32\nkernel = 3\nstride = 2\nbias = no\n"
        "[r]\ntype = relu\n[p]\ntype = max_pool2d\nkernel = 2\n[f]\ntype = flatten\n"
        "[l]\ntype = linear\nfeatures = 10\nbias = no\n";
    bound_text    n = nets_bind(text, 2);
    layer_model   m = { .multiprocessors = NAN };
    whole_seconds s;
    lm_error      err = { 0 };
    columns      *c   = &m.of[0].columns;
    /* c: 2 outputs a side, 16 channels of 9 weights to 32; l: 32 channels of one pixel to 10 */
    const double y = 2 * 32 * 4, w = 32 * 16 * 9, wl = 320;

    (void)state;
    assert_true(n.bound != NULL);
    assert_int_equal(whole_predict(&m, n.bound, "sgd", false, &s, &err), LM_E_NOTFOUND);
    assert_true(layer_class_conv.make(c));
    m.of[0].present                                               = true;
    c->column[columns_find(c, "call")].price                      = 1000;
    c->column[columns_find(c, "backward.call")].price             = 500;
    c->column[columns_find(c, "forward.activation")].price        = 2;
    c->column[columns_find(c, "backward.activation")].price       = 3;
    c->column[columns_find(c, "forward.weights")].price           = 1;
    c->column[columns_find(c, "forward.pointwise.weights")].price = 7;
    c->column[columns_find(c, "backward.weights")].price          = 5;
    c->column[columns_find(c, "grad_input.direct.scatter")].price =
        1e9; /* the first layer has none */
    assert_int_equal(whole_predict(&m, n.bound, "sgd", false, &s, &err), LM_E_NOTFOUND);
    assert_string_equal(err.text,
                        "updates by 'sgd' have no price: measure steps of single layers with "
                        "it, then fit again");
    c->column[columns_need_update(c, "update.sgd")].price = 11;
    assert_int_equal(whole_predict(&m, n.bound, "sgd", false, &s, &err), LM_OK);
    /* relu: 2 an element; the pool reads y and writes y / 4, each at half of that */
    assert_close(s.forward, 1000 + w + 2 * y + (y + y / 4) + 7 * wl, 1e-12);
    /* relu: 3 an element; the pool's gradient reads y / 4 and writes y; l has no column here */
    assert_close(s.backward, 500 + 5 * w + 3 * y + (y + y / 4), 1e-12);
    assert_close(s.update, 11 * (w + wl), 1e-12);
    layer_model_free(&m);
    nets_free(&n);
}

static void few_times_are_no_fit(void **state)
{
    layer_shape s[10];
    layer_time  time[10];
    layer_rows  r;
    layer_model m;
    size_t      n;
    lm_error    err = { 0 };

    (void)state;
    invent(s, time, 10);
    assert_int_equal(layer_rows_new(&layer_class_conv, time, 10, &r, &err), LM_OK);
    assert_int_equal(layer_rows_fit(&r, NULL, &n, &err), LM_E_ARG);
    assert_string_equal(err.text, "10 times of single layers ('conv'): 60 are needed");
    layer_rows_free(&r);
    assert_int_equal(layer_model_fit(time, 10, &m, &err), LM_OK);
    assert_true(!layer_model_any(&m) && m.of[0].rows == 10);
    layer_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_a_few_layers_have_a_shape),
        cmocka_unit_test(a_product_of_flattened_images_is_a_convolution_over_them),
        cmocka_unit_test(columns_of_a_convolution_forward),
        cmocka_unit_test(padding_behind_is_a_copy_and_strides_leave_the_direct_product),
        cmocka_unit_test(columns_of_a_pointwise_convolution),
        cmocka_unit_test(columns_of_a_convolution_step),
        cmocka_unit_test(columns_of_a_product_of_few_rows),
        cmocka_unit_test(bands_hold_their_ends),
        cmocka_unit_test(products_of_many_rows_count_in_waves),
        cmocka_unit_test(invented_times_are_predicted_and_kept_in_a_file),
        cmocka_unit_test(bad_sections_are_refused),
        cmocka_unit_test(networks_are_sums_of_their_layers),
        cmocka_unit_test(few_times_are_no_fit),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
