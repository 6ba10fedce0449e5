/** Measured steps in buckets, predicted. */
#ifndef FIT_OVERLAP_POINTS_H
#define FIT_OVERLAP_POINTS_H

#include "fit/exposed.h"
#include "fit/split.h"

/** Predicted seconds of a point_in_buckets(); NAN: of others, and where a fit knows too little. */
typedef struct overlapped_point {
    double exposed; /**< from the end of a rank's backward pass to the last sum: with the wait for
                       the slowest of the ranks */
    double step;
} overlapped_point;

/**
 * By coefficients made elsewhere, or of fits that did not see the point's fold (without folds: to
 * all).
 *
 * @param cal NULL: fits
 * @param out n_points of them
 */
lm_status overlap_points(const points *p, const char *model, const split *by,
                         const calibration *cal, overlapped_point *out, lm_error *err);

#endif
