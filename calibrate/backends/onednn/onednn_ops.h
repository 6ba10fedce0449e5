/** Kernels as operations of the library: what to create, and which buffers go with it. */
#ifndef CALIBRATE_BACKENDS_ONEDNN_OPS_H
#define CALIBRATE_BACKENDS_ONEDNN_OPS_H

#include "onednn_kernels.h"

/** The operation of a kernel that is no loop. LM_E_UNSUPPORTED: there is none. Pure. */
lm_status op_of_kernel(const lm_kernel *k, api_op *out);

/** The arguments of k->primitive, as the library laid them out. */
void op_add_slots(prepared_kernel *k);

#endif
