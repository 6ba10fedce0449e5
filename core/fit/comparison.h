/** Predicted and measured times, point by point. */
#ifndef FIT_COMPARISON_H
#define FIT_COMPARISON_H

#include "base/stats.h"
#include "fit/calibration.h"
#include "fit/form_data.h"

/** Predicted and measured seconds at one point; NAN: not measured, or not predicted by this model.
 */
typedef struct comparison {
    double part[N_TIMES]; /**< predicted, of what the model has a formula for */
    double predicted[N_TIMES], measured[N_TIMES];
    double low[N_TIMES], high[N_TIMES];             /**< of the stated interval; NAN: unknown */
    double watts[N_TIMES], measured_watts[N_TIMES]; /**< mean power meanwhile */
} comparison;

/** The measured side alone, powers among it; those predicted become NAN. */
void compare_measured(const point *pt, comparison *out);

/**
 * Compares one model with every point (out: n_points of them). Each point is predicted by fits that
 * did not see its fold, as form_data_predict() has it. low and high become NAN.
 *
 * @param by  split of the points
 * @param cal coefficients made elsewhere, which predict all points whatever their fold, and bounds;
 *            NULL: none
 */
lm_status compare_points(const points *p, const char *model, const split *by,
                         const calibration *cal, comparison *out, lm_error *err);

/** compare_points() for compare_intervals(), which does not look at what is said of single layers
 * that belong to no group: these are not predicted by it.
 *
 * @param left_out of each form the points' seconds by fits that did not see their fold; NULL: of a
 *                 form that they are not at hand of */
lm_status compare_networks(const points *p, const char *model, const split *by_network,
                           const double *const *left_out, comparison *out, lm_error *err);

/**
 * Intervals of a model, as they are written into the machine file.
 *
 * They come from points that were left out network by network. All-reduces of fewer than three
 * networks are left out by number of nodes. 100 single layers or more, without three groups, are
 * left out a tenth at a time. The upper octave of batches, or of nodes, left out as a whole, tells
 * how intervals widen beyond the measured range.
 *
 * @param by_network      split of the points by network
 * @param network_left_out predictions of compare_points() or compare_networks(). It is overwritten
 *                         by the other predictions, as a second one of many points is large
 */
lm_status compare_intervals(const points *p, const char *model, const split *by_network,
                            comparison *network_left_out, intervals *out, lm_error *err);

/**
 * Bounds for points that were left out, by the other points.
 *
 * For networks, or parts drawn at random, they come from the ratios of all other folds, as
 * compare_points() found them (in the spirit of CV+; Barber, Candes, Ramdas, Tibshirani 2021,
 * "Predictive inference with the jackknife+"). For node counts, batches, images or a range they are
 * compare_intervals() of the rest, as a fit to the rest would state them. Without folds: unknown.
 */
lm_status compare_left_out(const points *p, const char *model, const split *by, comparison *c,
                           lm_error *err);

/** Are the points single layers without a group? Then the next one is one more of them, not another
 * type. */
void compare_of_layers(const points *p, bool *layers, bool *alike);

/** Bounds of the prediction of point i, by known intervals. */
void compare_state_bounds(const points *p, const intervals *known, size_t i, comparison *c);

typedef struct judgement {
    stats_errors errors;
    size_t       n_stated; /**< points of which an interval was stated */
    double       coverage; /**< share of them that it holds; NAN: none was stated */
    double       width;    /**< median of (high - low) / predicted */
    double       score;    /**< mean of interval_score() */
} judgement;

/** Judges the points of one fold (SPLIT_ALWAYS: all points, those of no fold too). */
judgement validate_judge(const points *p, const comparison *c, phase q, const split *by,
                         size_t fold);

/** Has it something to say that no other quantity says? On one node the update is PHASE_GRAD. */
bool validate_tells(const points *p, phase q);

#endif
