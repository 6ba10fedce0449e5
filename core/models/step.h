/** A training step, or a forward pass of inference: the question and the prediction. */
#ifndef MODELS_STEP_H
#define MODELS_STEP_H

#include "fit/priced_program.h"
#include "models/ledger.h"
#include "observe/workloads.h"
#include "program/program.h"

/** The question: a step. step_setup_of() makes one with defaults. */
typedef struct step_setup {
    int64_t      batch;   /**< samples per device and micro-step */
    int64_t      nodes;   /**< nodes that a network connects; inference: independent replicas */
    int64_t      devices; /**< devices per node */
    sync_policy  sync;    /**< only for training; so is `optimizer` */
    optimizer    optimizer;
    program_kind program;
    double again; /**< training: share of the forward pass that the backward pass recomputes */
    /**
     * how ranks share the work; valid if `laid_out`, else each rank has samples of its own. Its
     * micro-batch and accumulation are the fields above
     */
    layout layout;
    bool   laid_out;
    /** clock that devices are held at, for models that know clocks; 0: the device's own */
    double clock_mhz;
} step_setup;

/**
 * Defaults of a training step: one device per node, one all-reduce after the backward pass,
 * momentum.
 */
step_setup step_setup_of(int64_t batch, int64_t nodes);

/** Number of devices on all nodes; INT64_MAX on overflow. */
static inline int64_t step_setup_ranks(const step_setup *s)
{
    return s->devices > 1 && s->nodes > INT64_MAX / s->devices ? INT64_MAX : s->nodes * s->devices;
}

/** Number of replicas of the network: groups of ranks with samples of their own. */
int64_t step_setup_replicas(const step_setup *s);

/** Do the ranks exchange gradients? They do if several ranks train. */
static inline bool step_setup_exchanges(const step_setup *s)
{
    return s->program == PROGRAM_TRAINING && step_setup_ranks(s) > 1;
}

/**
 * Do the parts follow each other without overlap? They do with one message after the backward pass,
 * or with none.
 */
static inline bool step_setup_in_turn(const step_setup *s)
{
    return !step_setup_exchanges(s) || s->sync.rule == SYNC_ONCE;
}

/** Bytes of all gradients in messages: in the policy's type, or in that of the weights. */
static inline double step_setup_bytes(const step_setup *s, const net_metrics *counts)
{
    return s->sync.dtype ? (double)counts->params * (double)lm_dtype_bytes(s->sync.dtype)
                         : (double)counts->param_bytes;
}

#define GROUNDS_NOTES 12

/** Evidence for a predicted time. */
typedef struct grounds {
    ledger ledger; /**< all 0: no seconds */
    struct {
        const char *what; /**< a regressor, or a description of the problem */
        /** count divided by the end of its range; 0: `what` is complete by itself */
        double      factor;
        size_t      layers;  /**< number of layers; else 0 */
        const char *by;      /**< if set, `what` is a layer type, which this other model prices */
    } beyond[GROUNDS_NOTES]; /**< values outside the calibrated range */
    size_t n_beyond;
} grounds;

/**
 * Adds an entry to `beyond`, if it is new and there is room. The text is made only when asked for.
 */
void grounds_note(grounds *g, const char *what, double factor);
/** Adds an entry: `layers` layers of a type have prices of another model. */
void grounds_note_layers(grounds *g, const char *type, size_t layers, const char *by);
/** Adds the notes of another one, but not its ledger. */
void grounds_join_notes(grounds *g, const grounds *other);

static inline void grounds_join(grounds *g, const grounds *other)
{
    if (other->n_beyond)
        grounds_join_notes(g, other);
}

/** Writes the notes to `buffer`: "nodes x2, conv3x3.flops x16"; "": none. */
const char *grounds_beyond(const grounds *g, char *buffer, size_t size);

/** A value and its bounds. NAN: unknown. */
typedef struct bounded {
    double value, low, high;
} bounded;

/**
 * Raises a bound to `least`; an unknown bound stays unknown. 0 means no limit, because formulas may
 * give negative times.
 */
static inline void bounded_hold(double *bound, double least)
{
    if (least > 0 && *bound < least)
        *bound = least;
}

/**
 * A predicted step, in seconds. Inference: the forward pass is the whole step; other parts are 0.
 */
typedef struct prediction {
    int64_t batch;          /**< samples per device and micro-step */
    int64_t nodes, devices; /**< devices: of each node */
    /**
     * all micro-steps; backward includes the slowdown by messages. NAN, as are sync and grad, if
     * only whole steps were fitted
     */
    double forward, backward;
    /** all all-reduces, overlapped or not; NAN: the model cannot separate them from the update */
    double  sync;
    int64_t messages;  /**< number of all-reduces; 0: one rank, or not separated from the update */
    double  exposed;   /**< part of `sync` after the backward pass; NAN as sync */
    double  copy;      /**< copies of gradients into and out of buckets */
    double  straggler; /**< extra time of the slowest rank */
    double  update;    /**< NAN: not separated from the all-reduces */
    /** part of forward and backward: messages of a layout that the passes wait for */
    double waited;
    double bubble; /**< part of backward: waiting of a pipeline's slowest rank for other stages */
    /** layouts: mean compute time of all ranks divided by that of the slowest rank */
    double others;
    /** share of a rank's FLOPs in layers that each rank of tp computes in full */
    double unsplit;
    double grad; /**< sum of exposed all-reduces, copies, stragglers and update */
    double step; /**< sum of forward, backward and grad */
    /** inference: 95th percentile of repetitions; `step` is their median. NAN: unknown */
    double p95;
    double p95_low, p95_high; /**< bounds of p95; NAN: unknown */
    /**
     * Bounds per time, from ratios measured / predicted in cross-validation (interval.h). A step
     * without its own interval adds up those of its parts. NAN: unknown.
     */
    double low[N_TIMES], high[N_TIMES];
    /**
     * The step if only its all-reduces take the high and the low end of their interval; NAN:
     * unknown.
     */
    double slow, fast;
    /** backward pass of all micro-steps, without messages at the same time */
    bounded          alone;
    const intervals *known; /**< intervals that the bounds come from; NULL: none */
    /**
     * inference: no pass in evaluation mode was measured; the forward pass of training replaces it
     */
    bool    stands_in;
    grounds grounds;
    /** Energy of a device's own work, if the model predicts power. joules 0: it does not. */
    double  own_seconds;
    bounded own_joules; /**< with the bounds of the power */
} prediction;

#endif
