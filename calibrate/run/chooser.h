/** Chooses the next point of a sweep, its expected time, and the gain of more time. */
#ifndef CALIBRATE_CHOOSER_H
#define CALIBRATE_CHOOSER_H

#include "fit/calibration.h"
#include "measure/harness.h"
#include "observe/points.h"

#define CHOOSER_NONE ((size_t)-1)

typedef struct chooser chooser;

/** Purpose of a run. */
typedef struct chooser_aim {
    const char        *networks; /**< "resnet50,vgg16"; NULL: a spread of those known by name */
    bool               own_only; /**< the sweep's own networks: costs matter, choices do not */
    const calibration *known;    /**< expected times to begin with; NULL: a guess */
    bool virtual;                /**< simulated */
} chooser_aim;

/**
 * Of several element types and settings it aims at those of the plan's first network: others tell
 * it nothing, and cost what these would.
 *
 * Rank 0 only. `plan` and `loads` must outlive it.
 */
lm_status chooser_new(const sweep *plan, workloads *loads, const chooser_aim *aim, chooser **out,
                      lm_error *err);
void      chooser_free(chooser *c);

/** Points that were measured by an earlier run. */
lm_status chooser_recall(chooser *c, const points *earlier, lm_error *err);

/** Point `at` is not to be measured (again). */
void chooser_drop(chooser *c, size_t at);

/** Point `at` was measured; it took `seconds` in all. */
lm_status chooser_learn(chooser *c, size_t at, const point_result *r, double seconds,
                        lm_error *err);

/** Point `at` was measured once more: instead of a time that was doubted (flags.h) the better one
 * counts. Takes effect with chooser_settle(). */
lm_status chooser_learn_again(chooser *c, size_t at, const point_result *r, lm_error *err);

/** Fits again to all that was learned: before what follows is asked for a last time. */
lm_status chooser_settle(chooser *c, lm_error *err);

/** Seconds that a point will take, or took, and all that are left together: see cost.h. */
double chooser_cost(const chooser *c, size_t at);
double chooser_cost_left(const chooser *c, size_t *n_left);

/**
 * The point that tells most per second within `seconds`; where none tells anything, the first of
 * the file that fits; CHOOSER_NONE if none does.
 */
size_t chooser_next(const chooser *c, double seconds);

/** Expected 90 % interval of the step of what is asked for, relative (design_width()). */
double chooser_width(const chooser *c);
/** The same after `seconds` more. *n: points; order: NULL, or room for all points of the sweep. */
lm_status chooser_forecast(const chooser *c, double seconds, double *width, size_t *n,
                           size_t *order, lm_error *err);

/** What is asked for, in words. */
const char *chooser_asked_for(const chooser *c);

#endif
