/** How many coefficients of terms rows tell apart by themselves, without what families add. */
#ifndef FIT_TERM_RANK_H
#define FIT_TERM_RANK_H

#include <stddef.h>

#include "features/terms.h"

/** Sums of the products of all pairs of terms: grows row by row. */
typedef struct term_products {
    double *of;             /**< N_TERMS squared; NULL: no memory */
    size_t  place[N_TERMS]; /**< of a term among those that were there; N_TERMS: it was not */
    size_t  n;              /**< how many were */
} term_products;

void term_products_open(term_products *p);
/** A row of a relative fit: terms over seconds. */
void term_products_add(term_products *p, const term_vector *terms, double seconds);

/**
 * Numerical rank of the rows: columns of length 1 that are further from all combinations of the
 * others than 1e-5, by Cholesky's factorisation with pivoting (Higham 2002, "Accuracy and Stability
 * of Numerical Algorithms", section 10.3). What was added is used up.
 */
size_t term_products_rank(term_products *p);
void   term_products_free(term_products *p);

#endif
