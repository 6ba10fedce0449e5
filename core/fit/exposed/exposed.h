/** Fits to steps in buckets: the cost of overlap, and prices of all-reduces. */
#ifndef FIT_EXPOSED_H
#define FIT_EXPOSED_H

#include "fit/priced_program.h"
#include "observe/points.h"

/** A step in buckets, predicted by a model. */
typedef struct exposed_step {
    step_passes passes; /**< on one device, without messages */
    step_times  times;  /**< without the list of buckets */
    double      bytes;  /**< of all messages */
    bool        late;   /**< the last message waited for the one before it */
} exposed_step;

/**
 * Predicts a point_in_buckets() by DistributedDataParallel's rule.
 *
 * @param alone measured backward pass without messages, s; NAN: the predicted one
 */
lm_status exposed_predict(const points *p, const calibration *cal, const char *model,
                          const point *pt, double alone, exposed_step *out, lm_error *err);

/**
 * Fits `straggler`: sigma of a rank's time, per second of it. It is the median over networks on one
 * rank, where no rank waits, from their 95th percentiles. The slowest of n ranks takes about sigma
 * sqrt(2 ln n) longer (the mean of the largest of n normal values, Cramer 1946, section 28.6).
 * Below EXPOSED_LEAST networks it is 0, unknown.
 */
lm_status exposed_fit_straggler(const points *p, overlap_constants *out, lm_error *err);

/** Fewest steps in buckets for the constants. */
#define EXPOSED_LEAST 6

/**
 * Fits how much messages slow down the backward pass, how much the pass slows down messages, and
 * the cost of copies.
 *
 * The fit uses least squares of relative errors of two quantities: the step's time without its
 * passes, and its exposed part. The passes (without messages) are those measured on the same ranks,
 * else on one rank, else as predicted.
 *
 * Two families compete. In the first, messages slow the pass down and run at full speed. In the
 * second, both share a core, which does less of one the more it does of the other (stretch = 1 /
 * slowdown). The second is chosen if its squares are at most EXPOSED_GAIN times those of the first.
 * Then each family is tried with messages that take a constant factor longer than alone; this is
 * chosen below EXPOSED_GAIN_MORE times the squares.
 *
 * Each candidate has the latency with the least sum of |log(predicted / measured)| of exposed
 * parts; steps that hide their all-reduces decide it. At the end a lag is added, if the sum is then
 * at most EXPOSED_GAIN times as large. If messages above a size leave the caches, each candidate
 * also has a share of the bytes below that size that are out of caches, by the least sum. Below
 * EXPOSED_LEAST steps nothing is changed.
 *
 * A rank whose measured pass is shorter than that of the slowest rank waits in its all-reduce. This
 * wait counts as exposed, too, if each rank measured by itself (observation.h, `waits`).
 */
#define EXPOSED_GAIN      0.9
#define EXPOSED_GAIN_MORE 0.7
lm_status exposed_fit_constants(const points *p, const char *model, calibration *cal,
                                lm_error *err);

/**
 * Fits curves of networks of which only steps on several numbers of ranks were measured. Their
 * configurations of one micro-step count as measured. LM_E_NOMEM.
 */
lm_status job_curves_fit(const points *p, calibration *cal, lm_error *err);

/**
 * Fits all-reduces to steps in buckets, if no all-reduce was measured separately.
 *
 * The measured quantity is the exposed part after the backward pass. If that is missing, it is the
 * step's time minus that of one device. The fit repeats three steps until the prices stay the same:
 * the recurrence computes the hidden part with the last prices; that part is added to the measured
 * quantity; the prices are fitted to the sum. The slowdown of the pass is fitted with them, if this
 * leaves at most EXPOSED_GAIN of the squares on the largest of three numbers of hosts, left out.
 *
 * Each branch of max() is linear in the prices, so no price is fitted through it. Steps whose
 * messages had all the time that they needed are only an upper bound. They count if a fabric has no
 * other steps.
 *
 * @param cal receives the prices of all-reduces, NULL if the steps do not determine them, and the
 *            slowdown
 */
lm_status exposed_fit_allreduces(const points *p, const char *model, calibration *cal,
                                 lm_error *err);

#endif
