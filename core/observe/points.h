/** Observations as fits see them: one point is one configuration with all its times and counts. */
#ifndef OBSERVE_POINTS_H
#define OBSERVE_POINTS_H

#include "base/arena.h"
#include "base/names.h"
#include "counts/features.h"
#include "counts/shape.h"
#include "network/phase.h"
#include "observe/observation.h"
#include "observe/workloads.h"

typedef struct point {
    const observation *row;   /**< the first of its rows: name, input, batch, ranks */
    const char        *input; /**< shape of one sample in use, "3x224x224"; collectives: "" */
    workload           load;
    size_t   group; /**< index into points.group: what it is left out with, its row's group or the
                     network; the collectives are one group */
    uint32_t flags; /**< of each of its rows (flags.h) */
    const layer_shape *shape;              /**< of a single layer that has one; else NULL */
    collective_kind    collective;         /**< its own, or that of gradients */
    bool               other_algorithm;    /**< of its all-reduce: see points_choose_algorithm() */
    double             seconds[N_PHASES];  /**< NAN: not measured */
    double watts[N_PHASES], mhz[N_PHASES]; /**< power and clock meanwhile; NAN: unknown */
    int    line[N_PHASES];                 /**< of each of them in the file; 0: none */
    /** Of a network whose gradients went in buckets on several ranks, its times as they were
     * measured, of which `seconds` lacks what points_takes() refuses; else NAN. */
    double beside[N_PHASES];
    /** Of a network on several ranks of a host its passes beside no message and its update, as they
     * were measured; `seconds` lacks them where ranks kept each other from cores that one of them
     * alone had when it was measured. Else NAN. */
    double together[N_PHASES];
} point;

typedef struct points {
    point       *point;
    size_t       n_points;
    const char **group; /**< names; text of the observations */
    size_t       n_groups;
    size_t       collectives; /**< the group of bare collectives; NAMES_NONE: there are none */
    size_t n_kernel_rows, n_layer_rows; /**< of single kernels, and of single layers beside whole
                                           networks: no model uses them */
    size_t n_other_optimizer;  /**< points whose update is left out: models know one optimizer */
    size_t n_flagged_out;      /**< points left out, as the same was measured without these flags */
    size_t n_flagged_used;     /**< flagged points that are used, as there is nothing better */
    struct arena       *terms; /**< owns those of the points' workloads */
    struct arena       *shapes;          /**< owns the points' shapes */
    workloads          *loads;           /**< whose networks they are */
    double              multiprocessors; /**< of the device; 0: unknown */
    struct layer_model *layers; /**< prices of single layers on the same device, of which networks
                                   are composed; NULL: none. Not owned */
    bool                wants_power; /**< are powers asked for, too? */
    const char         *algorithm;   /**< of points_choose_algorithm(); NULL: none was chosen */
    struct doubts *doubts; /**< what its times leave to be asked (doubts.h), some left out for it */
} points;

/**
 * Joins the rows of each configuration and counts its network. Single layers are points like
 * networks where no network was measured; beside networks they are none, as their coefficients are
 * others: within networks launches hide behind work, and caches are warm. Repeated measurements of
 * one time in one configuration stay separate points, unless flags tell which is the better: a time
 * that is flagged contended, throttled or drifted is left out (NAN) where the same was measured
 * without, else the fastest such time counts, once; repetitions of an anchor are left out beside
 * the point they repeat, which must not count more than others. Errors name the row.
 */
lm_status points_from(const observations *obs, workloads *loads, points *out, lm_error *err);
void      points_free(points *p);

/** A configuration as a number, and whether two rows are of one. */
uint64_t configuration_hash(const observation *row);
bool     configuration_same(const observation *a, const observation *b);

/** Counts the terms of all networks again, with other constants. */
lm_status points_count_terms(points *p, workloads *loads, const term_settings *s, lm_error *err);

/** Models know one optimizer: momentum where it was measured, else that of the first row. To be
 * asked row by row, from NULL on. */
const char *points_usual_optimizer(const char *so_far, const observation *row);

/** Did its gradients travel in buckets while the backward pass went on? */
bool point_in_buckets(const point *p);

/**
 * Do fits take the time of this phase from such a row? Not the update of another optimizer than the
 * usual one; and of networks whose gradients went in buckets neither what was left of the
 * all-reduce behind the backward pass, which is no all-reduce's time, nor that pass: it shared
 * cores, memory and links with them. A step that holds such a part is not taken either.
 */
bool points_takes(const observation *row, const char *usual_optimizer, phase f);

/**
 * Which all-reduces PHASE_SYNC is fitted to: those whose rows say `algorithm`. points_from() takes
 * all but those measured beside (sync/kind.h): the library's own choice, which is what training
 * uses. A forced ring shows a network's latency and bandwidth, whatever a library does; nonblocking
 * ones are what buckets wait for.
 *
 * @return LM_E_ARG if there is none
 */
lm_status points_choose_algorithm(points *p, const char *algorithm, lm_error *err);

/** Measured seconds of a part at a point, from the phases it is made of; NAN if one is missing or
 * the part does not exist there (several nodes only, ...). */
double point_seconds(const point *p, phase which);

/** Which parts any point has measured. */
void points_measured(const points *p, bool out[N_TIMES]);

#endif
