/** A machine file from observations and what is asked beside them: `layermeter fit` as one call.
 * Texts of errors name the options. */
#ifndef ASSEMBLE_ASSEMBLY_H
#define ASSEMBLE_ASSEMBLY_H

#include "assemble/beside.h"
#include "assemble/limit_rows.h"
#include "assemble/taught.h"
#include "judge/devices.h"

/** NULL and none: not asked for. */
typedef struct assembly_question {
    word_list       paths;   /**< observations, of a machine each */
    word_list       outputs; /**< machine files to write, as many */
    word_list       devices; /**< by name, as many; none: as the files say */
    const char     *sheets;  /**< file of datasheets */
    const char     *where, *algorithm, *features, *layers, *correct, *host;
    word_list       like;
    residual_choice residual;
    power_told_by   power;
} assembly_question;

/** What came of it: whatever was found until it failed, if it did. Zero-initialise. */
typedef struct assembly {
    observations *obs; /**< of the question's path; the caller may have read them before */
    points        p;
    calibration  *cal;
    fit_residuals residuals;
    fit_powers    powers;
    limit_found   limits;
    fit_runs      runs;
} assembly;

/**
 * Fits one machine, teaches the models, and writes its file.
 *
 * @return what the calls for each part do; LM_E_ARG for features that no formula has
 */
lm_status assembly_of(const assembly_question *q, workloads *loads, taught_models *models,
                      assembly *out, lm_error *err);
void      assembly_free(assembly *a);

/** Machines that share what they teach. Zero-initialise. */
typedef struct assemblies {
    measured_device machine[VALIDATE_DEVICES];
    size_t          n;
    device_list    *sheets; /**< of their devices */
    residual_trees  residual[N_LAYER_CLASSES];
} assemblies;

/**
 * Fits each machine's prices of single layers, learns one residual from all of them
 * (singles_learn_pool()) unless that is off, teaches the models on all, and writes a file for each.
 *
 * @return LM_E_ARG where a list is not as long as that of files, where a file has no single layers;
 *         LM_E_NOTFOUND for a device without a datasheet, what fit_all() returns
 */
lm_status assemblies_of(const assembly_question *q, workloads *loads, taught_models *models,
                        assemblies *out, lm_error *err);
void      assemblies_free(assemblies *a);

#endif
