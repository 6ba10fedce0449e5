/* A batch script that runs a sweep under Slurm. */
#include "run/slurm.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void slurm_defaults(const sweep *plan, double expected, slurm_job *job)
{
    int64_t ranks = 1, hosts = 1, devices = 1;

    for (size_t i = 0; i < plan->n_points; i++) {
        const sweep_point *p = &plan->point[i];

        if (p->devices) {
            devices = larger(devices, p->devices);
            hosts   = larger(hosts, p->row.hosts);
        } else {
            ranks = larger(ranks, p->row.ranks);
        }
    }
    if (!job->tasks_per_node)
        job->tasks_per_node = job->gpus_per_node ? job->gpus_per_node : devices;
    if (!job->nodes)
        job->nodes = larger(hosts, (ranks + job->tasks_per_node - 1) / job->tasks_per_node);
    if (!(job->seconds > 0))
        job->seconds = 600 + 2 * expected;
}

/* Writes a text as one word of a shell. */
static void put_word(FILE *out, const char *word)
{
    if (*word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_./:,=+@%-") == strlen(word)) {
        fprintf(out, " %s", word);
        return;
    }
    fputs(" '", out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            putc(*word, out);
    putc('\'', out);
}

static void put_resources(FILE *out, const sweep *plan, const slurm_job *job)
{
    const int64_t minutes = (int64_t)ceil(fmin(job->seconds, 3e7) / 60);

    fputs("#SBATCH --job-name=layermeter\n", out);
    fprintf(out, "#SBATCH --nodes=%" PRId64 "\n", job->nodes);
    fprintf(out, "#SBATCH --ntasks-per-node=%" PRId64 "\n", job->tasks_per_node);
    if (job->gpus_per_node)
        fprintf(out, "#SBATCH --gpus-per-node=%" PRId64 "\n", job->gpus_per_node);
    else
        fprintf(out, "#SBATCH --cpus-per-task=%" PRId64 "\n", plan->threads);
    fprintf(out, "#SBATCH --time=%" PRId64 ":%02" PRId64 ":00\n", minutes / 60, minutes % 60);
    fputs("#SBATCH --exclusive\n"
          "#SBATCH --requeue\n"
          "#SBATCH --open-mode=append\n"
          "#SBATCH --output=layermeter-%j.log\n",
          out);
}

void slurm_write(FILE *out, const sweep *plan, const slurm_job *job, const char *program,
                 const char *const *words)
{
    fputs("#!/bin/bash\n", out);
    put_resources(out, plan, job);
    fputs("# What this cluster wants beside:\n"
          "##SBATCH --partition=NAME\n"
          "##SBATCH --account=NAME\n"
          "#module load openmpi\n"
          "set -eu\n",
          out);
    fprintf(out, "export OMP_NUM_THREADS=%" PRId64 " OMP_PROC_BIND=close OMP_PLACES=cores\n",
            plan->threads);
    fputs(
        "\n# --resume: a job that was requeued, or is submitted again, goes on where it was.\n"
        "# An MPI library that does not know this Slurm: srun --mpi=pmix, or mpirun in place of srun.\n",
        out);
    if (job->gpus_per_node)
        fprintf(
            out,
            "# NCCL's threads want cores beside the one that measures: a node's are shared out,\n"
            "# neighbours to neighbours, as GPUs are numbered along the sockets.\n"
            "cores=$((${SLURM_CPUS_ON_NODE:-%" PRId64 "} / %" PRId64 "))\n",
            job->tasks_per_node * larger(plan->threads, 4), job->tasks_per_node);
    fputs("srun --kill-on-bad-exit=1 --cpu-bind=cores", out);
    if (job->gpus_per_node) /* each process takes the GPU of its place on the node */
        fputs(" --cpus-per-task=\"$cores\" --distribution=block:block --gpu-bind=none", out);
    fputs(" \\\n   ", out);
    put_word(out, program);
    for (size_t i = 0; words[i]; i++)
        put_word(out, words[i]);
    fputs(" --resume\n", out);
}
