/** Predicted and measured times, point by point. */
#ifndef FIT_COMPARISON_H
#define FIT_COMPARISON_H

#include "base/stats.h"
#include "fit/calibration.h"
#include "fit/form_data.h"

/**
 * Predicted and measured seconds at one point; NAN: not measured, or the model does not predict it.
 */
typedef struct comparison {
    double part[N_TIMES]; /**< predicted parts that the model has a formula for */
    double predicted[N_TIMES], measured[N_TIMES];
    double low[N_TIMES], high[N_TIMES];             /**< of the prediction interval; NAN: unknown */
    double watts[N_TIMES], measured_watts[N_TIMES]; /**< mean power during that time */
    /** a network as the sum of single layers, without factors of networks: its error is unknown */
    bool summed;
} comparison;

/** Fills in only the measured times and powers; the predicted ones become NAN. */
void compare_measured(const point *pt, comparison *out);

/**
 * Compares one model with each point (out: n_points). Points are predicted by fits that did not see
 * their fold, as in form_data_predict(). low and high become NAN.
 *
 * @param by  split of the points
 * @param cal coefficients and bounds from elsewhere, which predict all points; NULL: none
 */
lm_status compare_points(const points *p, const char *model, const split *by,
                         const calibration *cal, comparison *out, lm_error *err);

/**
 * compare_points() for compare_intervals(). Single layers without a group are not predicted,
 * because intervals do not use them here.
 *
 * @param left_out per form: seconds at the points, by fits that did not see their fold; NULL for
 *                 forms that must be fitted here
 */
lm_status compare_networks(const points *p, const char *model, const split *by_network,
                           const double *const *left_out, comparison *out, lm_error *err);

/**
 * Intervals of a model, for the machine file.
 *
 * They come from cross-validation over networks. With fewer than three networks with all-reduces,
 * all-reduces are left out by number of nodes. 100 or more single layers that form fewer than three
 * groups are left out a tenth at a time. The growth beyond the measured range comes from a fit
 * without the upper octave of batches, or of nodes.
 *
 * @param by_network      split of the points by network
 * @param network_left_out predictions of compare_points() or compare_networks(). They are
 *                     overwritten by other predictions, because a second array for many points
 *                     would be large
 */
lm_status compare_intervals(const points *p, const char *model, const split *by_network,
                            comparison *network_left_out, intervals *out, lm_error *err);

/**
 * Bounds for points that were left out, from the other points.
 *
 * For networks, and for random parts, they come from the ratios of all other folds in
 * compare_points() (similar to CV+; Barber, Candes, Ramdas, Tibshirani 2021, "Predictive inference
 * with the jackknife+"). For numbers of nodes, batches, images or a range, they are
 * compare_intervals() of the rest, as a fit to the rest would state them. Without folds: unknown.
 */
lm_status compare_left_out(const points *p, const char *model, const split *by, comparison *c,
                           lm_error *err);

/**
 * Are the points single layers without a group? Then a new layer is of the same types as these.
 * @param layers all points are single layers
 * @param alike  and none has a group
 */
void compare_of_layers(const points *p, bool *layers, bool *alike);

/** Bounds of the prediction of point i, from known intervals. */
void compare_state_bounds(const points *p, const intervals *known, size_t i, comparison *c);

typedef struct judgement {
    stats_errors errors;
    size_t       n_stated; /**< number of points with an interval */
    double       coverage; /**< share of these inside their interval; NAN: no interval */
    double       width;    /**< median of (high - low) / predicted */
    double       score;    /**< mean of interval_score() */
} judgement;

/** Judges the points of one fold. SPLIT_ALWAYS: all points, also those without a fold. */
judgement validate_judge(const points *p, const comparison *c, phase q, const split *by,
                         size_t fold);

/**
 * Is this time distinct from the others? On one node the update equals PHASE_GRAD.
 */
bool validate_tells(const points *p, phase q);

#endif
