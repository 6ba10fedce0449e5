/** A batch script that runs a sweep under Slurm. */
#ifndef CALIBRATE_SLURM_H
#define CALIBRATE_SLURM_H

#include <stdio.h>

#include "sweep/sweep.h"

/** Resources that the script asks Slurm for; 0, or NAN: see slurm_defaults(). */
typedef struct slurm_job {
    int64_t nodes, tasks_per_node, gpus_per_node;
    double  seconds; /**< time limit */
} slurm_job;

/**
 * Fills what is not given from what the sweep has in it: tasks a node as there are GPUs, or as its largest
 * `devices`, else 1; nodes for its largest `nodes`, or for its largest number of ranks; twice the
 * time it is expected to take and ten minutes to begin with.
 *
 * @param expected seconds that the run will take
 */
void slurm_defaults(const sweep *plan, double expected, slurm_job *job);

/**
 * Writes the script. It goes on with what a job before it left, so that it may be requeued or
 * submitted again.
 *
 * @param program path of layermeter-calibrate, or its name in PATH
 * @param words   what stands behind it, NULL-terminated
 */
void slurm_write(FILE *out, const sweep *plan, const slurm_job *job, const char *program,
                 const char *const *words);

#endif
