/* Elementwise functions and reductions: shapes, work of each pass and what is kept, by hand. */
#include "cases.h"

#define A LM_KEEPS_ONE(0)
#define B LM_KEEPS_ONE(1)
#define C LM_KEEPS_ONE(2)
#define X LM_KEEPS_INPUT
#define Y LM_KEEPS_OUTPUT

#define ONE(layer) CASES_HEAD LEARNED("a", "2x3x4") "[l]\n" layer
#define TWO(layer) \
    CASES_HEAD LEARNED("a", "2x3x4") LEARNED("b", "2x3x4") "[l]\ninputs = a, b\n" layer
#define ROW(layer) CASES_HEAD LEARNED("a", "2x3x4") LEARNED("b", "4") "[l]\ninputs = a, b\n" layer

/* 24 elements of 4 bytes: 96. Backward, one kernel for each input that needs one. */
static const work_case elementwise[] = {
    { TWO("type = add\n"), "2x3x4 f32", { { 24, 192, 96 }, { 0, 0, 0 } }, 0, 0 },
    { TWO("type = multiply\n"),
      "2x3x4 f32",
      { { 24, 192, 96 }, { 2 * 24, 2 * 192, 2 * 96 } },
      0,
      A | B },
    { TWO("type = minimum\n"),
      "2x3x4 f32",
      { { 24, 192, 96 }, { 2 * 24, 2 * 288, 2 * 96 } },
      0,
      X },
    { TWO("type = maximum\n"),
      "2x3x4 f32",
      { { 24, 192, 96 }, { 2 * 24, 2 * 288, 2 * 96 } },
      0,
      X },
    { TWO("type = subtract\n"), "2x3x4 f32", { { 24, 192, 96 }, { 24, 96, 96 } }, 0, 0 },
    { TWO("type = divide\n"),
      "2x3x4 f32",
      { { 24, 192, 96 }, { 24 + 96, 192 + 288, 192 } },
      0,
      A | B },
    { TWO("type = pow\n"),
      "2x3x4 f32",
      { { 24, 192, 96 }, { 96 + 72, 2 * 288, 192 } },
      0,
      A | B | Y },
    { TWO("type = compare\n"), "2x3x4 u8", { { 24, 192, 96 }, { 0, 0, 0 } }, 0, 0 },
    { ONE("type = scale\n"), "2x3x4 f32", { { 24, 96, 96 }, { 24, 96, 96 } }, 0, 0 },
    { ONE("type = scale\nflops = 2\n"), "2x3x4 f32", { { 48, 96, 96 }, { 24, 96, 96 } }, 0, 0 },
    { ONE("type = scale\nflops_backward = 0\n"),
      "2x3x4 f32",
      { { 24, 96, 96 }, { 0, 0, 0 } },
      0,
      0 },
    { ONE("type = exp\n"), "2x3x4 f32", { { 24, 96, 96 }, { 24, 192, 96 } }, 0, Y },
    { ONE("type = log\n"), "2x3x4 f32", { { 24, 96, 96 }, { 24, 192, 96 } }, 0, X },
    { ONE("type = sqrt\n"), "2x3x4 f32", { { 24, 96, 96 }, { 48, 192, 96 } }, 0, Y },
    { ONE("type = reciprocal\n"), "2x3x4 f32", { { 24, 96, 96 }, { 72, 192, 96 } }, 0, Y },
    { ONE("type = abs\n"), "2x3x4 f32", { { 24, 96, 96 }, { 48, 192, 96 } }, 0, X },
    { ONE("type = neg\n"), "2x3x4 f32", { { 24, 96, 96 }, { 24, 96, 96 } }, 0, 0 },
    { ONE("type = erf\n"), "2x3x4 f32", { { 24, 96, 96 }, { 120, 192, 96 } }, 0, X },
    { ONE("type = sin\n"), "2x3x4 f32", { { 24, 96, 96 }, { 48, 192, 96 } }, 0, X },
    { ONE("type = cos\n"), "2x3x4 f32", { { 24, 96, 96 }, { 72, 192, 96 } }, 0, X },
    { ONE("type = square\n"), "2x3x4 f32", { { 24, 96, 96 }, { 48, 192, 96 } }, 0, X },
    { ONE("type = clip\n"), "2x3x4 f32", { { 48, 96, 96 }, { 48, 192, 96 } }, 0, X },
    { ONE("type = floor\n"), "2x3x4 f32", { { 24, 96, 96 }, { 0, 0, 96 } }, 0, 0 }, /* zeros */
    { ONE("type = ceil\n"), "2x3x4 f32", { { 24, 96, 96 }, { 0, 0, 96 } }, 0, 0 },
    { ONE("type = round\n"), "2x3x4 f32", { { 24, 96, 96 }, { 0, 0, 96 } }, 0, 0 },
    { ONE("type = sign\n"), "2x3x4 f32", { { 48, 96, 96 }, { 0, 0, 96 } }, 0, 0 },
    /* the mask is counted as wide as the numbers, and kept: 24 bytes */
    { CASES_HEAD LEARNED("a", "2x3x4")
          LEARNED("b", "2x3x4") "[m]\ntype = constant\ninputs = none\nshape = 2x3x4\ndtype = u8\n"
                                "[l]\ntype = where\ninputs = m, a, b\n",
      "2x3x4 f32",
      { { 24, 288, 96 }, { 2 * 24, 2 * 192, 2 * 96 } },
      0,
      A },
    { CASES_HEAD LEARNED("a", "2x3x4") LEARNED("b", "2x3x4")
          LEARNED("c", "2x3x4") "[l]\ntype = maximum\ninputs = a, b, c\n",
      "2x3x4 f32",
      { { 48, 288, 96 }, { 3 * 24, 3 * 288, 3 * 96 } },
      0,
      X | Y },
    /* three factors: 2 products for each element; backward three times the same */
    { CASES_HEAD LEARNED("a", "2x3x4") LEARNED("b", "2x3x4")
          LEARNED("c", "2x3x4") "[l]\ntype = multiply\ninputs = a, b, c\n",
      "2x3x4 f32",
      { { 48, 288, 96 }, { 3 * 48, 3 * 288, 3 * 96 } },
      0,
      A | B | C },
};

