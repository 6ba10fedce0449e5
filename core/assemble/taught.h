/** Learned models that a fit teaches, on one machine or on several together. */
#ifndef ASSEMBLE_TAUGHT_H
#define ASSEMBLE_TAUGHT_H

#include "base/lists.h"
#include "fit/calibration.h"
#include "layerwise/layerwise_importance.h"
#include "layerwise/layerwise_points.h"

#define TAUGHT_MOST 8 /**< maximum number of models */

/** A task with too few times. */
typedef struct taught_little {
    char   task[LAYERWISE_NAME];
    size_t n;
} taught_little;

/** One model, and its result. */
typedef struct taught_model {
    const layerwise_kind  *kind;
    double                 setting[LAYERWISE_SETTINGS];
    const layerwise_model *model; /**< of the first calibration; NULL: not yet, or left out */
    taught_little         *little;
    size_t                 n_little;
    lm_error               left_out; /**< too few times in total; LM_OK: not left out */
} taught_model;

/** Zero-initialise. */
typedef struct taught_models {
    taught_model           of[TAUGHT_MOST];
    size_t                 n;
    layerwise_worth_taker *worth; /**< gets the importance of features; NULL: not wanted */
    void                  *context;
} taught_models;

/** Selects models by name. LM_E_NOTFOUND; LM_E_ARG for a name that occurs twice. */
lm_status taught_models_named(const word_list *list, taught_models *out, lm_error *err);
/** Sets the settings of all models from a text, by layerwise_settings(). NULL: defaults. */
lm_status taught_models_set(taught_models *t, const char *settings, lm_error *err);

/**
 * Teaches each model by all sources together. The n calibrations `cal` of the sources then own it.
 * A model with too few times is left out; LM_E_ARG if all are.
 */
lm_status taught_models_teach(taught_models *t, const layerwise_source *from, size_t n,
                              calibration *const *cal, lm_error *err);
void      taught_models_free(taught_models *t);

/** Name of the sources for messages: the file, or all of them. */
const char *taught_source(const layerwise_source *from, size_t n);

#endif
