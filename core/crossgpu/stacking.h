/**
 * Stacking by Hur & Lee (2024). A random forest and boosted trees predict the seconds on the target
 * from the features of the source's run and of the two devices. Histogram-boosted trees predict the
 * seconds from these two predictions; they learn from 5 random parts of the rows, each unseen by
 * the lower learners.
 *
 * The authors' boosted trees are CatBoost's. XGBoost's replace them here, because Debian, the
 * source of this program's packages, has no CatBoost. No feature is a category, so CatBoost's
 * treatment of categories would not matter. Its symmetric trees and ordered boosting are missing.
 * Features are those of space.h: a tree does not distinguish monotonous functions of a metric of
 * one device.
 */
#ifndef CROSSGPU_STACKING_H
#define CROSSGPU_STACKING_H

#include "crossgpu/pairs.h"
#include "learn/learner.h"

typedef struct stacking {
    learner *lower[2]; /**< NULL: a single learner */
    learner *upper;
} stacking;

/** @param alone a single learner of the stack; N_LEARNERS: the stack. LM_E_UNSUPPORTED without
 *              XGBoost, LM_E_ARG for fewer than 10 rows, LM_E_NOMEM. */
lm_status stacking_fit(const selection *rows, learner_kind alone, uint64_t seed, stacking *out,
                       lm_error *err);
void      stacking_free(stacking *s);

/** Seconds on the target by the features of a pair. LM_E_NOMEM. */
lm_status stacking_seconds(const stacking *s, const double *x, double *out, lm_error *err);

/** Writes or reads its text, for so many features of a pair. `whole`: the stack, not a single
 * learner. */
void stacking_text(lines *l, size_t n_features, bool whole, stacking *s);

#endif
