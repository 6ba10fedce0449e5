/* How many coefficients of terms rows tell apart. */
#include "fit/term_rank.h"

#include <math.h>
#include <stdlib.h>

/* Squared distance of a column of length 1 from those before it. */
#define NEAR 1e-10

void term_products_open(term_products *p)
{
    p->of = calloc((size_t)N_TERMS * N_TERMS, sizeof *p->of);
    p->n  = 0;
    for (size_t t = 0; t < N_TERMS; t++)
        p->place[t] = N_TERMS;
}

void term_products_free(term_products *p)
{
    free(p->of);
    p->of = NULL;
}

void term_products_add(term_products *p, const term_vector *terms, double seconds)
{
    for (size_t i = 0; i < terms->n; i++)
        if (p->place[terms->item[i].term] == N_TERMS)
            p->place[terms->item[i].term] = p->n++;
    for (size_t i = 0; i < terms->n; i++) {
        double      *row = &p->of[p->place[terms->item[i].term] * N_TERMS];
        const double x   = terms->item[i].value / seconds;

        for (size_t k = 0; k < terms->n; k++)
            row[p->place[terms->item[k].term]] += x * (terms->item[k].value / seconds);
    }
}

/* All columns to length 1; those of zeros stay so. */
static void scale(term_products *p)
{
    double length[N_TERMS];

    for (size_t i = 0; i < p->n; i++)
        length[i] = sqrt(p->of[i * N_TERMS + i]);
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < p->n; k++)
            if (length[i] > 0 && length[k] > 0)
                p->of[i * N_TERMS + k] /= length[i] * length[k];
}

size_t term_products_rank(term_products *p)
{
    bool   used[N_TERMS] = { false };
    size_t rank          = 0;

    scale(p);
    for (;; rank++) {
        size_t  pivot = N_TERMS;
        double *row;

        for (size_t i = 0; i < p->n; i++)
            if (!used[i] &&
                (pivot == N_TERMS || p->of[i * N_TERMS + i] > p->of[pivot * N_TERMS + pivot]))
                pivot = i;
        if (pivot == N_TERMS || !(p->of[pivot * N_TERMS + pivot] > NEAR))
            return rank;
        used[pivot] = true;
        row         = &p->of[pivot * N_TERMS];
        for (size_t i = 0; i < p->n; i++) /* what is left of the others without it */
            for (size_t k = 0; k < p->n && !used[i]; k++)
                if (!used[k])
                    p->of[i * N_TERMS + k] -= row[i] * row[k] / row[pivot];
    }
}