static void functions_of_elements_match_hand_counts(void **state)
{
    (void)state;
    check_cases(elementwise);
}

/* What was stretched forward, and read at its own size, is added up backward: 24 elements become
 * 4, 2, 1. */
static const work_case broadcasts[] = {
    { ROW("type = add\n"), "2x3x4 f32", { { 24, 112, 96 }, { 24, 96, 16 } }, 0, 0 },
    { ROW("type = multiply\n"),
      "2x3x4 f32",
      { { 24, 112, 96 }, { 48 + 24, (96 + 16) + (96 + 96) + 96, 192 + 16 } },
      0,
      A | B },
    { ROW("type = maximum\n"),
      "2x3x4 f32",
      { { 24, 112, 96 }, { 48 + 24, 2 * (96 + 96 + 16) + 96, 192 + 16 } },
      0,
      X },
    { ROW("type = pow\n"), /* dy, a, b; dy, a, y */
      "2x3x4 f32",
      { { 24, 112, 96 }, { 96 + 72 + 24, (96 + 96 + 16) + 3 * 96 + 96, 192 + 16 } },
      0,
      A | B | Y },
    { CASES_HEAD LEARNED("a", "2x3x4") LEARNED("b", "4")
          LEARNED("c", "3x1") "[l]\ntype = minimum\ninputs = a, b, c\n",
      "2x3x4 f32",
      { { 48, 96 + 16 + 12, 96 },
        { 3 * 24 + 2 * 24, 2 * 3 * 96 + 96 + 16 + 12 + 2 * 96, 3 * 96 + 16 + 12 } },
      0,
      X | Y },
    { CASES_HEAD LEARNED("a", "1") LEARNED("b", "2x3x4") "[l]\ntype = divide\ninputs = a, b\n",
      "2x3x4 f32",
      { { 24, 100, 96 }, { 24 + 24 + 96, 192 + 96 + (96 + 4 + 96), 96 + 4 + 96 } },
      0,
      A | B },
    { CASES_HEAD LEARNED("a", "2x1x4") LEARNED("b", "3x1") "[l]\ntype = subtract\ninputs = a, b\n",
      "2x3x4 f32",
      { { 24, 32 + 12, 96 }, { 24 + 24 + 24, 96 + 96 + 96, 32 + 96 + 12 } },
      0,
      0 },
};

