/**
 * `layermeter fit` in one call: a machine file from observations and further inputs. Error texts
 * name the options.
 */
#ifndef ASSEMBLE_ASSEMBLY_H
#define ASSEMBLE_ASSEMBLY_H

#include "assemble/beside.h"
#include "assemble/limit_rows.h"
#include "assemble/taught.h"
#include "judge/devices.h"

/** NULL and empty lists: not given. */
typedef struct assembly_question {
    word_list       paths;   /**< observations, one file per machine */
    word_list       outputs; /**< machine files to write, one each */
    word_list       devices; /**< names, one each; empty: as the files say */
    const char     *sheets;  /**< file of datasheets */
    const char     *where, *algorithm, *features, *layers, *correct, *host;
    word_list       like;
    residual_choice residual;
    power_told_by   power;
} assembly_question;

/** Results, up to a failure if there is one. Zero-initialise. */
typedef struct assembly {
    observations *obs; /**< of the question's path; the caller may have read them before */
    points        p;
    calibration  *cal;
    fit_residuals residuals;
    fit_powers    powers;
    size_t        limits_unkept; /**< rows that drew more than their power limit */
    fit_runs      runs;
} assembly;

/**
 * Fits one machine, teaches the models, and writes the file.
 *
 * @return errors of the calls for each part; LM_E_ARG for features that no formula has
 */
lm_status assembly_of(const assembly_question *q, workloads *loads, taught_models *models,
                      assembly *out, lm_error *err);
void      assembly_free(assembly *a);

/** Machines that are learned together. Zero-initialise. */
typedef struct assemblies {
    measured_device machine[VALIDATE_DEVICES];
    size_t          n;
    device_list    *sheets; /**< datasheets of their devices */
    residual_trees  residual[N_LAYER_CLASSES];
} assemblies;

/**
 * Fits each machine's prices of single layers, learns one residual for all of them
 * (singles_learn_pool()) unless this is off, teaches the models on all, and writes a file for each.
 *
 * @return LM_E_ARG if a list is not as long as that of files, or if a file has no single layers;
 *         LM_E_NOTFOUND for a device without a datasheet; errors of fit_all()
 */
lm_status assemblies_of(const assembly_question *q, workloads *loads, taught_models *models,
                        assemblies *out, lm_error *err);
void      assemblies_free(assemblies *a);

#endif
