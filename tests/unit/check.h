/** What cmocka lacks: its assert_float_equal() compares as float, blind beyond 7 digits. */
#ifndef UNIT_CHECK_H
#define UNIT_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <layermeter/error.h>

/** |a - b| <= tolerance * max(1, |a|, |b|) */
#define assert_close(a, b, tolerance) check_close((a), (b), (tolerance), __FILE__, __LINE__)

static inline void check_close(double a, double b, double tolerance, const char *file, int line)
{
    const double scale = fmax(1, fmax(fabs(a), fabs(b)));

    if (!(fabs(a - b) <= tolerance * scale)) {
        print_error("%.17g is not %.17g within %g\n", a, b, tolerance);
        _fail(file, line);
    }
}

/** Code and exact text of a failure; the text is a printf format. */
#define assert_error(err, code, ...) check_error(&(err), (code), __FILE__, __LINE__, __VA_ARGS__)

static inline void check_error(const lm_error *err, lm_status code, const char *file, int line,
                               const char *fmt, ...) LM_PRINTF(5, 6);

static inline void check_error(const lm_error *err, lm_status code, const char *file, int line,
                               const char *fmt, ...)
{
    char    text[sizeof err->text];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    _assert_string_equal(err->text, text, file, line);
    _assert_int_equal((LargestIntegralType)err->code, (LargestIntegralType)code, file, line);
}

#endif
