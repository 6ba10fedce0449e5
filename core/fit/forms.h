/** The formulas of each model for each part of a step, and how they are fitted. */
#ifndef FIT_FORMS_H
#define FIT_FORMS_H

#include <stdbool.h>

#include "counts/counted.h"
#include "network/phase.h"
#include "solve/resource.h"

#define FORM_MAX_FEATURES 8

/** Passes whose kernels a form counts. */
enum {
    FORM_FORWARD     = 1,
    FORM_BACKWARD    = 2,
    FORM_UPDATE      = 4,
    FORM_GRAD_INPUT  = 8, /**< half of FORM_BACKWARD */
    FORM_GRAD_WEIGHT = 16
};

/**
 * A formula: linear in a few features of the whole network, or in the terms of its kernels
 * (terms.h).
 */
typedef struct form {
    const char *model;
    phase       part;
    feature     feature[FORM_MAX_FEATURES];
    size_t      n_features;   /**< 0: the form is in terms */
    unsigned    passes;       /**< form in terms: passes whose kernels count */
    bool        relative;     /**< weights 1 / measured: small times weigh as much as large ones */
    bool        non_negative; /**< coefficients >= 0 */
    const char *source;       /**< paper and equation */
} form;

/** All forms, grouped by model; the first model is the default of all commands. */
extern const form   forms[];
extern const size_t n_forms;

/**
 * Does a calibration measure this part? Parts that only published tables contain are not reported
 * as missing.
 */
bool part_calibrated(phase p);

/**
 * Fewest rows for a fit: the number of coefficients; 4 for a form in terms, which ties coefficients
 * that the rows cannot separate.
 */
size_t form_rows(const form *f);

/**
 * Sum of the terms over the passes of a form. The result points to `load`, or to `room` (N_TERMS)
 * for a sum. For a network of which only counts are known, `knots` gives the terms, in `room`;
 * empty if a count is missing.
 */
term_vector form_terms(const form *f, const workload *load, const count_knots *knots,
                       term_item *room);

/** How a model predicts single launches. */
typedef enum launch_way {
    LAUNCHES_UNTOLD,
    LAUNCHES_BY_PRICES, /**< prices of operators */
    LAUNCHES_BY_COUNTS, /**< FLOPs and bytes, by ordinary least squares */
    /** FLOPs and bytes, by relative and non-negative least squares */
    LAUNCHES_BY_RELATIVE_COUNTS,
    N_LAUNCH_WAYS
} launch_way;

/** A model of formulas, and its other abilities. */
typedef struct formula_model {
    const char *name;
    bool        prices;   /**< has prices of single layers, their sums, and powers */
    bool        residual; /**< adds the learned residual of these; has no formulas of its own */
    launch_way  launches;
    bool        usual; /**< part of the default comparison */
} formula_model;

/** The default model comes first. */
extern const formula_model formula_models[];
extern const size_t        n_formula_models;
/** A model without abilities if the name is unknown. */
const formula_model *formula_model_of(const char *name);
/** Name of the default model. */
#define DEFAULT_MODEL (formula_models[0].name)

/** Name of the i-th model, in the order of `forms`; NULL past the last. */
const char *model_at(size_t i);
/** Index of a model; the number of models if the name is unknown. */
size_t model_index(const char *name);
bool   model_known(const char *name);
/** Does its model know devices, so that it can be transferred to others? */
bool form_carried(size_t form_at);
/** Index of a form; n_forms if the model has no formula for the part. */
size_t form_find(const char *model, phase p);
/** form_find() with the name of the part. */
size_t form_find_named(const char *model, const char *part_text);
/** The resource of a device that bounds the price of a term. */
resource form_resource(size_t term);

#endif
