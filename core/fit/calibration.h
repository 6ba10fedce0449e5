/** Fitted coefficients of a machine. */
#ifndef FIT_CALIBRATION_H
#define FIT_CALIBRATION_H

#include "base/stats.h"
#include "device/limits.h"
#include "device/power.h"
#include "fabric/collective.h"
#include "fabric/job_curve.h"
#include "fabric/overlap_constants.h"
#include "fabric/sharing.h"
#include "fit/forms.h"
#include "fit/interval.h"
#include "fit/measured.h"
#include "fit/spread.h"
#include "learn/kept.h"
#include "observe/observation.h"
#include "program/host_clock.h"
#include "solve/lsq.h"

#define MAX_FORMS  48
#define MAX_MODELS 8

/** One coefficient with what the data say of it. */
typedef struct coefficient {
    double value;          /**< seconds per unit of the feature */
    double standard_error; /**< NAN: unknown */
    double low, high;      /**< range of the feature in the data; NAN: not known there */
    bool   determined;     /**< false: the data cannot tell it from the others */
    bool   at_bound;       /**< held at 0 */
    double known;          /**< of terms: how much of it is the measurements', 0 to 1 (shrink.h) */
} coefficient;

/** One formula of one model, fitted. */
typedef struct fitted {
    bool         present;
    size_t       rows, rank; /**< rows: too few, where it is not present */
    double       condition;
    stats_errors errors; /**< on the rows it was fitted to */
    /* On networks left out one at a time; NAN and 0 where there are fewer than two. */
    double       held_out_mape;
    size_t       held_out_groups;
    coefficient  coefficient[FORM_MAX_FEATURES];
    bool         by_allreduces; /**< of PHASE_SYNC: calibration.allreduces answers */
    count_knots  knots; /**< of a form in terms: of networks of which only counts are known */
    coefficient *term;  /**< of a form in terms: N_TERMS of them; NAN: unknown */
} fitted;

/** Coefficients of a fitted formula; of terms those that some row has. */
size_t fitted_coefficients(const form *f, const fitted *of);

/** Something learned of single layers, in a file beside the machine file: a model
 * (layerwise/layerwise.h), or powers (layer_watts.h). */
typedef struct learned_part {
    char            *name; /**< "justus" */
    const kept_kind *kind; /**< of `what` */
    void            *what; /**< NULL: it lies in the file and was not asked for */
    kept_file        file;
} learned_part;

/** What whole steps under layouts told (predict/laid_fit.h). */
typedef struct laid_steps {
    size_t rows;      /**< 0: none */
    double mape;      /**< of steps left out */
    double low, high; /**< of measured / predicted, the same: their central 90 % */
    size_t groups;    /**< behind these; 0: unknown */
    /* Where too few networks were measured to leave them out, single steps were: what they say is of
     * these networks, by network_name_key(). Others are off by LAID_OTHERS, too. */
    char **network;
    size_t n_networks; /**< 0: networks were left out */
} laid_steps;

/**
 * How far steps of a network are off by a fit to steps of others, beside what steps of the same
 * are: half the width of the central 90 %, as a logarithm. The root mean square of both sides of the
 * intervals of networks left out, of three published sets (foundry2024, big_models_misc,
 * vtrain2024).
 */
#define LAID_OTHERS 0.19

/**
 * How far kernels of steps under layouts are off by a machine file that was carried over and knows no
 * such step: bounds of measured / predicted. Four published sets (hf3d2025, vtrain2024, foundry2024,
 * big_models_misc) show the central 90 % of a fifth: a set's median is normal (Student's t of 3
 * degrees, as 4 medians tell it), its runs lie around it as those of the four do. Taken are half of the
 * runs, of those whose messages take less than a tenth, that do not wait for a host of LAID_HOST_MOST and
 * hold less than 7/8 of the memory, behind which allocators begin to stall.
 */
#define LAID_CARRIED_LOW  0.462
#define LAID_CARRIED_HIGH 1.328
/** What a training framework's host takes for a kernel at the high end, s: the most that fits to these
 * sets found. */
#define LAID_HOST_MOST 8e-5

/** Adds a copy; false: out of memory. */
bool laid_steps_add(laid_steps *l, const char *name);
void laid_steps_free(laid_steps *l);
/** Do the intervals hold of this network, by network_name_key()? */
bool laid_steps_hold(const laid_steps *l, const char *name);

/** Everything `fit` found out. */
typedef struct calibration {
    fitted               fitted[MAX_FORMS];     /**< by place in `forms` */
    intervals            intervals[MAX_MODELS]; /**< by place of the model, see model_at() */
    struct layer_model  *operators;             /**< of single kernels; NULL: none was fitted */
    struct layer_model  *layers;                /**< of single layers; NULL: none was fitted */
    struct composed_set *composed; /**< networks are composed of `layers`; NULL: they are not */
    power_model         *power;    /**< NULL: none was measured */
    limit_curves         limits;   /**< of jobs whose steps were measured under several limits */
    learned_part        *learned;
    size_t               n_learned;
    collective_model    *collectives; /**< NULL: none was fitted */
    provenance_entry    *provenance;  /**< of the observations, and "fitted from" */
    size_t               n_provenance;
    lm_dtype             mixed;      /**< calibration_mixed(), as its settings say */
    bool                 of_another; /**< its all-reduces are another cluster's ("interconnect") */
    job_curves           curves;     /**< of networks known by steps on several numbers of ranks */
    measured_set         measured;   /**< whole steps; of a transferred machine none */
    int64_t              max_ranks, max_hosts; /**< most that were measured together; >= 1 */
    lm_dtype             dtype;                /**< of all observations; 0: not known */
    term_settings        settings;             /**< what terms were counted with */
    overlap_constants    overlapping;
    sharing              shared;
    laid_steps           laid;
    repeat_spread        latency;     /**< of inference */
    host_time            host;        /**< of an eager framework */
    bool                 transferred; /**< carried over from other machines, see transfer.h */
    bool                 checked;     /**< loaded from a file whose checksum agrees */
} calibration;

