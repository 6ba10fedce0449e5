/** A watched run: its metric while it comes in, each epoch beside the plan, the whole run as an
 * observation. In constant memory. */
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
 * Appends a network's row to a file that layermeter wrote, or begins one, whose head says
 * `machine`. Where the file has rows of networks of the same element type, settings, algorithm and
 * threads are taken from the first of them, so that one fit takes both. The row is written in one
 * call, on the disk when this returns.
 *
 * @return LM_E_SYNTAX for a file that is none or has other columns, LM_E_IO; texts begin with the
 * path
 */
lm_status observation_append(const char *path, const observation *row, const char *machine,
                             lm_error *err);

/** Values beside the metric (trace/metrics.h) over time, in constant memory. */
typedef struct watch_history watch_history;

lm_status watch_history_new(watch_history **out, lm_error *err);
/** NULL is fine. */
void watch_history_free(watch_history *h);

/** What stood beside a sample; times never fall. `period` in s is how long epochs take, NAN: not
 * known: it decides what is forgotten, as in epochs_window. */
void watch_history_add(watch_history *h, double time, const float beside[N_BESIDE], double period);

/** Over a stretch that began at `from`, in s; bins that hold both ends count whole. */
watch_means watch_history_means(const watch_history *h, double from, double to);

/** What a repetition of the metric is. */
typedef enum {
    WATCH_EPOCHS,
    WATCH_STEPS,
    WATCH_NEITHER /**< it is further than WATCH_FAR from both */
} watch_scale;

/** An epoch, or a step, that is over. */
typedef struct watched {
    epoch         epoch;
    watch_scale   scale;
    bool          judged; /**< steady or irregular, of a scale that is known: the rest holds */
    watch_verdict verdict;
    watch_means   means;
    double        usual_mhz;
} watched;

/** All steady ones. */
typedef struct watch_summary {
    watch_scale   scale;
    size_t        n;
    double        mean, low, high;    /**< s; its 90 % interval, NAN with fewer than three */
    double        least;              /**< s, the shortest */
    size_t        n_clean;            /**< of them with a clock that nothing held down */
    double        clean, clean_least; /**< s: their mean, the shortest */
    watch_means   clean_means;
    watch_verdict verdict;
    watch_means   means;
    double        usual_mhz;
} watch_summary;

typedef struct watch_run watch_run;

/** Called for each epoch in order; of steps for those alone whose finding or cause is not that of
 * the one before. */
typedef lm_status (*watch_taker)(void *context, const watched *w, lm_error *err);

lm_status watch_run_new(const watch_plan *plan, watch_taker take, void *context, watch_run **out,
                        lm_error *err);
/** NULL is fine. */
void watch_run_free(watch_run *r);

/** A sample; times never fall. */
lm_status watch_run_add(watch_run *r, double time, float value, const float beside[N_BESIDE],
                        lm_error *err);

/** At the end. LM_E_NOTFOUND, with why, where nothing repeats, nothing steady is there, or what
 * repeats is neither an epoch of the plan nor a step. */
lm_status watch_run_end(watch_run *r, watch_summary *out, lm_error *err);

/** s between samples; NAN: not yet known. */
double watch_run_interval(const watch_run *r);

/**
 * The run as a row: the network's step, its seconds, of how many, clock and power: of those that
 * nothing held down, if there are two or more, else of all, flagged. What an epoch
 * holds beside steps, an evaluation, is taken to be as much longer or shorter than planned as the
 * epoch is. Text points into `plan`.
 *
 * @return LM_E_UNSUPPORTED for what a row cannot say: accumulated gradients, gradients of another
 * type, buckets but DistributedDataParallel's, arguments of a network
 */
lm_status watch_observation(const watch_plan *plan, const watch_summary *s, observation *out,
                            lm_error *err);

#endif
