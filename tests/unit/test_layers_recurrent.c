/* Recurrent layers: work, weights and memory by hand; and layers of which only numbers are known.
 */
#include "cases.h"

#define X LM_KEEPS_INPUT
#define Y LM_KEEPS_OUTPUT

#define WALK(type, keys) CASES_HEAD LEARNED("a", "2x3x4") "[l]\ntype = " type "\nhidden = 5\n" keys

/* 2 samples of 3 steps of 4 elements, a state of 5: products of 6x4 at once and of 2x5 thrice. A
 * state of both samples is 40 bytes. */
static const work_case walks[] = {
    { WALK("rnn", ""),
      "2x3x5 f32",
      { { 270 + 330 + 2 * 30, 176 + 420 + 2 * 120, 120 + 120 + 120 },
        { 4 * 30 + 300 + 240, 3 * 120 + 420 + 200, 120 + 120 + 96 },
        { 240 + 30 + 300 + 30, 216 + 120 + 240 + 120, 80 + 20 + 100 + 20 } },
      0,
      X | Y },
    { WALK("rnn", "nonlinearity = relu\nbias = no\n"),
      "2x3x5 f32",
      { { 240 + 300 + 2 * 30, 836, 360 },
        { 2 * 30 + 300 + 240, 980, 336 },
        { 240 + 300, 216 + 240, 80 + 100 } },
      0,
      X | Y },
    /* four gates of 5; gates and cells of 3 steps are kept: 5 x 30 elements */
    { WALK("lstm", ""),
      "2x3x5 f32",
      { { 1080 + 1320 + 22 * 30, 416 + 1320 + 9 * 120, 480 + 480 + 120 },
        { 24 * 30 + 1200 + 960, 9 * 120 + 1680 + 800, 120 + 120 + 96 },
        { 960 + 120 + 1200 + 120, 576 + 480 + 600 + 480, 320 + 80 + 400 + 80 } },
      600,
      X | Y },
    { WALK("gru", ""),
      "2x3x5 f32",
      { { 810 + 990 + 17 * 30, 336 + 1020 + 7 * 120, 360 + 360 + 120 },
        { 18 * 30 + 900 + 720, 8 * 120 + 1260 + 600, 120 + 120 + 96 },
        { 720 + 90 + 900 + 90, 456 + 360 + 480 + 360, 240 + 60 + 300 + 60 } },
      480,
      X | Y },
};

static void recurrent_layers_match_hand_counts(void **state)
{
    (void)state;
    check_cases(walks);
}

#define STEP                                                     \
    "map elements=4 operands=2 flops_per_element=1 repeat=6; "   \
    "gemm batch=1 m=2 n=5 k=2 bias=0 repeat=6; "                 \
    "map elements=10 operands=8 flops_per_element=23 repeat=6; " \
    "gemm batch=1 m=2 n=2 k=20 bias=0 repeat=6; "
#define WEIGHTS                                                                             \
    "gemm batch=1 m=20 n=4 k=6 bias=0 repeat=2; reduce rows=20 group=6 inner=20 repeat=2; " \
    "gemm batch=1 m=20 n=2 k=6 bias=0 repeat=2; reduce rows=20 group=6 inner=20 repeat=2; " \
    "gemm batch=1 m=2 n=5 k=6 bias=0 repeat=2"
#define LAYER                                                    \
    "gemm batch=1 m=6 n=20 k=4 bias=1 repeat=2; "                \
    "gemm batch=1 m=2 n=20 k=2 bias=1 repeat=6; "                \
    "map elements=10 operands=9 flops_per_element=22 repeat=6; " \
    "gemm batch=1 m=2 n=2 k=5 bias=0 repeat=6"

/* Two layers in two directions, a state of 5 projected to 2: what goes into the second layer are 4
 * elements again. */
static void layers_and_directions_repeat_the_kernels(void **state)
{
    bound_text m = nets_bind(WALK("lstm", "layers = 2\nbidirectional = yes\nprojection = 2\n"
                                          "dropout = 0.5\n"),
                             2);
    const bound_layer *l = nets_layer(&m, "l");
    char               text[2000];

    (void)state;
    assert_string_equal(layers_kernels(l, LM_FORWARD, text, sizeof text),
                        LAYER "; map elements=24 operands=1 flops_per_element=2; " LAYER);
    assert_string_equal(layers_kernels(l, LM_GRAD_INPUT, text, sizeof text), STEP
                        "gemm batch=1 m=6 n=4 k=20 bias=0 repeat=2; " /* into the first layer */
                        "map elements=24 operands=2 flops_per_element=1; "
                        "map elements=24 operands=2 flops_per_element=1; " /* dropout */
                        STEP "gemm batch=1 m=6 n=4 k=20 bias=0 repeat=2; "
                        "map elements=24 operands=2 flops_per_element=1");
    assert_string_equal(layers_kernels(l, LM_GRAD_WEIGHT, text, sizeof text), WEIGHTS "; " WEIGHTS);
    assert_cost_is_kernels(l);
    /* 4 walks of 3 steps keep 4 gates, a cell and the state before its projection, 2 x 5 each;
     * between the layers 24 elements, once more after dropout, and their mask */
    assert_int_equal(l->cost.saved_bytes, 4 * 3 * 6 * 10 * 4 + 24 * (4 + 4 + 1));
    assert_string_equal(case_tensor(&l->output[0], text), "2x3x4 f32");
    assert_string_equal(case_tensor(&l->output[1], text), "2x4x2 f32");
    assert_string_equal(case_tensor(&l->output[2], text), "2x4x5 f32");
    assert_string_equal(
        layers_weights(l, text, sizeof text),
        "weight_ih_l0=20x4 weight_hh_l0=20x2 bias_ih_l0=20 bias_hh_l0=20 weight_hr_l0=2x5 "
        "weight_ih_l0_reverse=20x4 weight_hh_l0_reverse=20x2 bias_ih_l0_reverse=20 "
        "bias_hh_l0_reverse=20 weight_hr_l0_reverse=2x5 "
        "weight_ih_l1=20x4 weight_hh_l1=20x2 bias_ih_l1=20 bias_hh_l1=20 weight_hr_l1=2x5 "
        "weight_ih_l1_reverse=20x4 weight_hh_l1_reverse=20x2 bias_ih_l1_reverse=20 "
        "bias_hh_l1_reverse=20 weight_hr_l1_reverse=2x5");
    nets_free(&m);
}

