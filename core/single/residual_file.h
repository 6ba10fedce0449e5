/** Residuals as text, in files beside a machine file. */
#ifndef SINGLE_RESIDUAL_FILE_H
#define SINGLE_RESIDUAL_FILE_H

#include "learn/kept.h"

#define RESIDUAL_FILE "residual" /**< "m.residual": of single layers */
#define KERNELS_FILE  "kernels"  /**< "m.kernels": of single launches */

/**
 * Formats of a residual_set: classes of layers; classes of launches. LM_E_NOTFOUND for unknown
 * features.
 */
extern const kept_kind residual_kept, kernels_kept;

#endif
