/** Errors of several models on the same points, by group, phase and model. */
#ifndef JUDGE_ERRORS_H
#define JUDGE_ERRORS_H

#include "fit/comparison.h"
#include "fit/split.h"

/** Models side by side, at most. */
#define JUDGED_MAX 16

/** A model and its predictions. */
typedef struct judged {
    const char *model;
    comparison *at; /**< of each point */
} judged;

/** Points, their splits and the models that are judged. Owns nothing. */
typedef struct judging {
    const points *p;
    const split  *by;     /**< what is left out of the fits */
    const split  *groups; /**< what errors are told by */
    const judged *model;
    size_t        n;     /**< models, up to JUDGED_MAX */
    bool          power; /**< powers and energies beside times */
} judging;

/** The errors of one model in one group and phase. */
typedef struct error_row {
    const char  *group;         /**< NULL: all groups together */
    const char  *phase, *model; /**< phase: "forward", "step power" */
    stats_errors of;
    bool         seconds;         /**< errors of times; rmse of others has no column */
    double       coverage, width, score; /**< as in a judgement; NAN: no interval */
    /** Of all groups together the mean of the folds' errors (MAPE) and their standard deviation
     * (n - 1); NAN: of one group, of figures that are no times, of fewer than two folds. */
    double fold_mean, fold_sd;
} error_row;

typedef void (*error_taker)(void *context, const error_row *row);

/** Each row that has points goes to the taker: groups (`pooled`: only all of them together), their
 * phases, then models. LM_E_NOMEM */
lm_status judging_errors(const judging *all, bool pooled, error_taker take, void *context,
                         lm_error *err);
/** Do the models predict, but state no interval? */
bool judging_without_intervals(const judging *all);
/** Does a model tell the power of a point whose power was measured? */
bool judging_tells_power(const judging *all);

#endif
