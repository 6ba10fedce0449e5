/** A watched run: follows a metric, compares each epoch with the plan, turns the run into an
 * observation. Memory is constant. */
#ifndef WATCH_RUN_H
#define WATCH_RUN_H

#include <stddef.h>

#include <layermeter/error.h>

#include "epochs/epochs.h"
#include "observe/observation.h"
#include "trace/metrics.h"
#include "trace/reader.h"
#include "watch/verdict.h"

/**
 * Appends a network's row to a file that layermeter wrote, or starts a file whose head names
 * `machine`. Settings, algorithm and threads are those of the file's first network of the same
 * element type, so that one fit takes both. The row is written in one call and is on the disk on
 * return.
 *
 * @return LM_E_SYNTAX for another file or other columns, LM_E_IO; texts begin with the path
 */
lm_status observation_append(const char *path, const observation *row, const char *machine,
                             lm_error *err);

/** Values beside the metric (trace/metrics.h) over time, in constant memory. */
typedef struct watch_history watch_history;

lm_status watch_history_new(watch_history **out, lm_error *err);
/** NULL is fine. */
void watch_history_free(watch_history *h);

/** Values beside a sample; times never fall. `period`: present length of epochs in s, NAN: unknown.
 * It decides which values are dropped, as in epochs_window. */
void watch_history_add(watch_history *h, double time, const float beside[N_BESIDE], double period);

/** Means over the time from `from` to `to`, in s; the bins at both ends count whole. */
watch_means watch_history_means(const watch_history *h, double from, double to);

/** Unit of repetition of the metric. */
typedef enum {
    WATCH_EPOCHS,
    WATCH_STEPS,
    WATCH_NEITHER /**< further than WATCH_FAR from both */
} watch_scale;

/** An epoch or a step that is over. */
typedef struct watched {
    epoch         epoch;
    watch_scale   scale;
    bool          judged; /**< steady or irregular, of a known scale; else the fields below are not
                               set */
    watch_verdict verdict;
    watch_means   means;
    double        usual_mhz;
} watched;

/** Summary of the steady epochs or steps. */
typedef struct watch_summary {
    watch_scale   scale;
    size_t        n;
    double        mean, low, high;    /**< s; 90 % interval of the mean, NAN with fewer than
                                           three */
    double        least;              /**< s, the shortest */
    size_t        n_clean;            /**< those with an unthrottled clock */
    double        clean, clean_least; /**< s: their mean, the shortest */
    watch_means   clean_means;
    watch_verdict verdict;
    watch_means   means;
    double        usual_mhz;
} watch_summary;

typedef struct watch_run watch_run;

/** Called for each epoch in order; for a step only if its finding or cause differs from that of the
 * step before. */
typedef lm_status (*watch_taker)(void *context, const watched *w, lm_error *err);

lm_status watch_run_new(const watch_plan *plan, watch_taker take, void *context, watch_run **out,
                        lm_error *err);
/** NULL is fine. */
void watch_run_free(watch_run *r);

/** A sample; times never fall. */
lm_status watch_run_add(watch_run *r, double time, float value, const float beside[N_BESIDE],
                        lm_error *err);

/** At the end. LM_E_NOTFOUND with the reason: nothing repeats, nothing is steady, or what repeats
 * is neither an epoch of the plan nor a step. */
lm_status watch_run_end(watch_run *r, watch_summary *out, lm_error *err);

/** s between samples; NAN: not known yet. */
double watch_run_interval(const watch_run *r);

/**
 * The run as a row: seconds of the network's step, clock and power. They are those of epochs with
 * an unthrottled clock if there are two or more; else those of all epochs, flagged. The evaluation
 * within an epoch is assumed to differ from the plan by the same factor as the epoch. Text points
 * into `plan`.
 *
 * @return LM_E_UNSUPPORTED for what a row cannot say: accumulated gradients, gradients of another
 * type, buckets other than DistributedDataParallel's, arguments of a network
 */
lm_status watch_observation(const watch_plan *plan, const watch_summary *s, observation *out,
                            lm_error *err);

#endif
