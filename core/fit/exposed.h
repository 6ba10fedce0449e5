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
 * @param alone backward pass, s, as it was measured beside no message; NAN: as it is predicted
 */
lm_status exposed_predict(const points *p, const calibration *cal, const char *model,
                          const point *pt, double alone, exposed_step *out, lm_error *err);

/**
 * `straggler`: sigma of a rank's time, per second of it, as 95th percentiles tell it of networks on
 * one rank, where nobody waits for anybody; their median. The slowest of n ranks takes about sigma
 * sqrt(2 ln n) longer (the mean of the largest of n normal values, Cramer 1946, section 28.6).
 * Below EXPOSED_LEAST of them 0, not known.
 */
lm_status exposed_fit_straggler(const points *p, overlap_constants *out, lm_error *err);

/** Steps in buckets that constants need: fewer say nothing. */
#define EXPOSED_LEAST 6

/**
 * What messages and the backward pass cost each other, and copies, by least squares of relative
 * errors of what the step took beyond its passes beside no message (as these were measured with the
 * same ranks, else on one, else as they are predicted) and of what was exposed. Of two families the
 * better: messages slow the pass down and go on as if they were alone, or both share a core that
 * does less of the one the more it does of the other (stretch = 1 / slowdown), if that leaves
 * EXPOSED_GAIN of the squares or less. Then each of these with messages that take so much more than
 * by themselves, if that leaves EXPOSED_GAIN_MORE. With each goes the latency of least sum of
 * |log(predicted / measured)| of what was exposed, which the steps tell whose all-reduces are
 * hidden; in the end a lag, if that leaves EXPOSED_GAIN of the sum or less. Where messages leave
 * caches beyond a border, all of these go with a share of the bytes within it that are out of them,
 * that of the least sum. Below EXPOSED_LEAST steps nothing is changed.
 *
 * Where a rank's measured pass is shorter than the slowest one's, it waits in its all-reduce: that
 * is exposed too, where each rank measured by itself (observation.h, `waits`).
 */
#define EXPOSED_GAIN      0.9
#define EXPOSED_GAIN_MORE 0.7
lm_status exposed_fit_constants(const points *p, const char *model, calibration *cal,
                                lm_error *err);

/** Curves of networks of which steps on several numbers of ranks were measured, and nothing else.
 * Their configurations count as measured. LM_E_NOMEM. */
lm_status job_curves_fit(const points *p, calibration *cal, lm_error *err);

/**
 * All-reduces where none was measured by itself, from what was left of them behind backward passes
 * (where that was not measured either, by what steps took beyond those of one device):
 * what the recurrence hides by the prices found last is added to what was exposed, and the prices
 * are fitted to that, until they stay. The pass's slowdown is fitted with them where that leaves
 * EXPOSED_GAIN of the squares or less on the largest of three numbers of hosts, left out. Each
 * branch of max() is linear in them, so no price is fitted through it. Steps whose messages had all
 * the time they needed say no more than an upper bound, and count only where a fabric has no
 * others.
 *
 * @param cal gets `allreduces`, NULL where nothing tells, and the slowdown
 */
lm_status exposed_fit_allreduces(const points *p, const char *model, calibration *cal,
                                 lm_error *err);

#endif
