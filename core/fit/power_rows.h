/** Measured powers with the bounds of their time, and the power model fitted to them. */
#ifndef FIT_POWER_ROWS_H
#define FIT_POWER_ROWS_H

#include "device/power_fit.h"
#include "fit/calibration.h"
#include "observe/points.h"

/** The time that a power belongs to. */
typedef struct power_place {
    size_t point;
    phase  phase;
    double seconds; /**< predicted, at the default clock */
} power_place;

typedef struct power_rows {
    power_row   *row; /**< with the groups of the points */
    power_place *at;
    size_t       n;
    size_t       unused;  /**< powers of several ranks, or of points without a price */
    size_t       waiting; /**< steps of several ranks that power_model.wait_w was fitted to */
    /** powers that power_calibrate() left out: far from all others, or at an outlying clock */
    size_t odd;
    int    odd_line; /**< line of the first one */
    bool   no_rest;  /**< the stated idle power exceeds half of the powers, and was left out */
} power_rows;

/**
 * Predicted seconds of a point's time, and their shares by bound, from coefficients or prices. NAN:
 * no price.
 */
double power_point_load(const points *p, const calibration *cal, const point *pt, phase f,
                        power_load *out);

/**
 * Powers of points, one row per phase, with the shares of its time. Shares come from the default
 * model's coefficients, for single layers from their prices. Rows at another clock than `usual_mhz`
 * (NAN: unknown) get arithmetic slowed down in proportion. LM_E_NOMEM
 */
lm_status power_rows_from(const points *p, const calibration *cal, double usual_mhz,
                          power_rows *out, lm_error *err);
void      power_rows_free(power_rows *r);

/**
 * Known figures of a device before its power is measured. The limit and the highest clock come from
 * the datasheet of `name` (NULL: the device of the provenance), or from the provenance:
 * `idle_power` ("31 W"), `gpu_power_limit`, `gpu_clock_max`.
 *
 * @return errors of devices_open()
 */
lm_status power_told(const calibration *cal, const char *name, power_model *out, lm_error *err);

/**
 * Fits the power model to the points' powers, if there are POWER_LEAST_ROWS; else cal->power is
 * unchanged. `told` as for power_fit(). wait_w is fitted if POWER_LEAST_ROWS steps of several ranks
 * wait for each other.
 */
lm_status power_calibrate(const points *p, double usual_mhz, const power_model *told,
                          calibration *cal, power_rows *measured, lm_error *err);

/**
 * power_calibrate() with the figures in the file itself. It does nothing if the powers are in doubt
 * (doubts.h).
 */
lm_status power_of_points(const points *p, calibration *cal, lm_error *err);

/** Are the powers in doubt? */
bool power_doubted(const points *p);

/** Median of the clocks of the points; NAN: unknown. LM_E_NOMEM */
lm_status power_usual_clock(const points *p, double *out, lm_error *err);

#endif
