/**
 * The interface of all models that predict the time of a step.
 *
 * A model prices a device's own work (forward, backward, update) and the exchange of gradients
 * between ranks. It knows when gradients are ready, what bounds its seconds, and what they consist
 * of. predict/ composes the answer from these; no other room depends on the kind of model.
 *
 * A new kind of model is a file in this folder with its step_model, and a line in step_model.c. A
 * learned model of single layers is a file with its layerwise_kind, and a line in layerwise.c.
 */
#ifndef MODELS_STEP_MODEL_H
#define MODELS_STEP_MODEL_H

#include "device/roofline.h"
#include "models/paleo.h"
#include "models/step.h"

struct step_model;
struct step_scan;
struct comparison; /* fit/comparison.h */
struct decision;   /* models/explanation.h */
struct device;     /* device/device.h */
struct points;     /* observe/points.h */
struct split;      /* fit/split.h */

/**
 * Framework that runs a step. FILE: EAGER where the machine file has a framework's host, else NONE
 * (predictor_framework()). NONE: as it was measured. EAGER: a framework that issues operations one
 * by one. GRAPH: a recorded graph of launches that is replayed.
 */
typedef enum framework_kind {
    FRAMEWORK_FILE,
    FRAMEWORK_NONE,
    FRAMEWORK_EAGER,
    FRAMEWORK_GRAPH
} framework_kind;

/** A model, a machine and a network, ready to predict: predictor_open(). */
typedef struct predictor {
    const struct step_model *by;
    const void              *state; /**< state of `by`, made by open(), constant afterwards */
    /** cache of `by`, for one thread; like `scan` it changes while steps are priced */
    void              *memo;
    const calibration *cal; /**< NULL: `by` uses a datasheet instead */
    workloads         *loads;
    const char        *model;   /**< "layermeter", "paleo" ... */
    const char        *network; /**< name or path */
    const char        *input;   /**< shape of one sample; NULL: the file's */
    lm_dtype           dtype;
    /** autocast to this type; 0: none, or as `cal` was counted */
    lm_dtype mixed;
    /**
     * inference: element type of all tensors (16 bits or FP8), instead of `dtype` and autocast, for a
     * file of `amp=` rows. 0: as measured; predictor_open() sets it if the file does not say
     */
    lm_dtype      weights;
    bool          weights_told; /**< the user asked for `weights`: memory of training has it, too */
    autocast_kind on; /**< kind of device for autocast; predictor_open() takes it from `cal` */
    framework_kind framework; /**< changes step prices as in predict/host_step.h */
    net_shard      shard;     /**< the part of the network that one rank has; zeros: all */
    const char    *machine;   /**< path of the machine file, for messages; may be NULL */
    /** the file beside it that was measured in `dtype` and `mixed`, which `cal` was not; NULL: none */
    const char  *measured_so;
    interconnect link; /**< the user's description of the link between nodes; zeros: none */
    roofline     roof; /**< peaks of the device behind `cal`, from its datasheet */
    /**
     * above 0: products run as TF32, and `cal` has 16-bit measurements. They take as_tf32 times as
     * long: the ratio of the datasheet's peaks, set by predictor_open(). 1 requests this
     */
    double            as_tf32;
    struct step_scan *scan; /**< cache that steps share (step_scan_new()); NULL: none */
} predictor;

/** Inputs of some models, beside a machine file; zeros: not given. */
typedef struct model_source {
    const char    *device;    /**< name of a datasheet */
    const char    *devices;   /**< file of datasheets that is searched before the shipped ones */
    const char    *optimizer; /**< any word, for models that learned optimizers by name */
    paleo_platform platform;  /**< paleo: percents of peak, and scheme */
} model_source;

/** Seconds of a micro-step's parts. */
typedef struct part_seconds {
    double forward, backward, update;
} part_seconds;

/**
 * A device's own work in one micro-step, its update included. Inference: a forward pass in
 * evaluation mode; backward and update are 0, as inference_price() sets them.
 */
typedef struct step_price {
    bounded forward, backward; /**< s, of one micro-step; NAN: not known separately */
    bounded update;            /**< s; NAN: not separated from the all-reduces, or not known */
    bounded step;              /**< s, the whole micro-step; valid if the passes are NAN */
    /** intervals of the bounds and of composed times; NULL: the bounds are stated here */
    const intervals *known;
    bool             tells_update; /**< `known` has an interval of the update */
    /**
     * inference: nothing was measured in evaluation mode; `forward` is the forward pass of training
     */
    bool stands_in;
    bool unbounded; /**< the error is unknown, also of any sum with it */
    /** passes: of forward, backward or the whole step; rest: of the update */
    grounds passes, rest;
    /** by the device's datasheet; 0: no bound. No part and no bound is lower: predictor_price() */
    part_seconds least;
    part_seconds added; /**< by the host of an eager framework (predict/host_step.h) */
    bounded      joules_passes, joules_step; /**< J, with the bounds of the power; NAN: unknown */
    net_metrics  counts;
} step_price;

