/** Observations as fits see them: a point is one configuration with all its times and counts. */
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
    const observation *row;   /**< the first of its rows: name, input, batch, ranks */
    const char        *input; /**< shape of one sample in use, "3x224x224"; collectives: "" */
    workload           load;
    workload
        evaluated;  /**< of its forward pass in evaluation mode, if that was measured: point_load()
                         */
    size_t   group; /**< index into points.group, the unit of leaving out: its row's group or the
                         network, of a block its network if that was measured, too; all
                         collectives are one group */
    uint32_t flags; /**< of each of its rows (flags.h) */
    const layer_shape *shape;              /**< of a single layer that has one; else NULL */
    collective_kind    collective;         /**< its own, or that of gradients */
    bool               other_algorithm;    /**< of its all-reduce: see points_choose_algorithm() */
    double             seconds[N_PHASES];  /**< NAN: not measured, or left out */
    double watts[N_PHASES], mhz[N_PHASES]; /**< power and clock in that time; NAN: unknown */
    int    line[N_PHASES];                 /**< of each time in the file; 0: none */
    /** Of a network with gradients in buckets on several ranks: all times as measured. `seconds`
     * lacks those that points_takes() refuses. Else NAN. */
    double beside[N_PHASES];
    /** Of a network on several ranks of a host: its passes beside no message and its update, as
     * measured. `seconds` lacks them if ranks shared cores that one rank had alone in another
     * measurement. Else NAN. */
    double together[N_PHASES];
} point;

typedef struct points {
    point       *point;
    size_t       n_points;
    const char **group; /**< names; text of the observations */
    size_t       n_groups;
    size_t       collectives; /**< the group of bare collectives; NAMES_NONE: no such group */
    size_t n_kernel_rows, n_layer_rows; /**< rows of single kernels, and of single layers beside
                                             whole networks: no model uses them */
    size_t n_other_optimizer;   /**< points without their update: models know one optimizer */
    size_t n_flagged_out;       /**< points left out for the same measurement without these flags */
    size_t n_flagged_used;      /**< flagged points in use, without a better measurement */
    struct arena       *terms;  /**< owns the terms of the workloads */
    struct arena       *shapes; /**< owns the points' shapes */
    workloads          *loads;  /**< whose networks they are */
    double              multiprocessors;          /**< of the device; 0: unknown */
    double              figure[N_DEVICE_FIGURES]; /**< of its datasheet; NAN: unknown */
    struct layer_model *layers;      /**< prices of single layers of the same device, which compose
                                     networks; NULL: none. Not owned */
    bool                wants_power; /**< are powers fitted, too? */
    const char *features;  /**< that formulas and learned models take (feature_set.h); NULL: all */
    const char *algorithm; /**< of points_choose_algorithm(); NULL: not chosen */
    struct doubts *doubts; /**< doubts about its times (doubts.h); some times were left out for
                                them */
} points;

/**
 * Joins the rows of each configuration and counts its network. Steps under a layout are no points:
 * what a rank computes then is no network of the row's name (predict/laid_fit.h). Nor are rows under a
 * lower power limit than the highest of the file (device/limits.h).
 *
 * Single layers become points if no network was measured. Beside networks they do not, as their
 * coefficients differ: within networks launches hide behind work, and caches are warm. Repeated
 * measurements of one time stay separate points unless flags tell the better one. A time flagged
 * contended, throttled or drifted is left out (NAN) if the same was measured without these flags;
 * else the fastest such time counts, once. Repetitions of an anchor are left out beside the point
 * they repeat, so that it does not count more than others. Errors name the row.
 */
lm_status points_from(const observations *obs, workloads *loads, points *out, lm_error *err);
void      points_free(points *p);

/** The network of a row, in training or in evaluation mode. */
workload_name row_workload(const observation *row, bool evaluation);

/** A number for a configuration; are two rows of one configuration? */
uint64_t configuration_hash(const observation *row);
bool     configuration_same(const observation *a, const observation *b);

/** Counts every point of `obs` under its own settings. A network that refuses its input is noted in p->doubts and left out, with groups that
 * are empty then; points_from() calls it. */
lm_status points_count_loads(const observations *obs, workloads *loads, points *p, lm_error *err);

/** Counts the terms of all networks again, with other constants. */
lm_status points_count_terms(points *p, workloads *loads, const term_settings *s, lm_error *err);

/** Models know one optimizer: momentum if it was measured, else that of the first row. Call it row
 * by row, with NULL first. */
const char *points_usual_optimizer(const char *so_far, const observation *row);

/** Did its gradients travel in buckets while the backward pass went on? */
bool point_in_buckets(const point *p);

/**
 * Do fits take the time of this phase from such a row? Refused are updates by another optimizer
 * than the usual one. Of networks with gradients in buckets the backward pass is refused, as it
 * shared cores, memory and links with messages, and the rest of the all-reduce behind it, which is
 * no all-reduce's time; so are steps with such a part.
 */
bool points_takes(const observation *row, const char *usual_optimizer, phase f);

/**
 * Chooses the all-reduces behind PHASE_SYNC: rows with this `algorithm`. points_from() takes all
 * but those measured beside (fabric/kind.h), thus the library's own choice, which training uses. A
 * forced ring shows a network's latency and bandwidth for any library; buckets wait for nonblocking
 * ones.
 *
 * @return LM_E_ARG if there is none
 */
lm_status points_choose_algorithm(points *p, const char *algorithm, lm_error *err);

/** Workload of a time: the step's, or that of a forward pass in evaluation mode. */
const workload *point_load(const point *p, phase which);

/** Measured seconds of a part at a point, from its phases. NAN if a phase is missing or the point
 * has no such part (several nodes only, ...). */
double point_seconds(const point *p, phase which);

/** Which parts does any point have? */
void points_measured(const points *p, bool out[N_TIMES]);

#endif
