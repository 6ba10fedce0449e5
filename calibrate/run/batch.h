/** What layermeter-calibrate takes; and `--slurm`: the sweep as a batch job in place of a run. */
#ifndef CALIBRATE_BATCH_H
#define CALIBRATE_BATCH_H

#include "options/options.h"
#include "report/table.h"
#include "run/slurm.h"

typedef struct calibrate_options {
    const char  *output;   /**< NULL: not given */
    double       budget;   /**< s; NAN: none */
    option_texts networks; /**< that will be asked for */
    const char  *machine;
    format       format;
    bool         quiet, allow_mixed;
    /** Words that a batch script decides by itself: its run has other words for these, or none. */
    struct {
        const char *slurm; /**< a file, or - */
        slurm_job   job;   /**< NAN and 0: not given */
        bool        resume, force, dry_run;
    } script;
} calibrate_options;

/**
 * Reads the sweep, without a device or other ranks, and writes a script that runs it with the same
 * options. `o` fills a calibrate_options.
 */
lm_status batch_write(const options *o, lm_error *err);

#endif
