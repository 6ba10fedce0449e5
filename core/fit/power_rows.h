/** Measured powers with what their time went to, and the power model fitted to them. */
#ifndef FIT_POWER_ROWS_H
#define FIT_POWER_ROWS_H

#include "device/power_fit.h"
#include "fit/calibration.h"
#include "observe/points.h"

/** Which time a power is of. */
typedef struct power_place {
    size_t point;
    phase  phase;
    double seconds; /**< predicted, at the usual clock */
} power_place;

typedef struct power_rows {
    power_row   *row; /**< groups are those of the points */
    power_place *at;
    size_t       n;
    size_t unused;   /**< powers of several ranks, or of what the calibration has no prices for */
    size_t odd;      /**< that power_calibrate() left out: far off all others, or at such a clock */
    int    odd_line; /**< of the first */
    bool   no_rest;  /**< what was told as drawn at rest is more than half of them, and left out */
} power_rows;

/** Predicted seconds of a point's time, and what they go to, by coefficients or prices. NAN: there
 * are no prices. */
double power_point_load(const points *p, const calibration *cal, const point *pt, phase f,
                        power_load *out);

/**
 * Powers of points, a row a phase: shares of its time by the coefficients of the default model, or
 * of single layers by their prices; of rows at another clock than `usual_mhz` (NAN: not known), at
 * which those were measured, with arithmetic as much slower. LM_E_NOMEM
 */
lm_status power_rows_from(const points *p, const calibration *cal, double usual_mhz,
                          power_rows *out, lm_error *err);
void      power_rows_free(power_rows *r);

/**
 * What is known of a device before its power is measured: the limit and the top clock of the
 * datasheet of `name` (NULL: as the provenance says), or as the provenance has it: `idle_power`
 * ("31 W"), `gpu_power_limit`, `gpu_clock_max`.
 *
 * @return what devices_open() returns
 */
lm_status power_told(const calibration *cal, const char *name, power_model *out, lm_error *err);

/**
 * Fits the power model to the points' powers, if there are POWER_LEAST_ROWS; else cal->power stays
 * as it is. `told` as of power_fit().
 */
lm_status power_calibrate(const points *p, double usual_mhz, const power_model *told,
                          calibration *cal, power_rows *measured, lm_error *err);

/** power_calibrate() by what the file itself tells; nothing where its powers are in doubt
 * (doubts.h). */
lm_status power_of_points(const points *p, calibration *cal, lm_error *err);

/** Are the powers in doubt? */
bool power_doubted(const points *p);

/** Median of the clocks of the points; NAN: none is known. LM_E_NOMEM */
lm_status power_usual_clock(const points *p, double *out, lm_error *err);

#endif
