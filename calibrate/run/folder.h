/** Paths of a run's files: a folder with everything, or one CSV file. */
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

/**
 * Interprets `-o given`: a folder if it ends in '/', is a folder, or does not end in .csv. LM_E_ARG
 * for a path that is too long.
 */
lm_status run_folder_name(const char *given, run_folder *out, lm_error *err);

/** Makes the folder if it is missing; its parent must exist. */
lm_status run_folder_make(const char *given, const run_folder *f, lm_error *err);

/**
 * Checks before a run that the results can be written. Refuses folders in place of files. Refuses
 * files without observations beside them, which belong to no run, unless `replace`.
 */
lm_status run_folder_check(const run_folder *f, bool replace, lm_error *err);

/**
 * Path of a further machine file: for "dtype=bf16 layout=nhwc" it is machine-bf16-nhwc.ini beside
 * `machine`. LM_E_ARG for a path that is too long.
 */
lm_status run_folder_machine(const run_folder *f, const char *of, char out[PATH_MAX],
                             lm_error *err);

/** Removes the results of an earlier run, because they belong to other observations. */
lm_status run_folder_clear(const run_folder *f, lm_error *err);

#endif
