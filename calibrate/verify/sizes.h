/** Sizes of a kernel's tensors, and what tells its forms. */
#ifndef CALIBRATE_VERIFY_SIZES_H
#define CALIBRATE_VERIFY_SIZES_H

#include "verify/verify.h"

/** Elements of a tensor; 0: there is none in such a kernel. */
int64_t verify_size(const verify_trial *t, verify_tensor tensor);

/** Elements of attention's tensors: queries, keys and values as they lie in a buffer of several. */
typedef struct attention_sizes {
    size_t q, k, v, o, rows;
} attention_sizes;

attention_sizes verify_attention_sizes(const lm_kernel *k);

static inline bool verify_forward(const verify_trial *t)
{
    return t->kernel.pass == LM_FORWARD;
}

static inline bool verify_nhwc(const verify_trial *t)
{
    return t->how.value[SETTING_LAYOUT] != 0;
}

#endif
