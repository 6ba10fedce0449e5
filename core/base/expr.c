/* Whole-number expressions, by recursive descent. */
#include "base/expr.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64 /* depth of nested parentheses and signs */

typedef struct expr {
    const char *next;
    expr_lookup lookup;
    void       *context;
    lm_error   *err;
    int         depth;
} expr;

static lm_status sum(expr *e, int64_t *out);

/* The next byte that is not blank. */
static char peek(expr *e)
{
    while (*e->next == ' ' || *e->next == '\t')
        e->next++;
    return *e->next;
}

static lm_status overflow(expr *e)
{
    return lm_error_set(e->err, LM_E_OVERFLOW, "a value does not fit 64 bits");
}

static lm_status unexpected(expr *e, const char *expected)
{
    return lm_error_set(e->err, LM_E_SYNTAX, "expected %s, found '%.20s'", expected, e->next);
}

static lm_status number(expr *e, int64_t *out)
{
    int64_t value = 0;

    for (; isdigit((unsigned char)*e->next); e->next++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *e->next - '0', &value))
            return overflow(e);
    *out = value;
    return LM_OK;
}

static bool begins_name(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static lm_status name(expr *e, int64_t *out)
{
    const char *start = e->next;

    while (begins_name(*e->next) || isdigit((unsigned char)*e->next))
        e->next++;
    return e->lookup(e->context, start, (size_t)(e->next - start), out, e->err);
}

static lm_status atom(expr *e, int64_t *out)
{
    const char c = peek(e);

    if (isdigit((unsigned char)c))
        return number(e, out);
    e->next += c == '$';
    return begins_name(*e->next) ? name(e, out) : unexpected(e, "a number, a name or '('");
}

static lm_status factor(expr *e, int64_t *out)
{
    const char c = peek(e);
    lm_status  status;

    if (c != '-' && c != '(')
        return atom(e, out);
    if (e->depth == DEPTH_MAX)
        return lm_error_set(e->err, LM_E_SYNTAX, "nested deeper than %d", DEPTH_MAX);
    e->depth++;
    e->next++;
    status = c == '-' ? factor(e, out) : sum(e, out);
    e->depth--;
    if (status)
        return status;
    if (c == '-')
        return __builtin_sub_overflow(0, *out, out) ? overflow(e) : LM_OK;
    if (peek(e) != ')')
        return unexpected(e, "an operator or ')'");
    e->next++;
    return LM_OK;
}

static lm_status divide(expr *e, char op, int64_t a, int64_t b, int64_t *out)
{
    int64_t quotient, rest;

    if (b == 0)
        return lm_error_set(e->err, LM_E_ARG, "division by zero");
    if (a == INT64_MIN && b == -1)
        return overflow(e);
    quotient = a / b;
    rest     = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) { /* C rounds towards zero */
        quotient--;
        rest += b;
    }
    *out = op == '/' ? quotient : rest;
    return LM_OK;
}

static lm_status product(expr *e, int64_t *out)
{
    int64_t   right;
    lm_status status = factor(e, out);
    char      op;

    while (!status && ((op = peek(e)) == '*' || op == '/' || op == '%')) {
        e->next++;
        if ((status = factor(e, &right)))
            return status;
        if (op != '*')
            status = divide(e, op, *out, right, out);
        else if (__builtin_mul_overflow(*out, right, out))
            status = overflow(e);
    }
    return status;
}

static lm_status sum(expr *e, int64_t *out)
{
    int64_t   right;
    lm_status status = product(e, out);
    char      op;

    while (!status && ((op = peek(e)) == '+' || op == '-')) {
        e->next++;
        if ((status = product(e, &right)))
            return status;
        if (op == '+' ? __builtin_add_overflow(*out, right, out)
                      : __builtin_sub_overflow(*out, right, out))
            status = overflow(e);
    }
    return status;
}

lm_status expr_eval(const char *text, expr_lookup lookup, void *context, int64_t *out,
                    lm_error *err)
{
    expr      e      = { text, lookup, context, err, 0 };
    int64_t   value  = 0;
    lm_status status = sum(&e, &value);

    if (!status && peek(&e))
        status = unexpected(&e, "an operator or the end");
    if (!status)
        *out = value;
    return status;
}
