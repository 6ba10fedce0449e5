/* Poolings: shapes, work and what is kept by hand; batch 2. One FLOP for each element under each
 * window, both ways; a maximum keeps 8 bytes for each output; all keep their input, as PyTorch's
 * do. */
#include "layers.h"

static void sliding_windows_match_hand_counts(void **state)
{
    static const layer_case cases[] = {
        { "3x9",
          "type = max_pool1d\nkernel = 3",
          "2x3x3",
          "",
          { 54, 54, 0 },
          18 * 8,
          LM_KEEPS_INPUT },
        { "3x9",
          "type = avg_pool1d\nkernel = 2\nstride = 1",
          "2x3x8",
          "",
          { 96, 96, 0 },
          0,
          LM_KEEPS_INPUT },
        /* windows of 2 at -1, 1, 3; ceil would add one at 5, which begins behind the input */
        { "1x5",
          "type = max_pool1d\nkernel = 2\npadding = 1\nceil_mode = yes",
          "2x1x3",
          "",
          { 12, 12, 0 },
          6 * 8,
          LM_KEEPS_INPUT },
        /* (6 - 3 + 1) / 2 + 1: the last window reaches one over */
        { "1x6",
          "type = avg_pool1d\nkernel = 3\nstride = 2\nceil_mode = yes",
          "2x1x3",
          "",
          { 18, 18, 0 },
          0,
          LM_KEEPS_INPUT },
        { "1x6",
          "type = avg_pool1d\nkernel = 3\nstride = 2",
          "2x1x2",
          "",
          { 12, 12, 0 },
          0,
          LM_KEEPS_INPUT },
        /* a window of 2 two apart reaches over 3 */
        { "2x4x5x6",
          "type = max_pool3d\nkernel = 2\nstride = 1\ndilation = 1,2,3",
          "2x2x3x3x3",
          "",
          { 108 * 8, 108 * 8, 0 },
          108 * 8,
          LM_KEEPS_INPUT },
        { "1x4x6x8",
          "type = avg_pool3d\nkernel = 2",
          "2x1x2x3x4",
          "",
          { 384, 384, 0 },
          0,
          LM_KEEPS_INPUT },
        /* 12 powers, 4 outputs of 3 elements, 2 for each; backward 2, 3 and, of each input, 2 */
        { "1x6",
          "type = lp_pool1d\nkernel = 3",
          "2x1x2",
          "",
          { 12 + 12 + 8, 8 + 12 + 24, 0 },
          48 + 4 * 16,
          LM_KEEPS_INPUT },
        { "1x3x5",
          "type = lp_pool2d\nkernel = 2\nceil_mode = yes\nnorm = 1.5",
          "2x1x2x3",
          "",
          { 30 + 48 + 24, 24 + 48 + 60, 0 },
          120 + 4 * 48,
          LM_KEEPS_INPUT },
    };

    (void)state;
    LAYERS_CHECK(cases);
}

/* 10 to 4 is 0-3, 2-5, 5-8, 7-10: 12; 3 to 5 is 0, 0-1, 1, 1-2, 2: 7; 10 to 7 is 0-1, 1-2, 2-4,
 * 4-5, 5-7, 7-8, 8-9: 16; 1 to 7 is 7. */
