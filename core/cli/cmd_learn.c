/* layermeter learn: learns from runs on several GPUs to predict runs on other GPUs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "cli/commands.h"
#include "crossgpu/judged.h"
#include "report/fields.h"

typedef struct learn_options {
    option_texts methods;
    const char  *output, *devices;
    option_texts features;
    struct {
        held_out_kind leave;
        const char   *test, *by;
    } judging;
    uint64_t seed;
    format   format;
    bool     folds;

    crossgpu_method method[N_CROSSGPU_METHODS]; /* of `methods` */
    unsigned        groups;                     /* of `features` */
    errors_by       by;
} learn_options;

#define AT(member) OPTION_AT(learn_options, member)

VALUE_TYPE(type_held_out, held_out_kind, held_out_parse);

static const option_row option_rows[] = {
    { "method", AT(methods), &type_names, "LIST", "layermeter", HELP_HOW,
      "one or more of " CROSSGPU_METHODS },
    { "features", AT(features), &type_names, "LIST", "static,dynamic", HELP_HOW,
      "groups of features: static (datasheets of the GPUs), dynamic (metrics of the run)" },
    { "output", AT(output),
      .help = "write the learned model, for 'layermeter transfer --learned' (also -o)" },
    { "leave-out", AT(judging.leave), &type_held_out, "WHAT", "group", HELP_HOW,
      "without -o: what is left out in turn: group, workload, row or gpu", .excludes = "test",
      .refusal = "with --test nothing is left out: give one of the two" },
    { "test", AT(judging.test), &type_text, "FILE", NULL, HELP_WHAT,
      "without -o: learn from all of RUNS.csv, and compute the errors on these runs" },
    { "by", AT(judging.by), &type_text, "WHAT", NULL, HELP_HOW,
      "one row of errors for each group, source GPU or target GPU: group, source or target "
      "(default: group; with --leave-out gpu target)" },
    { "seed", AT(seed) },
    { "folds", AT(folds), &type_flag, NULL, NULL, HELP_OUTPUT,
      "without -o: mean error of the folds and its standard deviation, over all groups",
      .excludes = "test", .refusal = "with --test nothing is left out: there are no folds" },
    { "devices", AT(devices) },
    { "format", AT(format) },
    { .name = NULL },
};

static const char details[] =
    "RUNS.csv (plain or gzip) has one row for each run:\n"
    "  workload: a name; runs of the same work have the same name\n"
    "  gpu: any name that 'layermeter devices' lists\n"
    "  seconds: the time of an epoch, or of a step; a workload does not mix both\n"
    "  group: runs of a group are left out together (default: the workload)\n"
    "  any other column: a metric, with its unit as the last word: power_mean_w, sm_clock_q50_mhz,\n"
    "    conv2d_us\n"
    "\n"
    "Repeated runs become one run, their median. See core/crossgpu/RUNS.md.\n"
    "\n"
    "Without -o the command prints errors of predictions. It predicts from each run the time of the same\n"
    "workload on each other GPU. --leave-out chooses the runs that a fit does not use. Groups are left\n"
    "out one after the other. Workloads and rows (pairs of runs) are left out in 10 random parts. GPUs\n"
    "are left out one after the other; the fit then knows only the datasheet of that GPU. With -o one\n"
    "method learns from all runs. It leaves out groups only to compute its intervals.\n"
    "\n"
    "Methods:\n"
    "  layermeter: predicts the logarithm of the ratio of two times, from similar runs and boosted trees;\n"
    "    for unknown GPUs from a mixture of roofline bounds\n"
    "  stacking: Hur & Lee 2024: predicts seconds; histogram-boosted trees combine a random forest and\n"
    "    XGBoost's trees (instead of CatBoost's)\n"
    "  forest, xgboost, boosted: each of these three learners alone\n"
    "  pair-ratio: the median ratio of each pair of GPUs\n"
    "\n"
    "--features applies to stacking, forest, xgboost and boosted. layermeter and pair-ratio always use\n"
    "all features, and the pair of GPUs.\n";

static const char examples[] =
    "  layermeter learn runs.csv --method layermeter,stacking,pair-ratio\n"
    "  layermeter learn runs.csv --leave-out gpu --format csv\n"
    "  layermeter learn runs.csv -o gpus.txt\n"
    "  layermeter transfer job.csv --learned gpus.txt --from T4 --to V100-SXM2-16GB,A10G\n";

