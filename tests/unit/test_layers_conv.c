/* Convolutions and transposed convolutions: shapes, parameters, work and kernels by hand; batch 2.
 */
#include "layers.h"

/* 2 FLOP for each product, in every pass; a bias adds 1 for each output forward, and as much for
 * its gradient. */
static void convolutions_match_hand_counts(void **state)
{
    static const layer_case cases[] = {
        /* (9 + 2 - 3) / 2 + 1 = 5; 2 * 6 * 5 outputs of 4 * 3 products */
        { "4x9",
          "type = conv1d\nfilters = 6\nkernel = 3\nstride = 2\npadding = 1",
          "2x6x5",
          "weight=6x4x3 bias=6",
          { 1440 + 60, 1440, 1440 + 60 },
          0,
          LM_KEEPS_INPUT },
        /* 9 - 2 * 2 = 5, two groups: half the products */
        { "4x9",
          "type = conv1d\nfilters = 6\nkernel = 3\ndilation = 2\ngroups = 2\nbias = no",
          "2x6x5",
          "weight=6x2x3",
          { 720, 720, 720 },
          0,
          LM_KEEPS_INPUT },
        /* 2 * 3 * 4 * 6 * 4 outputs of 2 * 1 * 2 * 3 products */
        { "2x4x5x6",
          "type = conv3d\nfilters = 3\nkernel = 1,2,3\npadding = 0,1,0",
          "2x3x4x6x4",
          "weight=3x2x1x2x3 bias=3",
          { 13824 + 576, 13824, 13824 + 576 },
          0,
          LM_KEEPS_INPUT },
    };

    (void)state;
    LAYERS_CHECK(cases);
}

/* Each input meets each weight of its group once: inputs * filters / groups * window products. */
static void transposed_convolutions_match_hand_counts(void **state)
{
    static const layer_case cases[] = {
        /* (5 - 1) 2 - 2 + 2 + 1 + 1 = 10 and (6 - 1) 2 - 2 + 2 + 1 + 1 = 12; 2 * 4 * 30 inputs of
         * 3 * 9 products, 2 * 6 * 120 outputs */
        { "4x5x6",
          "type = conv_transpose2d\nfilters = 6\nkernel = 3\nstride = 2\npadding = 1\n"
          "output_padding = 1\ngroups = 2",
          "2x6x10x12",
          "weight=4x3x3x3 bias=6",
          { 12960 + 1440, 12960, 12960 + 1440 },
          0,
          LM_KEEPS_INPUT },
        /* first layer of DCGAN's generator (Radford et al. 2016): 4 x 4 from nothing */
        { "100x1x1",
          "type = conv_transpose2d\nfilters = 512\nkernel = 4\nbias = no",
          "2x512x4x4",
          "weight=100x512x4x4",
          { 3276800, 3276800, 3276800 },
          0,
          LM_KEEPS_INPUT },
        /* (4 - 1) + 3 + 2 + 1 = 9: more output padding than stride, less than dilation */
        { "2x4",
          "type = conv_transpose1d\nfilters = 1\nkernel = 2\ndilation = 3\n"
          "output_padding = 2\nbias = no",
          "2x1x9",
          "weight=2x1x2",
          { 64, 64, 64 },
          0,
          LM_KEEPS_INPUT },
        /* 2 * 3 * 8 inputs of 5 * 8 products; 2 * 5 * 64 outputs */
        { "3x2x2x2",
          "type = conv_transpose3d\nfilters = 5\nkernel = 2\nstride = 2",
          "2x5x4x4x4",
          "weight=3x5x2x2x2 bias=5",
          { 3840 + 640, 3840, 3840 + 640 },
          0,
          LM_KEEPS_INPUT },
    };

    (void)state;
    LAYERS_CHECK(cases);
}

#define GEOMETRY                                                                         \
    "n=2 c_in=6 c_out=4 groups=2 bias=0 in=1x10x12 out=1x5x6 window=1x3x3 stride=1x2x2 " \
    "pad=0x1x1 dilation=1x1x1"

