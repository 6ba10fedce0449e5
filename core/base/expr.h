/** Whole-number expressions. */
#ifndef BASE_EXPR_H
#define BASE_EXPR_H

#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/** Looks up the value of a name of n bytes. Returns its own error for an unknown name. */
typedef lm_status (*expr_lookup)(void *context, const char *name, size_t n, int64_t *out,
                                 lm_error *err);

/**
 * Value of `text`: + - * / % unary minus, parentheses, whole numbers, names with or without a $.
 *
 * As Python's // and %, / rounds down and % has the divisor's sign: a = a / b * b + a % b. So (a +
 * b - 1) / b rounds up. The error names the expected and the found text.
 *
 * @return LM_E_SYNTAX, LM_E_ARG for a division by zero, LM_E_OVERFLOW, or what `lookup` returns
 */
lm_status expr_eval(const char *text, expr_lookup lookup, void *context, int64_t *out,
                    lm_error *err);

#endif
