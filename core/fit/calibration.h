/** Fitted coefficients of a machine. */
#ifndef FIT_CALIBRATION_H
#define FIT_CALIBRATION_H

#include "base/stats.h"
#include "base/text.h"
#include "device/limits.h"
#include "device/power.h"
#include "fabric/collective.h"
#include "fabric/job_curve.h"
#include "fabric/overlap_constants.h"
#include "fabric/sharing.h"
#include "fit/forms.h"
#include "fit/interval.h"
#include "fit/laid_factors.h"
#include "fit/measured.h"
#include "fit/spread.h"
#include "learn/kept.h"
#include "observe/observation.h"
#include "program/host_clock.h"
#include "solve/lsq.h"

#define MAX_FORMS  48
#define MAX_MODELS 8

/** One coefficient, and the evidence for it. */
typedef struct coefficient {
    double value;          /**< seconds per unit of the feature */
    double standard_error; /**< NAN: unknown */
    double low, high;      /**< range of the feature in the data; NAN: unknown */
    bool   determined;     /**< false: the data cannot separate it from other coefficients */
    bool   at_bound;       /**< the fit holds it at 0 */
    double known; /**< terms: the share that the measurements determine, 0 to 1 (shrink.h) */
} coefficient;

/** One formula of one model, fitted. */
typedef struct fitted {
    bool         present;
    size_t       rows, rank; /**< rows: too few if not `present` */
    double       condition;
    stats_errors errors; /**< errors on the rows of the fit */
    /* Errors of cross-validation over networks; NAN and 0 with fewer than two networks. */
    double       held_out_mape;
    size_t       held_out_groups;
    coefficient  coefficient[FORM_MAX_FEATURES];
    bool         by_allreduces; /**< for PHASE_SYNC: calibration.collectives answers */
    count_knots  knots; /**< for a form in terms: for networks of which only counts are known */
    coefficient *term;  /**< for a form in terms: N_TERMS coefficients; NAN: unknown */
} fitted;

/** Number of coefficients of a fitted formula; for terms, those that appear in some row. */
size_t fitted_coefficients(const form *f, const fitted *of);

/**
 * Something learned, in a file beside the machine file: a model of single layers
 * (layerwise/layerwise.h), or powers (layer_watts.h).
 */
typedef struct learned_part {
    char            *name; /**< "justus" */
    const kept_kind *kind; /**< type of `what` */
    void            *what; /**< NULL: it is in the file and was not read yet */
    kept_file        file;
} learned_part;

/** Results of a fit to whole steps under layouts (predict/laid_fit.h). */
typedef struct laid_steps {
    size_t rows;      /**< 0: none */
    double mape;      /**< of steps left out */
    double low, high; /**< of measured / predicted, the same: their central 90 % */
    size_t groups;    /**< behind these; 0: unknown */
    bool   kernels;   /**< the errors are those of kernels; messages and the host were not fitted */
    /* Set if too few networks were measured to leave networks out, so that single steps were left
     * out. The errors are then valid for these networks, by network_name_key(). For others
     * LAID_OTHERS adds to them. */
    char **network;
    size_t n_networks; /**< 0: networks were left out */
} laid_steps;

/**
 * Further error of a fit on steps of other networks: half the width of the central 90 %, as a
 * logarithm. It is the root mean square over both sides of the intervals from cross-validation over
 * networks, on three published sets (foundry2024, big_models_misc, vtrain2024).
 */
#define LAID_OTHERS 0.19

/**
 * The same of prices of kernels by one or two networks, for others and other training frameworks: 1.645 root mean squares of four
 * logarithms. These are medians of measured / predicted on A100 between foundry2024, vtrain2024 and
 * big_models_misc, each way where four steps or more tell of kernels alone.
 */
#define LAID_FRAMEWORKS 0.40

/**
 * Error of kernels in steps under layouts, by a carried-over machine file without such steps:
 * bounds of measured / predicted. They are the central 90 % of a fifth set of runs, from four
 * published sets (hf3d2025, vtrain2024, foundry2024, big_models_misc). A set's median is normal
 * (Student's t of 3 degrees of freedom, as there are 4 medians). Its runs scatter around the median
 * as in the four sets. Half of all runs count, those with messages of less than a tenth of the
 * step, no waits for a host of LAID_HOST_MOST, and less than 7/8 of the memory in use. Beyond this,
 * allocators begin to stall.
 */
