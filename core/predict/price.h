/** Seconds of one training step: counts times coefficients. */
#ifndef PREDICT_PRICE_H
#define PREDICT_PRICE_H

#include "fit/calibration.h"
#include "fit/overlapped.h"
#include "observe/workloads.h"
#include "predict/ledger.h"
#include "sync/policy.h"

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
    /** A learned model of single layers, asked instead of the formulas, too; NULL: the formulas. */
    struct layerwise_predictor *layerwise;
    struct step_scan *scan; /**< what steps share, kept from one to the next; NULL: nothing */
} predictor;

/**
 * For predictors that are asked for many steps of one network: what a device does by itself, and
 * buckets with when they are ready. Neither the predictor nor its calibration may change meanwhile,
 * nor may two threads share one.
 */
typedef struct step_scan step_scan;
lm_status                step_scan_new(step_scan **out, lm_error *err);
void                     step_scan_free(step_scan *s);

/** A step that is asked about. step_setup_of() is one to begin with. */
typedef struct step_setup {
    int64_t     batch;   /**< samples of each device in a micro-step */
    int64_t     nodes;   /**< what a network connects */
    int64_t     devices; /**< of each node */
    sync_policy sync;
    optimizer   optimizer;
} step_setup;

/** One device a node, all gradients in one message behind the backward pass, momentum. */
step_setup step_setup_of(int64_t batch, int64_t nodes);

/** Devices of all nodes together; INT64_MAX where that is too many. */
int64_t step_setup_ranks(const step_setup *s);

/** Is one part done after the other? One message behind the backward pass, or none, hides nothing.
 */
bool step_setup_in_turn(const step_setup *s);

/** Bytes of all gradients as they travel: of the policy's type, or the weights' own. */
double step_setup_bytes(const step_setup *s, const workload *load);

#define PREDICTION_NOTES 12

/** One step, in seconds. */
typedef struct prediction {
    int64_t batch;            /**< samples per device and micro-step */
    int64_t nodes, devices;   /**< devices: of each node */
    double forward, backward; /**< of all micro-steps; with sync and grad NAN where only whole steps
                                 were fitted; backward as it is beside messages */
    double sync; /**< all-reduces, however much of them the backward pass hides; NAN: this model
                    does not tell it from the update */
    int64_t messages;  /**< that these are; 0: one rank, or not told from the update */
    double  exposed;   /**< what is left of them behind the backward pass; NAN as sync */
    double  copy;      /**< into buckets and out of them */
    double  straggler; /**< the slowest of the ranks takes so much longer than one */
    double  grad;      /**< exposed all-reduces, copies, stragglers and update */
    double  step;      /**< forward, backward and grad */
    /** Bounds by quantity, from ratios measured / predicted on what was left out of the fit
     * (interval.h); of a step that has none of its own, those of its parts added up. NAN: unknown.
     */
    double low[N_QUANTITIES], high[N_QUANTITIES];
    /** The step if its all-reduces alone take as long as the high and the low end of their
     * interval, and all else what is predicted; NAN: unknown. */
    double slow, fast;
    struct {
        const char *what;       /**< a regressor, or what is wrong */
        double      factor;     /**< count over the range's end; 0: what says it all */
        size_t      layers;     /**< so many; else 0 */
    } beyond[PREDICTION_NOTES]; /**< what leaves the calibrated range; see prediction_beyond() */
    size_t n_beyond;
    ledger ledger; /**< what the step's seconds stand on; all 0: of no measurement */
    /** Of a device's own work, which takes so many seconds, by a model that tells power beside
     * time; the bounds are the power's. joules 0: the model tells none. */
    struct {
        double seconds, joules, low, high;
    } own;
} prediction;

/** "nodes x2, conv3x3.flops x16": what leaves the calibrated range, in `buffer`; "": nothing does.
 */
const char *prediction_beyond(const prediction *p, char *buffer, size_t size);

/** The parts whose times add up to a step, on one node or many, into `out`; returns how many. */
size_t predict_parts(const predictor *who, bool many, part out[4]);

/** Whose all-reduces those of a step are: the model's own, of learned ones the default model's. */
const char *predict_sync_model(const predictor *who);

/** May steps of its network have been measured? With which input. */
bool predict_measurable(const predictor *who, const char **input);

/** Parts that were measured at this very step, 1 << part each: with this network, input and batch,
 * all-reduces also on as many ranks. 0 where it has no such parts. */
unsigned predict_measured(const predictor *who, const step_setup *s);

/** What a share of an all-reduce stands on. Which element type was measured makes no difference. */
certainty predict_sync_certainty(const predictor *who, unsigned measured, const allreduce_share *s);

/** What a contribution to a part stands on: certainty_of(), with the element type looked at, too.
 */
certainty predict_certainty(const predictor *who, unsigned measured, part which,
                            const contribution *c);

/**
 * Predicts. Pure but for the cache in `loads`.
 *
 * @return LM_E_NOTFOUND if the machine file lacks a formula this needs (the text says how to get
 * it), or what binding the network returns
 */
lm_status predict_step(const predictor *who, const step_setup *s, prediction *out, lm_error *err);
/** The same in less time: of the bounds those of the parts, slow and fast are there for certain. */
lm_status predict_seconds(const predictor *who, const step_setup *s, prediction *out,
                          lm_error *err);

/**
 * The same with its buckets, to be freed by overlap_clear(); on failure there are none.
 *
 * @return LM_E_UNSUPPORTED, too, where nothing is known of them: PALEO, models that do not tell the
 *         all-reduce from the update, machines of which only whole steps were measured
 */
lm_status predict_timeline(const predictor *who, const step_setup *s, prediction *out,
                           overlap *buckets, lm_error *err);

/** Counts and terms of the predictor's network at a batch, with an update by optimizer `o`. */
lm_status predict_load(const predictor *who, int64_t batch, optimizer o, full_workload *out,
                       lm_error *err);

#endif