/**
 * A price of inference to fill in: all unknown, except the parts that inference does not have,
 * which are 0.
 */
step_price inference_price(void);

/** Time of a step's all-reduces as one message after the backward pass. */
typedef struct exchange_price {
    double seconds;
    bool   joint;  /**< includes the update, which cannot be separated */
    double beyond; /**< ranks divided by the most that were measured; 0: within the range */
    /** the user described the link: measurements of other links give no bounds */
    bool             told_link;
    grounds          grounds; /**< its ledger assumes that this same step was not measured */
    const intervals *known;   /**< has the interval of PHASE_SYNC; NULL: unknown */
    /** low and high are stated by the model; else they come from `known` */
    bool   bounds_stated;
    double low, high;
} exchange_price;

/** Clocks that a model learned, MHz. */
typedef struct clock_range {
    double low, high; /**< lowest and highest clock that devices were held at */
    double usual;     /**< clock of predictions without a clock; 0: devices were not held */
} clock_range;

/**
 * Seconds of one micro-step by bound (terms.h): of the passes; of the update on one rank [0] and on
 * several [1].
 */
typedef struct bound_price {
    double passes[N_TERM_BOUNDS], update[2][N_TERM_BOUNDS];
} bound_price;

typedef struct explanation explanation; /* models/explanation.h */

/** Measured points, and the means to predict them. */
typedef struct compared {
    const observations  *obs; /**< source of the points */
    const struct points *p;
    const struct split  *by;      /**< groups to leave out; without folds if `cal` is set */
    const calibration   *cal;     /**< coefficients from elsewhere; NULL: fit to the points */
    const char          *machine; /**< path of that file */
    const struct device *on;      /**< device with a datasheet; NULL: as the observations say */
    const char          *devices; /**< file of datasheets; NULL: the shipped ones */
    const char          *learn;   /**< settings of learned models; NULL: defaults */
    /** receives the reason why the first network could not be predicted; NULL: not wanted */
    lm_error *untold;
} compared;

typedef struct step_model {
    bool from_datasheet; /**< uses model_source.platform instead of a machine file */
    /** learned single layers: knows optimizers by any word, and has no terms */
    bool from_layers;
    bool grows_evenly; /**< seconds grow with the batch in equal steps, as counts do */
    /** Sets who->state and who->memo. NULL: the model has none. */
    lm_status (*open)(predictor *who, const model_source *from, lm_error *err);
    void (*close)(predictor *who);
    /**
     * Prices the program in `s`. LM_E_NOTFOUND if the machine file lacks a needed coefficient;
     * errors of binding the network.
     */
    lm_status (*price)(const predictor *who, const step_setup *s, step_price *out, lm_error *err);
    /**
     * Prices the gradient exchange of several ranks. LM_E_NOTFOUND if it was neither measured nor
     * described.
     */
    lm_status (*exchange)(const predictor *who, const step_setup *s, const net_metrics *counts,
                          exchange_price *out, lm_error *err);
    /**
     * Buckets of a policy, and when each is ready. LM_E_UNSUPPORTED if the model does not know when
     * gradients are ready, or cannot separate all-reduce and update.
     */
    lm_status (*buckets)(const predictor *who, const step_setup *s,
                         const gradient_schedule *gradients, priced_program **out, lm_error *err);
    /** Seconds by bound, at s->batch. NULL: the model does not know its bounds. */
    lm_status (*bounds)(const predictor *who, const step_setup *s, bound_price *out, lm_error *err);
    /** The clocks that it can predict. False, or NULL: it knows no clocks. */
    bool (*clocks)(const predictor *who, clock_range *out);
    /** Does it predict power, too? NULL: no. */
    bool (*tells_power)(const predictor *who);
    /** Fills in the parts of e->step, which is set already. */
    lm_status (*explain)(const predictor *who, const step_setup *s, explanation *e, lm_error *err);
    /**
     * Passes the decisions of its trees for one layer to `take` (explanation.h). LM_E_NOTFOUND: no
     * prediction for that layer; LM_E_UNSUPPORTED: its prediction uses no tree. NULL: the model has
     * no trees.
     */
    lm_status (*decide)(const predictor *who, const step_setup *s, const char *layer,
                        void (*take)(void *context, const struct decision *d), void *context,
                        lm_error *err);
    /**
     * Predicts points, with bounds: by fits that did not see the point's fold, or by a machine
     * file.
     */
    lm_status (*compare)(const char *model, const compared *with, struct comparison *out,
                         lm_error *err);
} step_model;

