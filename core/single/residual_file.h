/** Residuals as text, in files beside a machine file. */
#ifndef SINGLE_RESIDUAL_FILE_H
#define SINGLE_RESIDUAL_FILE_H

#include "learn/kept.h"

#define RESIDUAL_FILE "residual" /**< "m.residual": of single layers */
#define KERNELS_FILE  "kernels"  /**< "m.kernels": of single launches */

/** A residual_set as text: its classes of layers, its classes of launches. Refuses features that
 * nobody knows, LM_E_NOTFOUND. */
extern const kept_kind residual_kept, kernels_kept;

#endif