void calibration_free(calibration *cal);

/** Adds an entry, its key numbered if it is there already; false when memory runs out. */
bool calibration_note(calibration *cal, const char *key, const char *value);

/** Adds those entries that say where measurements are from: source, licence, framework ... */
bool calibration_note_origin(calibration *cal, const provenance_entry *from, size_t n);

/** Adds what was learned, which is the calibration's from now on. LM_E_NOMEM. */
lm_status calibration_learned_add(calibration *cal, const char *name, const kept_kind *kind,
                                  void *what, lm_error *err);

/** Was anything learned under that name? */
bool calibration_learned_has(const calibration *cal, const char *name);

/**
 * What was learned under that name: read, or copied; the caller's, to be freed by its kind.
 *
 * @return LM_E_NOTFOUND if there is nothing of that name, what kept_file_load() returns
 */
lm_status calibration_learned_open(const calibration *cal, const char *name, const kept_kind *kind,
                                   void **out, lm_error *err);

/** Path of its file; its name, where it is in none yet or nothing of that name was learned. */
const char *calibration_learned_path(const calibration *cal, const char *name);

/** Could what was learned on top of prices of layers and kernels be read? What learned_check()
 * returns. */
lm_status calibration_check_residuals(const calibration *cal, lm_error *err);

/** Value of a key of the provenance; NULL: there is none. */
const char *calibration_told(const calibration *cal, const char *key);
/** Element type of products: that of autocast where settings ("amp=f16 layout=nhwc", "mixed=f16") say
 * so, else `dtype`. */
lm_dtype settings_product_dtype(const char *settings, lm_dtype dtype);
/** The same of a machine; LM_F32 where it does not say. */
lm_dtype calibration_product_dtype(const calibration *cal);
/** Autocast under which the networks of a machine were measured and counted (network/autocast.h); 0:
 * none. Those of `amp=` were counted in the type of their weights. */
static inline lm_dtype calibration_mixed(const calibration *cal)
{
    return cal->mixed;
}
/** What of the bytes of activations, bound as `dtype`, ranks send each other: products' where these are
 * narrower (autocast: what products make and read has their type). */
double calibration_travels(const calibration *cal, lm_dtype dtype);
/** Are products of two types equally fast, where a device has both? f16 and bf16 are. */
bool dtype_of_rate(lm_dtype a, lm_dtype b);
/** The device that was measured, else the one it was carried over to, else the CPU, as the
 * provenance has it; NULL: it does not say. */
const char *calibration_device(const calibration *cal);
/** Says which device was measured, whatever the provenance says; false: out of memory. */
bool calibration_measured_on(calibration *cal, const char *device);

/**
 * Terms of the default model that no row of training has, and inference has, cost in training what they
 * cost in inference: the kernels are the same. Not measured there, as the terms of unknown families.
 */
void calibration_lend(calibration *cal);

/** Contribution of one regressor to the seconds of a part. */
typedef struct contribution {
    uint32_t           regressor; /**< a term, or of a form in features a feature */
    const coefficient *c;
    double             count;   /**< NAN: not known of this network */
    double             seconds; /**< coefficient times count; NAN: one of them is unknown */
} contribution;

/** At most this many in a part. */
#define MAX_CONTRIBUTIONS N_TERMS

/** Regressors of a form that is present, into `room` (MAX_CONTRIBUTIONS); their seconds add up to
 * calibration_seconds(). How many; 0 where no terms are known of the network. */
size_t calibration_contributions(const calibration *cal, size_t form, const workload *load,
                                 contribution *room);

/** Seconds of a part: coefficients times features or terms. NAN if the form is not fitted, or a
 * coefficient it needs is unknown. */
double calibration_seconds(const calibration *cal, size_t form, const workload *load);

/**
 * Seconds of an all-reduce by a model, or by a baseline of that name (sync_baseline); NAN if it was
 * not calibrated for such. One rank: 0. Machine files by hand may state a ring over all ranks
 * instead, as the model's formula of PHASE_SYNC; it answers where no all-reduce was fitted.
 *
 * @param link what connects nodes, as told, where nothing was measured between them; NULL: nothing
 *             was told
 */
double calibration_collective(const calibration *cal, const char *model, const interconnect *link,
                              const collective_call *a);
/** The same of a bucket beside the backward pass: by nonblocking all-reduces, where those were
 * measured. */
double calibration_bucket(const calibration *cal, const char *model, const interconnect *link,
                          const collective_call *a);

/** Is the all-reduce of a model that tells it from the update answered by calibration_ask()? */
bool calibration_asks(const calibration *cal, const char *model);
/** Is what lies between nodes as told (`link`), not measured? */
bool calibration_assumes(const calibration *cal, const char *model, const interconnect *link,
                         int64_t nodes);
/** What it is made of, or why there is no answer: collective_ask() of the library's own choice. */
lm_status calibration_ask(const calibration *cal, const interconnect *link,
                          const collective_call *a, collective_answer *out, lm_error *err);

/** Most nodes, each of so many devices, on which all-reduces were measured, 1 at least; of a
 * formula that does not tell nodes from devices as many as the ranks make. */
int64_t calibration_nodes(const calibration *cal, const char *model, int64_t devices);

/** Intervals of a model that model_known(). */
const intervals *calibration_intervals(const calibration *cal, const char *model);

#endif
