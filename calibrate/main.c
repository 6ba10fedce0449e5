/* layermeter-calibrate: measures what a sweep file lists, alone or under mpirun. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/names.h"
#include "base/text.h"
#include "cli/options.h"
#include "harness.h"
#include "layers/loader.h"
#include "network/kernels.h"
#include "provenance.h"
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
    const char    *command_line;
    registry      *reg;
    workloads     *loads;
    sweep         *plan;
    bench          b;
    names          done;      /* keys of points that are in the file already */
    char         **done_key;
    size_t         n_done;
    int            out;       /* rank 0: the file; else -1 */
    lm_error       err;
} job;

static bool root(const job *j)
{
    return world_rank(j->everyone) == 0;
}

/* ---- backends ----------------------------------------------------------------------------------- */

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

static lm_status open_plan(job *j)
{
    const char  *path   = j->o->argument[0];
    sweep       *first  = NULL;
    lm_status    status = registry_new(&j->reg, &j->err);
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
    if (!status)
        status = open_backend(j, j->plan->compute, &j->b.compute);
    if (!status && j->plan->collective)
        status = open_backend(j, j->plan->collective, &j->b.collective);
    j->b.reg  = j->reg;
    j->b.plan = j->plan;
    return status;
}

/* ---- file --------------------------------------------------------------------------------------- */

/* What tells one point from another. */
static void print_key(const observation *r, char *buffer, size_t size)
{
    snprintf(buffer, size, "%d %s %s %s %s %d %d %lld %lld %lld", r->kind, r->name, r->input, r->algorithm,
             r->geometry, r->kind == OBS_KERNEL ? r->pass : 0, r->dtype, (long long)r->batch,
             (long long)r->ranks, (long long)r->bytes);
}

/* A network's rows end with the step; one whose step is missing is measured again. */
static bool completes(const observation *r)
{
    return r->kind != OBS_NETWORK || r->phase == PHASE_STEP || r->skipped;
}

/* Rows of whole points among the first `lines` lines: what follows was cut off. */
static size_t whole_points(const observations *obs, size_t lines)
{
    size_t n = obs->n_rows;

    while (n > 0 && ((size_t)obs->row[n - 1].line > lines || !completes(&obs->row[n - 1])))
        n--;
    return n;
}

static lm_status note_done(job *j, const observations *obs, size_t n)
{
    char key[1200];

    j->done_key = calloc(n + 1, sizeof *j->done_key);
    for (size_t i = 0; i < n; i++) {
        print_key(&obs->row[i], key, sizeof key);
        if (!completes(&obs->row[i]) || names_find(&j->done, key) != NAMES_NONE)
            continue;
        if (!j->done_key || !(j->done_key[j->n_done] = strdup(key)) ||
            !names_add(&j->done, j->done_key[j->n_done++], i))
            return lm_error_set(&j->err, LM_E_NOMEM, "out of memory");
    }
    return LM_OK;
}

/* The start of line `line` + 1. */
static const char *behind_line(const char *text, size_t line)
{
    while (line-- > 0)
        text = strchr(text, '\n') + 1;
    return text;
}

/* Lines up to the header row; 0 if it is not there yet. Rows can only be added below columns of ours. */
static lm_status head_lines(job *j, const char *text, size_t *out)
{
    size_t    lines  = 1, n = 0;
    char     *ours   = NULL;
    FILE     *stream = open_memstream(&ours, &n);
    lm_status status = LM_OK;

    if (!stream)
        return lm_error_set(&j->err, LM_E_NOMEM, "out of memory");
    observation_print_head(stream);
    if (fclose(stream)) {
        free(ours);
        return lm_error_set(&j->err, LM_E_NOMEM, "out of memory");
    }
    for (; *text == '#' && strchr(text, '\n'); lines++)
        text = strchr(text, '\n') + 1;
    if (!strchr(text, '\n') && (*text == '#' || !strncmp(text, ours, strlen(text))))
        lines = 0; /* a run that was killed at once */
    else if (strncmp(text, ours, n))
        status = lm_error_set(&j->err, LM_E_ARG, "%s:%zu: other columns than this program writes: rows "
                              "cannot be added, give another -o", j->o->value[OUTPUT], lines);
    free(ours);
    *out = lines;
    return status;
}

