/* layermeter-calibrate: measures what a sweep file lists, alone or under mpirun. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "run/program.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/machine.h"
#include "measure/clock.h"
#include "options/options.h"
#include "ranks/watchdog.h"
#include "run/agreement.h"
#include "run/batch.h"
#include "run/campaign.h"
#include "run/folder.h"
#include "run/listing.h"
#include "run/progress.h"
#include "run/report.h"
#include "sweep/find.h"

static lm_status read_tasks(const char *text, int64_t *out, lm_error *err)
{
    int64_t         value;
    const lm_status status = text_int(text, &value, err);

    if (status)
        return status;
    if (value < 1 || value > 100000)
        return lm_error_set(err, LM_E_ARG, "%.40s is outside 1 .. 100000", text);
    *out = value;
    return LM_OK;
}

VALUE_TYPE(type_tasks, int64_t, read_tasks);

#define AT(member) OPTION_AT(calibrate_options, member)

static const option_row option_rows[] = {
    { "for", AT(networks),
      .help = "networks to predict later: resnet50,vgg16 (default: a mix of the shipped ones)" },
    { "dry-run", AT(script.dry_run), &type_flag, NULL, NULL, HELP_WHAT,
      "list the points and their expected times, and measure nothing" },
    { "nodes", AT(script.job.nodes), &type_tasks, "N",
      .help = "--slurm: number of nodes (default: as many as the sweep uses)" },
    { "tasks-per-node", AT(script.job.tasks_per_node), &type_tasks, "N", NULL, HELP_WHERE,
      "--slurm: ranks per node (default: its GPUs, or as many as the sweep uses)" },
    { "gpus-per-node", AT(script.job.gpus_per_node), &type_tasks, "N", NULL, HELP_WHERE,
      "--slurm: GPUs per node (default: none)" },
    { "allow-mixed", AT(allow_mixed), &type_flag, NULL, NULL, HELP_WHERE,
      "measure even if the hardware differs between ranks" },
    { "budget", AT(budget), &type_seconds, "TIME", NULL, HELP_HOW,
      "end within this time, 5min or 90s: the most useful points come first",
      .least = OPTION_ABOVE_0, .outside = "must be above 0, such as 5min" },
    { "machine", AT(machine), .heading = HELP_HOW,
      .help = "take expected times from this machine file, instead of a guess" },
    { "time", AT(script.job.seconds), &type_seconds, "TIME", NULL, HELP_HOW,
      "--slurm: time limit (default: twice the expected time, and 10 min)" },
    { "output", AT(output), .argument = "FOLDER/",
      .help = "folder for all results, or a .csv for the observations alone (also -o; required)" },
    { "resume", AT(script.resume), &type_flag, NULL, NULL, HELP_OUTPUT,
      "continue the run in -o: measure only the missing points" },
    { "force", AT(script.force), &type_flag, NULL, NULL, HELP_OUTPUT, "replace the results in -o" },
    { "slurm", AT(script.slurm), &type_text, "FILE", NULL, HELP_OUTPUT,
      "write a batch script for sbatch, and measure nothing (-: to stdout)" },
    { "quiet", AT(quiet), &type_flag, NULL, NULL, HELP_OUTPUT, "print no progress" },
    { "format", AT(format), .help = "format of --dry-run" },
    { .name = NULL },
};

static const char details[] =
    "The folder gets observations.csv, machine.ini (for predict and scale), report.txt and report.json.\n"
    "SWEEP is a file, or the name of an installed sweep: quick, standard, thorough, layers and\n"
    "collectives measure CPUs; quick-gpu, standard-gpu ... measure NVIDIA GPUs. With --budget the whole\n"
    "run ends within that time, after 500 points at most. The next point is always the one that narrows\n"
    "the intervals of later predictions (--for) most, per second. Without --budget every point is\n"
    "measured, in the order of the sweep.\n"
    "\n"
    "Each point is written as soon as it is measured. A killed run leaves a valid file, and --resume\n"
    "continues it. Points that need more ranks than the run has are skipped and counted. As root, Open\n"
    "MPI needs OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1.\n";

static const char examples[] =
    "  mpirun -np 2 layermeter calibrate standard -o cluster/ --budget 5min\n"
    "  mpirun -np 2 layermeter calibrate standard -o cluster/ --budget 5min --resume\n"
    "  mpirun -np 8 layermeter calibrate my-sweep.ini -o eight/ --budget 10min --for resnet50,bert_base\n"
    "  layermeter calibrate standard --budget 5min --dry-run\n"
    "  layermeter calibrate standard -o cluster/ --slurm job.sh --nodes 8 --tasks-per-node 4\n";

/* Options that mean nothing beside the others: who gave them meant something else. */
static lm_status check(options *o, lm_error *err)
{
    const calibrate_options *a          = o->filled;
    const slurm_job         *job        = &a->script.job;
    const void *const        of_slurm[] = { &job->nodes, &job->tasks_per_node, &job->gpus_per_node,
                                            &job->seconds };

    if (a->script.slurm)
        return a->output
                   ? LM_OK
                   : lm_error_set(err, LM_E_ARG,
                                  "-o FOLDER/ is required: the folder for the results of the job");
    if (!a->output && !a->script.dry_run)
        return lm_error_set(err, LM_E_ARG, "-o FOLDER/ is required: the folder for the results");
    if (a->script.resume && a->script.force)
        return lm_error_set(
            err, LM_E_ARG,
            "--resume continues the run in -o, --force replaces it: give one of the two");
    for (size_t i = 0; i < o->n_words; i++) {
        const option_word w = option_word_at(o, i);

        for (size_t k = 0; k < sizeof of_slurm / sizeof of_slurm[0]; k++)
            if (w.target == of_slurm[k])
                return lm_error_set(err, LM_E_ARG, "--%s is for --slurm%s", w.name,
                                    w.target == &job->seconds
                                        ? "; --budget limits a run"
                                        : ": ranks are the launcher's (mpirun, srun)");
    }
    return LM_OK;
}

