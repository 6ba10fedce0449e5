/**
 * What tells how long a step takes: one interface for all models.
 *
 * A model prices what a device does by itself (forward, backward, update) and the gradients that
 * ranks exchange. It says when gradients are ready, what bounds its seconds, and what they are made
 * of. predict/ composes the answer from these: no other room asks which model it is.
 *
 * A new kind of model is a file beside this one with its step_model, and a line in step_model.c. A
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

/** What runs a step: as it was measured; a framework that issues operations one by one; a graph of
 * launches that is replayed. */
typedef enum framework_kind { FRAMEWORK_NONE, FRAMEWORK_EAGER, FRAMEWORK_GRAPH } framework_kind;

/** A model, a machine and a network, ready to predict: predictor_open(). */
typedef struct predictor {
    const struct step_model *by;
    const void              *state; /**< of `by`: made when it is opened, then never written */
    void                    *memo;  /**< of `by`: what was asked last, for one thread; as `scan`
                                       written while steps are priced */
    const calibration       *cal;   /**< NULL: `by` takes a datasheet instead */
    workloads               *loads;
    const char              *model;   /**< "layermeter", "paleo" ... */
    const char              *network; /**< name or path */
    const char              *input;   /**< shape of one sample; NULL: the file's */
    lm_dtype                 dtype;
    lm_dtype                 mixed; /**< autocast to it; 0: none, or as `cal` was counted */
    lm_dtype
        weights; /**< inference: of all, in place of `dtype` and autocast, with a file of `amp=` rows;
                           0: as it was measured, which
                           predictor_open() makes of it where the file does not tell */
    autocast_kind  on;        /**< whose: set by predictor_open(), as `cal` says */
    framework_kind framework; /**< of step prices as predict/host_step.h tells them */
    net_shard      shard;     /**< the part of the network that one rank has; zeros: all */
    const char    *machine;   /**< file behind `cal`, for messages; may be NULL */
    interconnect   link;      /**< what connects nodes, as told; zeros: nothing is said */
    roofline       roof;      /**< of the device behind `cal`, by its datasheet: opened with it */
    double
        as_tf32; /**< above 0: products are asked as TF32 of a file of 16 bits, which take so many times as
                         long: the ratio of the datasheet's peaks, of predictor_open(); 1 asks for it */
    struct step_scan *scan; /**< what steps share (step_scan_new()); NULL: nothing */
} predictor;

/** Inputs of some models beside a machine file; zeros: not given. */
typedef struct model_source {
    const char    *device;    /**< by name, of a datasheet */
    const char    *devices;   /**< file of datasheets, looked at before the shipped ones */
    const char    *optimizer; /**< any word, of models that learned it by its name */
    paleo_platform platform;  /**< its percents of peak and scheme */
} model_source;

/** What a device takes by itself in one micro-step, its update included. Of inference: a forward pass
 * in evaluation mode; backward and update are 0, which inference_price() fills in. */
/** Least seconds of a micro-step's parts by the device's datasheet; 0: nothing is known. */
typedef struct least_price {
    double forward, backward, update;
} least_price;

typedef struct step_price {
    bounded          forward, backward; /**< s; NAN: not known by themselves */
    bounded          update; /**< s; NAN: not told from the all-reduces, or not known by itself */
    bounded          step;   /**< s, of the whole; in use where the passes are NAN */
    const intervals *known;  /**< the bounds are by these, and so are those of composed times;
                                 NULL: they are as stated */
    bool             tells_update; /**< `known` has an interval of the update */
    bool    stands_in; /**< inference: nothing was measured in evaluation mode, and `forward` is the
                       forward pass of training */
    bool    unbounded; /**< nothing is known of how far off it is, whatever it is added to */
    grounds passes, rest; /**< of forward, backward or the whole step; of the update */
    least_price least;    /**< no part of it, and no bound, is below: predictor_price() */
    bounded     joules_passes, joules_step; /**< with the bounds of the power; NAN: not told */
    net_metrics counts;
} step_price;

