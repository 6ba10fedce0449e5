/* Counts of single layers, column by column, by hand. */
#include "single_shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "single/model.h"
#include "single/whole.h"

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
              "before=1,2 after=2,2; filters=6 kernel=4,5 stride=2,1 bias=no", "3x8x9", 7, NULL);

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

    s = shape("linear", "features=5", "4x6", 3, NULL);
    assert_int_equal(s.kind, SHAPE_DENSE);
    assert_true(s.n == 12 && s.c_in == 6 && s.c_out == 5 && s.bias && !s.activation && !s.loss);
    assert_true(s.inputs == 72 && s.outputs == 60 && s.weights == 30);
    assert_true(shape_flops(&s) == 2.0 * 12 * 30);

    assert_int_equal(shape("relu", "", "8", 3, NULL).kind, SHAPE_OTHER);
    assert_int_equal(
        shape("conv2d; conv2d", "filters=4 kernel=1; filters=4 kernel=1", "3x8x8", 2, NULL).kind,
        SHAPE_OTHER);
    assert_int_equal(shape("conv_transpose2d", "filters=4 kernel=2", "3x8x8", 2, NULL).kind,
                     SHAPE_OTHER);
    assert_int_equal(
        shape("conv2d; max_pool2d", "filters=4 kernel=1; kernel=2", "3x8x8", 2, NULL).kind,
        SHAPE_OTHER);
}

static void a_product_of_flattened_images_is_a_convolution_over_them(void **state)
{
    layer_shape     s     = shape("linear", "features=10", "75", 2, NULL);
    const lm_tensor image = { .dtype = LM_F32, .rank = 4, .dim = { 2, 3, 5, 5 } };

    (void)state;
    shape_as_conv(&s, &image);
    assert_true(s.kind == SHAPE_CONV && s.c_in == 3 && s.in[1] == 5 && s.window[2] == 5);
    assert_true(s.in[0] == 1 && s.out[1] == 1 && s.stride[1] == 1 && s.weights == 750);
}

