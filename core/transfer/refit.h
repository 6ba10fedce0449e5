/**
 * Phases that a device's own measurements tell better than a correction.
 *
 * A correction has a factor for each resource. With many networks a fit of all coefficients is
 * better, but only for what was measured. So each phase is fitted to the device's rows alone, too,
 * and both predict each network from the others. The one with the smaller mean error is taken.
 */
#ifndef TRANSFER_REFIT_H
#define TRANSFER_REFIT_H

#include "transfer/correct.h"

/** Forms whose own fit is the better one. */
typedef struct refit_choice {
    bool   taken[MAX_FORMS];
    size_t n;
} refit_choice;

/**
 * Compares for each form in terms of the default model, if its rows are of enough networks for an
 * interval of their own (interval_enough()).
 *
 * @param p       points that the rows are of
 * @param seconds of each row, by a correction without its group; by the own fit without its group
 *                where that is better
 */
lm_status refit_choose(const points *p, const correct_row *row, size_t n, double *seconds,
                       refit_choice *out, lm_error *err);

/**
 * Replaces the coefficients that the rows tell, and notes the phases as `fitted_anew`. If networks of
 * tokens are among the rows, factors by steps under layouts end: the rows tell these prices.
 */
lm_status refit_take(calibration *cal, const points *p, const refit_choice *chosen, lm_error *err);

#endif
