/**
 * Stacking by Hur & Lee (2024). A random forest and boosted trees predict the seconds on the target
 * from the features of the source's run and of the two devices. Histogram-boosted trees predict the
 * seconds from these two predictions; they learn from 5 random parts of the rows, each unseen by
 * the lower learners.
 *
 * The authors' boosted trees are CatBoost's. XGBoost's stand in for them here: Debian, whose
 * packages this program is built from, has no CatBoost. What CatBoost adds for categories is not
 * missed, as no feature is one; its symmetric trees and ordered boosting are. Features are those of
 * space.h: a tree does not distinguish monotonous functions of a metric of one device.
 */
#ifndef CROSSGPU_STACKING_H
#define CROSSGPU_STACKING_H

#include "crossgpu/pairs.h"
#include "learn/learner.h"

typedef struct stacking {
    learner *lower[2]; /**< NULL: a learner by itself */
    learner *upper;
} stacking;

/** @param alone a learner of the stack by itself; N_LEARNERS: the stack. LM_E_UNSUPPORTED without XGBoost, LM_E_ARG for fewer than 10 rows, LM_E_NOMEM. */
lm_status stacking_fit(const selection *rows, learner_kind alone, uint64_t seed, stacking *out,
                       lm_error *err);
void      stacking_free(stacking *s);

/** Seconds on the target by the features of a pair. LM_E_NOMEM. */
lm_status stacking_seconds(const stacking *s, const double *x, double *out, lm_error *err);

/** Its text, both ways, of a space of that many features of a pair. `whole`: not a learner alone. */
void stacking_text(lines *l, size_t n_features, bool whole, stacking *s);

#endif
