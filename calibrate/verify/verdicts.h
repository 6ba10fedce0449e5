/** Which kinds of a sweep's kernels compute what a CPU does. */
#ifndef CALIBRATE_VERIFY_VERDICTS_H
#define CALIBRATE_VERIFY_VERDICTS_H

#include "measure/harness.h"
#include "verify/verify.h"

/** A small kernel that stands for all of its kind (small.h), and the largest difference. */
typedef struct verify_kind {
    lm_kernel      kernel;
    kernel_use     use;
    settings       how;
    verify_verdict verdict;
    double         difference, ratio; /**< ratio: difference over what is allowed */
} verify_kind;

typedef struct verdicts {
    verify_kind *kind; /**< malloc'ed */
    size_t       n, room;
} verdicts;

/**
 * Tries each kind of the sweep's kernels once. Every rank, on its own device: a kind that differs
 * on one of them differs.
 *
 * @param out  zeroed; free in either case
 * @return LM_E_IO: a device is lost; errors of point_kernels_make()
 */
lm_status verdicts_make(const bench *b, const world *everyone, verdicts *out, lm_error *err);
void      verdicts_free(verdicts *v);

/** Does one of the kernels belong to a kind that differs? */
bool verdicts_differ(const verdicts *v, const lm_kernel *k, size_t n, kernel_use use,
                     const settings *how);

/** "34 kinds of kernels agree with a CPU's, 1 differs, 2 were not compared". */
void verdicts_print(const verdicts *v, char *out, size_t size);
/** "bf16 gemm forward: 2 of 3 kinds differ from a CPU's, by 0.5 where 0.01 is allowed: GEOMETRY" of the
 * i-th kind's operation, pass and type; false: it does not differ, or was told with an earlier one. */
bool verdicts_print_difference(const verdicts *v, size_t i, char *out, size_t size);

#endif
