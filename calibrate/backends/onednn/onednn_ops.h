/** Kernels as operations of the library, with their buffers. */
#ifndef CALIBRATE_BACKENDS_ONEDNN_OPS_H
#define CALIBRATE_BACKENDS_ONEDNN_OPS_H

#include "onednn_kernels.h"

/** The operation of a kernel that is no loop. LM_E_UNSUPPORTED: none. Pure. */
lm_status op_of_kernel(const lm_kernel *k, api_op *out);

/** Adds slots for the arguments of k->primitive, in the library's layouts. */
void op_add_slots(prepared_kernel *k);

#endif
