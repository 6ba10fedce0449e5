/** `layermeter fit`: its options and its parts, each in a file fit_*.c. What a part finds is said on
 * stderr. */
#ifndef CLI_CMD_FIT_H
#define CLI_CMD_FIT_H

#include "cli/commands.h"
#include "cli/learned_models.h"
#include "cli/power_options.h"
#include "observe/points.h"
#include "transfer/runs.h"

/** As the words of --residual. */
typedef enum residual_choice { RESIDUAL_ON, RESIDUAL_OFF, RESIDUAL_AUTO } residual_choice;

typedef struct fit_options {
    option_texts    outputs, device; /**< several: of as many files of observations */
    option_texts    models, like;
    const char     *where, *algorithm, *learn, *layers, *correct, *devices;
    residual_choice residual;
    power_choice    power;
    format          format;
    learned_models  learned; /**< of `models`: to be learned */
} fit_options;

/** --layers: reads a machine file that prices single layers, of which the points are then composed.
 * LM_E_ARG where it is of another device or element type than these. */
lm_status fit_layers_load(const char *path, const observations *obs, points *p, calibration **out,
                          lm_error *err);
/** Moves the prices of `layers` into `to`, with factors from the points. LM_E_ARG where the points
 * are single layers themselves, or no network among them was measured as a whole. */
lm_status fit_layers_compose(const points *p, calibration *layers, calibration *to, lm_error *err);

/**
 * --like: fills the kinds of kernels that `cal` lacks from machine files, by the datasheets of the
 * devices that their provenance names. LM_E_NOTFOUND for a device without a datasheet, or a machine
 * file without such prices; the text names the file.
 */
lm_status fit_like(calibration *cal, const char *path, const option_texts *files, lm_error *err);

/**
 * --residual: learns what prices of single layers and of single kernels leave over. AUTO learns
 * where there are such and the build can. LM_E_ARG where ON has neither, LM_E_UNSUPPORTED where the
 * build grows no trees.
 */
lm_status fit_residual(const observations *obs, const points *p, residual_choice choice,
                       calibration *cal, lm_error *err);
/** A line for each class of layers: what was found of its residual. */
struct layer_model;    /* single/model.h */
struct residual_trees; /* learn/lesson.h */
void print_residuals(const char *path, const struct layer_model *m,
                     const struct residual_trees *judged);

/**
 * Fits the power model where powers were measured. Rows of other clocks (settings `clock=`) than
 * those the times are fitted to take part.
 *
 * @param p      what the times were fitted to; `where` chose it, or NULL
 * @param name   of the device, as an option tells it; NULL: as the file does
 * @param told   what options say of it
 * @return what points_from() and power_fit() return
 */
lm_status fit_power(const observations *obs, workloads *loads, const points *p, const char *where,
                    const char *name, const power_choice *told, calibration *cal, lm_error *err);

/** What came of --correct. Zero-initialise. */
typedef struct fit_runs {
    const char    *path; /**< NULL: nothing was asked for */
    run_rows       rows;
    run_correction correction;
} fit_runs;

/** Corrects by the runs of a file of observations, where that helps, and notes it in the
 * provenance. Errors begin with the path. */
lm_status fit_runs_correct(const char *path, workloads *loads, calibration *cal, fit_runs *out,
                           lm_error *err);
/** How many runs were used, the errors before and after, the factors; and what was not used. */
void fit_runs_print(const fit_runs *f);
void fit_runs_free(fit_runs *f);

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
                   workloads *loads, table *t, lm_error *err);

/** A row for each formula, class of kernels, of layers and of all-reduces, residual and learned
 * model of a machine file, and for its power. */
void fit_table(table *t, const calibration *cal, const learned_models *learned);
void add_residuals(table *t, const calibration *cal);
void add_power(table *t, const power_model *m);

/** What was not used, and what the data cannot say. `corrected`: whole steps were used to correct
 * by. */
void fit_print_warnings(const observations *obs, const points *p, const calibration *cal,
                        bool corrected);

#endif
