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

#endif
