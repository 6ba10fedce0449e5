/* What is used of LAPACK. */
#include "base/lapack.h"

#include <math.h>
#include <stdlib.h>

/* Fortran's: all by address; lengths of texts behind. */
void dposv_(const char *triangle, const int *n, const int *columns, double *a, const int *lda,
            double *b, const int *ldb, int *info, size_t);
void dpotrf_(const char *triangle, const int *n, double *a, const int *lda, int *info, size_t);
void dpotri_(const char *triangle, const int *n, double *a, const int *lda, int *info, size_t);
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *n_work, int *info);
void dgelss_(const int *m, const int *n, const int *columns, double *a, const int *lda, double *b,
             const int *ldb, double *values, const double *least, int *rank, double *work,
             const int *n_work, int *info);
void dgelsd_(const int *m, const int *n, const int *columns, double *a, const int *lda, double *b,
             const int *ldb, double *values, const double *least, int *rank, double *work,
             const int *n_work, int *i_work, int *info);

static const int one = 1;

bool lapack_solve(double *a, double *b, size_t n)
{
    const int size = (int)n;
    int       info;

    dposv_("U", &size, &one, a, &size, b, &size, &info, 1);
    return info == 0;
}

bool lapack_invert(double *a, size_t n, lapack_triangle t)
{
    const int  size     = (int)n;
    const char which[2] = { (char)t, '\0' };
    int        info;

    dpotrf_(which, &size, a, &size, &info, 1);
    for (size_t i = 0; i < n && !info; i++) /* what is no number is not refused */
        info = isnan(a[i * n + i]);
    if (!info)
        dpotri_(which, &size, a, &size, &info, 1);
    return info == 0;
}

void lapack_qr(double *a, size_t m, size_t n, double *room)
{
    const int rows = (int)m, columns = (int)n, n_work = LAPACK_BLOCK * columns;
    int       info;

    dgeqrf_(&rows, &columns, a, &rows, room, room + n, &n_work, &info);
}

bool lapack_least_vectors(lapack_squares *s, double *room, size_t n_room)
{
    const int m = (int)s->m, n = (int)s->n, most = m > n ? m : n, n_work = (int)n_room;
    int       rank = 0, info;

    dgelss_(&m, &n, &one, s->a, &m, s->b, &most, s->values, &s->least, &rank, room, &n_work, &info);
    s->rank = (size_t)rank;
    return info == 0;
}

bool lapack_least(lapack_squares *s, bool *no_memory)
{
    const int m = (int)s->m, n = (int)s->n, most = m > n ? m : n, ask = -1;
    double    wanted   = 0, *work;
    int       i_wanted = 0, *i_work, rank = 0, info, n_work;

    dgelsd_(&m, &n, &one, s->a, &m, s->b, &most, s->values, &s->least, &rank, &wanted, &ask,
            &i_wanted, &info);
    n_work     = (int)wanted;
    work       = malloc(((size_t)n_work + 1) * sizeof *work);
    i_work     = malloc(((size_t)i_wanted + 1) * sizeof *i_work);
    *no_memory = !work || !i_work;
    if (!*no_memory)
        dgelsd_(&m, &n, &one, s->a, &m, s->b, &most, s->values, &s->least, &rank, work, &n_work,
                i_work, &info);
    free(work);
    free(i_work);
    s->rank = (size_t)rank;
    return !*no_memory && info == 0;
}