/** Name of the i-th model, the default one first; NULL past the last. */
const char *step_model_name(size_t i);
/** NULL: no model of that name. */
const step_model *step_model_find(const char *name);
/** All names: "layermeter, counts, ...". */
const char *step_model_names(char *text, size_t size);
/**
 * Name of the i-th model that can be compared with points; NULL past the last. Some of them predict
 * only layers and kernels.
 */
const char *step_model_compared(size_t i);
/**
 * The model whose `compare` handles this name, which may be a formula for all-reduces; NULL: none.
 */
const step_model *step_model_comparing(const char *name);
/** Can it predict a device from measurements on others? */
bool step_model_carried(const char *name);
/** Does it learn rows of all clocks together? */
bool step_model_knows_clocks(const char *name);
/**
 * The model of this name on a machine. The default model has two forms; the measurements decide.
 */
const step_model *step_model_of(const calibration *cal, const char *name);

/**
 * Opens the model `who->model` for who->cal; the other fields are the caller's and stay. Call
 * predictor_close() in either case. LM_E_NOTFOUND for an unknown model, one that the machine file
 * lacks, or an unknown device.
 */
lm_status predictor_open(predictor *who, const model_source *from, lm_error *err);
void      predictor_close(predictor *who);

/** The price by who->by->price, raised to the device's datasheet limit. */
lm_status predictor_price(const predictor *who, const step_setup *s, step_price *out,
                          lm_error *err);

/** Does the machine file lack the element types that are asked for? */
static inline bool predictor_other_types(const predictor *who)
{
    return who->cal && who->cal->dtype &&
           (who->dtype != who->cal->dtype || who->mixed != who->cal->mixed);
}
/** Inference in FP8 by a file of `amp=` rows: as 16 bits, with half the bytes and FLOPs that take half as
 * long. */
static inline bool predictor_infers_fp8(const predictor *who, program_kind program)
{
    return who->weights == LM_F8 && program == PROGRAM_INFERENCE;
}
enum { TYPES_TEXT = 40 };

/** "f32", or "f32 with autocast to bf16"; returns `text`. */
const char *types_print(lm_dtype dtype, lm_dtype mixed, char text[TYPES_TEXT]);
/** Element type of its products. */
lm_dtype predictor_product_dtype(const predictor *who);

/** Reads file, none, eager or graph. LM_E_ARG for other words. */
lm_status framework_parse(const char *text, framework_kind *out, lm_error *err);

/** Was the machine measured with PyTorch, so that its times include the framework's host? */
bool predictor_includes_host(const predictor *who);

/** The framework of its steps; never FRAMEWORK_FILE. */
framework_kind predictor_framework(const predictor *who);

/** Is a step the sum of single launches, with a separate price for the host? */
bool step_prices_launches(const predictor *who);

/** The network of a predictor, in the mode of a program. */
workload_name predictor_workload(const predictor *who, program_kind program);

/**
 * A predictor of the part of the network that one rank has in this step. It owns nothing. If the
 * part is not the whole network, it shares no prices with other steps.
 */
predictor predictor_part(const predictor *who, const step_setup *s);

/**
 * The model that predicts the all-reduces: the predictor's own; for learned layers the default one.
 */
const char *predictor_sync_model(const predictor *who);
/**
 * The largest number of nodes, with `devices` each, whose all-reduces were measured; at least 1.
 * Needs a machine file.
 */
int64_t predictor_nodes(const predictor *who, int64_t devices);
/**
 * Does the model know when gradients are ready, so that all-reduces can overlap the backward pass?
 * False also if it cannot predict the network's steps.
 */
bool predictor_tells_gradients(const predictor *who);
/** Can it predict several clocks? */
bool predictor_tells_clocks(const predictor *who, clock_range *out);
/** LM_E_ARG for a clock above the device's highest, if that is known. */
lm_status predictor_check_highest(const predictor *who, double mhz, lm_error *err);
/**
 * LM_E_UNSUPPORTED if it learned no clocks; LM_E_ARG for a clock above the device's highest, or
 * outside those that it learned.
 */
lm_status predictor_check_clock(const predictor *who, double mhz, lm_error *err);
/** Does it predict power, too? */
bool predictor_tells_power(const predictor *who);

#endif
