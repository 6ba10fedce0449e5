/** Learned models of single layers on the command line: fit --model, validate --model, predict. */
#ifndef CLI_LEARNED_MODELS_H
#define CLI_LEARNED_MODELS_H

#include "baselines/layerwise_points.h"
#include "cli/options.h"
#include "fit/calibration.h"
#include "report/table.h"

#define LEARNED_MOST 8 /**< models that one command takes */

/** Models that a fit learns. */
typedef struct learned_models {
    const layerwise_kind *kind[LEARNED_MOST];
    double                setting[LEARNED_MOST][LAYERWISE_SETTINGS];
    /** Of the first calibration that has it; NULL: not yet, or left out. */
    const layerwise_model *model[LEARNED_MOST];
    size_t                 n;
} learned_models;

/** The models that an option names, with the settings of --learn, which fills `settings` (NULL: not
 * given). The text is that of a misuse. */
lm_status learned_models_parse(const options *o, const option_texts *list,
                               const char *const *settings, learned_models *out, lm_error *err);

/**
 * Learns each of all sources together, into the calibration of each (`cal`: n of them), too; says
 * on stderr what came of it. One of which there are too few times is left out, `model` NULL, unless
 * all are: LM_E_ARG.
 */
lm_status learned_models_fit(learned_models *l, const layerwise_source *from, size_t n,
                             calibration *const *cal, lm_error *err);

/** A row for each task, in the table of fit. */
void learned_models_rows(const learned_models *l, table *t);

/**
 * The datasheet of a device: `name`, which must have one; NULL: what `told` says, if that has one.
 *
 * @param list  of options --devices; opened when first asked, to be freed
 * @param out   NULL: not known
 */
lm_status learned_models_device(const char *name, const char *told, const char *own,
                                device_list **list, const device **out, lm_error *err);

#endif
