/** A batch script that runs a sweep under Slurm. */
#ifndef CALIBRATE_SLURM_H
#define CALIBRATE_SLURM_H

#include <stdio.h>

#include "sweep/sweep.h"

/** Resources that the script requests; 0, or NAN: see slurm_defaults(). */
typedef struct slurm_job {
    int64_t nodes, tasks_per_node, gpus_per_node;
    double  seconds; /**< time limit */
} slurm_job;

/**
 * Fills in missing values from the sweep. Tasks per node: the number of GPUs, or its largest
 * `devices`, else 1. Nodes: its largest `nodes`, or enough for its largest number of ranks. Time:
 * twice the expected time, plus ten minutes.
 *
 * @param expected seconds of the run
 */
void slurm_defaults(const sweep *plan, double expected, slurm_job *job);

/**
 * Writes the script. It continues an earlier job, so it can be requeued or submitted again.
 *
 * @param program path of layermeter-calibrate, or its name in PATH
 * @param words   its arguments, NULL-terminated
 */
void slurm_write(FILE *out, const sweep *plan, const slurm_job *job, const char *program,
                 const char *const *words);

#endif