static const command self =
    COMMAND("", "SWEEP", "Measure this machine or cluster, fit, and write its machine file",
            calibrate_options, 1, 1, check, NULL);

/* State of a run. */
typedef struct job {
    campaign                 c;
    const options           *o;
    const calibrate_options *a;
    run_folder               folder;
    agreement                ranks;
    calibration             *known;  /* --machine */
    double                   budget; /* seconds; 0: none */
    int64_t                  began;  /* CLOCK_MONOTONIC */
    lm_error                 err;
} job;

/* Rank 0 makes the folder and the file; the others may not even see them. */
static lm_status open_files(job *j, const char *command_line)
{
    const calibrate_options *a      = j->a;
    const output_mode        mode   = a->script.resume  ? OUTPUT_RESUME
                                      : a->script.force ? OUTPUT_REPLACE
                                                        : OUTPUT_NEW;
    campaign                *c      = &j->c;
    lm_status                status = LM_OK;

    if (campaign_root(c))
        status = run_folder_make(a->output, &j->folder, &j->err);
    if (!status && campaign_root(c))
        status = run_folder_check(&j->folder, mode == OUTPUT_REPLACE, &j->err);
    if (!status)
        status = output_open(&c->file, j->folder.observations, mode, c->everyone, &c->b,
                             command_line, &j->err);
    if (!status && campaign_root(c) && mode == OUTPUT_REPLACE)
        status = run_folder_clear(&j->folder, &j->err);
    if (!status && campaign_root(c))
        status = campaign_recall(c, &j->err);
    return status;
}

/* Rank 0 decides what comes next, and knows how long it will take. */
static lm_status aim(job *j)
{
    const calibrate_options *a      = j->a;
    chooser_aim              at     = { .networks = option_text(j->o, &a->networks),
                                        .own_only = !(j->budget > 0) && !j->folder.whole,
                                        .virtual  = campaign_virtual(&j->c) };
    lm_status                status = LM_OK;

    if (!campaign_root(&j->c))
        return LM_OK;
    if (a->machine)
        status = machine_load(a->machine, &j->known, &j->err);
    at.known = j->known;
    return status ? status : campaign_aim(&j->c, &at, &j->err);
}

