/**
 * Hur & Lee's (2024) stacking: a random forest and boosted trees tell the seconds on the target
 * from the features of the source's run and of the two devices, and histogram-boosted trees tell
 * the seconds from what these two say. The upper ones learn from parts of the rows that the lower
 * ones did not see (5, at random).
 *
 * Boosted trees are XGBoost's where the authors took CatBoost; features are those of space.h: what
 * is monotonous in a metric of one device is the same to a tree.
 */
#ifndef CROSSGPU_STACKING_H
#define CROSSGPU_STACKING_H

#include "crossgpu/pairs.h"
#include "learn/learner.h"

typedef struct stacking {
    learner *lower[2], *upper;
} stacking;

/** LM_E_UNSUPPORTED without XGBoost, LM_E_ARG for fewer than 10 rows, LM_E_NOMEM. */
lm_status stacking_fit(const selection *rows, uint64_t seed, stacking *out, lm_error *err);
void      stacking_free(stacking *s);

/** Seconds on the target by the features of a pair. LM_E_NOMEM. */
lm_status stacking_seconds(const stacking *s, const double *x, double *out, lm_error *err);

/** Its text, both ways, of a space of that many features of a pair. */
void stacking_text(lines *l, size_t n_features, stacking *s);

#endif
