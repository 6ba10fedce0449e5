/* layermeter-calibrate: measures what a sweep file lists, alone or under mpirun. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "clock.h"
#include "layers/loader.h"
#include "network/kernels.h"
#include "output.h"
#include "report/table.h"
#include "sweep.h"
#include "world.h"

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

/* A run and all it holds. */
typedef struct job {
    world         *everyone;
    const options *o;
    registry      *reg;
    workloads     *loads;
    sweep         *plan;
    bench          b;
    output         file;
    size_t         n_skipped; /* points that could not be measured */
    lm_error       err;
} job;

static bool root(const job *j)
{
    return world_rank(j->everyone) == 0;
}

/* ---- backends -----------------------------------------------------------------------------------
 */

static const backend_type *find_backend(const char *name)
{
    for (size_t i = 0; backends[i]; i++)
        if (!strcmp(backends[i]->name, name))
            return backends[i];
    return NULL;
}

static lm_status unknown_backend(job *j, const char *name)
{
    char known[120] = "";

    for (size_t i = 0; backends[i]; i++) {
        const size_t n = strlen(known);

        snprintf(known + n, sizeof known - n, " %s", backends[i]->name);
    }
    return lm_error_set(&j->err, LM_E_NOTFOUND, "%s: this build has no backend '%.40s' (it has:%s)",
                        j->o->argument[0], name, known);
}

static lm_status open_backend(job *j, const char *name, backend **out)
{
    const backend_type  *type   = find_backend(name);
    const backend_config config = { j->everyone, j->plan->threads, j->plan->sim };
    lm_status            status;

    if (!type)
        return unknown_backend(j, name);
    if ((status = type->open(&config, out, &j->err)))
        lm_error_prefix(&j->err, "%s", j->o->argument[0]);
    return status;
}

/* Points on several ranks need somebody who runs their all-reduce. */
static lm_status check_ranks(job *j)
{
    for (size_t i = 0; i < j->plan->n_points; i++)
        if (j->plan->point[i].row.ranks > 1)
            return lm_error_set(&j->err, LM_E_ARG,
                                "%s: points on %lld ranks need 'collective = mpi' in [sweep]",
                                j->plan->path, (long long)j->plan->point[i].row.ranks);
    return LM_OK;
}

static lm_status open_plan(job *j)
{
    const char         *path   = j->o->argument[0];
    sweep              *first  = NULL;
    lm_status           status = registry_new(&j->reg, &j->err);
    const backend_type *compute;

    if (!status)
        status = loader_open_all(j->reg, j->o->plugin, (size_t)j->o->n_plugins, &j->err);
    if (!status)
        status = workloads_new(j->reg, &j->loads, &j->err);
    /* without a limit first: only the file says whether ranks are real */
    if (!status)
        status = sweep_load(path, j->reg, j->loads, 0, &first, &j->err);
    if (status)
        return status;
    compute = find_backend(first->compute);
    if (!compute) {
        status = unknown_backend(j, first->compute);
    } else if (compute->virtual) {
        j->plan = first;
        first   = NULL;
    } else {
        status = sweep_load(path, j->reg, j->loads, world_size(j->everyone), &j->plan, &j->err);
    }
    sweep_free(first);
    if (!status && !compute->virtual && !j->plan->collective)
        status = check_ranks(j);
    if (!status)
        status = open_backend(j, j->plan->compute, &j->b.compute);
    if (!status && j->plan->collective)
        status = open_backend(j, j->plan->collective, &j->b.collective);
    j->b.reg  = j->reg;
    j->b.plan = j->plan;
    return status;
}

/* ---- progress -----------------------------------------------------------------------------------
 */

static void print_point(const observation *r, char *buffer, size_t size)
{
    char geometry[400];

    switch (r->kind) {
    case OBS_NETWORK:
        snprintf(buffer, size, "%s %s batch %lld, %lld rank%s", r->name, r->input,
                 (long long)r->batch, (long long)r->ranks, r->ranks == 1 ? "" : "s");
        break;
    case OBS_KERNEL:
        snprintf(geometry, sizeof geometry, "%s", r->geometry);
        snprintf(buffer, size, "%s %s %.60s", r->name, kernel_pass_name(r->pass), geometry);
        break;
    default:
        snprintf(buffer, size, "all-reduce (%s) of %lld bytes, %lld ranks", r->algorithm,
                 (long long)r->bytes, (long long)r->ranks);
    }
}

static void print_progress(const job *j, size_t i, const point_result *r, double done, double total,
                           int64_t began)
{
    const double spent = clock_seconds_since(CLOCK_MONOTONIC, began);
    const double left  = done > 0 ? fmax(0, spent / done * (total - done)) : 0;
    char         what[160];
    double       median = NAN;

    if (j->o->value[QUIET])
        return;
    print_point(&j->plan->point[i].row, what, sizeof what);
    for (phase p = 0; p < N_PHASES; p++)
        if (r->phase[p].measured)
            median = r->phase[p].median;
    fprintf(stderr, "[%zu/%zu] %s: ", i + 1, j->plan->n_points, what);
    if (isnan(median))
        fprintf(stderr, "%s (%s)", r->status, r->why);
    else
        fprintf(stderr, "%.3f ms", 1e3 * median);
    fprintf(stderr, ", %.0f s left\n", left);
}

