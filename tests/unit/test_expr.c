/* Whole-number expressions: values by hand, and every refusal. */
#include "check.h"

#include <string.h>

#include "base/expr.h"

/* a = 7, b = -3, big = 2^63 - 1 */
static lm_status lookup(void *context, const char *name, size_t n, int64_t *out, lm_error *err)
{
    (void)context;
    if (n == 1 && (*name == 'a' || *name == 'b'))
        *out = *name == 'a' ? 7 : -3;
    else if (n == 3 && !strncmp(name, "big", 3))
        *out = INT64_MAX;
    else
        return lm_error_set(err, LM_E_NOTFOUND, "who is %.*s?", (int)n, name);
    return LM_OK;
}

static void operators_bind_as_in_arithmetic(void **state)
{
    static const struct {
        const char *text;
        int64_t     value;
    } cases[] = {
        { "0", 0 },
        { " 12 ", 12 },
        { "1 + 2 * 3", 7 },
        { "(1 + 2) * 3", 9 },
        { "10 - 3 - 2", 5 },
        { "100 / 10 / 5", 2 },
        { "2 * -3", -6 },
        { "--4", 4 },
        { "-(1 - 3)", 2 },
        { "a - 1", 6 },
        { "$a*$b", -21 },
        { "4*a/2%5", 4 },
        { "((((1))))", 1 },
        { "9223372036854775807", INT64_MAX },
        { "-9223372036854775807 - 1", INT64_MIN },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_error err   = { LM_OK, "" };
        int64_t  value = 4711;

        assert_int_equal(expr_eval(cases[i].text, lookup, NULL, &value, &err), LM_OK);
        assert_int_equal(value, cases[i].value);
    }
}

/* As in Python: -7 // 2 is -4 and -7 % 2 is 1. */
static void division_rounds_down_and_the_rest_has_the_divisors_sign(void **state)
{
    static const struct {
        const char *quotient, *rest;
        int64_t     q, r;
    } cases[] = {
        { "7 / 2", "7 % 2", 3, 1 },     { "-7 / 2", "-7 % 2", -4, 1 },
        { "7 / -2", "7 % -2", -4, -1 }, { "-7 / -2", "-7 % -2", 3, -1 },
        { "6 / 3", "6 % 3", 2, 0 },     { "-6 / 3", "-6 % 3", -2, 0 },
        { "0 / 5", "0 % 5", 0, 0 },     { "(7 + 2 - 1) / 2", "8 % 2", 4, 0 },
        { "b / a", "b % a", -1, 4 },    { "-(b / 2)", "b % 2", 2, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t q, r;

        assert_int_equal(expr_eval(cases[i].quotient, lookup, NULL, &q, NULL), LM_OK);
        assert_int_equal(expr_eval(cases[i].rest, lookup, NULL, &r, NULL), LM_OK);
        assert_int_equal(q, cases[i].q);
        assert_int_equal(r, cases[i].r);
    }
}

static void refusals_say_what_was_expected(void **state)
{
    static const struct {
        const char *text, *message;
        lm_status   code;
    } cases[] = {
        { "", "expected a number, a name or '(', found ''", LM_E_SYNTAX },
        { "1 +", "expected a number, a name or '(', found ''", LM_E_SYNTAX },
        { "* 2", "expected a number, a name or '(', found '* 2'", LM_E_SYNTAX },
        { "1 2", "expected an operator or the end, found '2'", LM_E_SYNTAX },
        { "(1 + 2", "expected an operator or ')', found ''", LM_E_SYNTAX },
        { "1)", "expected an operator or the end, found ')'", LM_E_SYNTAX },
        { "1.5", "expected an operator or the end, found '.5'", LM_E_SYNTAX },
        { "$1", "expected a number, a name or '(', found '1'", LM_E_SYNTAX },
        { "a b", "expected an operator or the end, found 'b'", LM_E_SYNTAX },
        { "a + c2", "who is c2?", LM_E_NOTFOUND },
        { "1 / 0", "division by zero", LM_E_ARG },
        { "1 % (a - 7)", "division by zero", LM_E_ARG },
        { "9223372036854775808", "a value does not fit 64 bits", LM_E_OVERFLOW },
        { "big + 1", "a value does not fit 64 bits", LM_E_OVERFLOW },
        { "-big - 2", "a value does not fit 64 bits", LM_E_OVERFLOW },
        { "big * 2", "a value does not fit 64 bits", LM_E_OVERFLOW },
        { "(-big - 1) / -1", "a value does not fit 64 bits", LM_E_OVERFLOW },
        { "-(-big - 1)", "a value does not fit 64 bits", LM_E_OVERFLOW },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_error err   = { LM_OK, "" };
        int64_t  value = 4711;

        expr_eval(cases[i].text, lookup, NULL, &value, &err);
        assert_error(err, cases[i].code, "%s", cases[i].message);
        assert_int_equal(value, 4711);
    }
}

static void nesting_has_an_end(void **state)
{
    char     text[1001];
    lm_error err;
    int64_t  value;

    (void)state;
    memset(text, '-', 1000);
    text[1000] = '\0';
    assert_int_equal(expr_eval(text, lookup, NULL, &value, &err), LM_E_SYNTAX);
    assert_error(err, LM_E_SYNTAX, "nested deeper than 64");
    memset(text, '(', 1000);
    assert_int_equal(expr_eval(text, lookup, NULL, &value, &err), LM_E_SYNTAX);
    assert_error(err, LM_E_SYNTAX, "nested deeper than 64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_bind_as_in_arithmetic),
        cmocka_unit_test(division_rounds_down_and_the_rest_has_the_divisors_sign),
        cmocka_unit_test(refusals_say_what_was_expected),
        cmocka_unit_test(nesting_has_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
