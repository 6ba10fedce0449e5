/** What a kernel's results should be. */
#ifndef CALIBRATE_VERIFY_EXPECT_H
#define CALIBRATE_VERIFY_EXPECT_H

#include <float.h>

#include "verify/reference.h"
#include "verify/verify.h"

/** Of f32: what sums may err by, of what was added up. */
#define VERIFY_ROUNDINGS (64 * (double)FLT_EPSILON)

/** Allowed beside a rounding of the result. */
typedef struct verify_bound {
    double share;      /**< of what was added up */
    bool   of_largest; /**< for the largest element, where differences cancel; else for this one */
    double of_one;     /**< roundings of a number of at least 1 */
} verify_bound;

/** The values of a result; without elements, if the tensor is none or its operands were not given. */
reference verify_expect(const verify_trial *t, verify_tensor out, verify_bound *b);

/** n times this value; malloc'ed. */
double *verify_constant(size_t n, double value);

#endif
