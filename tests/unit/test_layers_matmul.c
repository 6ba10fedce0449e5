/* Products of activations, and rows of tables: shapes, kernels and work by hand. */
#include "cases.h"

#define A LM_KEEPS_ONE(0)
#define B LM_KEEPS_ONE(1)
#define X LM_KEEPS_INPUT

#define MATMUL(a, b, keys) \
    CASES_HEAD LEARNED("a", a) LEARNED("b", b) "[l]\ntype = matmul\ninputs = a, b\n" keys

static const work_case products[] = {
    /* all 6 rows at once: 6x4 times 4x5 */
    { MATMUL("2x3x4", "4x5", ""),
      "2x3x5 f32",
      { { 240, 4 * (24 + 20), 4 * 30 }, { 480, 4 * (30 + 20) + 4 * (24 + 30), 4 * (24 + 20) } },
      0,
      A | B },
    /* twice 3x4 times 4x5 */
    { MATMUL("2x3x4", "2x4x5", ""),
      "2x3x5 f32",
      { { 240, 8 * (12 + 20), 8 * 15 }, { 480, 8 * (15 + 20) + 8 * (12 + 15), 8 * (12 + 20) } },
      0,
      A | B },
    /* the same, and the gradient of b is added up: 40 elements become 20 */
    { MATMUL("2x3x4", "1x4x5", ""),
      "2x3x5 f32",
      { { 240, 8 * (12 + 20), 8 * 15 },
        { 480 + 40, 8 * (15 + 20) + 8 * (12 + 15) + 160, 8 * (12 + 20) + 80 } },
      0,
      A | B },
    { MATMUL("2x4x3", "5x4", "transpose_a = yes\ntranspose_b = yes\n"),
      "2x3x5 f32",
      { { 240, 8 * (12 + 20), 8 * 15 },
        { 480 + 40, 8 * (15 + 20) + 8 * (12 + 15) + 160, 8 * (12 + 20) + 80 } },
      0,
      A | B },
    /* 6 products of 4x5 and 5x6; each of two matrices b serves 3 of them from a copy of 720 bytes
     */
    { MATMUL("2x3x4x5", "2x1x5x6", ""),
      "2x3x4x6 f32",
      { { 1440, 720 + 24 * (20 + 30), 720 + 24 * 24 },
        { 2880 + 180, 24 * (24 + 30) + 24 * (20 + 24) + 720, 480 + 720 + 240 } },
      720,
      A },
};

static void products_match_hand_counts(void **state)
{
    (void)state;
    check_cases(products);
}

static void products_of_activations_are_counted_apart_from_those_with_weights(void **state)
{
    bound_text m = nets_bind(MATMUL("2x3x4", "4x5", ""), 2);
    char       text[600];

    (void)state;
    assert_string_equal(layers_kernels(nets_layer(&m, "l"), LM_FORWARD, text, sizeof text),
                        "gemm batch=1 m=6 n=5 k=4 bias=0 activations=1");
    nets_free(&m);
}

#define NUMBERS CASES_HEAD "dtype = i64\n"

/* 2 x 5 numbers choose rows of 4 from a table of 7: 40 elements, 160 bytes. The table's gradient is
 * 28 zeros first. */
static const work_case tables[] = {
    { NUMBERS "[l]\ntype = embedding\nvocabulary = 7\nwidth = 4\n",
      "2x5x4 f32",
      { { 0, 160, 160 }, { 0 }, { 40, 160, 112 + 160 } },
      0,
      X },
    { NUMBERS "[l]\ntype = embedding_bag\nvocabulary = 7\nwidth = 4\nmode = sum\n",
      "2x4 f32",
      { { 40, 160, 32 }, { 0 }, { 40, 160, 112 + 160 } },
      0,
      X },
    { NUMBERS "[l]\ntype = embedding_bag\nvocabulary = 7\nwidth = 4\n", /* mean: 8 divisions */
      "2x4 f32",
      { { 40, 160, 32 }, { 0 }, { 8 + 40, 32 + 160, 32 + 112 + 160 } },
      0,
      X },
    { NUMBERS "[l]\ntype = embedding_bag\nvocabulary = 7\nwidth = 4\nmode = max\n",
      "2x4 f32",
      { { 40, 160, 32 }, { 0 }, { 8, 32, 112 + 32 } },
      64,
      X },
};

static void tables_match_hand_counts(void **state)
{
    (void)state;
    check_cases(tables);
}

/* BERT: 30522 words of 768. Numbers have no gradient, even behind something trained. */
static void an_embedding_has_a_table_and_no_input_gradient(void **state)
{
    bound_text m = nets_bind(
        CASES_HEAD LEARNED("p", "2x128") "[n]\ntype = cast\nto = i32\n"
                                         "[l]\ntype = embedding\nvocabulary = 30522\nwidth = 768\n",
        2);
    const bound_layer *l = nets_layer(&m, "l");
    char               text[100];

    (void)state;
    assert_string_equal(layers_weights(l, text, sizeof text), "weight=30522x768");
    assert_string_equal(case_tensor(l->output, text), "2x128x768 f32");
    assert_false(l->needs_grad_input);
    assert_int_equal(l->n_kernels[LM_GRAD_INPUT], 0);
    assert_int_equal(l->n_kernels[LM_GRAD_WEIGHT], 2);
    nets_free(&m);
}

static const refusal_case refusals[] = {
    { MATMUL("2x3x4", "5x4", ""), "n.ini:13: layer 'l': 4 columns times 5 rows", LM_E_SHAPE },
    { MATMUL("2x3x4", "3x4x5", ""),
      "n.ini:13: layer 'l': 2 and 3 elements do not fit in dimension 0", LM_E_SHAPE },
    { MATMUL("4", "4x5", ""),
      "n.ini:13: layer 'l': input of rank 1, expected 2 or more: unsqueeze puts in a 1",
      LM_E_SHAPE },
    { CASES_HEAD "[l]\ntype = embedding\nvocabulary = 7\nwidth = 4\n",
      "n.ini:7: layer 'l': the input holds no numbers of i64 or i32: say so by `dtype =` of the "
      "layer of type input",
      LM_E_SHAPE },
    { CASES_HEAD LEARNED("p", "2x3x4") "[n]\ntype = cast\nto = i64\n"
                                       "[l]\ntype = embedding_bag\nvocabulary = 7\nwidth = 4\n",
      "n.ini:13: layer 'l': input of rank 3, expected 2: batch, numbers in a bag", LM_E_SHAPE },
};

static void bad_products_and_tables_are_refused(void **state)
{
    (void)state;
    check_refusals(refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_match_hand_counts),
        cmocka_unit_test(products_of_activations_are_counted_apart_from_those_with_weights),
        cmocka_unit_test(tables_match_hand_counts),
        cmocka_unit_test(an_embedding_has_a_table_and_no_input_gradient),
        cmocka_unit_test(bad_products_and_tables_are_refused),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
