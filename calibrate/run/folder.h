/** Where a run's files go: a folder with everything, or one CSV. */
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
 * What `-o given` stands for: a folder if it ends in '/', is one, or does not end in .csv.
 * LM_E_ARG for a path that is too long.
 */
lm_status run_folder_name(const char *given, run_folder *out, lm_error *err);

/** Makes the folder where it is not there; the one above it must be. */
lm_status run_folder_make(const char *given, const run_folder *f, lm_error *err);

/**
 * Can what is found be written into it? Refuses folders in its files' places, and files that are no
 * run's, as there are no observations beside them, unless they are to be replaced. Before a run.
 */
lm_status run_folder_check(const run_folder *f, bool replace, lm_error *err);

/** Where the machine file of other networks than those of `machine` goes: of "dtype=bf16
 * layout=nhwc" into machine-bf16-nhwc.ini beside it. LM_E_ARG for a path that is too long. */
lm_status run_folder_machine(const run_folder *f, const char *of, char out[PATH_MAX],
                             lm_error *err);

/** Removes what an earlier run found out: it would be of other observations. */
lm_status run_folder_clear(const run_folder *f, lm_error *err);

#endif
