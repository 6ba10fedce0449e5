/** What `layermeter import` takes, and the kinds of files beside networks. */
#ifndef CLI_IMPORT_OPTIONS_H
#define CLI_IMPORT_OPTIONS_H

#include "cli/commands.h"
#include "import/extrap.h"
#include "import/logs.h"

typedef struct import_options {
    const char     *output; /**< NULL: to stdout */
    network_options network;
    log_options     log;
    struct {
        option_texts parameters, regions, fixed;
    } extrap;
    option_texts metrics; /**< of Extra-P's files; of a power log the last one counts */
    struct {
        const char *gpu;
        double      interval;
        format      format;
    } power;
    extrap_options given; /**< by import_extrap_check() */
} import_options;

/* Argument 0 is a word, the others are files. */

/** Logs of all-reduce benchmarks, by the tool that argument 0 names, as observations. */
lm_status import_logs_check(options *o, lm_error *err);
lm_status import_logs(const options *o, lm_error *err);

/** Extra-P's text files as observations. */
lm_status import_extrap_check(options *o, lm_error *err);
lm_status import_extrap(const options *o, lm_error *err);

/** Logs of power: the mean of a run, without its start-up. */
lm_status import_power_check(options *o, lm_error *err);
lm_status import_power(const options *o, lm_error *err);

/** Rows of the files that are arguments 1 and up, to --output. */
lm_status import_write(const options *o, const log_rows *rows, lm_error *err);

#endif
