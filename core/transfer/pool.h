/** One machine out of several: means of coefficients, unions of intervals. */
#ifndef TRANSFER_POOL_H
#define TRANSFER_POOL_H

#include "transfer/transfer.h"

/**
 * The machine on device `to`, from sources with scales and weights; without a note on its origin.
 * LM_E_NOMEM, errors of transfer_layers_pool().
 */
lm_status transfer_mean(const transfer_source *from, size_t n, const device *to, calibration **out,
                        lm_error *err);

#endif
