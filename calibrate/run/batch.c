/* `--slurm`: the sweep as a batch job in place of a run. */
#include "run/batch.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "run/campaign.h"
#include "sweep/find.h"

/* The sweep, and every option but those of the script itself. To be freed; NULL: out of memory. */
static const char **take_words(const options *o, char (**name)[64])
{
    const calibrate_options *a    = o->filled;
    const char             **word = calloc(2 * o->n_words + 2, sizeof *word);
    size_t                   n    = 0;

    *name = calloc(o->n_words + 1, sizeof **name);
    if (!word || !*name) {
        free(word);
        return NULL;
    }
    word[n++] = o->argument[0];
    for (size_t i = 0; i < o->n_words; i++) {
        const option_word w = option_word_at(o, i);

        if (option_within(w.target, &a->script, sizeof a->script))
            continue;
        snprintf((*name)[i], sizeof(*name)[i], "--%s", w.name);
        word[n++] = (*name)[i];
        if (w.value)
            word[n++] = w.value;
    }
    return word;
}

/* This program's own path: a job does not have the PATH of whoever submits it. */
static void own_path(char *buffer, size_t size)
{
    const ssize_t n = readlink("/proc/self/exe", buffer, size - 1);

    if (n > 0)
        buffer[n] = '\0';
    else
        snprintf(buffer, size, "layermeter-calibrate");
}

static lm_status write_script(const options *o, const sweep *plan, const slurm_job *job,
                              lm_error *err)
{
    const calibrate_options *a    = o->filled;
    const char              *path = a->script.slurm;
    char                     program[PATH_MAX], (*name)[64];
    const char             **word = take_words(o, &name);
    file_draft               draft;
    lm_status                status = word ? LM_OK : no_memory(err);

    own_path(program, sizeof program);
    if (!status && !strcmp(path, "-")) {
        slurm_write(stdout, plan, job, program, word);
    } else if (!status && !(status = file_draft_open(&draft, path, err))) {
        slurm_write(draft.stream, plan, job, program, word);
        status = file_draft_commit(&draft, err);
        file_draft_drop(&draft);
        if (!status)
            fprintf(stderr, "submit it with: sbatch %s\n", path);
    }
    free(word);
    free(name);
    return status;
}

/* Length of a dry run; a budget is taken as a whole. */
static lm_status expect_seconds(campaign *c, double budget, double *out, lm_error *err)
{
    const chooser_aim aim    = { .own_only = true, .virtual = campaign_virtual(c) };
    lm_status         status = LM_OK;

    *out = budget;
    if (!(budget > 0) && !(status = campaign_aim(c, &aim, err)))
        *out = chooser_cost_left(c->pick, NULL);
    return status;
}

lm_status batch_write(const options *o, lm_error *err)
{
    const calibrate_options *a        = o->filled;
    campaign                 c        = { .file = { .fd = -1 } };
    slurm_job                job      = a->script.job;
    double                   expected = 0;
    char                     path[PATH_MAX];
    lm_status                status = sweep_find(o->argument[0], path, sizeof path, err);

    if (!status)
        status = campaign_open(&c, NULL, path, o->plugins.at, o->plugins.n, err);
    if (!status)
        status = expect_seconds(&c, a->budget, &expected, err);
    if (!status) {
        slurm_defaults(c.plan, expected, &job);
        status = write_script(o, c.plan, &job, err);
    }
    campaign_close(&c);
    return status;
}