#define LAID_CARRIED_LOW  0.462
#define LAID_CARRIED_HIGH 1.328
/** High end of a training framework's host time for a kernel, s: the largest value from fits to
 * these sets. */
#define LAID_HOST_MOST 8e-5

/** Adds a copy; false: out of memory. */
bool laid_steps_add(laid_steps *l, const char *name);
void laid_steps_free(laid_steps *l);
/** Are the bounds valid for this network, named by network_name_key()? */
bool laid_steps_hold(const laid_steps *l, const char *name);
/** Widens bounds of measured / predicted by an independent error, half its width as a logarithm. */
void laid_steps_widen(double *low, double *high, double others);
/** The bounds for this network, NULL: for any; LAID_OTHERS adds to those of networks outside the fit. */
void laid_steps_bounds(const laid_steps *l, const char *name, double *low, double *high);

/** All results of `fit`. */
typedef struct calibration {
    fitted               fitted[MAX_FORMS];     /**< indexed as `forms` */
    intervals            intervals[MAX_MODELS]; /**< indexed by model, see model_at() */
    struct layer_model  *operators;             /**< prices of single kernels; NULL: none */
    struct layer_model  *layers;                /**< prices of single layers; NULL: none */
    struct composed_set *composed; /**< factors that compose networks of `layers`; NULL: none */
    power_model         *power;    /**< NULL: no power was measured */
    limit_curves         limits;   /**< jobs whose steps were measured under several power limits */
    learned_part        *learned;
    size_t               n_learned;
    collective_model    *collectives; /**< NULL: none was fitted */
    provenance_entry    *provenance;  /**< of the observations, and "fitted from" */
    size_t               n_provenance;
    /** type of autocast with which the networks were measured and counted (network/autocast.h); 0:
     * none. Networks with `amp=` were counted in the type of their weights. */
    lm_dtype mixed;
    /** its all-reduces were measured on another cluster ("interconnect") */
    bool       of_another;
    job_curves curves; /**< networks with steps on several numbers of ranks */
    /** whole steps that were measured; empty for a transferred machine */
    measured_set      measured;
    int64_t           max_ranks, max_hosts; /**< the most that were measured together; >= 1 */
    lm_dtype          dtype;                /**< of all observations; 0: unknown */
    term_settings     settings;             /**< settings with which terms were counted */
    overlap_constants overlapping;
    sharing           shared;
    laid_steps        laid;
    laid_factors      by_steps;    /**< on the prices of kernels, by steps under layouts */
    repeat_spread     latency;     /**< spread of repetitions, for inference */
    host_time         host;        /**< time of an eager framework's host */
    bool              transferred; /**< derived from other machines, see transfer.h */
    bool              checked;     /**< read from a file whose checksum is right */
} calibration;

void calibration_free(calibration *cal);

/** Adds an entry; a key that exists already gets a number appended. False: out of memory. */
bool calibration_note(calibration *cal, const char *key, const char *value);

/**
 * Adds the entries about the origin of measurements: source, licence, framework ... False: out of
 * memory.
 */
bool calibration_note_origin(calibration *cal, const provenance_entry *from, size_t n);

/** Adds a learned part and takes ownership of `what`. LM_E_NOMEM. */
lm_status calibration_learned_add(calibration *cal, const char *name, const kept_kind *kind,
                                  void *what, lm_error *err);

/** Is there a learned part of that name? */
bool calibration_learned_has(const calibration *cal, const char *name);

/**
 * Reads or copies the learned part of that name. The caller frees it by its kind.
 *
 * @return LM_E_NOTFOUND if there is none; errors of kept_file_load()
 */
lm_status calibration_learned_open(const calibration *cal, const char *name, const kept_kind *kind,
                                   void **out, lm_error *err);

/** Path of the file of a learned part; `name` itself if it has no file yet, or does not exist. */
const char *calibration_learned_path(const calibration *cal, const char *name);

/** Checks that the residuals of layers and kernels can be read. Errors of learned_check(). */
lm_status calibration_check_residuals(const calibration *cal, lm_error *err);

/** Value of a key of the provenance; NULL: no such key. */
const char *calibration_told(const calibration *cal, const char *key);
/** "amp=f16 layout=nhwc"; "": none are known. */
const char *calibration_settings(const calibration *cal);
/**
 * Element type of products: that of autocast in the settings ("amp=f16 layout=nhwc", "mixed=f16"),
 * else `dtype`.
 */