/* 2 samples of 20 channels, 10 x 10, 3 x 3 windows with padding 1, 40 filters, bias, relu. */
static void columns_of_a_convolution_forward(void **state)
{
    const layer_shape s =
        shape("conv2d; relu", "filters=40 kernel=3 padding=1", "20x10x10", 2, NULL);
    counted        k = count(&layer_class_conv, &s, &forward);
    const double   x = 2 * 20 * 100, y = 2 * 40 * 100, w = 9 * 20 * 40;
    const expected e[] = {
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
    const layer_shape s =
        shape("pad; conv2d", "before=0 after=0,1; filters=8 kernel=2 stride=2 bias=no", "12x7x7", 3,
              NULL);
    counted           k;
    const layer_shape even =
        shape("pad; conv2d", "before=0,0 after=1,1; filters=8 kernel=2 stride=2 bias=no", "12x7x7",
              3, NULL);
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
    const layer_shape s =
        shape("conv2d; mse_loss", "filters=10 kernel=1 bias=yes;", "20x5x5", 6, NULL);
    counted        k = count(&layer_class_conv, &s, &step);
    const double   x = 6 * 20 * 25, y = 6 * 10 * 25, w = 200;
    const expected e[] = {
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

/* One window a channel: nothing is padded to tiles, each element goes through its window. Where
 * prices of before know no such kernels it is a direct product. */
static void columns_of_a_depthwise_convolution(void **state)
{
    const layer_shape s = shape(
        "conv2d", "filters=20 groups=20 kernel=3 stride=2 padding=1 bias=no", "20x5x5", 6, NULL);
    counted        k = count(&layer_class_conv, &s, &step);
    const double   x = 6 * 20 * 25, y = 6 * 20 * 9, w = 20 * 9;
    const expected e[] = {
        { "call", 1 },
        { "backward.call", 1 },
        { "update.adam", w + x + y },
        { "update.adam.call", 1 },
        { "forward.depthwise.input", x },
        { "forward.depthwise.output", y },
        { "forward.depthwise.flops", 2.0 * 9 * y },
        { "backward.depthwise.input", x },
        { "backward.depthwise.output", y },
        { "grad_input.depthwise.flops", 2.0 * 9 * x },
        { "grad_weight.depthwise.flops", 2.0 * 9 * y },
    };
    columns before = { 0 };
    rows    r      = { 0 };

    (void)state;
    assert_all_counts(&k, e);
    discard(&k);
    assert_true(layer_class_make(&layer_class_conv, &before));
    before.column[columns_find(&before, "forward.direct.flops")].price = 1e-12;
    rows_begin(&r, NAN, 1, 0);
    layer_class_conv.add_layer(&before, &r, &forward, &s);
    for (size_t i = 0; i < r.n_items; i++)
        assert_null(strstr(before.column[r.item[i].column].name, "depthwise"));
    assert_true(r.n_items > 0);
    rows_free(&r);
    columns_free(&before);
}

/* 7 x 7 windows of one channel without padding: no Winograd for them. */
static void columns_of_a_convolution_step(void **state)
{
    const layer_shape s =
        shape("conv2d; tanh; mse_loss", "filters=20 kernel=7 bias=no;;", "1x40x40", 5, NULL);
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
    const layer_shape s   = shape("linear; relu; mse_loss", "features=1100;;", "600", 6, NULL);
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

/* 256 rows of 512 to 128 features over 4 multiprocessors: two whole tiles of 128 x 128 take as long
 * as four, and halves of the sum fill these; 64 x 64 fills 8 of 8. By hand of tiles.h: the least is
 * 2 x 8 x 64 x 64 x 512 / 0.95. */
static void products_of_many_rows_count_in_waves(void **state)
{
    const layer_run   run = { .forward = true, .multiprocessors = 4 };
    const layer_shape s   = shape("linear", "features=128", "512", 256, NULL);
    counted           k   = count(&layer_class_product, &s, &run);

    (void)state;
    assert_close(of(&k, "forward.waves"), 2.0 * 8 * 64 * 64 * 512 / 0.95, 1);
    assert_true(of(&k, "forward.factor") == 256 * 512 && of(&k, "forward.result") == 256 * 128);
    assert_true(of(&k, "forward.weights") == 512 * 128 && of(&k, "grad_weight.waves") == 0);
    discard(&k);
}

static void bands_hold_their_ends(void **state)
{
    layer_shape s = shape("linear", "features=512", "4096", 64, NULL);
    counted     k = count(&layer_class_dense, &s, &forward);

    (void)state;
    assert_true(of(&k, "forward.columns1") == 4096 && of(&k, "forward.depth3585") == 512);
    assert_true(of(&k, "forward.matrix.rows64") == 4096 * 512);
    discard(&k);
    s = shape("linear", "features=513", "8192", 1, NULL);
    k = count(&layer_class_dense, &s, &forward);
    /* beyond the bands in proportion: 8192 is twice their end */
    assert_true(of(&k, "forward.columns513") == 8192 && of(&k, "forward.depth3585") == 2 * 513);
    assert_true(of(&k, "forward.matrix.rows1") == 8192.0 * 513);
    discard(&k);
    assert_int_equal(layer_class_of(&s), LAYER_DENSE);
    assert_int_equal(layer_class_among(&s, LAYER_DENSE_ROWS), LAYER_DENSE);
    assert_int_equal(layer_class_among(&s, LAYER_DENSE_ROWS - 1), LAYER_PRODUCT);
    s = shape("linear", "features=513", "9000", 65, NULL);
    assert_int_equal(layer_class_of(&s), LAYER_PRODUCT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_a_few_layers_have_a_shape),
        cmocka_unit_test(a_product_of_flattened_images_is_a_convolution_over_them),
        cmocka_unit_test(columns_of_a_convolution_forward),
        cmocka_unit_test(padding_behind_is_a_copy_and_strides_leave_the_direct_product),
        cmocka_unit_test(columns_of_a_pointwise_convolution),
        cmocka_unit_test(columns_of_a_depthwise_convolution),
        cmocka_unit_test(columns_of_a_convolution_step),
        cmocka_unit_test(columns_of_a_product_of_few_rows),
        cmocka_unit_test(bands_hold_their_ends),
        cmocka_unit_test(products_of_many_rows_count_in_waves),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
