/* Norms: shapes, parameters, work and what is kept, by hand; batch 2 and single precision. */
#include "layers.h"

/* 2 samples of 6 channels and 5 x 4 pixels: 240 elements. 8 FLOP an element forward, 9 backward;
 * two statistics of 4 bytes a row. */
static void norms_match_hand_counts(void **state)
{
    static const layer_case cases[] = {
        /* batch: 6 channels */
        { "6x5x4",
          "type = batch_norm",
          "2x6x5x4",
          "weight=6 bias=6 running_mean=6 (frozen) running_var=6 (frozen)",
          { 8 * 240, 9 * 240, 0 },
          2 * 6 * 4,
          LM_KEEPS_INPUT },
        { "6",
          "type = batch_norm\ntrack_running_stats = no",
          "2x6",
          "weight=6 bias=6",
          { 8 * 12, 9 * 12, 0 },
          2 * 6 * 4,
          LM_KEEPS_INPUT },
        /* instance: 2 * 6 rows; by default nothing is learned. Scale and running statistics are
         * copied for each row */
        { "6x5x4",
          "type = instance_norm",
          "2x6x5x4",
          "",
          { 8 * 240, 9 * 240, 0 },
          2 * 12 * 4,
          LM_KEEPS_INPUT },
        { "6x20",
          "type = instance_norm\naffine = yes\ntrack_running_stats = yes",
          "2x6x20",
          "weight=6 bias=6 running_mean=6 (frozen) running_var=6 (frozen)",
          { 8 * 240, 9 * 240, 0 },
          (2 + 3) * 12 * 4,
          LM_KEEPS_INPUT },
        /* group: 2 * 3 rows */
        { "6x5x4",
          "type = group_norm\ngroups = 3",
          "2x6x5x4",
          "weight=6 bias=6",
          { 8 * 240, 9 * 240, 0 },
          2 * 6 * 4,
          LM_KEEPS_INPUT },
        { "6",
          "type = group_norm\ngroups = 6\naffine = no",
          "2x6",
          "",
          { 8 * 12, 9 * 12, 0 },
          2 * 12 * 4,
          LM_KEEPS_INPUT },
        /* layer: rows are all but the last dimensions, 2 * 6 * 5, 2 * 6 and 2 */
        { "6x5x4",
          "type = layer_norm",
          "2x6x5x4",
          "weight=4 bias=4",
          { 8 * 240, 9 * 240, 0 },
          2 * 60 * 4,
          LM_KEEPS_INPUT },
        { "6x5x4",
          "type = layer_norm\ndims = 2\nbias = no",
          "2x6x5x4",
          "weight=5x4",
          { 8 * 240, 9 * 240, 0 },
          2 * 12 * 4,
          LM_KEEPS_INPUT },
        { "6x5x4",
          "type = layer_norm\ndims = 3\naffine = no",
          "2x6x5x4",
          "",
          { 8 * 240, 9 * 240, 0 },
          2 * 2 * 4,
          LM_KEEPS_INPUT },
        /* without mean and shift: 4 and 6, one statistic */
        { "6x5x4",
          "type = rms_norm",
          "2x6x5x4",
          "weight=4",
          { 4 * 240, 6 * 240, 0 },
          60 * 4,
          LM_KEEPS_INPUT },
        { "6x5x4",
          "type = rms_norm\ndims = 2\naffine = no",
          "2x6x5x4",
          "",
          { 4 * 240, 6 * 240, 0 },
          12 * 4,
          LM_KEEPS_INPUT },
        /* square 1, 5 channels in the mean, 4; backward 3 + 5 + 4; two tensors are kept, and the
         * squares of 4 channels more */
        { "6x5x4",
          "type = local_response_norm\nsize = 5",
          "2x6x5x4",
          "",
          { 10 * 240, 12 * 240, 0 },
          2 * 960 + 2 * 10 * 20 * 4,
          LM_KEEPS_INPUT },
    };

    (void)state;
    LAYERS_CHECK(cases);
}

