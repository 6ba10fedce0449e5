/* Tensors that come from nowhere: inputs of any type, parameters, constants; and which gradients
 * flow. */
#include "cases.h"

static const work_case sources[] = {
    { CASES_HEAD "[l]\ntype = parameter\nshape = 1x768\n", "1x768 f32", { { 0 } }, 0, 0 },
    /* 2 samples see the same 3x4 elements: their gradients are summed, 1 FLOP for each of 24 */
    { CASES_HEAD "[l]\ntype = parameter\nshape = 3x4\nexpand = yes\n",
      "2x3x4 f32",
      { [LM_GRAD_WEIGHT] = { 24, 4 * 24, 4 * 12 } },
      0,
      0 },
    { CASES_HEAD "[l]\ntype = parameter\nshape = 3x4\nexpand = yes\ntrained = no\n",
      "2x3x4 f32",
      { { 0 } },
      0,
      0 },
    { CASES_HEAD "[l]\ntype = constant\ninputs = none\nshape = 1x1x7x7\ndtype = u8\n",
      "1x1x7x7 u8",
      { { 0 } },
      0,
      0 },
    { CASES_HEAD "[l]\ntype = constant\ninputs = none\nshape = 3\nexpand = yes\ndtype = i64\n",
      "2x3 i64",
      { { 0 } },
      0,
      0 },
    { CASES_HEAD "[l]\ntype = constant\ninputs = none\nshape = 3\n", "3 f32", { { 0 } }, 0, 0 },
    { "[network]\nname = n\n[l]\ntype = input\nshape = 128\ndtype = i64\n",
      "2x128 i64",
      { { 0 } },
      0,
      0 },
};

static void sources_yield_their_shape_and_type(void **state)
{
    (void)state;
    check_cases(sources);
}

static void a_parameter_is_one_weight_without_the_batch(void **state)
{
    bound_text m =
        nets_bind(CASES_OUTPUT("x, a, b, c") "[a]\ntype = parameter\nshape = 3x4\nexpand = yes\n"
                                             "[b]\ntype = parameter\nshape = 5\ntrained = no\n"
                                             "[c]\ntype = constant\ninputs = none\nshape = 6\n",
                  2);
    const bound_layer *a = nets_layer(&m, "a"), *b = nets_layer(&m, "b"), *c = nets_layer(&m, "c");

    (void)state;
    assert_int_equal(a->n_weights, 1);
    assert_int_equal(lm_elements(&a->weights[0].tensor), 12);
    assert_true(a->trained);
    assert_int_equal(b->weights[0].flags, LM_FROZEN);
    assert_false(b->trained);
    assert_int_equal(c->n_weights, 0);
    nets_free(&m);
}

/* Constants take the network's type from `--dtype`, integers stay what they are. */
static void types_follow_the_network_unless_they_say_otherwise(void **state)
{
    bound_text m = nets_bind_with(
        CASES_OUTPUT("x, p, c, d") "dtype = i32\n"
                                   "[p]\ntype = parameter\nshape = 5\n"
                                   "[c]\ntype = constant\ninputs = none\nshape = 5\n"
                                   "[d]\ntype = constant\ninputs = none\nshape = 5\ndtype = f64\n",
        &(bind_options){ .batch = 1, .dtype = LM_BF16 });

    (void)state;
    assert_int_equal(nets_layer(&m, "x")->output[0].dtype, LM_I32);
    assert_int_equal(nets_layer(&m, "p")->output[0].dtype, LM_BF16);
    assert_int_equal(nets_layer(&m, "c")->output[0].dtype, LM_BF16);
    assert_int_equal(nets_layer(&m, "d")->output[0].dtype, LM_F64);
    nets_free(&m);
}

/* p is trained; what becomes of it carries a gradient until it is turned into integers. */
static void integers_carry_no_gradient(void **state)
{
    static const struct {
        const char *layer;
        bool        needs_grad_input, computes;
    } cases[] = {
        { "scaled", true, true },  { "mask", true, false },  { "counted", false, false },
        { "places", true, false }, { "whole", true, false }, { "shifted", false, false },
        { "chosen", true, true },
    };
    bound_text m =
        nets_bind(CASES_OUTPUT("x, counted, places, shifted, chosen")
                      LEARNED("p", "2x6") "[scaled]\ntype = scale\n"
                                          "[mask]\ntype = compare\ninputs = scaled, p\n"
                                          "[counted]\ntype = reduce\nop = sum\n"
                                          "[places]\ntype = reduce\nop = argmax\ninputs = scaled\n"
                                          "[whole]\ntype = cast\nto = i64\ninputs = scaled\n"
                                          "[shifted]\ntype = scale\n"
                                          "[chosen]\ntype = where\ninputs = mask, scaled, p\n",
                  2);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const bound_layer *l = nets_layer(&m, cases[i].layer);

        assert_int_equal(l->needs_grad_input, cases[i].needs_grad_input);
        assert_int_equal(l->n_kernels[LM_GRAD_INPUT] > 0, cases[i].computes);
        assert_int_equal(l->cost.pass[LM_GRAD_INPUT].written_bytes > 0, cases[i].computes);
    }
    nets_free(&m);
}

/* Of the inputs of a product, only those that something trained lies before get a gradient. */
static void data_and_constants_get_no_gradient(void **state)
{
    static const struct {
        const char *inputs;
        size_t      kernels;
    } cases[] = { { "p, q", 2 }, { "p, c", 1 }, { "c, p", 1 }, { "p, d", 1 }, { "c, d", 0 } };
    char text[400];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text m;

        snprintf(
            text, sizeof text,
            "[network]\nname = n\noutput = c, d, p, q, l\n[d]\ntype = input\nshape = 6\n" LEARNED(
                "p", "2x6") LEARNED("q", "2x6") "[c]\ntype = constant\ninputs = none\nshape = 2x6\n"
                                                "[l]\ntype = multiply\ninputs = %s\n",
            cases[i].inputs);
        m = nets_bind(text, 2);
        assert_int_equal(nets_layer(&m, "l")->n_kernels[LM_GRAD_INPUT], cases[i].kernels);
        nets_free(&m);
    }
}

static const refusal_case refusals[] = {
    { CASES_HEAD "[l]\ntype = parameter\nshape = 1x2x3x4x5x6x7x8\nexpand = yes\n",
      "n.ini:7: layer 'l': 8 dimensions; at most 7 fit beside the batch", LM_E_SHAPE },
    { CASES_HEAD "[l]\ntype = parameter\n",
      "n.ini:7: layer 'l': 'parameter' needs 'shape =' (shape such as 3x224x224: the tensor, "
      "outermost dimension first; there is no batch in front of it)",
      LM_E_ARG },
    { "[network]\nname = n\n[l]\ntype = parameter\nshape = 3\n", "n.ini: no layer of type input",
      LM_E_SHAPE },
};

static void bad_sources_are_refused(void **state)
{
    (void)state;
    check_refusals(refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_yield_their_shape_and_type),
        cmocka_unit_test(a_parameter_is_one_weight_without_the_batch),
        cmocka_unit_test(types_follow_the_network_unless_they_say_otherwise),
        cmocka_unit_test(integers_carry_no_gradient),
        cmocka_unit_test(data_and_constants_get_no_gradient),
        cmocka_unit_test(bad_sources_are_refused),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
