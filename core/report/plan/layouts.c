/* The best layouts, of 'layermeter plan --layouts'. */
#include "report/plan/layouts.h"

#include <math.h>
#include <stdlib.h>

#include "report/pipeline_view.h"
#include "report/plan/parts.h"
#include "report/step_fields.h"

/* A row. */
typedef struct layout_row {
    const char        *machine;
    char               words[LAYOUT_TEXT];
    const layout_plan *plan;
    int64_t            nodes, place;
    double             samples, tokens; /* a second; tokens NAN: not known */
} layout_row;

#define SHARE(name, s) REAL_OF(name, layout_row, r->plan->found.share[s] / r->plan->found.step)

REAL_OF(step, layout_row, r->plan->found.step)
REAL_OF(low, layout_row, r->plan->found.low)
REAL_OF(high, layout_row, r->plan->found.high)
REAL_OF(bytes, layout_row, r->plan->found.bytes)
REAL_OF(run_hours, layout_row, r->plan->run / 3600)
REAL_OF(cost, layout_row, r->plan->cost)
TEXT_OF(words, layout_row, r->words)
TEXT_OF(tie, layout_row, r->plan->place == 0 ? "" : r->plan->tie ? "tie" : "slower")
SHARE(share_compute, SHARE_COMPUTE)
SHARE(share_tensor, SHARE_TENSOR)
SHARE(share_pipeline, SHARE_PIPELINE)
SHARE(share_data, SHARE_DATA)
SHARE(share_update, SHARE_UPDATE)

enum { LAYOUTS_PRICED = 1, LAYOUTS_TOKENS = 2 };

#define ROW(member) FIELD_AT(layout_row, member)

const field layout_fields[] = {
    { "machine", .title = "machine", ROW(machine), .once = "machine", .help = "machine file" },
    { "nodes", .title = "nodes", ROW(nodes), .help = "what a network connects" },
    { "place", .title = "#", ROW(place),
      .help = "among the layouts of these nodes, the fastest is 1" },
    { "layout", .title = "layout", .text = words,
      .help = "words of --layout; mb is --batch, ga --accumulate" },
    { "step_ms", .title = "step [ms]", .real = step, IN_MS, .help = "the whole step" },
    { "step_low_ms", .title = "low", .real = low, IN_MS, .help = "low end of its interval" },
    { "step_high_ms", .title = "high", .real = high, IN_MS, .help = "high end of its interval" },
    { "tie", .title = "", .text = tie,
      .help = "tie: may be as fast as the first, by the bounds of passes and messages" },
    { "memory_bytes", .title = "memory [GB]", .real = bytes, IN_GB, .help = "of the fullest rank" },
    { "samples_per_s", .yields = 30, .title = "samples/s", ROW(samples),
      IN_UNIT("1/s", TABLE_POSITIVE(1)), .help = "of all devices" },
    { "tokens_per_s", .yields = 20, .title = "tokens/s", ROW(tokens),
      IN_UNIT("1/s", TABLE_POSITIVE(0)), .when = LAYOUTS_TOKENS, .help = "of all devices" },
    { "compute_share", .yields = 40, .title = "compute [%]", .real = share_compute, IN_PERCENT,
      .help = "passes, of the step of the rank that ends last" },
    { "tensor_share", .yields = 40, .title = "tensor [%]", .real = share_tensor, IN_PERCENT,
      .help = "messages between ranks of tp that passes wait for" },
    { "pipeline_share", .yields = 40, .title = "bubble [%]", .real = share_pipeline, IN_PERCENT,
      .help = "waiting for other stages, and sending to them" },
    { "data_share", .yields = 40, .title = "data [%]", .real = share_data, IN_PERCENT,
      .help = "gradients and weights that travel behind the passes" },
    { "update_share", .yields = 40, .title = "update [%]", .real = share_update, IN_PERCENT,
      .help = "of the optimizer" },
    { "run_h", .yields = 10, .title = "run [h]", .real = run_hours, IN_UNIT("h", TABLE_POSITIVE(2)),
      .help = "the whole training" },
    { "cost", .title = "cost", .real = cost, WITH_DIGITS(TABLE_POSITIVE(2)), .when = LAYOUTS_PRICED,
      .help = "of all nodes, from start to end" },
    { 0 },
};

/* For each machine and number of nodes: layouts that were tried, the limit of the best, and why the
 * next is worse. */
