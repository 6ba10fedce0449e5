/** Runs of few epochs, which no autocorrelation tells; for core/epochs. */
#ifndef EPOCHS_FEW_H
#define EPOCHS_FEW_H

#include "epochs/series.h"

#define FEW_MAX 12

/** A run that is told whole. */
typedef struct few_epochs {
    size_t n;                  /**< epochs that are alike, 2 or more */
    double place[FEW_MAX + 1]; /**< s: where they begin, and where the last ends */
    double alike[FEW_MAX];
    double quality; /**< median of them */
    double bin;     /**< s: resolution */
} few_epochs;

/**
 * Looks for marks (marks.h) that make a whole run of what is there, idle before it: at most
 * two longer epochs, the second no longer than the first, then epochs of equal length that are
 * alike and hold no marks as large, or one each, and less than one more behind them. Ends of
 * training are marks, too. Of such runs the one with the most epochs, of those the one whose epochs
 * are most alike; at several resolutions.
 *
 * @param least how alike two epochs must be, as the median of n: alike + few / n
 * @return LM_E_NOTFOUND if there is none; LM_E_NOMEM
 */
lm_status few_find(const series *s, double alike, double few, few_epochs *out, lm_error *err);

#endif