static lm_status open_plan(job *j, world *everyone)
{
    const options *o = j->o;
    char           path[PATH_MAX];
    lm_status      status = sweep_find(o->argument[0], path, sizeof path, &j->err);

    if (!status && j->a->output)
        status = run_folder_name(j->a->output, &j->folder, &j->err);
    if (!status)
        status = campaign_open(&j->c, everyone, path, o->plugins.at, o->plugins.n, &j->err);
    j->c.budget = j->budget;
    j->c.began  = j->began;
    if (!status)
        status = aim(j);
    if (!status && !j->a->script.dry_run)
        status = campaign_connect(&j->c, &j->err);
    return status;
}

static void name_rank(lm_error *err, int rank)
{
    char host[WORLD_HOST] = "";

    gethostname(host, sizeof host - 1);
    lm_error_prefix(err, "rank %d on %s", rank, host);
}

/* All ranks go on or none. The lowest rank with a reason prints it. */
static lm_status meet(job *j, lm_status mine)
{
    const world *w        = j->c.everyone;
    const int    rank     = world_rank(w);
    const bool   knows    = mine && strcmp(j->err.text, WORLD_ELSEWHERE) != 0;
    double       value[2] = { -(double)mine, knows ? world_size(w) - rank : 0 };

    world_wait(w); /* rank 0 may have more to do */
    world_max(w, value, 2);
    if (knows && (int)value[1] == world_size(w) - rank) {
        if (rank > 0)
            name_rank(&j->err, rank);
        report_failure(&j->err);
    }
    return (lm_status)-value[0];
}

static void warn(const char *text)
{
    fprintf(stderr, "%s: warning: %s\n", program_invocation_short_name, text);
}

/* Programs, sweeps, hardware and room of all ranks. */
static lm_status compare_ranks(job *j)
{
    lm_status status = agreement_open(&j->ranks, j->c.everyone, &j->c.b, &j->err);

    if (!status)
        status = agreement_check(&j->ranks, j->a->allow_mixed, &j->err);
    if (!status)
        status = facts_check_clock(&j->c.b, &j->err);
    if (status)
        return status;
    j->c.b.ranks = &j->ranks;
    if (campaign_root(&j->c) && j->ranks.mixed[0])
        warn(j->ranks.mixed);
    if (campaign_root(&j->c) && j->ranks.crowded[0])
        warn(j->ranks.crowded);
    return LM_OK;
}

/* Kernels beside a CPU's. */
static lm_status verify(job *j)
{
    const verdicts *v      = &j->c.verified;
    lm_status       status = campaign_verify(&j->c, &j->err);
    char            text[640];

    if (status || !campaign_root(&j->c) || !j->c.b.verified)
        return status;
    for (size_t i = 0; i < v->n; i++)
        if (verdicts_print_difference(v, i, text, sizeof text)) {
            text_add(text, sizeof text, "; rows with such a kernel are flagged wrong_result");
            warn(text);
        }
    verdicts_print(v, text, sizeof text);
    if (!j->a->quiet && v->n)
        fprintf(stderr, "%s\n", text);
    return LM_OK;
}

/* Step by step, so that no rank waits for one that has failed. */
static lm_status prepare(job *j, world *everyone)
{
    lm_status status = meet(j, open_plan(j, everyone));

    if (status || j->a->script.dry_run)
        return status;
    return meet(j, compare_ranks(j));
}

/* From the watchdog's thread. */
static void say(const char *text)
{
    lm_error err;

    lm_error_set(&err, LM_E_IO, "%s", text);
    report_failure(&err);
}

