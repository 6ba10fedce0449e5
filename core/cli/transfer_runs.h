/** `layermeter transfer RUNS.csv --learned FILE`: times of runs on other GPUs, by their metrics. */
#ifndef CLI_TRANSFER_RUNS_H
#define CLI_TRANSFER_RUNS_H

#include "cli/options.h"
#include "report/table.h"
#include "transfer/transfer.h"

/** What `layermeter transfer` takes. */
typedef struct transfer_command {
    option_texts from, to; /**< devices */
    const char  *learned;  /**< NULL: machine files are carried over, not runs */
    const char  *devices;
    struct {
        const char      *output, *with, *where;
        transfer_options how; /**< without doubt_most */
    } machines;
    struct {
        const char *prices;
        bool        spot;
        enum { RUNS_TIME, RUNS_COST } sort;
    } runs;
    format format;
} transfer_command;

/** Predicts the runs of a file on other GPUs, and prints them. */
lm_status transfer_runs(const char *path, const transfer_command *a, lm_error *err);

#endif
