/** Seconds of one training step: counts times coefficients. */
#ifndef PREDICT_PRICE_H
#define PREDICT_PRICE_H

#include "fit/calibration.h"
#include "observe/workloads.h"
#include "predict/ledger.h"

/** Who predicts what, on which machine. Owns nothing. */
typedef struct predictor {
    const calibration *cal;
    workloads         *loads;
    const char        *model;   /**< of forms: layermeter, convmeter, nnls */
    const char        *network; /**< name or path */
    const char        *input;   /**< shape of one sample; NULL: the file's */
    lm_dtype           dtype;
    const char        *machine; /**< file behind `cal`, for messages; may be NULL */
    /** PALEO's model, which has a platform instead of `cal` and is asked instead of the formulas;
     *  NULL: the formulas of `model`. */
    struct paleo_predictor *paleo;
} predictor;

#define PREDICTION_NOTES 12

/** One step, in seconds. */
typedef struct prediction {
    int64_t batch;             /**< samples per device */
    int64_t nodes;             /**< one device each */
    double  forward, backward; /**< with sync and grad NAN where only whole steps were fitted */
    double  sync;              /**< all-reduce; NAN: this model does not tell it from the update */
    double  grad;              /**< all-reduce and update */
    double  step;              /**< forward, backward and grad, one after the other */
    /** Bounds by quantity, from ratios measured / predicted on what was left out of the fit
     * (interval.h); of a step that has none of its own, those of its parts added up. NAN: unknown.
     */
    double low[N_QUANTITIES], high[N_QUANTITIES];
    struct {
        const char *what;       /**< a regressor, or what is wrong */
        double      factor;     /**< count over the range's end; 0: what says it all */
        size_t      layers;     /**< so many; else 0 */
    } beyond[PREDICTION_NOTES]; /**< what leaves the calibrated range; see prediction_beyond() */
    size_t n_beyond;
    ledger ledger; /**< what the step's seconds stand on; all 0: of no measurement */
} prediction;

/** "nodes x2, conv3x3.flops x16": what leaves the calibrated range, in `buffer`; "": nothing does.
 */
const char *prediction_beyond(const prediction *p, char *buffer, size_t size);

/** The parts whose times add up to a step, on one node or many, into `out`; returns how many. */
size_t predict_parts(const predictor *who, bool many, part out[4]);

/** What a contribution stands on: certainty_of(), with the element type looked at, too. */
certainty predict_certainty(const predictor *who, const contribution *c);

/**
 * Predicts. Pure but for the cache in `loads`.
 *
 * @return LM_E_NOTFOUND if the machine file lacks a formula this needs (the text says how to get
 * it), or what binding the network returns
 */
lm_status predict_step(const predictor *who, int64_t batch, int64_t nodes, prediction *out,
                       lm_error *err);

/** Updates that are predicted: momentum's. */
#define PREDICT_OPTIMIZER OPTIMIZER_MOMENTUM

/** Counts and terms of the predictor's network at a batch. */
lm_status predict_load(const predictor *who, int64_t batch, full_workload *out, lm_error *err);

#endif