static void say_measured(const job *j)
{
    const sweep *plan = j->c.plan;
    const size_t n    = j->c.budget > 0 ? j->c.n_measured : plan->n_points;

    if (j->c.n_skipped)
        fprintf(stderr, "%zu of %zu points could not be measured: the column 'status' says why\n",
                j->c.n_skipped, n);
    trust_print(&j->c.seen, j->a->quiet, stderr);
    if (!j->a->quiet && *j->c.no_power)
        fprintf(stderr, "power is not measured: %s\n", j->c.no_power);
    if (!j->a->quiet)
        fprintf(stderr, "%zu point%s in %s%s\n", n, n == 1 ? "" : "s", j->folder.observations,
                plan->n_filtered ? " (some were left out: --dry-run counts them)" : "");
}

/* Formulas of the default model for which there are too few observations. */
static void say_lacking(const job *j, const findings *found)
{
    bool any = false;

    for (size_t i = 0; i < n_forms; i++) {
        if (found->cal->fitted[i].present || !form_carried(i) || !part_calibrated(forms[i].part))
            continue;
        if (!any)
            fprintf(stderr, "%s lacks, for too few points, the parts:", j->folder.machine);
        fprintf(stderr, " %s", phase_formula(forms[i].part));
        any = true;
    }
    if (any)
        fputs("\n", stderr);
}

/* Another element type, or other settings. */
static void say_other(const machine_found *m, bool quiet)
{
    if (!*m->file)
        fprintf(stderr, "no machine file of %s: %s\n", m->of, m->why_not);
    else if (!quiet && isnan(m->step_mape))
        fprintf(stderr, "coefficients of %s in %s\n", m->of, m->file);
    else if (!quiet)
        fprintf(stderr,
                "coefficients of %s in %s: a step of a network left out is off by %.1f %%\n", m->of,
                m->file, 100 * m->step_mape);
}

/* The error of a step on networks left out, in the model that commands take by default. */
static void say_found(const job *j, const findings *found, const machines *wrote)
{
    if (!found->cal)
        fprintf(stderr, "no machine file, the observations are kept: %s\n", found->why_not.text);
    else
        say_lacking(j, found);
    if (found->cal && !j->a->quiet) {
        const stats_errors e = validate_judge(&found->p, found->held_out[0], PHASE_STEP,
                                              &found->networks, SPLIT_ALWAYS)
                                   .errors;

        fprintf(stderr, "coefficients in %s", j->folder.machine);
        if (e.n)
            fprintf(stderr, ": a step of a network left out is off by %.1f %%", 100 * e.mape);
        fputs("\n", stderr);
    }
    for (size_t i = 1; i < wrote->n; i++)
        say_other(&wrote->item[i], j->a->quiet);
    if (!j->a->quiet)
        fprintf(stderr, "report in %s\n", j->folder.report);
}

/* The design's expectation for as much time again, and for three times as much. */
static lm_status look_ahead(job *j, report_effort *e)
{
    const chooser *pick   = j->c.pick;
    lm_status      status = LM_OK;

    e->asked_for = chooser_asked_for(pick);
    e->width     = chooser_width(pick);
    chooser_cost_left(pick, &e->n_left);
    for (size_t i = 0; i < 2 && e->budget > 0 && e->n_left && !status; i++) {
        e->more[i].seconds = (i ? 3 : 1) * e->budget;
        e->n_more          = i + 1;
        status = chooser_forecast(pick, e->more[i].seconds, &e->more[i].width, &e->more[i].n_points,
                                  NULL, &j->err);
    }
    return status;
}

