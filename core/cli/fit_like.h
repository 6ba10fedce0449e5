/** layermeter fit --like: prices of kernels that were not measured, from other machines. */
#ifndef CLI_FIT_LIKE_H
#define CLI_FIT_LIKE_H

#include "fit/calibration.h"

/**
 * Fills the kinds of kernels that `cal` lacks from machine files, "a.ini, b.ini", by the datasheets
 * of the devices that their provenance names.
 *
 * @return LM_E_NOTFOUND for a device without a datasheet, or a machine file without such prices;
 * the text names the file
 */
lm_status fit_like(calibration *cal, const char *path, const char *files, lm_error *err);

#endif
