/** Chooses the next point of a sweep, estimates its time, and the gain of a longer run. */
#ifndef CALIBRATE_CHOOSER_H
#define CALIBRATE_CHOOSER_H

#include "fit/calibration.h"
#include "measure/harness.h"
#include "observe/points.h"

#define CHOOSER_NONE ((size_t)-1)

typedef struct chooser chooser;

/** Goal of a run. */
typedef struct chooser_aim {
    const char        *networks; /**< "resnet50,vgg16"; NULL: a selection of the known networks */
    bool               own_only; /**< the sweep's own networks: only times matter, not choices */
    const calibration *known;    /**< initial estimates of times; NULL: a guess */
    bool virtual;                /**< simulated */
} chooser_aim;

/**
 * Makes a chooser. If there are several element types and settings, it uses those of the plan's
 * first network: the others give it no information, at the same cost.
 *
 * Rank 0 only. `plan` and `loads` must outlive it.
 */
lm_status chooser_new(const sweep *plan, workloads *loads, const chooser_aim *aim, chooser **out,
                      lm_error *err);
void      chooser_free(chooser *c);

/** Points of an earlier run. */
lm_status chooser_recall(chooser *c, const points *earlier, lm_error *err);

/** Point `at` must not be measured (again). */
void chooser_drop(chooser *c, size_t at);

/** Point `at` was measured in `seconds`. */
lm_status chooser_learn(chooser *c, size_t at, const point_result *r, double seconds,
                        lm_error *err);

/**
 * Point `at` was measured again: the better time replaces the doubtful one (flags.h). Takes effect
 * with chooser_settle().
 */
lm_status chooser_learn_again(chooser *c, size_t at, const point_result *r, lm_error *err);

/** Repeats the fit to all results, before the final questions. */
lm_status chooser_settle(chooser *c, lm_error *err);

/** Time of a point, expected or measured; and the sum for all points that are left: see cost.h. */
double chooser_cost(const chooser *c, size_t at);
double chooser_cost_left(const chooser *c, size_t *n_left);

/**
 * The point with the most information per second that takes at most `seconds`. If no point gives
 * information, the first one in the file that fits. CHOOSER_NONE if none fits.
 */
size_t chooser_next(const chooser *c, double seconds);

/** Expected 90 % interval of the wanted networks' steps, relative (design_width()). */
double chooser_width(const chooser *c);
/**
 * The same after `seconds` more. *n: number of points; order: NULL, or room for all points of the
 * sweep.
 */
lm_status chooser_forecast(const chooser *c, double seconds, double *width, size_t *n,
                           size_t *order, lm_error *err);

/** The wanted networks, as text. */
const char *chooser_asked_for(const chooser *c);

#endif