/* On data, gradients go back through the steps all the same, for the weights. */
static void a_walk_over_data_goes_back_through_its_steps_for_its_weights(void **state)
{
    bound_text         m = nets_bind("[network]\nname = n\n[x]\ntype = input\nshape = 3x4\n"
                                             "[l]\ntype = rnn\nhidden = 5\nbias = no\n",
                                     2);
    const bound_layer *l = nets_layer(&m, "l");
    char               text[600];

    (void)state;
    assert_int_equal(l->n_kernels[LM_GRAD_INPUT], 0);
    assert_string_equal(layers_kernels(l, LM_GRAD_WEIGHT, text, sizeof text),
                        "map elements=10 operands=3 flops_per_element=4 repeat=3; "
                        "gemm batch=1 m=2 n=5 k=5 bias=0 repeat=3; "
                        "gemm batch=1 m=5 n=4 k=6 bias=0; gemm batch=1 m=5 n=5 k=6 bias=0");
    assert_cost_is_kernels(l);
    nets_free(&m);
}

static void a_walk_may_begin_from_given_states(void **state)
{
    bound_text m =
        nets_bind(CASES_HEAD LEARNED("a", "2x3x4") LEARNED("h", "2x1x5")
                      LEARNED("c", "2x1x5") "[l]\ntype = lstm\nhidden = 5\ninputs = a, h, c\n",
                  2);

    (void)state;
    assert_int_equal(nets_layer(&m, "l")->cost.pass[LM_FORWARD].flops, 3060);
    nets_free(&m);
}

#define OPAQUE(shape)                                                               \
    "[l]\ntype = opaque\nshape = " shape "\nflops_forward = 7\nread_forward = 20\n" \
    "written_forward = 12\nflops_backward = 9\nread_backward = 32\nwritten_backward = 20\n"

static const work_case opaques[] = {
    { CASES_HEAD LEARNED("a", "2x3x4") OPAQUE("0,7"),
      "2x7 f32",
      { { 14, 40, 24 }, { 18, 64, 40 } },
      0,
      X | Y },
};

static void opaque_work_is_as_said_times_the_batch(void **state)
{
    (void)state;
    check_cases(opaques);
}

static const refusal_case refusals[] = {
    { CASES_HEAD "[l]\ntype = lstm\nhidden = 5\n",
      "n.ini:7: layer 'l': input of rank 2, expected 3: batch, steps, elements", LM_E_SHAPE },
    { WALK("lstm", "projection = 5\n"),
      "n.ini:10: layer 'l': a projection to 5 of a state of 5 is none", LM_E_ARG },
    { CASES_HEAD LEARNED("a", "2x3x4")
          LEARNED("h", "2x1x5") "[l]\ntype = lstm\nhidden = 5\ninputs = a, h\n",
      "n.ini:13: layer 'l': a state to begin with, but no cell", LM_E_SHAPE },
    { CASES_HEAD LEARNED("a", "2x3x4")
          LEARNED("h", "2x2x5") "[l]\ntype = gru\nhidden = 5\ninputs = a, h\n",
      "n.ini:13: layer 'l': a state to begin with has to be 2x1x5 of the sequence's type: batch, "
      "layers times directions, elements",
      LM_E_SHAPE },
    { CASES_HEAD OPAQUE("0,0,0"), "n.ini:7: layer 'l': shape: no dimension 2 in the input to copy",
      LM_E_ARG },
    { CASES_HEAD "[l]\ntype = opaque\nshape = 0\nread_forward = 20\n",
      "n.ini:7: layer 'l': 'opaque' needs 'flops_forward =' (integer: forward, for a sample)",
      LM_E_ARG },
};

static void bad_walks_and_unknown_work_are_refused(void **state)
{
    (void)state;
    check_refusals(refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recurrent_layers_match_hand_counts),
        cmocka_unit_test(layers_and_directions_repeat_the_kernels),
        cmocka_unit_test(a_walk_over_data_goes_back_through_its_steps_for_its_weights),
        cmocka_unit_test(a_walk_may_begin_from_given_states),
        cmocka_unit_test(opaque_work_is_as_said_times_the_batch),
        cmocka_unit_test(bad_walks_and_unknown_work_are_refused),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
