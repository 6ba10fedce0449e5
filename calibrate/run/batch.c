/* `--slurm`: the sweep as a batch job in place of a run. */
#include "run/batch.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "run/campaign.h"
#include "run/slurm.h"
#include "sweep/find.h"

/* Words of a command line that is put together. */
typedef struct words {
    const char *word[2 * ARGUMENTS_MAX + 2 * ARGUMENTS_MAX + 4];
    char        name[ARGUMENTS_MAX][64]; /* "--budget" */
    size_t      n;
} words;

static bool decided_here(const batch_options *at, int option)
{
    return option == at->slurm || option == at->nodes || option == at->tasks ||
           option == at->gpus || option == at->time || option == at->resume ||
           option == at->force || option == at->dry_run;
}

/* The sweep, and every option but those of the script itself. */
static void take_words(const options *o, const batch_options *at, words *w)
{
    w->word[w->n++] = o->argument[0];
    for (int i = 0; i < o->n_every; i++) {
        const option_spec *spec = &o->command->options[o->every[i].at];

        if (decided_here(at, o->every[i].at))
            continue;
        snprintf(w->name[i], sizeof w->name[i], "--%s", spec->name);
        w->word[w->n++] = w->name[i];
        if (spec->argument)
            w->word[w->n++] = o->every[i].value;
    }
    for (int i = 0; i < o->n_plugins; i++) {
        w->word[w->n++] = "--plugin";
        w->word[w->n++] = o->plugin[i];
    }
    w->word[w->n] = NULL;
}

static lm_status take_count(const options *o, int at, int64_t *out, lm_error *err)
{
    lm_status status = LM_OK;

    if (!o->value[at])
        return LM_OK;
    status = text_int(o->value[at], out, err);
    if (!status && (*out < 1 || *out > 100000))
        status = lm_error_set(err, LM_E_ARG, "%s is outside 1 .. 100000", o->value[at]);
    if (status)
        lm_error_prefix(err, "--%s", o->command->options[at].name);
    return status;
}

static lm_status take_seconds(const options *o, int at, double *out, lm_error *err)
{
    lm_status status = LM_OK;

    if (at >= 0 && o->value[at] && (status = text_seconds(o->value[at], out, err)))
        lm_error_prefix(err, "--%s", o->command->options[at].name);
    return status;
}

/* The place of an option that other parts of the program may have. */
static int find_option(const options *o, const char *name)
{
    for (int i = 0; o->command->options[i].name; i++)
        if (!strcmp(o->command->options[i].name, name))
            return i;
    return -1;
}

static lm_status misuse(const options *o, const batch_options *at, slurm_job *job, double *budget,
                        lm_error *err)
{
    lm_status status;

    if (!o->value[at->output])
        return lm_error_set(err, LM_E_ARG,
                            "-o FOLDER/ is needed: where the job writes what it finds");
    if ((status = take_count(o, at->nodes, &job->nodes, err)) ||
        (status = take_count(o, at->tasks, &job->tasks_per_node, err)) ||
        (status = take_count(o, at->gpus, &job->gpus_per_node, err)) ||
        (status = take_seconds(o, at->time, &job->seconds, err)))
        return status;
    return take_seconds(o, find_option(o, "budget"), budget, err);
}

/* This program's own path: a job does not have the PATH of whoever submits it. */
static const char *own_path(char *buffer, size_t size)
{
    const ssize_t n = readlink("/proc/self/exe", buffer, size - 1);

    if (n <= 0)
        return "layermeter-calibrate";
    buffer[n] = '\0';
    return buffer;
}

static lm_status write_script(const options *o, const batch_options *at, const sweep *plan,
                              const slurm_job *job, lm_error *err)
{
    const char *path = o->value[at->slurm];
    words       w    = { .n = 0 };
    char        program[PATH_MAX];
    file_draft  draft;
    lm_status   status;

    take_words(o, at, &w);
    if (!strcmp(path, "-")) {
        slurm_write(stdout, plan, job, own_path(program, sizeof program), w.word);
        return LM_OK;
    }
    if ((status = file_draft_open(&draft, path, err)))
        return status;
    slurm_write(draft.stream, plan, job, own_path(program, sizeof program), w.word);
    status = file_draft_commit(&draft, err);
    file_draft_drop(&draft);
    if (!status)
        fprintf(stderr, "submit it with: sbatch %s\n", path);
    return status;
}

/* What a dry run tells; within a budget all of it is taken. */
static lm_status expect_seconds(campaign *c, double budget, double *out, lm_error *err)
{
    const chooser_aim aim    = { .own_only = true, .virtual = campaign_virtual(c) };
    lm_status         status = LM_OK;

    *out = budget;
    if (budget <= 0 && !(status = campaign_aim(c, &aim, err)))
        *out = chooser_cost_left(c->pick, NULL);
    return status;
}

int batch_write(const options *o, const batch_options *at)
{
    lm_error  err    = { 0 };
    campaign  c      = { .file = { .fd = -1 } };
    slurm_job job    = { 0 };
    double    budget = 0, expected = 0;
    char      path[PATH_MAX];
    lm_status status;

    if (misuse(o, at, &job, &budget, &err))
        return report_misuse("", &err);
    status = sweep_find(o->argument[0], path, sizeof path, &err);
    if (!status)
        status = campaign_open(&c, NULL, path, o->plugin, (size_t)o->n_plugins, &err);
    if (!status)
        status = expect_seconds(&c, budget, &expected, &err);
    if (!status) {
        slurm_defaults(c.plan, expected, &job);
        status = write_script(o, at, c.plan, &job, &err);
    }
    campaign_close(&c);
    return status ? report_failure(&err) : finish_output(EXIT_DONE);
}
