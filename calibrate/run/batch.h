/** `--slurm`: the sweep as a batch job in place of a run. */
#ifndef CALIBRATE_BATCH_H
#define CALIBRATE_BATCH_H

#include "cli/options.h"

/** Options of it, by their place in the command's table. */
typedef struct batch_options {
    int slurm, nodes, tasks, gpus, time; /**< slurm: FILE, or - */
    int output, resume, force, dry_run;  /**< which the script gets or decides by itself */
} batch_options;

/**
 * Reads the sweep, without a device or other ranks, and writes a script that runs it with the same
 * options.
 *
 * @return an exit code, after a message if something is wrong
 */
int batch_write(const options *o, const batch_options *at);

#endif