/** A price of inference: all unknown but what inference does not do, which takes 0 s. */
step_price inference_price(void);

/** Time of the all-reduces of a step in one message behind the backward pass. */
typedef struct exchange_price {
    double  seconds;
    bool    joint;     /**< with the update: nobody tells one from the other */
    double  beyond;    /**< ranks over the most that were measured; 0: not beyond */
    bool    told_link; /**< over a link that was told: what was measured of others bounds nothing */
    grounds grounds;   /**< its ledger: as if nothing of this very step had been measured */
    const intervals *known;         /**< has the interval of PHASE_SYNC; NULL: nobody knows it */
    bool             bounds_stated; /**< low and high are the model's own; else by `known` */
    double           low, high;
} exchange_price;

/** Clocks that a model was taught, MHz. */
typedef struct clock_range {
    double low, high; /**< of those that devices were held at */
    double usual;     /**< at which a step is told where none is asked for; 0: held at none */
} clock_range;

/** Seconds by what bounds them (terms.h), in one micro-step: of passes, of an update on one rank
 * and on several. */
typedef struct bound_price {
    double passes[N_TERM_BOUNDS], update[2][N_TERM_BOUNDS];
} bound_price;

typedef struct explanation explanation; /* models/explanation.h */

/** Measured points, and what is known to predict them by. */
typedef struct compared {
    const observations  *obs; /**< that the points are from */
    const struct points *p;
    const struct split  *by;      /**< what is left out; without folds where `cal` is there */
    const calibration   *cal;     /**< coefficients made elsewhere; NULL: fits to the points */
    const char          *machine; /**< its file */
    const struct device *on;      /**< by its datasheet; NULL: as the observations say */
    const char          *devices; /**< file of datasheets; NULL: the shipped ones */
    const char          *learn;   /**< settings of learned models; NULL: the usual ones */
    lm_error *untold; /**< set to why a network is not told, the first of these; NULL: not asked */
} compared;

typedef struct step_model {
    bool from_datasheet; /**< takes model_source.platform in place of a machine file */
    bool from_layers;    /**< learned single layers: knows optimizers by any word, and no terms */
    bool grows_evenly;   /**< its seconds grow with the batch as the counts do, by equal steps */
    /** Sets who->state and who->memo. NULL: there are none. */
    lm_status (*open)(predictor *who, const model_source *from, lm_error *err);
    void (*close)(predictor *who);
    /** Prices the program in `s`. LM_E_NOTFOUND if the machine file lacks what this needs; errors
     * of binding the network. */
    lm_status (*price)(const predictor *who, const step_setup *s, step_price *out, lm_error *err);
    /** Prices the exchange of several ranks. LM_E_NOTFOUND for what was neither measured nor told.
     */
    lm_status (*exchange)(const predictor *who, const step_setup *s, const net_metrics *counts,
                          exchange_price *out, lm_error *err);
    /** Buckets of a policy, and when they are ready. LM_E_UNSUPPORTED where the model does not know
     * when gradients are ready, or the all-reduce from the update. */
    lm_status (*buckets)(const predictor *who, const step_setup *s,
                         const gradient_schedule *gradients, priced_program **out, lm_error *err);
    /** At s->batch. NULL: the model does not say what bounds its seconds. */
    lm_status (*bounds)(const predictor *who, const step_setup *s, bound_price *out, lm_error *err);
    /** Which clocks it can be asked at; false, and NULL: its seconds are of one way to run it. */
    bool (*clocks)(const predictor *who, clock_range *out);
    /** Does it tell power beside time? NULL: it does not. */
    bool (*tells_power)(const predictor *who);
    /** Shares of e->step, which is there already. */
    lm_status (*explain)(const predictor *who, const step_setup *s, explanation *e, lm_error *err);
    /** How trees come to what it says of one layer, to explanation.h's decision_taker. LM_E_NOTFOUND: it
     * says nothing of that layer; LM_E_UNSUPPORTED: no tree does. NULL: it has no trees. */
    lm_status (*decide)(const predictor *who, const step_setup *s, const char *layer,
                        void (*take)(void *context, const struct decision *d), void *context,
                        lm_error *err);
    /** Predictions, with bounds, of points whose fold the fit did not see, or by a machine file. */
    lm_status (*compare)(const char *model, const compared *with, struct comparison *out,
                         lm_error *err);
} step_model;

