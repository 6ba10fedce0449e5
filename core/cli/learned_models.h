/** Learned models of single layers on the command line: fit --model, validate --model, predict. */
#ifndef CLI_LEARNED_MODELS_H
#define CLI_LEARNED_MODELS_H

#include "baselines/layerwise_points.h"
#include "cli/options.h"
#include "fit/calibration.h"
#include "report/table.h"

/** Rows of a command's table. */
#define OPTION_LEARN                                                                            \
    {                                                                                           \
        "learn", "SETTINGS", NULL, "how learned models are taught: layers=4,epochs=200 (below)" \
    }

#define LEARNED_MOST 8 /**< models that one command takes */

/** Models that a fit learns. */
typedef struct learned_models {
    const layerwise_kind *kind[LEARNED_MOST];
    double                setting[LEARNED_MOST][LAYERWISE_SETTINGS];
    layerwise_model      *model[LEARNED_MOST]; /**< NULL: not yet, or left out */
    size_t                n;
} learned_models;

/** "justus,prenet", and settings; either may be NULL. False after a message, with *exit_code set.
 */
bool learned_models_parse(const char *list, const char *settings, learned_models *out,
                          int *exit_code);
void learned_models_free(learned_models *l);

/**
 * Learns each of all sources together, into the calibration of each (`cal`: n of them), too; says
 * on stderr what came of it. One of which there are too few times is left out, `model` NULL, unless
 * all are: LM_E_ARG.
 */
lm_status learned_models_fit(learned_models *l, const layerwise_source *from, size_t n,
                             calibration *const *cal, lm_error *err);

/** A row for each task, in the table of fit. */
void learned_models_rows(const learned_models *l, table *t);

/** A model that a machine file has, to be freed by layerwise_free(). `path` of the file. */
lm_status learned_models_read(const calibration *cal, const char *path, const layerwise_kind *kind,
                              layerwise_model **out, lm_error *err);

/**
 * The datasheet of a device: `name`, which must have one; NULL: what `told` says, if that has one.
 *
 * @param list  of options --devices; opened when first asked, to be freed
 * @param out   NULL: not known
 */
lm_status learned_models_device(const char *name, const char *told, const char *own,
                                device_list **list, const device **out, lm_error *err);

#endif
