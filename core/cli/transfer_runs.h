/** `layermeter transfer RUNS.csv --learned FILE`: times of runs on other GPUs, by their metrics. */
#ifndef CLI_TRANSFER_RUNS_H
#define CLI_TRANSFER_RUNS_H

#include "cli/options.h"

/** Options by their place in the command's own table. */
typedef struct transfer_runs_options {
    int learned, from, to, sort, prices, spot, devices, format;
} transfer_runs_options;

/** An exit code. */
int transfer_runs(const options *o, const transfer_runs_options *at);

#endif