/* All open files. */
typedef struct work {
    device_list *devices;
    runs        *r, *other;
    pairs       *p, *tested; /* to learn from; to judge by */
} work;

static void work_free(work *w)
{
    if (w->tested != w->p)
        pairs_free(w->tested);
    pairs_free(w->p);
    runs_free(w->other);
    runs_free(w->r);
    devices_free(w->devices);
}

static lm_status check(options *o, lm_error *err)
{
    learn_options *a = o->filled;

    if (a->methods.n > N_CROSSGPU_METHODS)
        return misused(o, &a->methods, err, "names a method twice");
    for (size_t i = 0; i < a->methods.n; i++) {
        lm_error why;

        if (crossgpu_method_parse(a->methods.at[i], &a->method[i], &why))
            return misused(o, &a->methods, err, "%s", why.text);
    }
    for (size_t i = 0; i < a->features.n; i++) {
        lm_error why;

        if (features_add(a->features.at[i], &a->groups, &why))
            return misused(o, &a->features, err, "%s", why.text);
    }
    a->by = a->judging.leave == HELD_OUT_GPU ? ERRORS_BY_TARGET : ERRORS_BY_GROUP;
    if (a->judging.by) {
        lm_error why;

        if (errors_by_parse(a->judging.by, &a->by, &why))
            return misused(o, &a->judging.by, err, "%s", why.text);
    }
    if (a->output && a->methods.n > 1)
        return misused(o, &a->methods, err, "-o writes the model of one method: name one");
    return a->output ? refused(o, &a->judging, sizeof a->judging,
                               "errors, which are printed without -o", err)
                     : LM_OK;
}

static void say_left_out(const learn_options *a, const work *w)
{
    if (*w->p->left_out)
        note("%s: left out: %s", w->r->path, w->p->left_out);
    if (!w->p->s.n_metrics && (a->groups & FEATURES_DYNAMIC))
        note("%s: no metrics: the fit uses only the seconds and the GPUs", w->r->path);
}

static lm_status open_runs(const char *path, const learn_options *a, work *w, lm_error *err)
{
    lm_status status = devices_open(a->devices, &w->devices, err);

    if (status || (status = runs_load(path, &w->r, err)) ||
        (status = pairs_of(w->r, w->devices, a->groups, &w->p, err)))
        return status;
    w->tested = w->p;
    if (!a->judging.test)
        return LM_OK;
    w->tested = NULL;
    if ((status = runs_load(a->judging.test, &w->other, err)))
        return status;
    return pairs_of(w->other, w->devices, a->groups, &w->tested, err);
}

/* ---- judging ---- */

typedef struct row {
    const char   *method, *group, *left_out;
    judged_errors of;
    uint64_t      seed;
} row;

enum { FOLDED = 1 };

static const field fields[] = {
    { "method", "method", FIELD_AT(row, method) },
    { "group", "group", FIELD_AT(row, group) },
    { "points", "points", FIELD_AT(row, of.errors.n) },
    { "mape_percent", "MAPE [%]", FIELD_AT(row, of.errors.mape), IN_PERCENT },
    { "median_ape_percent", "median [%]", FIELD_AT(row, of.errors.median_ape), IN_PERCENT },
    { "r2", "R2", FIELD_AT(row, of.errors.r2), .digits = 3 },
    { "fold_mean_percent", "folds [%]", FIELD_AT(row, of.fold_mean), IN_PERCENT, .when = FOLDED },
    { "fold_sd_percent", "+- [%]", FIELD_AT(row, of.fold_sd), IN_PERCENT, .when = FOLDED },
    { "coverage_percent", "in 90 % [%]", FIELD_AT(row, of.coverage), IN_PERCENT },
    { "width_percent", "width [%]", FIELD_AT(row, of.width), IN_PERCENT },
    { "rmse_s", FIELD_AT(row, of.errors.rmse) },
    { "left_out", FIELD_AT(row, left_out) },
    { "seed", FIELD_AT(row, seed) },
    { 0 },
};

/* Errors of each group, then of all. */
static lm_status add_errors(const judged_runs *j, const crossgpu_prediction *said, row r,
                            field_rows *rows, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t g = 0; g <= judged_groups(j) && !status; g++) {
        const char *name = g < judged_groups(j) ? judged_group(j, g) : NULL;

        status  = judged_errors_of(j, said, name, &r.of, err);
        r.group = name ? name : "(all)";
        if (!status && r.of.errors.n)
            field_row(rows, &r);
    }
    return status;
}

