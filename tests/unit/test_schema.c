/* Parameter schemas: text of a model file to checked values. */
#include "check.h"

#include <string.h>

#include "layers/schema.h"

static const lm_param whole = {
    .name = "groups", .kind = LM_INT, .min = 1, .max = 1e9, .count = 1
};
static const lm_param free_ = { .name = "axis", .kind = LM_INT, .count = 1 };
static const lm_param pair = { .name = "kernel", .kind = LM_INT, .min = 1, .max = 1e6, .count = 2 };
static const lm_param real = { .name = "rate", .kind = LM_REAL, .min = 0, .max = 1, .count = 1 };
static const lm_param reals  = { .name = "scale", .kind = LM_REAL, .count = 2 };
static const lm_param flag   = { .name = "bias", .kind = LM_BOOL, .count = 1 };
static const lm_param choice = {
    .name = "mode", .kind = LM_ENUM, .choices = "same|valid|full", .count = 1
};
static const lm_param text  = { .name = "label", .kind = LM_TEXT, .count = 1 };
static const lm_param shape = {
    .name = "shape", .kind = LM_SHAPE, .min = 1, .max = 1e9, .count = 1
};

static void integers_are_taken_and_a_single_one_is_repeated(void **state)
{
    static const struct {
        const lm_param *param;
        const char     *text;
        uint32_t        count;
        int64_t         value[3];
    } cases[] = {
        { &whole, "64", 1, { 64 } },
        { &whole, "1000000000", 1, { 1000000000 } },
        { &free_, "-1", 1, { -1 } },
        { &pair, "3", 2, { 3, 3 } },
        { &pair, "3,5", 2, { 3, 5 } },
        { &pair, "3 , 5", 2, { 3, 5 } },
        { &pair, "3x5", 2, { 3, 5 } },
        { &flag, "yes", 1, { 1 } },
        { &flag, "off", 1, { 0 } },
        { &choice, "same", 1, { 0 } },
        { &choice, "valid", 1, { 1 } },
        { &choice, "full", 1, { 2 } },
        { &shape, "3x224x112", 3, { 3, 224, 112 } },
        { &shape, "7", 1, { 7 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_value value;

        assert_int_equal(schema_parse(cases[i].param, cases[i].text, &value, NULL), LM_OK);
        assert_int_equal(value.kind, cases[i].param->kind);
        assert_int_equal(value.count, cases[i].count);
        assert_memory_equal(value.u.i, cases[i].value, cases[i].count * sizeof(int64_t));
    }
}

static void reals_and_texts_are_taken(void **state)
{
    lm_value value;

    (void)state;
    assert_int_equal(schema_parse(&real, "0.5", &value, NULL), LM_OK);
    assert_close(value.u.f[0], 0.5, 0);
    assert_int_equal(schema_parse(&reals, "1e3", &value, NULL), LM_OK);
    assert_int_equal(value.count, 2);
    assert_close(value.u.f[1], 1000, 0);
    assert_int_equal(schema_parse(&reals, "-1,2.5", &value, NULL), LM_OK);
    assert_close(value.u.f[0], -1, 0);
    assert_close(value.u.f[1], 2.5, 0);
    assert_int_equal(schema_parse(&text, "any words, x", &value, NULL), LM_OK);
    assert_string_equal(value.u.text, "any words, x");
}

static void refusals_name_the_parameter_and_what_stands_there(void **state)
{
    static const struct {
        const lm_param *param;
        const char     *text, *message;
    } cases[] = {
        { &whole, "", "groups: expected a whole number, found ''" },
        { &whole, "1.5", "groups: expected a whole number, found '1.5'" },
        { &whole, "0", "groups: 0 is outside 1 .. 1000000000" },
        { &whole, "9223372036854775808",
          "groups: expected a whole number below 2^63, found '9223372036854775808'" },
        { &whole, "1,2", "groups: expected 1 values, found 2 in '1,2'" },
        { &pair, "1,2,3", "kernel: expected 1 or 2 values, found 3 in '1,2,3'" },
        { &pair, "3,", "kernel: expected a whole number, found ''" },
        { &pair, "3,0", "kernel: 0 is outside 1 .. 1000000" },
        { &real, "1.01", "rate: 1.01 is outside 0 .. 1" },
        { &real, "nan", "rate: expected a finite number, found 'nan'" },
        { &flag, "maybe", "bias: expected yes or no, found 'maybe'" },
        { &choice, "sam", "mode: expected one of same|valid|full, found 'sam'" },
        { &choice, "same|valid", "mode: expected one of same|valid|full, found 'same|valid'" },
        { &choice, "", "mode: expected one of same|valid|full, found ''" },
        { &shape, "3x", "shape: expected a shape such as 3x224x224, found '3x'" },
        { &shape, "3,224", "shape: expected a shape such as 3x224x224, found '3,224'" },
        { &shape, "1x2x3x4x5x6x7x8x9",
          "shape: at most 8 dimensions here, found '1x2x3x4x5x6x7x8x9'" },
        { &shape, "2000000000", "shape: 2e+09 is outside 1 .. 1000000000" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_value value = { .kind = -1 };
        lm_error err;

        assert_int_equal(schema_parse(cases[i].param, cases[i].text, &value, &err), LM_E_ARG);
        assert_error(err, LM_E_ARG, "%s", cases[i].message);
        assert_int_equal(value.kind, -1); /* written on success only */
    }
}

static void descriptions_say_what_to_write(void **state)
{
    static const struct {
        const lm_param *param;
        const char     *words;
    } cases[] = {
        { &whole, "integer" },  { &pair, "2 integers (one is repeated)" },
        { &real, "number" },    { &reals, "2 numbers (one is repeated)" },
        { &flag, "yes or no" }, { &choice, "one of same|valid|full" },
        { &text, "text" },      { &shape, "shape such as 3x224x224" },
    };
    char buffer[96];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(schema_describe(cases[i].param, buffer, sizeof buffer), cases[i].words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_taken_and_a_single_one_is_repeated),
        cmocka_unit_test(reals_and_texts_are_taken),
        cmocka_unit_test(refusals_name_the_parameter_and_what_stands_there),
        cmocka_unit_test(descriptions_say_what_to_write),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
