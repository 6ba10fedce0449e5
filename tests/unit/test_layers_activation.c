/* Activations and gates: work and what is kept, by hand; batch 2 and single precision. */
#include "layers.h"

/* 2 * 30 elements; the operations of each are listed at the head of plugins/activation.c. */
static void functions_match_hand_counts(void **state)
{
    static const struct {
        const char *type;
        unsigned    forward, backward;
        uint32_t    keeps;
    } cases[] = {
        { "relu", 1, 1, LM_KEEPS_OUTPUT },
        { "relu6", 2, 2, LM_KEEPS_INPUT },
        { "leaky_relu", 2, 2, LM_KEEPS_INPUT },
        { "elu", 4, 4, LM_KEEPS_INPUT },
        { "celu", 5, 4, LM_KEEPS_INPUT },
        { "selu", 5, 4, LM_KEEPS_INPUT },
        { "gelu", 5, 11, LM_KEEPS_INPUT },
        { "gelu\napproximate = none", 5, 11, LM_KEEPS_INPUT },
        { "gelu\napproximate = tanh", 9, 18, LM_KEEPS_INPUT },
        { "silu", 5, 9, LM_KEEPS_INPUT },
        { "mish", 5, 14, LM_KEEPS_INPUT },
        { "softplus", 6, 6, LM_KEEPS_INPUT },

        { "sigmoid", 4, 3, LM_KEEPS_OUTPUT },
        { "log_sigmoid", 7, 3, LM_KEEPS_INPUT },
        { "tanh", 1, 3, LM_KEEPS_OUTPUT },

        { "softshrink", 4, 2, LM_KEEPS_INPUT },
        { "hardshrink", 2, 2, LM_KEEPS_INPUT },
        { "hard_tanh", 2, 2, LM_KEEPS_INPUT },
        { "hard_swish", 5, 5, LM_KEEPS_INPUT },
        { "hard_sigmoid", 4, 3, LM_KEEPS_INPUT },
        { "threshold", 1, 1, LM_KEEPS_INPUT },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char       layer[60];
        layer_case c = { .shape   = "5x6",
                         .layer   = layer,
                         .output  = "2x5x6",
                         .weights = "",
                         .flops   = { 60 * cases[i].forward, 60 * cases[i].backward, 0 },
                         .keeps   = cases[i].keeps };

        snprintf(layer, sizeof layer, "type = %s", cases[i].type);
        layers_check(&c, 1);
    }
}

/* Composed of functions, as PyTorch has them: one more tensor is kept. */
static void composed_functions_keep_a_tensor_between(void **state)
{
    static const layer_case cases[] = {
        { "5x6", "type = softsign", "2x5x6", "", { 180, 120, 0 }, 240, LM_KEEPS_INPUT },
        { "5x6", "type = tanhshrink", "2x5x6", "", { 120, 120, 0 }, 240, 0 },
    };

    (void)state;
    LAYERS_CHECK(cases);
}

/* One operand read forward, two backward (with the gradient), one tensor written: 60 elements of 4
 * bytes. */
static void a_function_reads_and_writes_every_tensor_once(void **state)
{
    bound_text         m = layers_bind("5x6", "type = mish");
    const bound_layer *l = nets_layer(&m, "l");

    (void)state;
    assert_int_equal(l->cost.pass[LM_FORWARD].read_bytes, 240);
    assert_int_equal(l->cost.pass[LM_FORWARD].written_bytes, 240);
    assert_int_equal(l->cost.pass[LM_GRAD_INPUT].read_bytes, 480);
    assert_int_equal(l->cost.pass[LM_GRAD_INPUT].written_bytes, 240);
    nets_free(&m);
}

/* Forward 2 an element, backward 2; for the slope 2 an element and a sum of all of them. */
static void prelu_learns_one_slope_or_one_per_channel(void **state)
{
    static const layer_case cases[] = {
        { "5x6", "type = prelu", "2x5x6", "weight=1", { 120, 120, 180 }, 0, LM_KEEPS_INPUT },
        { "5x6",
          "type = prelu\nper = channel",
          "2x5x6",
          "weight=5",
          { 120, 120, 180 },
          0,
          LM_KEEPS_INPUT },
        { "30",
          "type = prelu\nper = channel",
          "2x30",
          "weight=30",
          { 120, 120, 180 },
          0,
          LM_KEEPS_INPUT },
    };
    bound_text m = layers_bind("5x6", "type = prelu\nper = channel");
    char       buffer[300];

    (void)state;
    LAYERS_CHECK(cases);
    assert_string_equal(
        layers_kernels(nets_layer(&m, "l"), LM_GRAD_WEIGHT, buffer, sizeof buffer),
        "map elements=60 operands=2 flops_per_element=2; reduce rows=5 group=12 inner=1");
    nets_free(&m);
}

/*
 * 2 * 5 * 3 elements come out. Function and product forward; the product's two gradients and the
 * function's backward, with the function's 30 values kept. glu keeps none: 4 for each of 60
 * elements.
 */
static void gates_match_hand_counts(void **state)
{
    static const layer_case cases[] = {
        { "5x6", "type = glu", "2x5x3", "", { 30 * (4 + 1), 60 * 4, 0 }, 0, LM_KEEPS_INPUT },
        { "5x6",
          "type = reglu",
          "2x5x3",
          "",
          { 30 * (1 + 1), 30 * (1 + 2), 0 },
          120,
          LM_KEEPS_INPUT },
        { "5x6",
          "type = geglu",
          "2x5x3",
          "",
          { 30 * (5 + 1), 30 * (11 + 2), 0 },
          120,
          LM_KEEPS_INPUT },
        { "5x6",
          "type = geglu\napproximate = tanh",
          "2x5x3",
          "",
          { 30 * (9 + 1), 30 * (18 + 2), 0 },
          120,
          LM_KEEPS_INPUT },
        { "5x6",
          "type = swiglu",
          "2x5x3",
          "",
          { 30 * (5 + 1), 30 * (9 + 2), 0 },
          120,
          LM_KEEPS_INPUT },
        /* another dimension */
        { "4x6",
          "type = swiglu\naxis = 1",
          "2x2x6",
          "",
          { 24 * 6, 24 * 11, 0 },
          96,
          LM_KEEPS_INPUT },
        { "4x6", "type = glu\naxis = -2", "2x2x6", "", { 24 * 5, 48 * 4, 0 }, 0, LM_KEEPS_INPUT },
    };

    (void)state;
    LAYERS_CHECK(cases);
}

static void what_does_not_fit_is_refused_by_its_reason(void **state)
{
    static const refused_case cases[] = {
        { "5x6", "type = glu\naxis = 1", "5 elements in dimension 1 do not divide into halves",
          LM_E_SHAPE },
        { "5x6", "type = glu\naxis = 3", "no dimension 3 in a tensor of rank 3", LM_E_ARG },
        { "5x6", "type = prelu\nper = layer", "per: expected one of shared|channel, found 'layer'",
          LM_E_ARG },
        { "5x6", "type = gelu\napproximate = erf",
          "approximate: expected one of none|tanh, found 'erf'", LM_E_ARG },
    };

    (void)state;
    LAYERS_REFUSE(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_match_hand_counts),
        cmocka_unit_test(composed_functions_keep_a_tensor_between),
        cmocka_unit_test(a_function_reads_and_writes_every_tensor_once),
        cmocka_unit_test(prelu_learns_one_slope_or_one_per_channel),
        cmocka_unit_test(gates_match_hand_counts),
        cmocka_unit_test(what_does_not_fit_is_refused_by_its_reason),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
