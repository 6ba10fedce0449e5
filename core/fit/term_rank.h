/** How many coefficients of terms rows tell apart by themselves, without what families add. */
#ifndef FIT_TERM_RANK_H
#define FIT_TERM_RANK_H

#include <stddef.h>

#include "fit/shrink_rows.h"

/**
 * Numerical rank of the rows: columns of length 1 that are further from all combinations of the
 * others than 1e-5, by Cholesky's factorisation with pivoting (Higham 2002, "Accuracy and Stability
 * of Numerical Algorithms", section 10.3).
 *
 * @return LM_E_NOMEM
 */
lm_status term_rank(const shrink_rows *r, size_t *out, lm_error *err);

#endif
