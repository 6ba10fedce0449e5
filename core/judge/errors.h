/** Errors of several models on the same points, by group, phase and model. */
#ifndef JUDGE_ERRORS_H
#define JUDGE_ERRORS_H

#include "fit/comparison.h"
#include "fit/split.h"

/** Maximum number of models. */
#define JUDGED_MAX 16

/** A model and its predictions. */
typedef struct judged {
    const char *model;
    comparison *at; /**< one for each point */
} judged;

/** Points, their splits and the judged models. Owns nothing. */
typedef struct judging {
    const points *p;
    const split  *by;     /**< units left out of fits */
    const split  *groups; /**< groups of errors */
    const judged *model;
    size_t        n;     /**< number of models, up to JUDGED_MAX */
    bool          power; /**< also powers and energies */
} judging;

/** The errors of one model in one group and phase. */
typedef struct error_row {
    const char  *group;         /**< NULL: all groups together */
    const char  *phase, *model; /**< phase: "forward", "step power" */
    stats_errors of;
    bool         seconds;                /**< errors of times; others have no column for rmse */
    double       coverage, width, score; /**< as in a judgement; NAN: no interval */
    /** For all groups together: mean of the folds' errors (MAPE), and standard deviation (n - 1).
     * NAN for one group, for other values than times, and for fewer than two folds. */
    double fold_mean, fold_sd;
} error_row;

typedef void (*error_taker)(void *context, const error_row *row);

/** Passes each row with points to the taker: by group (`pooled`: only all together), phase and
 * model. LM_E_NOMEM */
lm_status judging_errors(const judging *all, bool pooled, error_taker take, void *context,
                         lm_error *err);
/** Numbers of measured times that the models predict, and of these with an interval. */
void judging_count(const judging *all, size_t *predicted, size_t *stated);
/** Does a model predict the power of a point with measured power? */
bool judging_tells_power(const judging *all);

#endif
