/* A plugin as it was built when the ABI was 1.0: against the frozen headers, with their layout. */
#include <assert.h>

#include "frozen-1.0/linear.c"

static_assert(LM_ABI_MINOR == 0, "these are the headers of 1.0");
static_assert(sizeof(lm_param) == 56, "parameters had no unit");
static_assert(sizeof(lm_layer) == 72, "layers had no element type of the network");
static_assert(sizeof(lm_layer_type) == 104, "layer types");
static_assert(sizeof(lm_kernel) == 280, "kernels");