/** Name of the i-th model, the default one first; NULL past the last. */
const char *step_model_name(size_t i);
/** NULL: there is none of that name. */
const step_model *step_model_find(const char *name);
/** "layermeter, counts, ...", with `between` between two. */
const char *step_model_names(const char *between, char *text, size_t size);
/** The models that can be compared with points, up to NULL: beside those that predict steps some
 * that only tell layers and kernels. */
const char *step_model_compared(size_t i);
/** Whose `compare` a name is, a formula of all-reduces among them; NULL: nobody's. */
const step_model *step_model_comparing(const char *name);
/** Is it predicted of a device by what was measured on others? */
bool step_model_carried(const char *name);
/** Does it learn rows of all clocks together? */
bool step_model_knows_clocks(const char *name);
/** The model behind a name on a machine. The default model has two forms, by what was measured. */
const step_model *step_model_of(const calibration *cal, const char *name);

/**
 * Opens the model `who->model` for who->cal; the other fields are the caller's, and stay.
 * predictor_close() in either case. LM_E_NOTFOUND for an unknown model, one that the machine file
 * lacks, and an unknown device.
 */
lm_status predictor_open(predictor *who, const model_source *from, lm_error *err);
void      predictor_close(predictor *who);

/** What the model prices, and no less than the device's datasheet allows: who->by->price, raised. */
lm_status predictor_price(const predictor *who, const step_setup *s, step_price *out,
                          lm_error *err);

/** Does the machine file say nothing of the element types that are asked for? */
static inline bool predictor_other_types(const predictor *who)
{
    return who->cal && who->cal->dtype &&
           (who->dtype != who->cal->dtype || who->mixed != calibration_mixed(who->cal));
}
enum { TYPES_TEXT = 40 };

/** "f32", or "f32 with autocast to bf16"; returns `text`. */
const char *types_print(lm_dtype dtype, lm_dtype mixed, char text[TYPES_TEXT]);
/** Element type of its products. */
lm_dtype predictor_product_dtype(const predictor *who);

/** Is a step the sum of single launches, whose host is priced apart? */
bool step_prices_launches(const predictor *who);

/** The network of a predictor, as a program runs it. */
workload_name predictor_workload(const predictor *who, program_kind program);

/** A predictor of the part of the network that one rank has in this step. It owns nothing, and shares
 * no prices with other steps if that is not all. */
predictor predictor_part(const predictor *who, const step_setup *s);

/** The model whose all-reduces the predictor's are: its own, of learned layers the default one. */
const char *predictor_sync_model(const predictor *who);
/** Most nodes, each of so many devices, whose all-reduces were measured, 1 at least. Of a predictor
 * with a machine file. */
int64_t predictor_nodes(const predictor *who, int64_t devices);
/** Does it say when gradients are ready, so that all-reduces may hide behind the pass? False, too,
 * where it says nothing of the network's steps. */
bool predictor_tells_gradients(const predictor *who);
/** Can it be asked at several clocks? */
bool predictor_tells_clocks(const predictor *who, clock_range *out);
/** LM_E_ARG for a clock above the device's highest, where that is known. */
lm_status predictor_check_highest(const predictor *who, double mhz, lm_error *err);
/** LM_E_UNSUPPORTED where it was taught no clocks, LM_E_ARG for one above the device's highest,
 * or outside of those that it was taught. */
lm_status predictor_check_clock(const predictor *who, double mhz, lm_error *err);
/** Does it tell power beside time? */
bool predictor_tells_power(const predictor *who);

#endif
