/** Place of a run's files: a folder with everything, or one CSV. */
#ifndef CALIBRATE_FOLDER_H
#define CALIBRATE_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#include <layermeter/error.h>

typedef struct run_folder {
    bool whole;                                   /**< false: observations only */
    char observations[PATH_MAX];                  /**< observations.csv, or the file given */
    char machine[PATH_MAX];                       /**< machine.ini */
    char report[PATH_MAX], report_json[PATH_MAX]; /**< report.txt, report.json */
} run_folder;

/** The place that `-o given` means: a folder if it ends in '/', is one, or does not end in .csv.
 * LM_E_ARG for a path that is too long. */
lm_status run_folder_name(const char *given, run_folder *out, lm_error *err);

/** Makes the folder if it is missing; its parent must exist. */
lm_status run_folder_make(const char *given, const run_folder *f, lm_error *err);

/** Can the results be written? Refuses folders in place of files. Refuses files that belong to no
 * run, since no observations stand beside them, unless they may be replaced. Before a run. */
lm_status run_folder_check(const run_folder *f, bool replace, lm_error *err);

/** Where the machine file of other networks than those of `machine` goes: of "dtype=bf16
 * layout=nhwc" into machine-bf16-nhwc.ini beside it. LM_E_ARG for a path that is too long. */
lm_status run_folder_machine(const run_folder *f, const char *of, char out[PATH_MAX],
                             lm_error *err);

/** Removes the results of an earlier run: they belong to other observations. */
lm_status run_folder_clear(const run_folder *f, lm_error *err);

#endif
