/** Steps whose gradients went in buckets tell of all-reduces and of the cost of overlap. */
#ifndef FIT_EXPOSED_H
#define FIT_EXPOSED_H

#include "fit/priced_program.h"
#include "observe/points.h"

/** A step in buckets, as the model sees it. */
typedef struct exposed_step {
    step_passes passes; /**< on one device, beside no message */
    step_times  times;  /**< without its buckets */
    double      bytes;  /**< of all messages */
    bool        late;   /**< the last message waited for the one before it */
} exposed_step;

/**
 * Predicts a point_in_buckets() by DistributedDataParallel's rule.
 *
 * @param alone measured backward pass beside no message, s; NAN: as predicted
 */
lm_status exposed_predict(const points *p, const calibration *cal, const char *model,
                          const point *pt, double alone, exposed_step *out, lm_error *err);

/**
 * `straggler`: sigma of a rank's time, per second of it. It is the median over networks on one
 * rank, where nobody waits for anybody, by their 95th percentiles. The slowest of n ranks takes
 * about sigma sqrt(2 ln n) longer (the mean of the largest of n normal values, Cramer 1946, section
 * 28.6). Below EXPOSED_LEAST networks it is 0, unknown.
 */
lm_status exposed_fit_straggler(const points *p, overlap_constants *out, lm_error *err);

/** Number of steps in buckets that the constants need: fewer say nothing. */
#define EXPOSED_LEAST 6

/**
 * Fits the cost of messages to the backward pass, of the pass to messages, and of copies.
 *
 * The fit is by least squares of relative errors of two quantities: the step's time beyond its
 * passes beside no message, and its exposed part. Passes beside no message are those measured with
 * the same ranks, else on one rank, else as predicted.
 *
 * Two families compete. In the first, messages slow the pass down and go on as if they were alone.
 * In the second, both share a core that does less of the one the more it does of the other (stretch
 * = 1 / slowdown). The second is taken if it leaves EXPOSED_GAIN of the squares or less. Each
 * family is then tried with messages that take so many times longer than by themselves, if that
 * leaves EXPOSED_GAIN_MORE.
 *
 * Each candidate has the latency of least sum of |log(predicted / measured)| of exposed parts;
 * steps that hide their all-reduces decide it. At the end a lag is added, if that leaves
 * EXPOSED_GAIN of the sum or less. If messages leave caches beyond a border, each candidate also
 * has the share of the bytes within the border that are out of caches, by the least sum. Below
 * EXPOSED_LEAST steps nothing is changed.
 *
 * A rank whose measured pass is shorter than the slowest one's waits in its all-reduce. That counts
 * as exposed, too, if each rank measured by itself (observation.h, `waits`).
 */
#define EXPOSED_GAIN      0.9
#define EXPOSED_GAIN_MORE 0.7
lm_status exposed_fit_constants(const points *p, const char *model, calibration *cal,
                                lm_error *err);

/** Curves of networks of which steps on several numbers of ranks were measured, and nothing else.
 * Their configurations count as measured. LM_E_NOMEM. */
lm_status job_curves_fit(const points *p, calibration *cal, lm_error *err);

/**
 * Fits all-reduces to steps in buckets, if no all-reduce was measured by itself.
 *
 * The measured quantity is the exposed part behind the backward pass; if that is missing, the
 * step's time beyond that of one device. The part that the recurrence hides by the last prices is
 * added to it, the prices are fitted to the sum, and so on until they stay. The pass's slowdown is
 * fitted with them if that leaves EXPOSED_GAIN of the squares or less on the largest of three
 * numbers of hosts, left out.
 *
 * Each branch of max() is linear in the prices, so no price is fitted through it. Steps whose
 * messages had all the time they needed are an upper bound only. They count if a fabric has no
 * other steps.
 *
 * @param cal gets `allreduces`, NULL if nothing tells them, and the slowdown
 */
lm_status exposed_fit_allreduces(const points *p, const char *model, calibration *cal,
                                 lm_error *err);

#endif
