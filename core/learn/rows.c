/* Rows that all learners learn from. */
#include "learn/rows.h"

#include <math.h>

lm_status learn_rows_check(const learn_rows *r, size_t most, lm_error *err)
{
    if (!r->n || !r->n_features || r->n_features > most)
        return lm_error_set(err, LM_E_ARG, "%zu rows of %zu features to learn from", r->n,
                            r->n_features);
    for (size_t i = 0; i < r->n; i++) {
        if (!isfinite(r->y[i]))
            return lm_error_set(err, LM_E_ARG, "row %zu: %g to be told", i + 1, r->y[i]);
        for (size_t k = 0; k < r->n_features; k++)
            if (!isfinite(r->x[i * r->n_features + k]))
                return lm_error_set(err, LM_E_ARG, "row %zu: feature %zu is %g", i + 1, k + 1,
                                    r->x[i * r->n_features + k]);
    }
    return LM_OK;
}