/* Which points the file holds, and where it goes on: behind the last whole one. */
static lm_status load_done(job *j, off_t *end)
{
    const char   *path = j->o->value[OUTPUT];
    observations *obs  = NULL;
    char         *text = NULL;
    size_t        size, head = 0, lines = 0, kept;
    lm_status     status = file_read_text(path, &text, &size, &j->err);

    if (!status)
        status = head_lines(j, text, &head);
    if (status)
        goto out;
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        lines++;
    kept = head;
    if (head && lines > head) {
        size_t n;

        if ((status = observations_load(path, &obs, &j->err)))
            goto out;
        n = whole_points(obs, lines);
        if ((status = note_done(j, obs, n)))
            goto out;
        if (n)
            kept = (size_t)obs->row[n - 1].line;
    }
    *end = behind_line(text, kept) - text;
out:
    observations_free(obs);
    free(text);
    return status;
}

static lm_status write_all(job *j, const char *text, size_t n)
{
    while (n > 0) {
        const ssize_t done = write(j->out, text, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return lm_error_set(&j->err, LM_E_IO, "%s: %s", j->o->value[OUTPUT], strerror(errno));
        text += done;
        n -= (size_t)done;
    }
    return LM_OK;
}

static lm_status write_head(job *j)
{
    char     *text = NULL;
    size_t    n    = 0;
    FILE     *out  = open_memstream(&text, &n);
    lm_status status;

    if (!out)
        return lm_error_set(&j->err, LM_E_NOMEM, "out of memory");
    provenance_print(out, j->everyone, &j->b, j->command_line);
    observation_print_head(out);
    if (fclose(out))
        status = lm_error_set(&j->err, LM_E_NOMEM, "out of memory");
    else
        status = write_all(j, text, n);
    free(text);
    return status;
}

static lm_status open_file(job *j)
{
    const char *path   = j->o->value[OUTPUT];
    const bool  resume = j->o->value[RESUME] && !access(path, F_OK);
    off_t       end    = 0;
    lm_status   status;

    if (resume && (status = load_done(j, &end)))
        return status;
    if (!root(j))
        return LM_OK;
    j->out = open(path, O_RDWR | O_CREAT | (resume ? 0 : j->o->value[FORCE] ? O_TRUNC : O_EXCL), 0666);
    if (j->out < 0)
        return errno == EEXIST
                   ? lm_error_set(&j->err, LM_E_IO, "%s: is there already: --resume goes on with it, "
                                  "--force replaces it", path)
                   : lm_error_set(&j->err, LM_E_IO, "%s: %s", path, strerror(errno));
    if (resume && (ftruncate(j->out, end) || lseek(j->out, end, SEEK_SET) < 0))
        return lm_error_set(&j->err, LM_E_IO, "%s: %s", path, strerror(errno));
    return end ? LM_OK : write_head(j);
}

/* All rows of a point in one write: a kill in between leaves whole points. */
static lm_status write_point(job *j, const sweep_point *p, const point_result *r)
{
    char       *text = NULL;
    size_t      n    = 0;
    FILE       *out  = open_memstream(&text, &n);
    observation row  = p->row;
    lm_status   status;

    if (!out)
        return lm_error_set(&j->err, LM_E_NOMEM, "out of memory");
    row.threads = j->plan->threads;
    if (strcmp(r->status, "ok")) {
        row.phase = row.kind == OBS_NETWORK ? PHASE_STEP : row.phase;
        observation_print(out, &row, r->status);
    }
    for (phase f = 0; f < N_PHASES; f++) {
        const phase_times *t = &r->phase[f];

        if (!t->measured)
            continue;
        row.phase       = f;
        row.repeats     = t->repeats;
        row.seconds     = t->median;
        row.min_seconds = t->min;
        row.p95_seconds = t->p95;
        row.cpu_seconds = t->cpu;
        observation_print(out, &row, r->status);
    }
    status = fclose(out) ? lm_error_set(&j->err, LM_E_NOMEM, "out of memory") : write_all(j, text, n);
    free(text);
    return status;
}

/* ---- progress ----------------------------------------------------------------------------------- */

static double now_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print_point(const observation *r, char *buffer, size_t size)
{
    char geometry[400];

    switch (r->kind) {
    case OBS_NETWORK:
        snprintf(buffer, size, "%s %s batch %lld, %lld rank%s", r->name, r->input, (long long)r->batch,
                 (long long)r->ranks, r->ranks == 1 ? "" : "s");
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
                           double began)
{
    const double spent = now_seconds() - began;
    const double left  = done > 0 ? spent / done * (total - done) : 0;
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

/* ---- run ---------------------------------------------------------------------------------------- */

/* One point on the ranks it asks for; the others sleep. */
static lm_status measure(job *j, const sweep_point *p, point_result *out)
{
    const bool virtual = j->b.compute->type->virtual != 0;
    const int size     = virtual ? world_size(j->everyone) : (int)p->row.ranks;
    world    *group    = NULL;
    lm_status status   = world_split(j->everyone, size, &group, &j->err);

    if (!status && group)
        status = harness_measure(&j->b, group, p, out, &j->err);
    world_free(group);
    world_wait(j->everyone);
    return status;
}

static lm_status measure_all(job *j)
{
    const sweep *plan  = j->plan;
    const double began = now_seconds();
    double       total = 0, done = 0;
    lm_status    status = LM_OK;
    char         key[1200];

    for (size_t i = 0; i < plan->n_points; i++)
        total += plan->point[i].weight;
    for (size_t i = 0; i < plan->n_points; i++) {
        sweep_point *p = &plan->point[i];
        point_result r = { .status = "ok" };
        double       worst;

        print_key(&p->row, key, sizeof key);
        if (names_find(&j->done, key) != NAMES_NONE) {
            total -= p->weight;
            continue;
        }
        p->row.hosts = p->row.ranks < world_hosts(j->everyone) ? p->row.ranks : world_hosts(j->everyone);
        status = measure(j, p, &r);
        if (!status && root(j))
            status = write_point(j, p, &r);
        worst = -(double)status; /* all ranks end together */
        world_max(j->everyone, &worst, 1);
        if (worst > 0)
            return status ? status : lm_error_set(&j->err, (lm_status)-worst, "another rank failed");
        done += p->weight;
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
    for (size_t i = 0; i < j->n_done; i++)
        free(j->done_key[i]);
    free(j->done_key);
    names_free(&j->done);
    sweep_free(j->plan);
    workloads_free(j->loads);
    registry_free(j->reg);
    if (j->out >= 0)
        close(j->out);
}

static int run(const options *o, world *everyone, const char *command_line)
{
    job       j    = { .everyone = everyone, .o = o, .command_line = command_line, .out = -1 };
    int       code = EXIT_DONE;
    double    failed[2]; /* the worst status of all ranks; rank 0's */
    bool      speaks;
    lm_status status;

    if (!o->value[OUTPUT] && !o->value[DRY_RUN]) {
        lm_error_set(&j.err, LM_E_ARG, "-o OBSERVATIONS.csv is needed: where to write the times");
        return root(&j) ? report_misuse("", &j.err) : EXIT_MISUSED;
    }
    status = open_plan(&j);
    if (!status && !o->value[DRY_RUN])
        status = open_file(&j);
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
    } else if (root(&j) && !o->value[QUIET] && !o->value[DRY_RUN]) {
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