static void put_sentences(const plan_job *job, const layout_plans *p, FILE *out)
{
    char words[LAYOUT_TEXT], text[LAYOUT_SENTENCE];

    for (size_t c = 0; c < p->n_counts; c++) {
        const layout_counts *k     = &p->counts[c];
        const layout_plan   *first = NULL;

        fprintf(out,
                "%s, %lld node%s of %lld device%s: %zu layouts, of which %zu do not fit the memory",
                job->side[k->machine].name, (long long)k->nodes, k->nodes == 1 ? "" : "s",
                (long long)job->question.setup.devices, job->question.setup.devices == 1 ? "" : "s",
                k->looked_at, k->too_large);
        if (k->no_time)
            fprintf(out, " and %zu have no price", k->no_time);
        if (k->bounded)
            fprintf(out, "; %zu ways to share tokens (cp) cannot be among the best", k->bounded);
        if (*k->whole)
            fprintf(out, "; %s", k->whole);
        if (k->refused)
            fprintf(out, "; %zu of the best %s not predicted: %s", k->refused,
                    k->refused == 1 ? "is" : "are", k->why);
        fputc('\n', out);
        for (size_t i = 0; i < p->n; i++) {
            const layout_plan *x = &p->plan[i];

            if (x->machine != k->machine || x->nodes != k->nodes)
                continue;
            if (!first)
                fprintf(out, "  %s: %s\n", layout_print(&x->found.layout, words),
                        layouts_limit(&x->found, text));
            else
                fprintf(out, "  %s: %s%s\n", layout_print(&x->found.layout, words),
                        layouts_worse(&first->found, &x->found, text),
                        x->tie ? "; a tie: by its interval it may be as fast" : "");
            first = first ? first : x;
        }
    }
}

/* The search's sums tell the tasks of a stage: drawn as long as its predicted passes are. */
static void stretch(const layout_found *f, pipeline_tasks *tasks)
{
    const double passes = f->step - f->share[SHARE_DATA] - f->share[SHARE_UPDATE];
    double       end    = 0;

    for (size_t i = 0; i < tasks->n; i++)
        end = fmax(end, tasks->task[i].end);
    for (size_t i = 0; i < tasks->n; i++) {
        tasks->task[i].start *= passes / end;
        tasks->task[i].end *= passes / end;
    }
}

static lm_status draw(const plan_job *job, const layout_plan *p, const char *path, lm_error *err)
{
    pipeline_tasks tasks = { .task = NULL };
    char           words[LAYOUT_TEXT], title[LAYOUT_TEXT + 200];
    lm_status      status = layout_plan_tasks(job, p, pipeline_tasks_take, &tasks, err);

    if (!status) {
        stretch(&p->found, &tasks);
        snprintf(title, sizeof title, "%.100s, %s: a step", job->network,
                 layout_print(&p->found.layout, words));
        status = pipeline_draw(path,
                               &(pipeline_picture){ .title  = title,
                                                    .ranks  = p->found.layout.pp,
                                                    .task   = tasks.task,
                                                    .n      = tasks.n,
                                                    .behind = p->found.share[SHARE_DATA] +
                                                              p->found.share[SHARE_UPDATE],
                                                    .step = p->found.step },
                               err);
    }
    free(tasks.task);
    return status;
}

static layout_row row_of(const plan_job *job, const layout_plan *p, int64_t tokens)
{
    layout_row r = { .machine = job->side[p->machine].name,
                     .plan    = p,
                     .nodes   = p->nodes,
                     .place   = (int64_t)p->place + 1,
                     .samples = (double)job->question.global_batch / p->found.step };

    layout_print(&p->found.layout, r.words);
    r.tokens = tokens ? r.samples * (double)tokens : NAN;
    return r;
}

/* Provenance of the machines, each by its last plan. */
static void put_basis(const plan_job *job, const layout_plans *p, FILE *out)
{
    for (size_t i = 0; i < p->n; i++) {
        const layout_plan *x    = &p->plan[i];
        prediction         step = { .nodes = x->nodes, .devices = job->question.setup.devices };

        if (i + 1 < p->n && p->plan[i + 1].machine == x->machine)
            continue;
        step.low[PHASE_SYNC] = x->found.low;
        step_basis_explain(job->side[x->machine].who, &step,
                           job->n > 1 ? job->side[x->machine].name : NULL, out);
    }
}

lm_status plan_print_layouts(const plan_job *job, const layout_plans *p, const table_look *look,
                             const char *picture, lm_error *err)
{
    const format     f      = look->format;
    const field_view v      = { .fields = layout_fields,
                                .in     = field_place_of(f),
                                .look   = look,
                                .facts  = (plan_job_priced(job, NULL) ? LAYOUTS_PRICED : 0) |
                                         (p->tokens ? LAYOUTS_TOKENS : 0) };
    field_rows       rows   = field_rows_of(&v);
    lm_status        status = picture ? draw(job, &p->plan[0], picture, err) : LM_OK;

    for (size_t i = 0; i < p->n && !status; i++) {
        const layout_row r = row_of(job, &p->plan[i], p->tokens);

        field_row(&rows, &r);
    }
    if (!status && f == FORMAT_JSON) {
        json j = { .out = stdout };

        json_open(&j, NULL, '{');
        json_text(&j, "network", job->network);
        json_count(&j, "global_batch", (uint64_t)job->question.global_batch);
        table_json(rows.t, &j, "layouts");
        json_close(&j, '}');
    } else if (!status) {
        put_sentences(job, p, f == FORMAT_TABLE ? stdout : stderr);
        if (f == FORMAT_TABLE)
            putchar('\n');
        status = table_print(rows.t, f, stdout, err);
        if (!status)
            put_basis(job, p, f == FORMAT_TABLE ? stdout : stderr);
    }
    table_free(rows.t);
    return status;
}
