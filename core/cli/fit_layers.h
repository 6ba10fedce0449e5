/** --layers: networks composed of single layers that were measured on the same device. */
#ifndef CLI_FIT_LAYERS_H
#define CLI_FIT_LAYERS_H

#include "fit/calibration.h"
#include "observe/points.h"

/** Reads a machine file that prices single layers, which the points then are composed of. LM_E_ARG
 * where it is of another device or element type than these. */
lm_status fit_layers_load(const char *path, const observations *obs, points *p, calibration **out,
                          lm_error *err);

/** Moves the prices of `layers` into `to`, with factors from the points. LM_E_ARG where the points
 * are single layers themselves, or no network among them was measured as a whole. */
lm_status fit_layers_compose(const points *p, calibration *layers, calibration *to, lm_error *err);

#endif