static void broadcasting_is_added_up_backward(void **state)
{
    (void)state;
    check_cases(broadcasts);
}

static void a_broadcast_is_reduced_in_the_layout_it_has(void **state)
{
    static const struct {
        const char *shape;
        int64_t     rows, group, inner;
    } cases[] = { { "4", 4, 6, 4 },
                  { "3x1", 3, 8, 1 },
                  { "2x1x1", 2, 12, 1 },
                  { "2x1x4", 8, 3, 4 },
                  { "1x3x4", 12, 2, 12 } };
    char text[300];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text         m;
        const bound_layer *l;
        const lm_kernel   *k;

        snprintf(text, sizeof text,
                 CASES_HEAD LEARNED("a", "2x3x4")
                     LEARNED("b", "%s") "[l]\ntype = add\ninputs = a, b\n",
                 cases[i].shape);
        m = nets_bind(text, 2);
        l = nets_layer(&m, "l");
        k = l->kernels[LM_GRAD_INPUT];
        assert_int_equal(l->n_kernels[LM_GRAD_INPUT], 1);
        assert_int_equal(k->op, LM_OP_REDUCE);
        assert_int_equal(k->u.reduce.rows, cases[i].rows);
        assert_int_equal(k->u.reduce.group, cases[i].group);
        assert_int_equal(k->u.reduce.inner, cases[i].inner);
        nets_free(&m);
    }
}

#define REDUCE(op, rest) ONE("type = reduce\nop = " op "\n" rest)

/* 24 elements, 96 bytes, in groups of 4: 6 results, 24 bytes. Backward reads
 * their gradients and, as the function needs, elements and results. */
static const work_case reductions[] = {
    { REDUCE("sum", ""), "2x3 f32", { { 24, 96, 24 }, { 0, 24, 96 } }, 0, 0 },
    { REDUCE("mean", "keep = yes\n"), "2x3x1 f32", { { 24, 96, 24 }, { 24, 24, 96 } }, 0, 0 },
    { REDUCE("max", ""), "2x3 f32", { { 24, 96, 24 }, { 24, 24 + 96 + 24, 96 } }, 0, X | Y },
    { REDUCE("min", ""), "2x3 f32", { { 24, 96, 24 }, { 24, 24 + 96 + 24, 96 } }, 0, X | Y },
    { REDUCE("prod", ""), "2x3 f32", { { 24, 96, 24 }, { 48, 24 + 96 + 24, 96 } }, 0, X | Y },
    { REDUCE("l1", ""), "2x3 f32", { { 24 + 24, 192, 96 + 24 }, { 48, 24 + 96, 96 } }, 0, X },
    { REDUCE("l2", ""),
      "2x3 f32",
      { { 24 + 24 + 6, 192 + 24, 96 + 48 }, { 48, 24 + 96 + 24, 96 } },
      0,
      X | Y },
    { REDUCE("sumsquare", ""),
      "2x3 f32",
      { { 24 + 24, 192, 96 + 24 }, { 48, 24 + 96, 96 } },
      0,
      X },
    /* maximum; exp(x - m); sum; m + log */
    { REDUCE("logsumexp", ""),
      "2x3 f32",
      { { 24 + 48 + 24 + 12, 96 + (96 + 24) + 96 + 48, 24 + 96 + 24 + 24 },
        { 72, 24 + 96 + 24, 96 } },
      0,
      X | Y },
    { REDUCE("argmax", ""), "2x3 i64", { { 24, 96, 24 }, { 0, 0, 0 } }, 0, 0 },
    { REDUCE("argmin", "axes = 0,1,2\n"), "i64", { { 24, 96, 4 }, { 0, 0, 0 } }, 0, 0 },
    { REDUCE("sum", "axes = 0,-1\n"), "3 f32", { { 24, 96, 12 }, { 0, 12, 96 } }, 0, 0 },
    { REDUCE("sum", "axes = 1\nkeep = yes\n"),
      "2x1x4 f32",
      { { 24, 96, 32 }, { 0, 32, 96 } },
      0,
      0 },
};

