/* layermeter-calibrate: measures what a sweep file lists, alone or under mpirun. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign.h"
#include "cli/options.h"
#include "find.h"
#include "listing.h"
#include "progress.h"

enum { OUTPUT, DRY_RUN, RESUME, FORCE, QUIET };

static const option_spec specs[] = {
    [OUTPUT]  = { "output", "FILE", NULL, "observations to write, as CSV (also -o; needed)" },
    [DRY_RUN] = { "dry-run", NULL, NULL, "list the points of the sweep, measure nothing" },
    [RESUME]  = { "resume", NULL, NULL, "go on with FILE: measure only what it lacks" },
    [FORCE]   = { "force", NULL, NULL, "replace FILE if it is there" },
    [QUIET]   = { "quiet", NULL, NULL, "no progress" },
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "Each point is appended as soon as it is measured, so a run that is killed leaves a file that loads,\n"
    "and --resume goes on with it. Points that need more ranks than there are, are left out and counted.\n"
    "As root, Open MPI asks for OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1.\n";

static const char examples[] =
    "  mpirun -np 2 layermeter-calibrate configs/sweeps/quick.ini -o observations.csv\n"
    "  layermeter-calibrate configs/sweeps/quick.ini --dry-run\n";

static const command self = {
    .name          = "",
    .arguments     = "SWEEP.ini",
    .doc           = "Measure kernels, whole networks and all-reduces on this machine",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
};

/* What stays the same through a run. */
typedef struct job {
    campaign       c;
    const options *o;
    lm_error       err;
} job;

static lm_status open_all(job *j, world *everyone, const char *command_line)
{
    const options    *o    = j->o;
    const output_mode mode = o->value[RESUME]  ? OUTPUT_RESUME
                             : o->value[FORCE] ? OUTPUT_REPLACE
                                               : OUTPUT_NEW;
    campaign         *c    = &j->c;
    char              path[PATH_MAX];
    lm_status         status = sweep_find(o->argument[0], path, sizeof path, &j->err);

    if (!status)
        status = campaign_open(c, everyone, path, o->plugin, (size_t)o->n_plugins, &j->err);
    if (!status && !o->value[DRY_RUN])
        status =
            output_open(&c->file, o->value[OUTPUT], mode, everyone, &c->b, command_line, &j->err);
    return status;
}

static void say_end(const job *j)
{
    const sweep *plan = j->c.plan;

    if (j->c.n_skipped)
        fprintf(stderr, "%zu of %zu points could not be measured: the column 'status' says why\n",
                j->c.n_skipped, plan->n_points);
    if (!j->o->value[QUIET])
        fprintf(stderr, "%zu points in %s%s\n", plan->n_points, j->o->value[OUTPUT],
                plan->n_filtered ? " (some were left out: --dry-run counts them)" : "");
}

static int run(const options *o, world *everyone, const char *command_line)
{
    job        j     = { .c = { .everyone = everyone, .file = { .fd = -1 } }, .o = o };
    const bool root  = world_rank(everyone) == 0;
    progress   shown = progress_begin(o->value[QUIET] != NULL);
    double     failed[2]; /* the worst status of all ranks; rank 0's */
    bool       speaks;
    lm_status  status;

    if (!o->value[OUTPUT] && !o->value[DRY_RUN]) {
        lm_error_set(&j.err, LM_E_ARG, "-o OBSERVATIONS.csv is needed: where to write the times");
        return root ? report_misuse("", &j.err) : EXIT_MISUSED;
    }
    status    = open_all(&j, everyone, command_line);
    failed[0] = -(double)status;
    failed[1] = root ? -(double)status : 0;
    world_max(everyone, failed, 2);
    speaks = root || failed[1] <= 0; /* what rank 0 says the others need not repeat */
    if (failed[0] > 0)
        status = status ? status : (lm_status)-failed[0];
    else if (!o->value[DRY_RUN])
        status = campaign_measure(&j.c, &shown, &j.err);
    else if (root)
        status = listing_print(j.c.plan, &j.err);
    if (status && speaks && j.err.text[0] && (root || strcmp(j.err.text, "another rank failed")))
        report_failure(&j.err);
    if (!status && root && !o->value[DRY_RUN])
        say_end(&j);
    campaign_close(&j.c);
    return status ? EXIT_FAILED : EXIT_DONE;
}

static char *join(int argc, char **argv)
{
    size_t n = 1;
    char  *text;

    for (int i = 0; i < argc; i++)
        n += strlen(argv[i]) + 1;
    text = calloc(n, 1);
    for (int i = 0; text && i < argc; i++) {
        strcat(text, i ? " " : "");
        strcat(text, argv[i]);
    }
    return text;
}

int main(int argc, char **argv)
{
    options  o;
    lm_error err;
    world   *everyone = NULL;
    char    *line     = join(argc, argv);
    /* "layermeter calibrate" where that started it */
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    int         code;

    if (!line)
        return EXIT_FAILED;
    if (!options_parse(name, &self, argc, argv, &o, &code)) {
        free(line);
        return code;
    }
    if (world_open(&argc, &argv, &everyone, &err)) {
        free(line);
        return report_failure(&err);
    }
    code = run(&o, everyone, line);
    if (world_rank(everyone) == 0)
        code = finish_output(code);
    free(line);
    world_close(everyone, code);
}