static void adaptive_and_global_windows_match_hand_counts(void **state)
{
    static const layer_case cases[] = {
        { "1x10",
          "type = adaptive_avg_pool1d\nsize = 4",
          "2x1x4",
          "",
          { 24, 24, 0 },
          0,
          LM_KEEPS_INPUT },
        { "1x3",
          "type = adaptive_max_pool1d\nsize = 5",
          "2x1x5",
          "",
          { 14, 14, 0 },
          80,
          LM_KEEPS_INPUT },
        { "4x10x10",
          "type = adaptive_avg_pool2d\nsize = 7",
          "2x4x7x7",
          "",
          { 8 * 16 * 16, 8 * 16 * 16, 0 },
          0,
          LM_KEEPS_INPUT },
        { "5x1x10",
          "type = adaptive_avg_pool2d\nsize = 7,4",
          "2x5x7x4",
          "",
          { 10 * 7 * 12, 10 * 7 * 12, 0 },
          0,
          LM_KEEPS_INPUT },
        { "2x6x6",
          "type = adaptive_avg_pool2d\nsize = 2,3",
          "2x2x2x3",
          "",
          { 24 * 6, 24 * 6, 0 },
          0,
          LM_KEEPS_INPUT },
        { "1x4x4x4",
          "type = adaptive_max_pool3d\nsize = 1,2,4",
          "2x1x1x2x4",
          "",
          { 16 * 8, 16 * 8, 0 },
          128,
          LM_KEEPS_INPUT },
        { "1x4x4x4",
          "type = adaptive_avg_pool3d\nsize = 2",
          "2x1x2x2x2",
          "",
          { 16 * 8, 16 * 8, 0 },
          0,
          LM_KEEPS_INPUT },
        { "3x7", "type = global_avg_pool", "2x3x1", "", { 42, 42, 0 }, 0, LM_KEEPS_INPUT },
        { "3x7x5", "type = global_max_pool", "2x3x1x1", "", { 210, 210, 0 }, 48, LM_KEEPS_INPUT },
        { "3x2x7x5",
          "type = global_avg_pool",
          "2x3x1x1x1",
          "",
          { 420, 420, 0 },
          0,
          LM_KEEPS_INPUT },
        { "3x2x2x7x5",
          "type = global_avg_pool",
          "2x3x1x1x1x1",
          "",
          { 840, 840, 0 },
          0,
          LM_KEEPS_INPUT },
    };

    (void)state;
    LAYERS_CHECK(cases);
}

static void poolings_run_as_these_kernels(void **state)
{
    static const struct {
        const char *shape, *layer, *forward;
    } cases[] = {
        { "3x9", "type = max_pool1d\nkernel = 3\npadding = 1",
          "pool n=2 channels=3 mode=0 in=1x1x9 out=1x1x3 window=1x1x3 stride=1x1x3 pad=0x0x1 "
          "dilation=1x1x1" },
        { "3x2x4x7x5", "type = global_avg_pool",
          "pool n=2 channels=3 mode=1 in=8x7x5 out=1x1x1 window=8x7x5 stride=8x7x5 pad=0x0x0 "
          "dilation=1x1x1" },
        { "1x6", "type = lp_pool1d\nkernel = 3",
          "map elements=12 operands=1 flops_per_element=1; "
          "pool n=2 channels=1 mode=1 in=1x1x6 out=1x1x2 window=1x1x3 stride=1x1x3 pad=0x0x0 "
          "dilation=1x1x1; map elements=4 operands=1 flops_per_element=2" },
        { "1x3", "type = adaptive_max_pool1d\nsize = 5",
          "pool n=2 channels=1 mode=0 in=1x1x3 out=1x1x5 window=1x1x2 stride=1x1x1 pad=0x0x0 "
          "dilation=1x1x1 taps=7" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text m = layers_bind(cases[i].shape, cases[i].layer);
        char       buffer[600];

        assert_string_equal(layers_kernels(nets_layer(&m, "l"), LM_FORWARD, buffer, sizeof buffer),
                            cases[i].forward);
        nets_free(&m);
    }
}

static void what_does_not_fit_is_refused_by_its_reason(void **state)
{
    static const refused_case cases[] = {
        { "3x9x9", "type = max_pool1d\nkernel = 3",
          "input of rank 4, expected 3: batch, channels, length", LM_E_SHAPE },
        { "3", "type = global_avg_pool",
          "input of rank 2, expected 3 or more: batch, channels, one or more others", LM_E_SHAPE },
        { "3x9", "type = avg_pool1d\nkernel = 3\npadding = 2",
          "padding of 2 is more than half of a window of 3", LM_E_ARG },
        { "3x9", "type = lp_pool1d\nkernel = 3\npadding = 1",
          "'lp_pool1d' has no key 'padding' (its keys: kernel stride ceil_mode norm)",
          LM_E_NOTFOUND },
        { "3x9", "type = avg_pool1d\nkernel = 3\ndilation = 2",
          "'avg_pool1d' has no key 'dilation' (its keys: kernel stride ceil_mode padding)",
          LM_E_NOTFOUND },
        { "3x2", "type = max_pool1d\nkernel = 4",
          "window reaches over 4 pixels of a padded input of 2", LM_E_SHAPE },
    };

    (void)state;
    LAYERS_REFUSE(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sliding_windows_match_hand_counts),
        cmocka_unit_test(adaptive_and_global_windows_match_hand_counts),
        cmocka_unit_test(poolings_run_as_these_kernels),
        cmocka_unit_test(what_does_not_fit_is_refused_by_its_reason),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
