/** Results of a run's observations: coefficients and their quality. */
#ifndef CALIBRATE_FINDINGS_H
#define CALIBRATE_FINDINGS_H

#include "fit/comparison.h"
#include "fit/fit.h"
#include "observe/variants.h"

#define FINDINGS_MODELS 8

typedef struct findings {
    observations *obs;
    points        p;   /**< of one element type and one combination of settings */
    variants      all; /**< all combinations; the first is that of `p`, unless it was selected */
    split         networks; /**< each network a fold */
    calibration  *cal;      /**< NULL: no fit */
    lm_error      why_not;  /**< reason for cal == NULL */
    const char   *model[FINDINGS_MODELS];
    comparison   *held_out[FINDINGS_MODELS]; /**< per point, with its network left out */
    size_t        n_models;
} findings;

/**
 * Reads the observations, fits each model and validates it by cross-validation over networks. It is
 * no error if no formula can be fitted: `why_not` says what is missing. Free in either case.
 *
 * @param where words of points_where(); NULL: the element type and settings with the most points
 */
lm_status findings_make(const char *observations_path, workloads *loads, const char *where,
                        findings *out, lm_error *err);
void      findings_free(findings *f);

#endif
