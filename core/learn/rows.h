/** Training data of all learners: rows of features, and a value for each row. */
#ifndef LEARN_ROWS_H
#define LEARN_ROWS_H

#include <stddef.h>

#include <layermeter/error.h>

typedef struct learn_rows {
    const double *x; /**< n x n_features, row by row */
    const double *y; /**< n */
    size_t        n, n_features;
} learn_rows;

/** LM_E_ARG for no rows or features, more than `most` features, and values that are not finite. */
lm_status learn_rows_check(const learn_rows *r, size_t most, lm_error *err);

#endif
