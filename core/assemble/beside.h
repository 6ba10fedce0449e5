/**
 * Inputs of a fit beside its observations: priced layers and kernels of other files, residuals,
 * runs. Error texts name the options.
 */
#ifndef ASSEMBLE_BESIDE_H
#define ASSEMBLE_BESIDE_H

#include "base/lists.h"
#include "fit/calibration.h"
#include "fit/power_rows.h"
#include "learn/lesson.h"
#include "observe/points.h"
#include "single/model.h"
#include "transfer/runs.h"

/**
 * --layers: reads a machine file with prices of single layers; the points' networks are then
 * composed of them. LM_E_ARG if it belongs to another device or element type.
 */
lm_status fit_layers_load(const char *path, const observations *obs, points *p, calibration **out,
                          lm_error *err);
/**
 * Moves the prices of `layers` into `to`, with factors from the points. LM_E_ARG if the points are
 * single layers themselves, or contain no network that was measured as a whole.
 */
lm_status fit_layers_compose(const points *p, calibration *layers, calibration *to, lm_error *err);

/**
 * --like: fills the kinds of kernels that `cal` lacks from machine files, converted by the
 * datasheets of the devices in their provenance. LM_E_NOTFOUND for a device without a datasheet, or
 * a machine file without such prices; the text names the file.
 */
lm_status fit_like(calibration *cal, const char *path, const word_list *files, lm_error *err);

/** The words of --residual. */
typedef enum residual_choice { RESIDUAL_ON, RESIDUAL_OFF, RESIDUAL_AUTO } residual_choice;

/** Results for residuals. */
typedef struct fit_residuals {
    bool           layers, kernels; /**< was it learned? */
    residual_trees layer[N_LAYER_CLASSES], kernel[N_LAYER_CLASSES];
} fit_residuals;

/**
 * --residual: learns the residuals of single layers and kernels. AUTO learns if there are such rows
 * and the build can. LM_E_ARG if ON has no such rows; LM_E_UNSUPPORTED if the build cannot grow
 * trees.
 */
lm_status fit_residual(const observations *obs, const points *p, residual_choice choice,
                       calibration *cal, fit_residuals *out, lm_error *err);

/** Result of --correct. Zero-initialise. */
typedef struct fit_runs {
    const char    *path; /**< NULL: not given */
    run_rows       rows;
    run_correction correction;
    bool           cut_short; /**< the last line of the file was incomplete and ignored */
} fit_runs;

/**
 * Corrects by the runs in a file of observations, if that helps, and notes it in the provenance.
 * Error texts begin with the path.
 */
lm_status fit_runs_correct(const char *path, workloads *loads, calibration *cal, fit_runs *out,
                           lm_error *err);
void      fit_runs_free(fit_runs *f);

/** "host x1, flops x1.02, bandwidth x1.19, depth x1" */
#define FIT_FACTORS_TEXT 160
const char *fit_factors_print(const correct_factors *f, char out[FIT_FACTORS_TEXT]);

/** If rows were held at clocks and `where` (NULL: nothing) selects some, reads the points of all clocks
 * and of none into `all`. *found: `all` must be freed. */
lm_status fit_every_clock(const observations *obs, workloads *loads, const char *where, points *all,
                          bool *found, lm_error *err);

/** Power of the device by options; NAN: not given. */
typedef struct power_told_by {
    double idle_w, cap_w, knee_mhz;
} power_told_by;

/** Results for powers. Zero-initialise; power_rows_free(&rows). */
typedef struct fit_powers {
    const char *unknown; /**< a given device without power limit and clock; NULL: none */
    bool        fitted;  /**< the model was fitted to `rows` */
    power_rows  rows;
} fit_powers;

/**
 * Fits the power model if powers were measured. Rows at other clocks (settings `clock=`) than those
 * of the times take part.
 *
 * @param p    points of the times' fit, selected by `where` (NULL: all)
 * @param name the device; NULL: the file's
 * @return errors of points_from() and power_fit(); LM_E_ARG for options that contradict the rows
 */
lm_status fit_powers_of(const observations *obs, workloads *loads, const points *p,
                        const char *where, const char *name, const power_told_by *told,
                        calibration *cal, fit_powers *out, lm_error *err);

#endif
