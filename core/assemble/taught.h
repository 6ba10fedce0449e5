/** Learned models that a fit teaches, on one machine or on several together. */
#ifndef ASSEMBLE_TAUGHT_H
#define ASSEMBLE_TAUGHT_H

#include "base/lists.h"
#include "fit/calibration.h"
#include "layerwise/layerwise_importance.h"
#include "layerwise/layerwise_points.h"

#define TAUGHT_MOST 8 /**< models at once */

/** A task of which there are too few times. */
typedef struct taught_little {
    char   task[LAYERWISE_NAME];
    size_t n;
} taught_little;

/** One model, and what came of it. */
typedef struct taught_model {
    const layerwise_kind  *kind;
    double                 setting[LAYERWISE_SETTINGS];
    const layerwise_model *model; /**< in the first calibration; NULL: not yet, or left out */
    taught_little         *little;
    size_t                 n_little;
    lm_error               left_out; /**< too few times in all; LM_OK: it is not left out */
} taught_model;

/** Zero-initialise. */
typedef struct taught_models {
    taught_model           of[TAUGHT_MOST];
    size_t                 n;
    layerwise_worth_taker *worth; /**< told what features are worth; NULL: it is not asked */
    void                  *context;
} taught_models;

/** The models by name, to be taught. LM_E_NOTFOUND, LM_E_ARG for one that is there twice. */
lm_status taught_models_named(const word_list *list, taught_models *out, lm_error *err);
/** What layerwise_settings() reads of the text, for each. NULL: the usual ones. */
lm_status taught_models_set(taught_models *t, const char *settings, lm_error *err);

/**
 * Teaches each by all sources together. The calibration of each source (`cal`: n of them) keeps it
 * from then on. One with too few times is left out, unless all are: LM_E_ARG.
 */
lm_status taught_models_teach(taught_models *t, const layerwise_source *from, size_t n,
                              calibration *const *cal, lm_error *err);
void      taught_models_free(taught_models *t);

/** What messages call the sources: the file, or all of them. */
const char *taught_source(const layerwise_source *from, size_t n);

#endif
