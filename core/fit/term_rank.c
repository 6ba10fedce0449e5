/* How many coefficients of terms rows tell apart. */
#include "fit/term_rank.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"

/* Squared distance of a column of length 1 from those before it. */
#define NEAR 1e-10

/* Products of all pairs of columns, these of length 1; those of zeros stay so. */
static void multiply(const shrink_rows *r, double *of)
{
    const size_t n = r->n_terms;
    double       length[N_TERMS];

    if (n)
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)n, (int)r->n, 1, r->relative,
                    (int)n, 0, of, (int)n);
    for (size_t i = 0; i < n; i++)
        length[i] = sqrt(of[i * n + i]);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++) {
            if (length[i] > 0 && length[k] > 0)
                of[i * n + k] /= length[i] * length[k];
            of[k * n + i] = of[i * n + k];
        }
}

lm_status term_rank(const shrink_rows *r, size_t *out, lm_error *err)
{
    const size_t n             = r->n_terms;
    bool         used[N_TERMS] = { false };
    double      *of            = calloc(n * n + 1, sizeof *of);

    if (!of)
        return no_memory(err);
    multiply(r, of);
    for (*out = 0;; ++*out) {
        size_t  pivot = n;
        double *row;

        for (size_t i = 0; i < n; i++)
            if (!used[i] && (pivot == n || of[i * n + i] > of[pivot * n + pivot]))
                pivot = i;
        if (pivot == n || !(of[pivot * n + pivot] > NEAR))
            break;
        used[pivot] = true;
        row         = &of[pivot * n];
        for (size_t i = 0; i < n; i++) /* what is left of the others without it */
            for (size_t k = 0; k < n && !used[i]; k++)
                if (!used[k])
                    of[i * n + k] -= row[i] * row[k] / row[pivot];
    }
    free(of);
    return LM_OK;
}
