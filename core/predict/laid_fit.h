/**
 * Fits a machine to whole steps under layouts: logs of training runs that have only seconds, a
 * network and a layout (column `layout` of observations).
 *
 * A step is a sum over the work of the rank that ends last: kernels of several kinds, messages
 * within a node and between nodes, starts of kernels. Overlapped work is not in the sum. So the
 * seconds are linear in factors on the prices, as long as the same work is overlapped:
 *
 *   seconds = sum over factors of factor_k x d(seconds)/d(factor_k)
 *
 * The fit alternates: the schedule gives the slopes under the present factors, then the solver
 * (solve/factors.h) gives new factors. A ridge holds the factors near 1, the machine file's own
 * prices, so a few steps change only what they determine. The host's time for a kernel
 * (calibration.host) has no price yet: it starts at the largest value that no step contradicts.
 */
#ifndef PREDICT_LAID_FIT_H
#define PREDICT_LAID_FIT_H

#include "fit/calibration.h"
#include "predict/laid_prices.h"
#include "predict/laid_rows.h"

#define LAID_LEAST 4 /**< fewest steps for a fit */

typedef struct laid_fit {
    double factor[N_LAID_FACTORS];
    /** groups: networks, or single steps if there are fewer than three networks */
    size_t rows, groups;
    /** mean errors, %: without factors, and of groups whose rows were left out of the fit */
    double mape_before, mape;
    int    rounds;
} laid_fit;

/**
 * Corrects the prices of the default model and of collectives, from all rows under a layout.
 *
 * @param cal  a machine file with passes and collectives; changed on success only
 * @param kernels correct the prices of kernels alone, by the steps that neither messages nor a host of
 *             LAID_HOST_MOST lengthen noticeably: these hold with any interconnect and framework
 * @param link the user's description of the link between nodes; zeros: none
 * @return LM_E_ARG for fewer than LAID_LEAST rows, for a file with other rows, or for a layout that
 *         does not fit its row (the text has file, line and the two numbers); errors of
 *         predict_laid_out()
 */
lm_status laid_fit_steps(const observations *obs, workloads *loads, const interconnect *link,
                         bool kernels, calibration *cal, laid_fit *out, lm_error *err);

/**
 * Moves prices of kernels, their errors and where they are from into a machine file, which `from` was
 * before it got collectives.
 */
lm_status laid_fit_keep(const laid_fit *f, const observations *obs, calibration *from,
                        calibration *to, lm_error *err);

#endif