static void reductions_match_hand_counts(void **state)
{
    (void)state;
    check_cases(reductions);
}

static const refusal_case refusals[] = {
    { CASES_HEAD LEARNED("a", "2x3") LEARNED("b", "2x4") "[l]\ntype = add\ninputs = a, b\n",
      "n.ini:13: layer 'l': 3 and 4 elements do not fit in dimension 1", LM_E_SHAPE },
    { CASES_HEAD LEARNED("a", "5") "[b]\ntype = cast\nto = f16\n[l]\ntype = add\ninputs = a, b\n",
      "n.ini:13: layer 'l': inputs of different element types: put a cast before one of them",
      LM_E_SHAPE },
    { CASES_HEAD LEARNED("a", "5") "[l]\ntype = where\ninputs = a, a, a\n",
      "n.ini:10: layer 'l': the first input is no mask of u8: compare or cast yields one",
      LM_E_SHAPE },
    { CASES_HEAD "[l]\ntype = divide\ninputs = x, x, x\n",
      "n.ini:7: layer 'l': 'divide' takes 2 inputs, 3 given: set 'inputs ='", LM_E_SHAPE },
    { CASES_HEAD "[l]\ntype = reduce\nop = sum\naxes = 2\n",
      "n.ini:7: layer 'l': no dimension 2 in a tensor of rank 2", LM_E_ARG },
    { CASES_HEAD "[l]\ntype = reduce\nop = sum\naxes = 1,-1\n",
      "n.ini:7: layer 'l': dimension 1 is named twice", LM_E_ARG },
    { CASES_HEAD "[l]\ntype = reduce\n",
      "n.ini:7: layer 'l': 'reduce' needs 'op =' (one of "
      "sum|mean|max|min|prod|l1|l2|logsumexp|sumsquare|argmax|argmin: what becomes of them; argmax "
      "and argmin yield i64, without a gradient)",
      LM_E_ARG },
};

static void functions_of_real_numbers_refuse_integers(void **state)
{
    static const char *const functions[] = {
        "exp", "log", "sqrt", "reciprocal", "erf", "sin", "cos"
    };
    char text[300];

    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        bound_text m;

        snprintf(text, sizeof text, CASES_HEAD "[i]\ntype = cast\nto = i64\n[l]\ntype = %s\n",
                 functions[i]);
        m = nets_bind(text, 2);
        assert_error(m.err, LM_E_SHAPE,
                     "n.ini:10: layer 'l': input of integers: '%s' computes with real numbers; put "
                     "a layer of type embedding or cast before it",
                     functions[i]);
        nets_free(&m);
    }
}

static void bad_arithmetic_is_refused(void **state)
{
    (void)state;
    check_refusals(refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_elements_match_hand_counts),
        cmocka_unit_test(broadcasting_is_added_up_backward),
        cmocka_unit_test(a_broadcast_is_reduced_in_the_layout_it_has),
        cmocka_unit_test(reductions_match_hand_counts),
        cmocka_unit_test(functions_of_real_numbers_refuse_integers),
        cmocka_unit_test(bad_arithmetic_is_refused),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
