/** Which regressors each model takes for each part of a step, and how it is fitted. */
#ifndef FIT_FORMS_H
#define FIT_FORMS_H

#include <stdbool.h>

#include "counts/counted.h"
#include "network/phase.h"

#define FORM_MAX_FEATURES 8

/** Passes whose kernels a form counts. */
enum {
    FORM_FORWARD     = 1,
    FORM_BACKWARD    = 2,
    FORM_UPDATE      = 4,
    FORM_GRAD_INPUT  = 8, /**< half of the backward ones */
    FORM_GRAD_WEIGHT = 16
};

/** Linear in a few features of the whole network, or in the terms of its kernels (terms.h). */
typedef struct form {
    const char *model;
    phase       part;
    feature     feature[FORM_MAX_FEATURES];
    size_t      n_features;   /**< 0: in terms */
    unsigned    passes;       /**< in terms: of the kernels of these */
    bool        relative;     /**< weights 1 / measured: small times count as much as large ones */
    bool        non_negative; /**< coefficients >= 0 */
    const char *source;       /**< paper and equation */
} form;

/** All forms, models one after the other; the first named is the default of every command. */
extern const form   forms[];
extern const size_t n_forms;

/** Does a calibration measure it? What only tables of others hold is not missed. */
bool part_calibrated(phase p);

/** Fewest rows that it can be fitted to: as many as it has coefficients; of a form in terms, which
 * ties what the rows cannot tell apart, 4. */
size_t form_rows(const form *f);

/** Terms of the passes that a form counts, added up: those of `load`, or of several passes in
 * `room` (N_TERMS). Of a network of which only counts are known those by `knots`, in `room`; none
 * if it lacks some. */
term_vector form_terms(const form *f, const workload *load, const count_knots *knots,
                       term_item *room);

/** How a model tells single launches. */
typedef enum launch_way {
    LAUNCHES_UNTOLD,
    LAUNCHES_BY_PRICES,          /**< of operators */
    LAUNCHES_BY_COUNTS,          /**< FLOPs, bytes: ordinary least squares */
    LAUNCHES_BY_RELATIVE_COUNTS, /**< relative and non-negative ones */
    N_LAUNCH_WAYS
} launch_way;

/** A model of formulas, and what it knows beside them. */
typedef struct formula_model {
    const char *name;
    bool        prices;   /**< prices of single layers, sums of them, and powers */
    bool        residual; /**< with what these leave over, learned; it has no formulas of its own */
    launch_way  launches;
    bool        usual; /**< compared where nothing is said */
} formula_model;

/** The default one first. */
extern const formula_model formula_models[];
extern const size_t        n_formula_models;
/** One that tells nothing if there is none of that name. */
const formula_model *formula_model_of(const char *name);
/** The first. */
#define DEFAULT_MODEL (formula_models[0].name)

/** Models in the order of `forms`; NULL past the last. */
const char *model_at(size_t i);
/** The place of a model among them; their number if there is none of that name. */
size_t model_index(const char *name);
bool        model_known(const char *name);
/** Is it of a model that knows devices, and so is carried over to others? */
bool form_carried(size_t form_at);
/** n_forms if the model states no formula for the part. */
size_t form_find(const char *model, phase p);
/** The same with the part by name. */
size_t form_find_named(const char *model, const char *part_text);

#endif
