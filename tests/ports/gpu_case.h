/** One kernel of the GPU backend with its buffers, for tests: on a device that is not there, or on
 * a real one. Failures end the test. */
#ifndef PORTS_GPU_CASE_H
#define PORTS_GPU_CASE_H

#include <stdbool.h>

#include "cuda_kernels.h"

typedef struct gpu_case {
    const cuda_device *device;
    cuda_kernel        kernel;
    void              *memory[MAX_SLOTS];
} gpu_case;

/** The device of all tests; NULL: there is none, and *err says why. */
const cuda_device *gpu_open(lm_error *err);
void               gpu_close(void);
/** The device that was opened. */
const cuda_device *gpu_device(void);

/** For main(): runs the tests, or 77 where there is no device; 1 if a test failed or a kernel's
 * result is wrong. */
#define gpu_run_tests(tests)                                                               \
    (gpu_open(&gpu_why) ? gpu_summarise(cmocka_run_group_tests(tests, NULL, gpu_teardown)) \
                        : (printf("skipped: %s\n", gpu_why.text), 77))
extern lm_error gpu_why;
int             gpu_teardown(void **state);

/** What became of a kernel. */
typedef enum { GPU_AGREES, GPU_DIFFERS, GPU_NOT_HERE, N_GPU_VERDICTS } gpu_verdict;

/** Counts a kernel of this class that could not be made. */
void gpu_not_here(lm_op op);
/** Of the kernel that is open, counted when it is released; else it agrees. */
void gpu_tell(gpu_verdict verdict);
/** Prints "class conv: 36 agree, 0 differ, 0 not on this device" for each; 1 if tests failed or
 * something differs. */
int gpu_summarise(int failed_tests);

/** Makes the kernel and fills its buffers as it says. */
void gpu_prepare(gpu_case *c, const settings *how, const lm_kernel *k, kernel_use use);
void gpu_release(gpu_case *c);

/** The slot of an argument; fails if it has none. */
size_t gpu_slot(const gpu_case *c, int argument);
/** Elements of a slot, by its fill's type. */
size_t gpu_elements(const gpu_case *c, size_t slot);
/** Values of a slot, rounded to its type. */
void gpu_put(const gpu_case *c, size_t slot, const double *values);
/** malloc'ed. */
double *gpu_get(const gpu_case *c, size_t slot);
/** A slot as it is; gpu_bytes() is malloc'ed. */
uint8_t *gpu_bytes(const gpu_case *c, size_t slot);
void     gpu_put_bytes(const gpu_case *c, size_t slot, const uint8_t *bytes);
/** Runs it once and waits. */
void gpu_run(const gpu_case *c);

/** A value as an element of this type holds it. */
double gpu_round(lm_dtype type, double value);

#endif