static lm_status judge_methods(const learn_options *a, const work *w, lm_error *err)
{
    const judged_runs j    = { w->p, w->tested, a->judging.leave, a->by, a->seed };
    const field_view  v    = { .fields = fields,
                               .in     = field_place_of(a->format),
                               .facts  = a->folds ? FOLDED : 0 };
    field_rows        rows = field_rows_of(&v);
    row               r = { .left_out = a->judging.test ? "test" : held_out_names[a->judging.leave],
                            .seed     = a->seed };
    crossgpu_prediction *said   = malloc(w->tested->n * sizeof *said);
    lm_status            status = said ? LM_OK : no_memory(err);

    for (size_t m = 0; m < a->methods.n && !status; m++) {
        r.method = crossgpu_method_names[a->method[m]];
        if (!(status = judged_predict(&j, a->method[m], said, err)))
            status = add_errors(&j, said, r, &rows, err);
    }
    free(said);
    if (!status)
        say_left_out(a, w);
    return field_rows_print(&rows, a->format, stdout, status, err);
}

/* ---- writing ---- */

/* A pair of GPUs. */
typedef struct gpu_pair_row {
    const char *from, *to;
    uint64_t    runs;
    double      ratio;
} gpu_pair_row;

static const field pair_fields[] = {
    { "from", "from", FIELD_AT(gpu_pair_row, from) },
    { "to", "to", FIELD_AT(gpu_pair_row, to) },
    { "runs", "runs", FIELD_AT(gpu_pair_row, runs) },
    { "median_ratio", "median ratio", FIELD_AT(gpu_pair_row, ratio), .digits = 3 },
    { 0 },
};

static lm_status print_pairs(const work *w, format f, lm_error *err)
{
    const field_view v    = { .fields = pair_fields, .in = field_place_of(f) };
    const pairs     *p    = w->p;
    field_rows       t    = field_rows_of(&v);
    double          *some = malloc(p->n * sizeof *some);

    for (size_t k = 0; some && k < p->n_gpus * p->n_gpus; k++) {
        gpu_pair_row r = { p->gpu[k / p->n_gpus].name, p->gpu[k % p->n_gpus].name, 0, NAN };

        for (size_t i = 0; i < p->n; i++)
            if (p->row[i].pair == k)
                some[r.runs++] = exp(p->row[i].log_ratio);
        r.ratio = r.runs ? stats_quantile(some, r.runs, 0.5) : NAN;
        if (r.runs)
            field_row(&t, &r);
    }
    free(some);
    return field_rows_print(&t, f, stdout, some ? LM_OK : no_memory(err), err);
}

static void say_interval(const char *what, const interval *i)
{
    if (interval_known(i))
        note("%s: 90 %% of measured / predicted lie from %.2f to %.2f", what, i->low, i->high);
    else
        note("%s: intervals are unknown: there are too few runs to leave some out", what);
}

static lm_status write_learned(const learn_options *a, const work *w, lm_error *err)
{
    const crossgpu_options how    = { a->method[0], a->seed, true };
    crossgpu              *c      = NULL;
    lm_status              status = judged_learn(w->p, &how, &c, err);

    if (!status)
        status = kept_save(&crossgpu_kept, CROSSGPU_FILE, c, a->output, err);
    if (!status)
        say_left_out(a, w);
    if (!status && !(status = print_pairs(w, a->format, err))) {
        say_interval("on GPUs of the runs", &c->known);
        if (c->method == CROSSGPU_LAYERMETER) {
            say_interval("on other GPUs, from their datasheets", &c->unknown[UNKNOWN_TARGET]);
            say_interval("from runs on other GPUs, by their datasheets",
                         &c->unknown[UNKNOWN_SOURCE]);
        }
        if (c->method == CROSSGPU_LAYERMETER && !learner_available(LEARNER_XGBOOST))
            note("built without XGBoost: predictions use similar runs only");
    }
    crossgpu_free(c);
    return status;
}

static lm_status run(const options *o, lm_error *err)
{
    const learn_options *a      = o->filled;
    work                 w      = { 0 };
    lm_status            status = open_runs(o->argument[0], a, &w, err);

    if (!status)
        status = a->output ? write_learned(a, &w, err) : judge_methods(a, &w, err);
    work_free(&w);
    return status;
}

const command cmd_learn =
    COMMAND("learn", "RUNS.csv", "Learn from runs and their GPU metrics to predict other GPUs",
            learn_options, 1, 1, check, run);
