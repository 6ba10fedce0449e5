/**
 * Planes through times of collectives: prices of columns (fabric.h). One plane takes all rows, or
 * the cheaper of two takes each row. Relative, non-negative and robust (Huber's weights).
 */
#ifndef FABRIC_COLLECTIVE_PLANES_H
#define FABRIC_COLLECTIVE_PLANES_H

#include "fabric/collective.h"

/** The bit of a column in a set of them. */
#define COLUMN(c) (1u << (c))

/** A row with its columns. */
typedef struct fit_row {
    double          x[N_SYNC_COLUMNS];
    double          seconds; /**< measured, above 0 */
    collective_call of;
    bool            second; /**< belongs to the second plane */
} fit_row;

/**
 * Relative least squares without negative prices. `x` has `rows` rows of n columns; rows are
 * divided by their seconds.
 */
lm_status planes_solve(double *x, const double *seconds, size_t rows, size_t n, double *price,
                       lm_error *err);

/** Fits one plane with this set of columns to all rows. */
lm_status planes_fit_one(const fit_row *row, size_t n, unsigned columns, sync_plane *out,
                         lm_error *err);

/**
 * Fits two planes into out->plane, if a limit between small and large messages leaves enough rows
 * for each. Then out->n_planes is 2; otherwise it is unchanged. Changes row[].second.
 */
lm_status planes_fit_two(fit_row *row, size_t n, unsigned columns, fabric_model *out,
                         lm_error *err);

/** Loss of a fitted plane: the sum of Huber's losses. */
double planes_loss(const fit_row *row, size_t n, const sync_plane *plane);

/** Sorts n values in place and removes duplicates. Returns the number left. */
size_t planes_distinct(double *value, size_t n);

#endif
