/** `layermeter fit`: its options and its parts, each in a file fit_*.c. Parts report their findings
 * on stderr. */
#ifndef CLI_CMD_FIT_H
#define CLI_CMD_FIT_H

#include "assemble/beside.h"
#include "assemble/pool.h"
#include "cli/commands.h"
#include "cli/power_options.h"
#include "fit/calibration.h"
#include "options/options.h"
#include "report/fit_view.h"

#define LEARNED_MOST 8 /**< models that one command takes */

/** Models that a fit learns. */
typedef struct learned_models {
    const layerwise_kind *kind[LEARNED_MOST];
    double                setting[LEARNED_MOST][LAYERWISE_SETTINGS];
    /** The model in the first calibration that has it; NULL: not yet, or left out. */
    const layerwise_model *model[LEARNED_MOST];
    size_t                 n;
    field_rows            *worth; /**< what features are worth goes here; NULL: it is not asked */
} learned_models;

typedef struct fit_options {
    option_texts    outputs, device; /**< several: of as many files of observations */
    option_texts    models, like;
    const char     *features; /**< one set (feature_set.h) */
    const char     *where, *algorithm, *learn, *layers, *correct, *devices;
    residual_choice residual;
    bool            importance;
    power_choice    power;
    format          format;
    learned_models  learned; /**< of `models`: to be learned */
} fit_options;

/** A line for each class of layers and kernels, and of layers alone: what was found of its residual. */
void fit_residuals_print(const char *path, const fit_residuals *found, const calibration *cal);
void print_residuals(const char *path, const layer_model *m, const residual_trees *judged);

/** Fits the power model where powers were measured, with what options tell of the device; `name`
 * NULL: as the file does. What fit_power() returns. */
lm_status fit_powers(const observations *obs, workloads *loads, const points *p, const char *where,
                     const char *name, const power_choice *told, calibration *cal, lm_error *err);

/** Prints the number of runs that were used, the errors before and after, the factors, and the
 * unused runs. */
void fit_runs_print(const fit_runs *f);

/**
 * Several files, a machine each: fits each file's prices of single layers, learns one residual from
 * all of them (singles_learn_pool()) and learned models, writes a machine file for each, and fills a
 * table: rows and errors by machine, then of the residual and of models.
 *
 * @param learned a->learned, to be learned
 * @return LM_E_ARG where a list is not as long as that of files, where a file has no single layers;
 *         LM_E_NOTFOUND for a device without a datasheet, what fit_all() returns
 */
lm_status fit_pool(const options *o, const fit_options *a, learned_models *learned,
                   workloads *loads, field_rows *t, lm_error *err);

/** Prints unused rows, and what the data cannot tell. `corrected`: whole steps were used to correct
 * by. */
void fit_print_warnings(const observations *obs, const points *p, const calibration *cal,
                        bool corrected);

/* ---- learned models of single layers: fit_pool.c ---- */

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

#endif
