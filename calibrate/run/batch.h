/**
 * Options of layermeter-calibrate, and `--slurm`: writes a batch job for the sweep instead of
 * running it.
 */
#ifndef CALIBRATE_BATCH_H
#define CALIBRATE_BATCH_H

#include "options/options.h"
#include "report/table.h"
#include "run/slurm.h"

typedef struct calibrate_options {
    const char  *output;   /**< NULL: not given */
    double       budget;   /**< s; NAN: none */
    option_texts networks; /**< networks to predict later */
    const char  *machine;
    format       format;
    bool         quiet, allow_mixed;
    /** Options that a batch script sets itself: its run has other values, or none. */
    struct {
        const char *slurm; /**< a file, or - */
        slurm_job   job;   /**< NAN and 0: not given */
        bool        resume, force, dry_run;
    } script;
} calibrate_options;

/**
 * Reads the sweep, without a device or other ranks, and writes a script that runs it with the same
 * options. o->filled is a calibrate_options.
 */
lm_status batch_write(const options *o, lm_error *err);

#endif
