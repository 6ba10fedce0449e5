/** Points of single layers, prepared for the model of single layers (single/model.h). */
#ifndef FIT_SINGLES_H
#define FIT_SINGLES_H

#include "counts/shape.h"
#include "device/power.h"
#include "fit/split.h"
#include "observe/points.h"

/** Phases of a single layer that have prices. */
#define N_SINGLES_PHASES 5
extern const phase singles_phases[N_SINGLES_PHASES];

struct layer_run; /* counts/layer_class.h */

/** Passes that a single layer ran in a phase of its point. */
struct layer_run singles_run(const point *pt, phase f, double multiprocessors);

struct layer_model; /* single/model.h */
struct layer_asker;

/**
 * Seconds of a layer and their shares by bound (single/busy.h). Without a price the seconds are NAN
 * and the shares are none. LM_E_NOMEM
 */
lm_status singles_load(struct layer_asker *by, const layer_shape *s, const struct layer_run *run,
                       power_load *out, double *seconds, lm_error *err);

/** Fits all classes of layers that have enough times. */
lm_status singles_fit(const points *p, struct layer_model *out, lm_error *err);

struct residual_trees; /* learn/lesson.h */

/**
 * Learns one residual for several machines, each with its own points and model: learned_fit_pool().
 */
lm_status singles_learn_pool(const points *const *p, struct layer_model *const *m, size_t n,
                             struct residual_trees *judged, lm_error *err);

/**
 * Seconds of each phase of each point, by fits that did not see the point's fold; without folds by
 * the fit to all points.
 *
 * @param learned use a residual, learned without the fold, too
 * @param seconds n_points x N_PHASES; unchanged where the model has no prediction: unknown class,
 *                nothing measured, too few other points
 */
lm_status singles_left_out(const points *p, const split *by, bool learned, double *seconds,
                           lm_error *err);

/** The same by a given model, for all phases; networks by their layers. */
lm_status singles_by_model(const points *p, const struct layer_model *m, bool learned,
                           double *seconds, lm_error *err);

#endif
