/** Learned models of single layers: rows by task, learning, predictions, text. */
#ifndef LAYERWISE_MODEL_H
#define LAYERWISE_MODEL_H

#include "fit/interval.h"
#include "layerwise/layerwise.h"
#include "learn/kept.h"

/** One feature that is in use, and what was learned from. */
typedef struct layerwise_range {
    char           name[LAYERWISE_NAME];
    layerwise_sort sort;
    double         low, high;
} layerwise_range;

/** Rows of one task and target. */
typedef struct layerwise_lot {
    char             task[LAYERWISE_NAME];
    layerwise_target target;
    layerwise_range  feature[LAYERWISE_FEATURES]; /**< without ranges */
    size_t           n_features;
    double          *x, *y; /**< all features, those of devices, too */
    uint64_t        *group;
    phase           *when;
    size_t          *from; /**< `from`: whatever the caller said of the row */
    const device   **on;   /**< datasheets, which must outlive it; NULL: unknown */
    size_t           n, room;
} layerwise_lot;

typedef struct layerwise_data {
    const layerwise_kind *kind;
    const char           *features; /**< or groups of them, in use (feature_set.h); NULL: all */
    layerwise_lot        *lot;
    size_t                n_lots;
} layerwise_data;

/**
 * Adds a case with its value; one without a task is passed over.
 *
 * @param group of the rows that belong together
 * @param from  what tells the row, for layerwise_learn()
 * @return LM_E_ARG for a feature that is no number, LM_E_NOMEM
 */
lm_status layerwise_data_add(layerwise_data *d, const layerwise_case *c, layerwise_target target,
                             double value, uint64_t group, size_t from, lm_error *err);
void      layerwise_data_free(layerwise_data *d);

#define LAYERWISE_DEVICES 32 /**< that a task remembers */

/** A learned task. */
typedef struct layerwise_task {
    char                name[LAYERWISE_NAME];
    layerwise_target    target;
    layerwise_judgement judged;
    interval            interval; /**< on groups that were left out; without ranges */
    /** Of the rows of one phase. Unknown unless the task has several phases and enough groups of
     * this one were left out. */
    interval of_phase[N_PHASES];
    /** Of predictions for each device by a task that was learned without it. Unknown below three
     * devices. */
    interval        unseen;
    char            device[LAYERWISE_DEVICES][LAYERWISE_NAME]; /**< by their datasheets */
    size_t          n_devices;                                 /**< 0: of one device */
    layerwise_range feature[LAYERWISE_FEATURES];
    size_t          n_features;
    void           *learned;
} layerwise_task;

typedef struct layerwise_model {
    const layerwise_kind *kind;
    layerwise_task       *task;
    size_t                n_tasks;
} layerwise_model;

/** Groups of a phase that suffice for an interval of its own: the extremes of so many hold 90 % of
 * what comes next, (n - 1) / (n + 1). */
#define LAYERWISE_PHASE_GROUPS 19

/** The interval of what a task says of a phase: forward passes in training and in inference have
 * one another's, where they lack their own. */
const interval *layerwise_interval(const layerwise_task *t, phase f);

/**
 * Learns each task of which there are enough rows; figures of devices are features where the rows
 * are of several.
 *
 * @param setting of the kind, layerwise_settings()
 * @param wanted  which rows, by what they are `from`; NULL: all
 * @return LM_E_ARG where no task has enough rows, and where a device has no such figure; what the
 *         learner returns
 */
lm_status layerwise_learn(const layerwise_data *d, const double *setting, uint64_t seed,
                          bool (*wanted)(const void *context, size_t from), const void *context,
                          layerwise_model **out, lm_error *err);
void      layerwise_free(layerwise_model *m);

/** "conv", "conv by forest" where there was a choice, "forward by forest, watts". */
#define LAYERWISE_TASK_TEXT (LAYERWISE_NAME + 56)
const char *layerwise_task_text(const layerwise_kind *kind, const layerwise_task *t,
                                char text[LAYERWISE_TASK_TEXT]);

/** A feature in use: its place among a row's, or what the device is called; NAN: not known. */
double layerwise_value(const layerwise_range *f, const double *row, size_t at, const device *on);

/** Clocks at which rows of every task were held, MHz; zeros: there are none. */
typedef struct layerwise_clocks {
    double low, high;
} layerwise_clocks;

layerwise_clocks layerwise_clocks_of(const layerwise_model *m);

/** The clock nearest to `mhz` (NAN: not held) that it can be asked at; NAN: as the device runs. */
double layerwise_clock_near(const layerwise_model *m, double mhz);

/** Answer to a case. */
typedef struct layerwise_answer {
    double value; /**< seconds or watts; NAN: no such task was learned, or it says nothing of such a
                     case */
    double low, high; /**< by the task's interval, wider for each octave beyond; NAN: unknown */
    double beyond; /**< by how much the count that leaves what was learned from the farthest does, a
                      factor; 1: none does */
    bool   unseen; /**< learned from devices by name, none of which is this one */
} layerwise_answer;

/** Predicts. LM_E_NOTFOUND where it asks for a figure of a device that is not known, LM_E_NOMEM. */
lm_status layerwise_predict(const layerwise_model *m, const layerwise_case *c,
                            layerwise_target target, layerwise_answer *out, lm_error *err);

/** How a tree comes to an answer. */
typedef struct layerwise_decision {
    const layerwise_task *task;                  /**< NULL: nothing is said of the case */
    double                x[LAYERWISE_FEATURES]; /**< in the order of the task's features */
    double                value;                 /**< what the task says, all trees together */
    learner_way           way;
} layerwise_decision;

/** Decides as layerwise_predict() predicts. LM_E_UNSUPPORTED, too, as learner_decide(). */
lm_status layerwise_decide(const layerwise_model *m, const layerwise_case *c,
                           layerwise_target target, layerwise_decision *out, lm_error *err);

/** The same of all rows of one lot that are `wanted`, at once; the others' `out` stays as it is,
 * also where nothing is said. */
lm_status layerwise_predict_lot(const layerwise_model *m, const layerwise_lot *lot,
                                bool (*wanted)(const void *context, size_t from),
                                const void *context, layerwise_answer *out, lm_error *err);

/** The text of a model: of the kind that it is called, layerwise_find(). */
extern const kept_kind layerwise_kept;

#endif
