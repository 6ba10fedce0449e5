/** Observations prepared for fits: a point is one configuration with all its times and counts. */
#ifndef OBSERVE_POINTS_H
#define OBSERVE_POINTS_H

#include "base/arena.h"
#include "base/names.h"
#include "counts/features.h"
#include "counts/shape.h"
#include "device/device.h"
#include "network/phase.h"
#include "observe/observation.h"
#include "observe/workloads.h"

typedef struct point {
    const observation *row;   /**< its first row: name, input, batch, ranks */
    const char        *input; /**< shape of one sample in use, "3x224x224"; collectives: "" */
    workload           load;
    /** workload of the forward pass in evaluation mode, if that was measured: point_load() */
    workload evaluated;
    /**
     * index into points.group, the unit of leaving out. It is the row's group, or its network; for
     * a block the network, if that was measured, too. All collectives are one group
     */
    size_t             group;
    uint32_t           flags;      /**< union of the flags of its rows (flags.h) */
    const layer_shape *shape;      /**< of a single layer that has a shape; else NULL */
    collective_kind    collective; /**< the row's collective, or that of its gradients */
    /** its all-reduce has another algorithm: see points_choose_algorithm() */
    bool   other_algorithm;
    double seconds[N_PHASES];              /**< NAN: not measured, or left out */
    double watts[N_PHASES], mhz[N_PHASES]; /**< power and clock in that time; NAN: unknown */
    int    line[N_PHASES];                 /**< line of each time in the file; 0: none */
    const observation *inference;          /**< the row of PHASE_INFERENCE; NULL: none */
    /**
     * For a network with gradients in buckets on several ranks: all times as measured. `seconds`
     * lacks those that points_takes() refuses. Else NAN.
     */
    double beside[N_PHASES];
    /**
     * For a network on several ranks of a host: measured passes without messages, and update.
     * `seconds` lacks these if the ranks shared cores that one rank alone had in another
     * measurement. Else NAN.
     */
    double together[N_PHASES];
    /**
     * A step of replicas under a layout, which may have several micro-steps: `seconds` lacks it, as
     * no model of passes can use it. Else NAN.
     */
    double accumulated;
} point;

typedef struct points {
    point       *point;
    size_t       n_points;
    const char **group; /**< names; the observations own the texts */
    size_t       n_groups;
    size_t       collectives; /**< group of separately measured collectives; NAMES_NONE: none */
    /**
     * rows of single kernels, and rows of single layers in a file with whole networks: no model
     * uses them
     */
    size_t n_kernel_rows, n_layer_rows;
    size_t n_other_optimizer; /**< points whose update is ignored: models know one optimizer */
    /** points left out because the same was measured without these flags */
    size_t n_flagged_out;
    size_t n_flagged_used; /**< flagged points in use, because there is no better measurement */
    struct arena *terms;   /**< owns the terms of the workloads */
    struct arena *shapes;  /**< owns the points' shapes */
    workloads    *loads;   /**< source of the networks */
    double        multiprocessors;          /**< of the device; 0: unknown */
    double        figure[N_DEVICE_FIGURES]; /**< of its datasheet; NAN: unknown */
    /** prices of single layers of the same device, which compose networks; NULL: none. Not owned */
    struct layer_model *layers;
    bool                wants_power; /**< powers are fitted, too */
    /** features for formulas and learned models (feature_set.h); NULL: all */
    const char *features;
    const char *algorithm; /**< argument of points_choose_algorithm(); NULL: not called */
    /** doubts about the times (doubts.h); some of these times are left out */
    struct doubts *doubts;
} points;

/**
 * Joins the rows of each configuration and counts its network. Steps under a layout are not points:
 * a rank then computes another network than the row's (predict/laid_fit.h). Steps of replicas are
 * (observation.accumulation), without `seconds`. Rows under a lower
 * power limit than the highest of the file are not points either (device/limits.h).
 *
 * Single layers become points only if no network was measured, because their coefficients differ
 * from those within networks: there, launches overlap work, and caches are warm. Repeated
 * measurements stay separate points unless flags show which is better. A time flagged contended,
 * throttled or drifted is left out (NAN) if the same was measured without these flags; otherwise
 * the fastest such time counts once. Repetitions of an anchor are left out if the point itself is
 * there, so that it has no extra weight. Errors name the row.
 */
lm_status points_from(const observations *obs, workloads *loads, points *out, lm_error *err);
void      points_free(points *p);

/** The network of a row, in training or in evaluation mode. */
workload_name row_workload(const observation *row, bool evaluation);

/** Hash of a configuration. configuration_same(): do two rows have the same configuration? */
uint64_t configuration_hash(const observation *row);
bool     configuration_same(const observation *a, const observation *b);

/**
 * Counts each point of `obs` with its own settings. A network that refuses its input is noted in
 * p->doubts and removed, with groups that become empty. points_from() calls this.
 */
lm_status points_count_loads(const observations *obs, workloads *loads, points *p, lm_error *err);

/** Counts the terms of all networks again, with other constants. */
lm_status points_count_terms(points *p, workloads *loads, const term_settings *s, lm_error *err);

/**
 * Chooses the optimizer that models know: momentum if it was measured, else that of the first row.
 * Call it row by row, with NULL first.
 */
const char *points_usual_optimizer(const char *so_far, const observation *row);

/** Were its gradients sent in buckets during the backward pass? */
bool point_in_buckets(const point *p);

/**
 * Do fits use the time of this phase in such a row? They do not use updates by another optimizer
 * than the usual one. For networks with gradients in buckets they do not use the backward pass,
 * because it shared cores, memory and links with messages. They also do not use the exposed part of
 * those all-reduces, and steps that include it. Steps under a layout are for curves of jobs alone.
 */
bool points_takes(const observation *row, const char *usual_optimizer, phase f);

/**
 * Chooses the all-reduces for PHASE_SYNC: rows with this `algorithm`. By default points_from() uses
 * all except those measured for comparison (fabric/kind.h), so the library's choice, as training
 * does. A forced ring shows a network's latency and bandwidth for any library; buckets use
 * nonblocking all-reduces.
 *
 * @return LM_E_ARG if there is none
 */
lm_status points_choose_algorithm(points *p, const char *algorithm, lm_error *err);

/** Workload of a time: that of the step, or of the forward pass in evaluation mode. */
const workload *point_load(const point *p, phase which);

/** Measured seconds of a part at a point, from its phases. NAN if a phase is missing or the point
 * has no such part (several nodes only, ...). */
double point_seconds(const point *p, phase which);

/** The parts that at least one point has. */
void points_measured(const points *p, bool out[N_TIMES]);

#endif