/* Rank 0 fits and writes the other files of the folder. */
static lm_status conclude(job *j)
{
    machines      wrote  = { .n = 0 };
    report_effort effort = { .budget     = j->c.budget,
                             .n_measured = j->c.n_measured,
                             .n_skipped  = j->c.n_skipped,
                             .n_before   = j->c.file.n_held,
                             .seen       = &j->c.seen,
                             .wrote      = &wrote };
    findings      found;
    lm_status     status = findings_make(j->folder.observations, j->c.loads, NULL, &found, &j->err);

    if (!status)
        status = machines_write(&j->folder, j->c.loads, &found, &wrote, &j->err);
    if (!status)
        status = look_ahead(j, &effort);
    effort.seconds = campaign_seconds(&j->c);
    if (!status)
        status = report_write(&j->folder, &found, &effort, &j->err);
    if (!status)
        say_found(j, &found, &wrote);
    machines_free(&wrote);
    findings_free(&found);
    return status;
}

static lm_status measure(job *j)
{
    const progress shown  = { j->a->quiet };
    lm_status      status = campaign_measure(&j->c, &shown, &j->err);

    if (!status)
        status = campaign_conclude(&j->c, &shown, &j->err);
    if (!status && campaign_root(&j->c))
        say_measured(j);
    if (!status && campaign_root(&j->c) && j->folder.whole)
        status = conclude(j);
    return status;
}

/* From the first kernel to the end: signals and lost ranks come while rank 0 fits and writes, too. */
static lm_status measure_watched(job *j, const char *command_line)
{
    lm_status status = meet(j, watchdog_start(j->c.everyone, say, &j->err));

    if (status)
        return status;
    status = meet(j, verify(j));
    if (!status)
        status = meet(j, open_files(j, command_line));
    if (!status) {
        watchdog_file(j->folder.observations, output_points(&j->c.file));
        status = meet(j, measure(j));
    }
    watchdog_stop();
    return status;
}

static int run(options *o, world *everyone, int64_t began, const char *command_line)
{
    job        j = { .c = { .everyone = everyone, .file = { .fd = -1 } }, .o = o, .a = o->filled };
    const bool root = world_rank(everyone) == 0;
    lm_status  status;

    if (options_fill(o, &j.err)) {
        if (root)
            report_misuse(&j.err);
        return EXIT_MISUSED;
    }
    j.budget = j.a->budget > 0 ? j.a->budget : 0;
    j.began  = began;
    status   = prepare(&j, everyone);
    if (!status && !j.a->script.dry_run)
        status = measure_watched(&j, command_line);
    else if (!status)
        status = meet(&j, root ? listing_print(j.c.plan, j.c.pick, j.budget, j.a->format, &j.err)
                               : LM_OK);
    agreement_close(&j.ranks);
    calibration_free(j.known);
    campaign_close(&j.c);
    return status ? EXIT_FAILED : EXIT_DONE;
}

/* Words that need no other ranks: help, a batch script, unknown words. False: go on. */
static bool done_alone(options *o, const char *name, int argc, char **argv, int *code)
{
    const calibrate_options *a;
    lm_error                 err;

    *code = EXIT_DONE;
    if (options_parse(name, &self, argc, argv, o, &err)) {
        *code = report_misuse(&err);
        return true;
    }
    a = o->filled;
    if (o->help)
        options_print_help(o, name, stdout);
    else if (!option_given(o, &a->script.slurm))
        return false;
    else if (options_fill(o, &err))
        *code = report_misuse(&err);
    else if (batch_write(o, &err))
        *code = report_failure(&err);
    *code = finish_output(*code);
    return true;
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

int calibrate_main(int argc, char **argv)
{
    options       o;
    lm_error      err;
    world        *everyone = NULL;
    char         *line     = join(argc, argv);
    const int64_t began    = clock_nanoseconds(CLOCK_MONOTONIC);
    /* "layermeter calibrate" where that started it */
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    int         code;

    if (!line)
        return EXIT_FAILED;
    if (done_alone(&o, name, argc, argv, &code)) {
        free(line);
        options_free(&o);
        return code;
    }
    if (world_open(&argc, &argv, &everyone, &err)) {
        free(line);
        options_free(&o);
        return report_failure(&err);
    }
    code = run(&o, everyone, began, line);
    if (world_rank(everyone) == 0)
        code = finish_output(code);
    free(line);
    options_free(&o);
    world_close(everyone, code);
}
