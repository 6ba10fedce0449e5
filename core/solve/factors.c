/* Factors on parts of times. */
#include "solve/factors.h"

#include <stdlib.h>

#include "base/no_memory.h"
#include "solve/robust.h"

#define ROUNDS 5

lm_status factors_rows_new(size_t n, size_t most, factors_rows *out, lm_error *err)
{
    *out = (factors_rows){ .a = malloc((most * n + 1) * sizeof *out->a),
                           .b = malloc((most + 1) * sizeof *out->b),
                           .n = n };
    return out->a && out->b ? LM_OK : no_memory(err);
}

void factors_rows_free(factors_rows *r)
{
    free(r->a);
    free(r->b);
}

void factors_rows_add(factors_rows *r, const double *part, double fixed, double seconds)
{
    for (size_t k = 0; k < r->n; k++)
        r->a[r->rows * r->n + k] = part[k] / seconds;
    r->b[r->rows++] = 1 - fixed / seconds;
}

lm_status factors_rows_fit(const factors_rows *r, const double *ridge, double huber,
                           double *factor, lm_error *err)
{
    const robust_problem p = { .a      = r->a,
                               .b      = r->b,
                               .rows   = r->rows,
                               .places = r->n,
                               .n      = r->n,
                               .mu     = ridge,
                               .ridge  = FACTORS_RIDGE,
                               .near   = 1,
                               .huber  = huber,
                               .rounds = ROUNDS - 1,
                               .begins = true };
    robust_work          w = { 0 };
    lm_status            status;

    if (!r->rows)
        return lm_error_set(err, LM_E_ARG, "there are no measurements to correct by");
    status = robust_solve(&p, factor, &w, err);
    robust_work_free(&w);
    return status;
}