static int list_points(const job *j)
{
    table *t = table_new();
    char   what[160];

    table_column(t, "point", "point", 0);
    table_column(t, "what", "what", 0);
    table_column(t, "flops_forward", "FLOPs forward", 0);
    for (size_t i = 0; i < j->plan->n_points; i++) {
        const sweep_point *p = &j->plan->point[i];

        print_point(&p->row, what, sizeof what);
        table_count(t, i + 1);
        table_text(t, what);
        table_count(t, p->row.kind == OBS_KERNEL ? lm_kernel_work(&p->kernel).flops
                                                 : p->counts.flops_forward);
    }
    table_print(t, FORMAT_TABLE, stdout, NULL);
    table_free(t);
    printf("%zu points, %zu left out (more ranks or FLOPs than allowed)\n", j->plan->n_points,
           j->plan->n_filtered);
    return EXIT_DONE;
}

/* ---- run ----------------------------------------------------------------------------------------
 */

/* One point on the ranks it asks for; the others sleep. */
static lm_status measure(job *j, sweep_point *p, point_result *out)
{
    const bool virtual = j->b.compute->type->virtual != 0;
    const int size     = virtual ? world_size(j->everyone) : (int)p->row.ranks;
    world    *group    = NULL;
    lm_status status   = world_split(j->everyone, size, &group, &j->err);

    if (!status && group) {
        p->row.hosts = virtual ? 1 : world_hosts(group);
        status       = harness_measure(&j->b, group, p, out, &j->err);
    }
    world_free(group);
    world_wait(j->everyone);
    return status;
}

static lm_status measure_all(job *j)
{
    const sweep  *plan  = j->plan;
    const int64_t began = clock_nanoseconds(CLOCK_MONOTONIC);
    double        total = 0, done = 0;
    lm_status     status = LM_OK;

    for (size_t i = 0; i < plan->n_points; i++)
        total += plan->point[i].weight;
    for (size_t i = 0; i < plan->n_points; i++) {
        sweep_point *p = &plan->point[i];
        point_result r = { .status = "ok" };
        double       worst;
        int          skip;

        skip = root(j) && output_has(&j->file, &p->row); /* others may not see the file */
        world_broadcast(j->everyone, &skip, sizeof skip);
        if (skip) {
            total -= p->weight;
            continue;
        }
        status = measure(j, p, &r);
        if (!status && root(j))
            status = output_write(&j->file, p, &r, plan->threads, &j->err);
        worst = -(double)status; /* all ranks end together */
        world_max(j->everyone, &worst, 1);
        if (worst > 0)
            return status ? status
                          : lm_error_set(&j->err, (lm_status)-worst, "another rank failed");
        done += p->weight;
        j->n_skipped += strcmp(r.status, "ok") != 0;
        if (root(j))
            print_progress(j, i, &r, done, total, began);
    }
    return status;
}

static void job_close(job *j)
{
    if (j->b.compute)
        j->b.compute->type->close(j->b.compute);
    if (j->b.collective)
        j->b.collective->type->close(j->b.collective);
    output_close(&j->file);
    sweep_free(j->plan);
    workloads_free(j->loads);
    registry_free(j->reg);
}

static int run(const options *o, world *everyone, const char *command_line)
{
    const output_mode mode = o->value[RESUME]  ? OUTPUT_RESUME
                             : o->value[FORCE] ? OUTPUT_REPLACE
                                               : OUTPUT_NEW;
    job               j    = { .everyone = everyone, .o = o, .file = { .fd = -1 } };
    int               code = EXIT_DONE;
    double            failed[2]; /* the worst status of all ranks; rank 0's */
    bool              speaks;
    lm_status         status;

    if (!o->value[OUTPUT] && !o->value[DRY_RUN]) {
        lm_error_set(&j.err, LM_E_ARG, "-o OBSERVATIONS.csv is needed: where to write the times");
        return root(&j) ? report_misuse("", &j.err) : EXIT_MISUSED;
    }
    status = open_plan(&j);
    if (!status && !o->value[DRY_RUN])
        status = output_open(&j.file, o->value[OUTPUT], mode, everyone, &j.b, command_line, &j.err);
    failed[0] = -(double)status;
    failed[1] = root(&j) ? -(double)status : 0;
    world_max(j.everyone, failed, 2);
    speaks = root(&j) || failed[1] <= 0; /* what rank 0 says the others need not repeat */
    if (failed[0] > 0)
        status = status ? status : (lm_status)-failed[0];
    else if (o->value[DRY_RUN])
        code = root(&j) ? list_points(&j) : EXIT_DONE;
    else
        status = measure_all(&j);
    if (status) {
        code = EXIT_FAILED;
        if (speaks && j.err.text[0] && (root(&j) || strcmp(j.err.text, "another rank failed")))
            report_failure(&j.err);
    } else if (root(&j) && !o->value[DRY_RUN]) {
        if (j.n_skipped)
            fprintf(stderr,
                    "%zu of %zu points could not be measured: the column 'status' says why\n",
                    j.n_skipped, j.plan->n_points);
        if (!o->value[QUIET])
            fprintf(stderr, "%zu points in %s%s\n", j.plan->n_points, o->value[OUTPUT],
                    j.plan->n_filtered ? " (some were left out: --dry-run counts them)" : "");
    }
    job_close(&j);
    return code;
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
    int      code;

    if (!line)
        return EXIT_FAILED;
    if (!options_parse("layermeter-calibrate", &self, argc, argv, &o, &code)) {
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