/* It runs as the convolution of 6 channels of 10 x 12 to 4 of 5 x 6, backwards. */
static void a_transposed_convolution_runs_as_the_one_it_transposes(void **state)
{
    bound_text         m = layers_bind("4x5x6", "type = conv_transpose2d\nfilters = 6\nkernel = 3\n"
                                                        "stride = 2\npadding = 1\noutput_padding = 1\ngroups = 2");
    const bound_layer *l = nets_layer(&m, "l");
    char               buffer[600];

    (void)state;
    assert_string_equal(layers_kernels(l, LM_FORWARD, buffer, sizeof buffer),
                        "conv grad_input " GEOMETRY
                        "; map elements=1440 operands=1 flops_per_element=1");
    assert_string_equal(layers_kernels(l, LM_GRAD_INPUT, buffer, sizeof buffer),
                        "conv forward " GEOMETRY);
    assert_string_equal(layers_kernels(l, LM_GRAD_WEIGHT, buffer, sizeof buffer),
                        "conv " GEOMETRY "; reduce rows=6 group=240 inner=1");
    /* reads its input and the weights, writes its output, which the bias reads and writes */
    assert_int_equal(l->cost.pass[LM_FORWARD].read_bytes, 4 * (240 + 108 + 1440));
    assert_int_equal(l->cost.pass[LM_FORWARD].written_bytes, 4 * (1440 + 1440));
    nets_free(&m);
}

static void an_axis_that_does_not_exist_has_one_pixel(void **state)
{
    bound_text m = layers_bind("4x9", "type = conv1d\nfilters = 6\nkernel = 3\npadding = 2");
    char       buffer[600];

    (void)state;
    assert_string_equal(layers_kernels(nets_layer(&m, "l"), LM_FORWARD, buffer, sizeof buffer),
                        "conv n=2 c_in=4 c_out=6 groups=1 bias=1 in=1x1x9 out=1x1x11 window=1x1x3 "
                        "stride=1x1x1 pad=0x0x2 dilation=1x1x1");
    nets_free(&m);
}

static void what_does_not_fit_is_refused_by_its_reason(void **state)
{
    static const refused_case cases[] = {
        { "4x9x9", "type = conv1d\nfilters = 2\nkernel = 3",
          "input of rank 4, expected 3: batch, channels, length", LM_E_SHAPE },
        { "4x9", "type = conv3d\nfilters = 2\nkernel = 3",
          "input of rank 3, expected 5: batch, channels, depth, height, width", LM_E_SHAPE },
        { "4x9", "type = conv1d\nfilters = 2\nkernel = 3,3",
          "kernel: expected 1 values, found 2 in '3,3'", LM_E_ARG },
        { "4x2x9x9", "type = conv3d\nfilters = 2\nkernel = 3",
          "window reaches over 3 pixels of a padded input of 2", LM_E_SHAPE },
        { "4x9", "type = conv1d\nfilters = 3\nkernel = 3\ngroups = 2",
          "3 filters do not divide into 2 groups", LM_E_ARG },
        { "4x9", "type = conv1d\nfilters = 3\nkernel = 3\noutput_padding = 1",
          "'conv1d' has no key 'output_padding' (its keys: filters kernel stride padding dilation "
          "groups bias)",
          LM_E_NOTFOUND },
        { "4x9", "type = conv_transpose1d\nfilters = 3\nkernel = 3\nstride = 2\noutput_padding = 2",
          "output_padding of 2 must be less than stride 2 or dilation 1", LM_E_ARG },
        { "4x2", "type = conv_transpose1d\nfilters = 3\nkernel = 3\npadding = 2",
          "padding of 2 on each side leaves nothing of an output of 4 pixels", LM_E_SHAPE },
    };

    (void)state;
    LAYERS_REFUSE(cases);
}

static void integers_are_no_images(void **state)
{
    static const char *const layers[] = { "type = conv2d\nfilters = 1\nkernel = 1",
                                          "type = max_pool2d\nkernel = 2",
                                          "type = batch_norm",
                                          "type = relu",
                                          "type = softmax",
                                          "type = dropout",
                                          "type = linear\nfeatures = 2" };

    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        char       text[300], name[40];
        bound_text m;

        snprintf(text, sizeof text,
                 "[network]\nname = n\n[x]\ntype = input\nshape = 3x8x8\ndtype = i64\n[l]\n%s\n",
                 layers[i]);
        sscanf(layers[i], "type = %39s", name);
        m = nets_bind(text, 2);
        assert_error(
            m.err, LM_E_SHAPE,
            "n.ini:7: layer 'l': input of integers: '%s' computes with real numbers; put a "
            "layer of type embedding or cast before it",
            name);
        nets_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_match_hand_counts),
        cmocka_unit_test(transposed_convolutions_match_hand_counts),
        cmocka_unit_test(a_transposed_convolution_runs_as_the_one_it_transposes),
        cmocka_unit_test(an_axis_that_does_not_exist_has_one_pixel),
        cmocka_unit_test(what_does_not_fit_is_refused_by_its_reason),
        cmocka_unit_test(integers_are_no_images),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
