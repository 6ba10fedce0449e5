/** Learned models of single layers: rows by task, learning, predictions, text. */
#ifndef LAYERWISE_MODEL_H
#define LAYERWISE_MODEL_H

#include "fit/interval.h"
#include "layerwise/layerwise.h"
#include "learn/kept.h"

/** A feature in use, and its training range. */
typedef struct layerwise_range {
    char           name[LAYERWISE_NAME];
    layerwise_sort sort;
    double         low, high;
} layerwise_range;

/** Whether features of this sort need a datasheet. */
bool layerwise_of_device(layerwise_sort s);

/** Rows of one task and target. */
typedef struct layerwise_lot {
    char             task[LAYERWISE_NAME];
    layerwise_target target;
    layerwise_range  feature[LAYERWISE_FEATURES]; /**< without ranges */
    size_t           n_features;
    double          *x, *y; /**< all features, also those of devices */
    uint64_t        *group;
    phase           *when;
    size_t          *from; /**< `from`: the caller's number for the row */
    const device   **on;   /**< datasheets, which must outlive it; NULL: unknown */
    size_t           n, room;
} layerwise_lot;

typedef struct layerwise_data {
    const layerwise_kind *kind;
    /** features or groups of features to use (feature_set.h); NULL: all */
    const char    *features;
    layerwise_lot *lot;
    size_t         n_lots;
} layerwise_data;

/**
 * Adds a case with its value; a case without a task is ignored.
 *
 * @param group number of the rows that belong together
 * @param from  the caller's number for the row, for layerwise_learn()
 * @return LM_E_ARG for a feature that is no number, LM_E_NOMEM
 */
lm_status layerwise_data_add(layerwise_data *d, const layerwise_case *c, layerwise_target target,
                             double value, uint64_t group, size_t from, lm_error *err);
void      layerwise_data_free(layerwise_data *d);

#define LAYERWISE_DEVICES 32 /**< limit for a task */

/** A learned task. */
typedef struct layerwise_task {
    char                name[LAYERWISE_NAME];
    layerwise_target    target;
    layerwise_judgement judged;
    interval            interval; /**< in cross-validation over groups; without ranges */
    /**
     * Intervals for the rows of one phase. Unknown unless the task has several phases and enough
     * groups of this phase were left out.
     */
    interval of_phase[N_PHASES];
    /** Interval in cross-validation over devices. Unknown below three devices. */
    interval        unseen;
    char            device[LAYERWISE_DEVICES][LAYERWISE_NAME]; /**< names in their datasheets */
    size_t          n_devices;                                 /**< 0: one device */
    layerwise_range feature[LAYERWISE_FEATURES];
    size_t          n_features;
    void           *learned;
} layerwise_task;

typedef struct layerwise_model {
    const layerwise_kind *kind;
    layerwise_task       *task;
    size_t                n_tasks;
} layerwise_model;

/**
 * Groups of a phase that suffice for a separate interval: the extremes of n groups contain (n - 1)
 * / (n + 1) = 90 % of new ones.
 */
#define LAYERWISE_PHASE_GROUPS 19

/**
 * The interval of a task for a phase. Forward passes in training and in inference use each other's
 * interval if they have none.
 */
const interval *layerwise_interval(const layerwise_task *t, phase f);

/**
 * Learns each task that has enough rows. Figures of devices are features if the rows are from
 * several devices.
 *
 * @param setting values from layerwise_settings()
 * @param wanted  selects rows by their `from`; NULL: all
 * @return LM_E_ARG if no task has enough rows, or if a device lacks a figure; errors of the learner
 */
lm_status layerwise_learn(const layerwise_data *d, const double *setting, uint64_t seed,
                          bool (*wanted)(const void *context, size_t from), const void *context,
                          layerwise_model **out, lm_error *err);
void      layerwise_free(layerwise_model *m);

/** Text of a task: "conv"; "conv by forest" if there was a choice; "forward by forest, watts". */
#define LAYERWISE_TASK_TEXT (LAYERWISE_NAME + 56)
const char *layerwise_task_text(const layerwise_kind *kind, const layerwise_task *t,
                                char text[LAYERWISE_TASK_TEXT]);

/**
 * Value of a feature in use: number `at` of a row, or a flag of the device's name; NAN: unknown.
 */
double layerwise_value(const layerwise_range *f, const double *row, size_t at, const device *on);

/** Held clocks that all tasks learned, MHz; zeros: none. */
typedef struct layerwise_clocks {
    double low, high;
} layerwise_clocks;

layerwise_clocks layerwise_clocks_of(const layerwise_model *m);

/**
 * The nearest clock to `mhz` (NAN: not held) that the model can predict; NAN: the device's own
 * clock.
 */
double layerwise_clock_near(const layerwise_model *m, double mhz);

/** Answer to a case. */
typedef struct layerwise_answer {
    double value;     /**< seconds or watts; NAN: no such task, or no prediction for this case */
    double low, high; /**< by the task's interval, wider for each octave beyond; NAN: unknown */
    double beyond;    /**< largest factor by which a count exceeds its training range; 1: none */
    bool   unseen;    /**< the model learned from named devices, and this is not one of them */
} layerwise_answer;

/** Predicts a case. LM_E_NOTFOUND if it needs an unknown figure of the device, LM_E_NOMEM. */
lm_status layerwise_predict(const layerwise_model *m, const layerwise_case *c,
                            layerwise_target target, layerwise_answer *out, lm_error *err);

/** The decisions of a tree. */
typedef struct layerwise_decision {
    const layerwise_task *task;                  /**< NULL: no prediction for the case */
    double                x[LAYERWISE_FEATURES]; /**< in the order of the task's features */
    double                value;                 /**< prediction of the task, with all trees */
    learner_way           way;
} layerwise_decision;

/** Decisions for the case of layerwise_predict(). Also LM_E_UNSUPPORTED as learner_decide(). */
lm_status layerwise_decide(const layerwise_model *m, const layerwise_case *c,
                           layerwise_target target, layerwise_decision *out, lm_error *err);

/**
 * Predicts all `wanted` rows of a lot at once. `out` is unchanged for other rows and for rows
 * without a prediction.
 */
lm_status layerwise_predict_lot(const layerwise_model *m, const layerwise_lot *lot,
                                bool (*wanted)(const void *context, size_t from),
                                const void *context, layerwise_answer *out, lm_error *err);

/** Text format of a model; its kind is found by layerwise_find(). */
extern const kept_kind layerwise_kept;

#endif
