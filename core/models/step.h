/** A training step, or a forward pass of inference: question and prediction. */
#ifndef MODELS_STEP_H
#define MODELS_STEP_H

#include "fit/priced_program.h"
#include "models/ledger.h"
#include "observe/workloads.h"
#include "program/program.h"

/** A step that is asked about. step_setup_of() is one to begin with. */
typedef struct step_setup {
    int64_t      batch;   /**< samples of each device in a micro-step */
    int64_t      nodes;   /**< what a network connects; of inference: replicas */
    int64_t      devices; /**< of each node */
    sync_policy  sync;    /**< training; so is the optimizer */
    optimizer    optimizer;
    program_kind program;
    double again; /**< training: share of the forward pass that the backward pass runs again */
    layout
        layout; /**< how ranks share the work; in use where `laid_out`, else each has samples of its
                      own. Its micro-batch and accumulation are those above */
    bool   laid_out;
    double clock_mhz; /**< that devices are held at, of models that tell clocks; 0: as they run */
} step_setup;

/** A training step: one device a node, all gradients in one message behind the backward pass,
 * momentum. */
step_setup step_setup_of(int64_t batch, int64_t nodes);

/** Devices of all nodes together; INT64_MAX where that is too many. */
static inline int64_t step_setup_ranks(const step_setup *s)
{
    return s->devices > 1 && s->nodes > INT64_MAX / s->devices ? INT64_MAX : s->nodes * s->devices;
}

/** Replicas of the network among them: ranks that have samples of their own. */
int64_t step_setup_replicas(const step_setup *s);

/** Do its ranks exchange anything? Several that train do. */
static inline bool step_setup_exchanges(const step_setup *s)
{
    return s->program == PROGRAM_TRAINING && step_setup_ranks(s) > 1;
}

/** Is one part done after the other? One message behind the backward pass, or none, hides nothing.
 */
static inline bool step_setup_in_turn(const step_setup *s)
{
    return !step_setup_exchanges(s) || s->sync.rule == SYNC_ONCE;
}

/** Bytes of all gradients as they travel: of the policy's type, or the weights' own. */
static inline double step_setup_bytes(const step_setup *s, const net_metrics *counts)
{
    return s->sync.dtype ? (double)counts->params * (double)lm_dtype_bytes(s->sync.dtype)
                         : (double)counts->param_bytes;
}

#define GROUNDS_NOTES 12

/** Evidence behind a predicted time. */
typedef struct grounds {
    ledger ledger; /**< all 0: no seconds */
    struct {
        const char *what;    /**< a regressor, or what is wrong */
        double      factor;  /**< count over the range's end; 0: `what` says it all */
        size_t      layers;  /**< so many; else 0 */
        const char *by;      /**< `what` is a type of layers that this model prices; else NULL */
    } beyond[GROUNDS_NOTES]; /**< what leaves the calibrated range */
    size_t n_beyond;
} grounds;

/** Adds to `beyond`, once; what does not fit is dropped. Texts are printed only when asked for. */
void grounds_note(grounds *g, const char *what, double factor);
/** Adds that so many layers of a type are priced by another model. */
void grounds_note_layers(grounds *g, const char *type, size_t layers, const char *by);
/** Adds the notes of another one; the ledger stays. */
void grounds_join_notes(grounds *g, const grounds *other);

static inline void grounds_join(grounds *g, const grounds *other)
{
    if (other->n_beyond)
        grounds_join_notes(g, other);
}

/** "nodes x2, conv3x3.flops x16": what leaves the calibrated range, in `buffer`; "": nothing. */
const char *grounds_beyond(const grounds *g, char *buffer, size_t size);

/** A value and its bounds. NAN: unknown. */
typedef struct bounded {
    double value, low, high;
} bounded;

/** Raises a bound to `least`; what is unknown stays so. 0 holds nothing: formulas may go below it. */
static inline void bounded_hold(double *bound, double least)
{
    if (least > 0 && *bound < least)
        *bound = least;
}

/** One step, in seconds. Of inference the forward pass is all of it: other parts are 0. */
typedef struct prediction {
    int64_t batch;             /**< samples per device and micro-step */
    int64_t nodes, devices;    /**< devices: of each node */
    double  forward, backward; /**< of all micro-steps; with sync and grad NAN where only whole
                                  steps were fitted; backward as it is beside messages */
    double  sync;      /**< all-reduces, however much of them the backward pass hides; NAN: this
                          model does not tell them from the update */
    int64_t messages;  /**< of these all-reduces; 0: one rank, or not told from the update */
    double  exposed;   /**< what is left of them behind the backward pass; NAN as sync */
    double  copy;      /**< into buckets and out of them */
    double  straggler; /**< what the slowest of the ranks takes longer than one */
    double  update;    /**< NAN: not told from the all-reduces */
    double  unsplit;   /**< share of the FLOPs of a rank in layers that each rank of tp computes */
    double  grad;      /**< exposed all-reduces, copies, stragglers and update */
    double  step;      /**< forward, backward and grad */
    double  p95;       /**< inference: 95th percentile of repetitions, `step` being their median;
                          NAN: unknown */
    double  p95_low, p95_high; /**< its bounds; NAN: unknown */
    /** Bounds by time, from ratios measured / predicted on what was left out of the fit
     * (interval.h); of a step without an interval of its own, those of its parts added up. NAN:
     * unknown. */
    double low[N_TIMES], high[N_TIMES];
    /** The step if its all-reduces alone take as long as the high and the low end of their
     * interval, and all else what is predicted; NAN: unknown. */
    double           slow, fast;
    bounded          alone; /**< backward, of all micro-steps, beside no message */
    const intervals *known; /**< that the bounds are by; NULL: by none */
    bool    stands_in;      /**< inference: no pass in evaluation mode was measured, so this is the
                          forward pass of training */
    grounds grounds;
    /** Energy of a device's own work, by a model that tells power beside time. joules 0: the model
     * tells none. */
    double  own_seconds;
    bounded own_joules; /**< with the bounds of the power */
} prediction;

#endif
