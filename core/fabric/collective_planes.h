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

/** Relative least squares without negative prices: of `rows` rows of n columns one behind the other,
 * which are divided by their seconds. */
lm_status planes_solve(double *x, const double *seconds, size_t rows, size_t n, double *price,
                       lm_error *err);

/** One plane through all rows, by this set of columns. */
lm_status planes_fit_one(const fit_row *row, size_t n, unsigned columns, sync_plane *out,
                         lm_error *err);

/** Two planes into out->plane, if a border between small and large messages leaves enough rows for
 * each. out->n_planes is 2 then, and stays as it was otherwise. Changes row[].second. */
lm_status planes_fit_two(fit_row *row, size_t n, unsigned columns, fabric_model *out,
                         lm_error *err);

/** The fitted loss of a plane: the sum of Huber's losses. */
double planes_loss(const fit_row *row, size_t n, const sync_plane *plane);

/** Sorts n values and drops repeated ones, in place. Returns how many are left. */
size_t planes_distinct(double *value, size_t n);

#endif