static void norms_run_as_these_kernels(void **state)
{
    static const struct {
        const char *layer, *forward, *backward;
    } cases[] = {
        { "type = batch_norm", "norm rows=6 group=40 inner=20", "norm rows=6 group=40 inner=20" },
        { "type = instance_norm", "norm rows=12 group=20 inner=20",
          "norm rows=12 group=20 inner=20" },
        { "type = group_norm\ngroups = 2", "norm rows=4 group=60 inner=60",
          "norm rows=4 group=60 inner=60" },
        { "type = layer_norm\ndims = 2", "norm rows=12 group=20 inner=20",
          "norm rows=12 group=20 inner=20" },
        { "type = rms_norm", "norm rows=60 group=4 inner=4 rms=1",
          "norm rows=60 group=4 inner=4 rms=1" },
        { "type = local_response_norm\nsize = 4",
          "map elements=240 operands=1 flops_per_element=1; "
          "pool n=2 channels=1 mode=1 in=1x6x20 out=1x6x20 window=1x4x1 stride=1x1x1 pad=0x2x0 "
          "dilation=1x1x1; map elements=240 operands=2 flops_per_element=4",
          "map elements=240 operands=4 flops_per_element=3; "
          "pool n=2 channels=1 mode=1 in=1x6x20 out=1x6x20 window=1x4x1 stride=1x1x1 pad=0x2x0 "
          "dilation=1x1x1; map elements=240 operands=4 flops_per_element=4" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text         m = layers_bind("6x5x4", cases[i].layer);
        const bound_layer *l = nets_layer(&m, "l");
        char               buffer[600];

        assert_string_equal(layers_kernels(l, LM_FORWARD, buffer, sizeof buffer), cases[i].forward);
        assert_string_equal(layers_kernels(l, LM_GRAD_INPUT, buffer, sizeof buffer),
                            cases[i].backward);
        assert_int_equal(l->n_kernels[LM_GRAD_WEIGHT], 0);
        nets_free(&m);
    }
}

/* Their scale and shift are of channels, though each has all of its pixels side by side. */
static void a_batch_norm_of_one_sample_is_none_of_layers(void **state)
{
    static const struct {
        int64_t     batch;
        const char *layer, *kernel;
    } cases[] = {
        { 1, "batch_norm", "norm rows=6 group=20 inner=20 channels=1" },
        { 2, "batch_norm", "norm rows=6 group=40 inner=20" },
        { 1, "instance_norm", "norm rows=6 group=20 inner=20" },
        { 1, "layer_norm\ndims = 2", "norm rows=6 group=20 inner=20" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char       text[200], buffer[200];
        bound_text m;

        snprintf(text, sizeof text,
                 "[network]\nname = n\n[x]\ntype = input\nshape = 6x5x4\n[l]\ntype = %s\n",
                 cases[i].layer);
        m = nets_bind_with(text, &(bind_options){ .batch = cases[i].batch, .dtype = LM_F32 });
        assert_string_equal(layers_kernels(nets_layer(&m, "l"), LM_FORWARD, buffer, sizeof buffer),
                            cases[i].kernel);
        nets_free(&m);
    }
}

static void half_precision_keeps_statistics_in_single(void **state)
{
    bound_text m = nets_bind_with("[network]\nname = n\n[x]\ntype = input\nshape = 6x8\n"
                                  "[a]\ntype = layer_norm\n[b]\ntype = rms_norm\n",
                                  &(bind_options){ .batch = 2, .dtype = LM_F16 });

    (void)state;
    assert_int_equal(nets_layer(&m, "a")->cost.saved_bytes, 2 * 12 * 4);
    assert_int_equal(nets_layer(&m, "b")->cost.saved_bytes, 12 * 4);
    nets_free(&m);
}

/* Dropout draws for 2 * 60 elements and keeps a byte of each, alpha_dropout a factor; stochastic
 * depth for 2 samples or once. */
static void dropouts_match_hand_counts(void **state)
{
    static const layer_case cases[] = {
        { "60", "type = dropout", "2x60", "", { 2 * 120, 120, 0 }, 120, 0 },
        { "60", "type = dropout\np = 0", "2x60", "", { 0, 0, 0 }, 0, 0 },
        { "60", "type = alpha_dropout", "2x60", "", { 3 * 120, 120, 0 }, 480, 0 },
        { "60", "type = alpha_dropout\np = 0", "2x60", "", { 0, 0, 0 }, 0, 0 },
        { "3x5x4",
          "type = stochastic_depth\np = 0.2",
          "2x3x5x4",
          "",
          { 120 + 2 * 2, 120, 0 },
          2 * 4,
          0 },
        { "3x5x4",
          "type = stochastic_depth\nmode = batch",
          "2x3x5x4",
          "",
          { 120 + 2, 120, 0 },
          4,
          0 },
        { "3x5x4", "type = stochastic_depth\np = 0", "2x3x5x4", "", { 0, 0, 0 }, 0, 0 },
    };

    (void)state;
    LAYERS_CHECK(cases);
}

static void what_does_not_fit_is_refused_by_its_reason(void **state)
{
    static const refused_case cases[] = {
        { "6x5x4x3x2", "type = batch_norm",
          "input of rank 6, expected 2 to 5: batch, channels, ...", LM_E_SHAPE },
        { "6", "type = instance_norm", "input of rank 2, expected 3 to 5: batch, channels, ...",
          LM_E_SHAPE },
        { "6x5", "type = group_norm\ngroups = 4", "6 channels do not divide into 4 groups",
          LM_E_SHAPE },
        { "6x5", "type = group_norm",
          "'group_norm' needs 'groups =' (integer: parts the channels "
          "are cut into; divides their number)",
          LM_E_ARG },
        { "6x5", "type = layer_norm\ndims = 3",
          "3 dimensions to normalise leave no batch in an input of rank 3", LM_E_SHAPE },
        { "6x5", "type = rms_norm\ndims = 0", "dims: 0 is outside 1 .. 7", LM_E_ARG },
        { "6", "type = local_response_norm\nsize = 5",
          "input of rank 2, expected 3 or more: batch, channels, ...", LM_E_SHAPE },
        { "6", "type = dropout\np = 1.5", "p: 1.5 is outside 0 .. 1", LM_E_ARG },
    };

    (void)state;
    LAYERS_REFUSE(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_match_hand_counts),
        cmocka_unit_test(norms_run_as_these_kernels),
        cmocka_unit_test(a_batch_norm_of_one_sample_is_none_of_layers),
        cmocka_unit_test(half_precision_keeps_statistics_in_single),
        cmocka_unit_test(dropouts_match_hand_counts),
        cmocka_unit_test(what_does_not_fit_is_refused_by_its_reason),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
