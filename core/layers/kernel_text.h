/** Text of kernels, and checks of kernels. */
#ifndef LAYERS_KERNEL_TEXT_H
#define LAYERS_KERNEL_TEXT_H

#include <stdbool.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>

const char *kernel_op_name(lm_op op);
/** LM_E_NOTFOUND for an unknown name. */
lm_status kernel_op_parse(const char *name, lm_op *out, lm_error *err);
/** May layer types lower to this operation? */
bool kernel_op_of_layers(lm_op op);
/** Bytes of lm_kernel.u that the operation uses. */
size_t      kernel_geometry_size(lm_op op);
const char *kernel_pass_name(lm_pass pass);
lm_status   kernel_pass_parse(const char *name, lm_pass *out, lm_error *err);

/** Geometry as in observations: "n=8 c_in=64 ... in=1x56x56". */
const char *kernel_print_geometry(const lm_kernel *k, char *buffer, size_t size);
/** Parses this text. The caller sets op, pass and dtype of *k; the function fills u and repeat. No
 * field may be missing. */
lm_status kernel_parse_geometry(const char *text, lm_kernel *k, lm_error *err);
/** Checks that every dimension is in its range and that groups divide channels. The error names the
 * field. */
lm_status kernel_check(const lm_kernel *k, lm_error *err);

#endif
