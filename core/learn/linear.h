/** Linear regression by ordinary least squares, of as many features as there are. */
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
 * Of several minimisers, as of words that are spelt out as one flag each, it takes the shortest:
 * any number of rows will do, and features that are the same in all rows have factor 0.
 *
 * @return LM_E_ARG without rows, for 0 or too many features, and for values that are not finite;
 *         LM_E_NOMEM
 */
lm_status linear_train(const learn_rows *rows, linear **out, lm_error *err);
void      linear_free(linear *l);

/** What one row of features comes to. Pure. */
double linear_predict(const linear *l, const double *x);

/** Its text, both ways: two lines. */
void linear_text(lines *l, linear **both);

#endif
