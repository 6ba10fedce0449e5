/** Linear regression by ordinary least squares. */
#ifndef LEARN_LINEAR_H
#define LEARN_LINEAR_H

#include "learn/lines.h"
#include "learn/rows.h"

#define LINEAR_FEATURES 4096

/** y = base + sum of factor x feature */
typedef struct linear {
    size_t  n_features;
    double  base;
    double *factor;
} linear;

/**
 * Minimises sum (y - base - factor . x)^2 (LAPACK dgelsd on features of mean 0 and deviation 1).
 * Of several minimisers it takes the shortest. So any number of rows suffices, and constant
 * features have factor 0.
 *
 * @return LM_E_ARG without rows, for 0 or too many features, and for values that are not finite;
 *         LM_E_NOMEM
 */
lm_status linear_train(const learn_rows *rows, linear **out, lm_error *err);
void      linear_free(linear *l);

/** Prediction for one row of features. Pure. */
double linear_predict(const linear *l, const double *x);

/** Reads or writes its text: two lines. */
void linear_text(lines *l, linear **both);

#endif