lm_dtype settings_product_dtype(const char *settings, lm_dtype dtype);
/**
 * By which peak products are bound: settings_product_dtype(), or DTYPE_TF32 for f32 with
 * "math=tf32".
 */
lm_dtype settings_rate_dtype(const char *settings, lm_dtype dtype);
/** settings_product_dtype() of a machine; LM_F32 if it is unknown. */
lm_dtype calibration_product_dtype(const calibration *cal);
/** settings_rate_dtype() of a machine. */
lm_dtype calibration_rate_dtype(const calibration *cal);
/**
 * The share of an activation's bytes, bound as `dtype`, that ranks send to each other. It is below
 * 1 if products have a narrower type (autocast): tensors of products then have that type.
 */
double calibration_travels(const calibration *cal, lm_dtype dtype);
/** Are products of two types equally fast on devices that have both? f16 and bf16 are. */
bool dtype_of_rate(lm_dtype a, lm_dtype b);
/**
 * Name of the device in the provenance: the measured one, else the target of a transfer, else the
 * CPU. NULL: not stated.
 */
const char *calibration_device(const calibration *cal);
/** Sets the name of the measured device, whatever the provenance says; false: out of memory. */
bool calibration_measured_on(calibration *cal, const char *device);

/**
 * Fills training terms of the default model that have no rows with the coefficients of inference,
 * whose kernels are the same. They count as not measured, like terms of unknown families.
 */
void calibration_lend(calibration *cal);

/** The part of one regressor in the seconds of a form. */
typedef struct contribution {
    uint32_t           regressor; /**< a term; for a form in features, a feature */
    const coefficient *c;
    double             price;   /**< s per unit: coefficient and calibration.by_steps */
    double             count;   /**< NAN: unknown for this network */
    double             seconds; /**< price * count; NAN: one of them is unknown */
} contribution;

/** Largest number in one form. */
#define MAX_CONTRIBUTIONS N_TERMS

/**
 * Writes the contributions of a fitted form into `room` (MAX_CONTRIBUTIONS). Their seconds add up
 * to calibration_seconds(). Returns their number; 0 if no terms are known of the network.
 */
size_t calibration_contributions(const calibration *cal, size_t form, const workload *load,
                                 contribution *room);

/**
 * Seconds of a form: sum of coefficients times features or terms. NAN if the form is not fitted, or
 * a needed coefficient is unknown.
 */
double calibration_seconds(const calibration *cal, size_t form, const workload *load);

/**
 * Seconds of an all-reduce by a model, or by a published formula of that name (sync_baseline). NAN
 * if it was not calibrated. One rank: 0. A machine file that was written by hand may state the
 * model's formula of PHASE_SYNC instead: a ring over all ranks. This formula is used if no
 * all-reduce was fitted.
 *
 * @param link the user's description of the link between nodes, used if nothing was measured there;
 *             NULL: none
 */
double calibration_collective(const calibration *cal, const char *model, const interconnect *link,
                              const collective_call *a);
/**
 * calibration_collective() for a bucket during the backward pass: uses nonblocking all-reduces, if
 * these were measured.
 */
double calibration_bucket(const calibration *cal, const char *model, const interconnect *link,
                          const collective_call *a);

/**
 * Does calibration_ask() answer for this model? The model must separate the all-reduce from the
 * update.
 */
bool calibration_asks(const calibration *cal, const char *model);
/** Is the link between nodes taken from `link`, because it was not measured? */
bool calibration_assumes(const calibration *cal, const char *model, const interconnect *link,
                         int64_t nodes);
/**
 * The parts of an all-reduce, or the reason why there is no answer: collective_ask() for the
 * library's default.
 */
lm_status calibration_ask(const calibration *cal, const interconnect *link,
                          const collective_call *a, collective_answer *out, lm_error *err);

/**
 * The largest number of nodes, with `devices` each, on which all-reduces were measured; at least 1.
 * A formula that does not separate nodes and devices counts the ranks.
 */
int64_t calibration_nodes(const calibration *cal, const char *model, int64_t devices);

/** Intervals of a model; model_known() must be true. */
const intervals *calibration_intervals(const calibration *cal, const char *model);

#endif
