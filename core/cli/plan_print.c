/* What 'layermeter plan' prints. */
#include "cli/plan_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/plan_words.h"

/* ---- plans --------------------------------------------------------------------------------------
 */

static bool priced(const plan_job *job)
{
    return plan_job_priced(job, NULL);
}

static void add_columns(const plan_job *job, table *t, format f)
{
    char cost[40];

    snprintf(cost, sizeof cost, "cost [%s]", job->currency);
    table_column(t, "machine", f == FORMAT_TABLE && job->n == 1 ? NULL : "machine", 0);
    table_column(t, "nodes", "nodes", 0);
    table_column(t, "batch", "batch", 0);
    table_column(t, "micro_steps", job->question.global_batch ? "micro-steps" : NULL, 0);
    table_column(t, "global_batch", "global batch", 0);
    table_column(t, "step_ms", "step [ms]", 2);
    table_column(t, "hours", "time [h]", -1);
    table_column(t, "hours_low", "low", -1);
    table_column(t, "hours_high", "high", -1);
    table_column(t, "device_hours", "device-hours", -1);
    table_column(t, "cost", priced(job) ? cost : NULL, -1);
    table_column(t, "cost_low", priced(job) ? "low" : NULL, -1);
    table_column(t, "cost_high", priced(job) ? "high" : NULL, -1);
    ledger_column(t);
    table_column(t, "beyond", "beyond", 0);
    table_column(t, "answer", "answer", 0);
    table_column(t, "devices", NULL, 0);
    table_column(t, "steps_per_epoch", NULL, 0);
    table_column(t, "evaluations_per_epoch", NULL, 0);
    table_column(t, "currency", NULL, 0);
    table_column(t, "price", NULL, 0);
    table_column(t, "pareto", NULL, 0);
    table_column(t, "keeps_to_limits", NULL, 0);
    ledger_hidden_columns(t);
}

/* "fewest nodes, cheapest": what this plan answers. */
static const char *answers_to(const plan_answers *answers, const plan *p, char *out, size_t size)
{
    size_t n = 0;

    *out = '\0';
    for (size_t i = 0; i < answers->n && n < size; i++) {
        const plan_asked *a = &answers->answer[i].asked;

        if (a->answer == p && !strstr(out, plan_goal_name(a->goal)))
            n +=
                (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", plan_goal_name(a->goal));
    }
    return out;
}

static double cost_at(const plan_job *job, const plan *p, time_case at)
{
    plan_view v = job->view;

    v.time = at;
    return plan_cost(p, job->machine, &v);
}

static bool keeps_to(const plan_job *job, const plan *p)
{
    return plan_seconds(p, &job->view) <= job->limits.seconds &&
           (isinf(job->limits.cost) || plan_cost(p, job->machine, &job->view) <= job->limits.cost);
}

static lm_status add_row(const plan_job *job, const plan_answers *answers, const plan *p, table *t,
                         lm_error *err)
{
    const plan_side *side = &job->side[p->machine];
    char             beyond[200], goals[80];
    prediction       step;
    lm_status        status = predict_step(&side->session.who, &p->setup, &step, err);

    if (status)
        return status;
    table_text(t, side->name);
    table_count(t, (uint64_t)p->setup.nodes);
    table_count(t, (uint64_t)p->setup.batch);
    table_count(t, (uint64_t)p->setup.sync.accumulation);
    table_count(t, (uint64_t)p->global_batch);
    table_real(t, 1e3 * p->step.seconds[TIME_EXPECTED]);
    table_real(t, p->run.seconds[TIME_EXPECTED] / 3600);
    table_real(t, p->run.seconds[TIME_LOW] / 3600);
    table_real(t, p->run.seconds[TIME_HIGH] / 3600);
    table_real(t, plan_device_hours(p, &job->view));
    table_real(t, plan_cost(p, job->machine, &job->view));
    table_real(t, cost_at(job, p, TIME_LOW));
    table_real(t, cost_at(job, p, TIME_HIGH));
    ledger_cell(t, &step.ledger);
    table_text(t, prediction_beyond(&step, beyond, sizeof beyond));
    table_text(t, answers_to(answers, p, goals, sizeof goals));
    table_count(t, (uint64_t)p->setup.devices);
    table_count(t, p->steps);
    table_count(t, p->evaluations);
    table_text(t, job->currency);
    table_text(t, priced(job) ? price_tier_name(job->view.tier) : "");
    table_text(t, p->dominated ? "no" : "yes");
    table_text(t, keeps_to(job, p) ? "yes" : "no");
    ledger_hidden_cells(t, &step.ledger);
    return LM_OK;
}

static int by_time(const void *a, const void *b)
{
    const plan  *x = *(plan *const *)a, *y = *(plan *const *)b;
    const double s = x->run.seconds[TIME_EXPECTED], z = y->run.seconds[TIME_EXPECTED];

    if (s != z)
        return s < z ? -1 : 1;
    return (x > y) - (x < y); /* as they were found */
}

/* Is it shown though another one is better? */
static bool shown(const plan_answers *answers, const plan *p)
{
    if (!p->dominated || answers->all)
        return true;
    for (size_t i = 0; i < answers->n; i++)
        if (answers->answer[i].asked.answer == p)
            return true;
    return false;
}

static lm_status add_rows(const plan_job *job, const plan_answers *answers, table *t, lm_error *err)
{
    const plan **row    = calloc(job->set.n + 1, sizeof *row);
    size_t       n      = 0;
    lm_status    status = row ? LM_OK : lm_error_set(err, LM_E_NOMEM, "out of memory");

    for (size_t i = 0; row && i < job->set.n; i++)
        if (shown(answers, &job->set.plan[i]))
            row[n++] = &job->set.plan[i];
    if (row)
        qsort(row, n, sizeof *row, by_time);
    for (size_t i = 0; i < n && !status; i++)
        status = add_row(job, answers, row[i], t, err);
    free(row);
    return status;
}

/* ---- words --------------------------------------------------------------------------------------
 */

static void print_price(const plan_job *job, size_t i, FILE *out)
{
    const plan_side *side = &job->side[i];
    const price     *p    = side->price;
    money            hour = { .amount = job->machine[i].hour[job->view.tier].amount };
    char             text[MONEY_TEXT];

    strcpy(hour.currency, job->currency);
    if (isnan(hour.amount))
        return;
    fprintf(out, "price: %s: %s per node-hour, ", side->name, money_print(&hour, text));
    if (!p)
        fprintf(out, "as given\n");
    else
        fprintf(out, "%s of '%s', %s:%d, %s%s, source: %s\n", price_tier_name(job->view.tier),
                p->name, p->path, p->line, p->date ? p->date : "undated",
                p->check == PRICE_CHECKED       ? ", checked"
                : p->check == PRICE_NOT_CHECKED ? ", not checked"
                                                : "",
                p->source ? p->source : "not given");
}

static void print_left_out(const plan_job *job, FILE *out)
{
    const plan_set *set = &job->set;

    if (set->too_large)
        fprintf(out, "note: %zu plan%s left out: the batch does not fit the memory\n",
                set->too_large, set->too_large == 1 ? "" : "s");
    if (set->beyond_dataset)
        fprintf(out, "note: %zu plan%s left out: a step would take more than the data set\n",
                set->beyond_dataset, set->beyond_dataset == 1 ? "" : "s");
    if (set->idle)
        fprintf(out, "note: %zu plan%s left out: more devices than samples of a step\n", set->idle,
                set->idle == 1 ? "" : "s");
}

/* What the answers stand on. */
static void print_grounds(const plan_job *job, FILE *out)
{
    const char *why = NULL;
    char        text[HOURS_TEXT];

    for (size_t i = 0; i < job->n; i++)
        print_price(job, i, out);
    if (!plan_job_priced(job, &why))
        fprintf(out, "note: no costs: %s\n", why);
    for (size_t i = 0; i < job->n; i++) {
        const plan_side *side = &job->side[i];

        if (!side->room.bytes)
            fprintf(out,
                    "note: %s: the device's memory is not known, so batches may not fit: give "
                    "--memory or --device\n",
                    side->name);
        if (*side->one_node)
            fprintf(out, "note: %s: one device only: %s\n", side->name, side->one_node);
    }
    print_left_out(job, out);
    if (job->question.training.startup > 0)
        fprintf(out, "start-up: %s of each run are in times and costs\n",
                hours_print(job->question.training.startup, text));
    else
        fputs("start-up: none counted (--startup)\n", out);
    print_note(job->side[0].session.net, out);
}

static void print_answers(const plan_job *job, const plan_answers *answers, FILE *out)
{
    char text[PLAN_SENTENCE];

    for (size_t i = 0; i < answers->n; i++) {
        const plan_answer *a = &answers->answer[i];

        fprintf(out, "%s\n", plan_answer_print(job, a, text));
        fprintf(out, "  %s\n", plan_hangs_on_print(job, a, text));
        if (!a->bounded)
            fputs("  how sure is not known: the machine file has no interval of such steps\n", out);
    }
}

/* ---- JSON ---------------------------------------------------------------------------------------
 */

static void json_known(json *j, const char *key, double value)
{
    if (isfinite(value))
        json_real(j, key, value);
    else
        json_text(j, key, NULL);
}

static void put_machine(const plan_job *job, size_t i, json *j)
{
    const plan_side *side = &job->side[i];
    const price     *p    = side->price;

    json_open(j, NULL, '{');
    json_text(j, "machine", side->name);
    json_text(j, "device", side->device);
    if (side->room.bytes)
        json_count(j, "memory_bytes", side->room.bytes);
    else
        json_text(j, "memory_bytes", NULL);
    json_known(j, "price_per_node_hour", job->machine[i].hour[job->view.tier].amount);
    json_text(j, "price_of", p ? p->name : NULL);
    json_text(j, "price_file", p ? p->path : NULL);
    json_text(j, "price_date", p ? p->date : NULL);
    json_text(j, "price_source", p ? p->source : NULL);
    json_text(j, "price_checked",
              p && p->check == PRICE_CHECKED       ? "yes"
              : p && p->check == PRICE_NOT_CHECKED ? "no"
                                                   : NULL);
    if (side->session.cal)
        json_count(j, "calibrated_ranks", (uint64_t)side->session.cal->max_ranks);
    json_text(j, "one_node", *side->one_node ? side->one_node : NULL);
    json_close(j, '}');
}

static void put_plan(const plan_job *job, const char *key, const plan *p, json *j)
{
    if (!p) {
        json_text(j, key, NULL);
        return;
    }
    json_open(j, key, '{');
    json_text(j, "machine", job->side[p->machine].name);
    json_count(j, "nodes", (uint64_t)p->setup.nodes);
    json_count(j, "devices", (uint64_t)p->setup.devices);
    json_count(j, "batch", (uint64_t)p->setup.batch);
    json_count(j, "micro_steps", (uint64_t)p->setup.sync.accumulation);
    json_real(j, "hours", p->run.seconds[TIME_EXPECTED] / 3600);
    json_known(j, "hours_low", p->run.seconds[TIME_LOW] / 3600);
    json_known(j, "hours_high", p->run.seconds[TIME_HIGH] / 3600);
    json_known(j, "cost", plan_cost(p, job->machine, &job->view));
    json_known(j, "cost_low", cost_at(job, p, TIME_LOW));
    json_known(j, "cost_high", cost_at(job, p, TIME_HIGH));
    json_close(j, '}');
}

static void put_assumptions(const plan_answer *a, json *j)
{
    json_open(j, "assumptions", '[');
    for (size_t i = 0; i < a->n_hangs_on; i++) {
        const sensitivity *s = &a->hangs_on[i];

        json_open(j, NULL, '{');
        json_text(j, "assumption", s->of.name);
        json_text(j, "if", s->of.what);
        if (s->answer)
            json_count(j, "nodes", (uint64_t)s->answer->setup.nodes);
        else
            json_text(j, "nodes", NULL);
        json_known(j, "hours", s->seconds / 3600);
        json_known(j, "cost", s->cost);
        json_bool(j, "keeps_to_limits", s->answer != NULL);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_answer(const plan_job *job, const plan_answer *a, json *j)
{
    char text[PLAN_SENTENCE];

    json_open(j, NULL, '{');
    json_text(j, "question", plan_goal_name(a->asked.goal));
    json_text(j, "sentence", plan_answer_print(job, a, text));
    put_plan(job, "plan", a->asked.answer, j);
    put_plan(job, "if_low", a->low, j);
    put_plan(job, "if_high", a->high, j);
    put_plan(job, "fewer_nodes", a->fewer, j);
    json_text(j, "hangs_on", plan_hangs_on_print(job, a, text));
    put_assumptions(a, j);
    json_close(j, '}');
}

static void put_question(const plan_job *job, json *j)
{
    const training *t = &job->question.training;

    json_text(j, "network", job->o->argument[0]);
    json_text(j, "set", job->side[0].session.net->set);
    json_text(j, "note", job->side[0].session.net->note);
    json_text(j, "model", job->side[0].session.who.model);
    json_count(j, "epochs", (uint64_t)t->epochs);
    json_count(j, "dataset", (uint64_t)t->dataset);
    json_count(j, "evaluate", (uint64_t)t->evaluate);
    json_real(j, "startup_s", t->startup);
    json_known(j, "deadline_s", job->limits.seconds);
    json_known(j, "budget", job->limits.cost);
    json_text(j, "currency", *job->currency ? job->currency : NULL);
    json_text(j, "price", priced(job) ? price_tier_name(job->view.tier) : NULL);
    json_open(j, "machines", '[');
    for (size_t i = 0; i < job->n; i++)
        put_machine(job, i, j);
    json_close(j, ']');
}

lm_status plan_print(plan_job *job, const plan_answers *answers, format f, lm_error *err)
{
    FILE     *words = f == FORMAT_TABLE ? stdout : stderr;
    table    *t     = table_new();
    lm_status status;

    add_columns(job, t, f);
    status = add_rows(job, answers, t, err);
    if (!status && f == FORMAT_JSON) {
        json j = { .out = stdout };

        json_open(&j, NULL, '{');
        put_question(job, &j);
        json_open(&j, "answers", '[');
        for (size_t i = 0; i < answers->n; i++)
            put_answer(job, &answers->answer[i], &j);
        json_close(&j, ']');
        table_json(t, &j, "plans");
        json_close(&j, '}');
    } else if (!status) {
        print_answers(job, answers, words);
        if (f == FORMAT_TABLE)
            putchar('\n');
        status = table_print(t, f, stdout, err);
        if (!status && f == FORMAT_TABLE)
            putchar('\n');
        if (!status)
            print_grounds(job, words);
    }
    table_free(t);
    return status;
}

/* ---- largest batch ------------------------------------------------------------------------------
 */

/* What a batch needs, and what its step takes. */
typedef struct large {
    int64_t    batch;
    memory_use use, beyond; /* of one sample more */
    bool       limited;     /* by memory; else by the data set */
    prediction step;
} large;

static lm_status needs(const plan_job *job, size_t i, int64_t batch, bool many, memory_use *out,
                       lm_error *err)
{
    const plan_side     *side = &job->side[i];
    const step_setup    *s    = &job->question.setup;
    const memory_options with =
        room_options(&s->sync, s->optimizer, side->room.overhead, many, s->sync.accumulation > 1);
    const bind_options b = { .batch = batch,
                             .dtype = side->session.who.dtype,
                             .input = side->session.who.input };

    return memory_of_step(side->session.net, side->session.reg, &b, &with, out, NULL, err);
}

static lm_status find_large(const plan_job *job, size_t i, int64_t nodes, large *out, lm_error *err)
{
    const plan_side *side = &job->side[i];
    step_setup       s    = job->question.setup;
    const int64_t    most = job->question.training.dataset;
    lm_status        status;

    s.nodes = nodes;
    if (!side->room.bytes)
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%s does not say what memory its device has: give --memory 80GB or --device",
            side->name);
    out->batch = batch_limit(&job->machine[i].fits, step_setup_ranks(&s), s.sync.accumulation);
    if (!out->batch) {
        status = needs(job, i, 1, step_setup_ranks(&s) > 1, &out->use, err);
        return status
                   ? status
                   : lm_error_set(
                         err, LM_E_NOTFOUND,
                         "%s: not even batch 1 fits %.6g GB: it needs %.6g GB; take another "
                         "--optimizer, --dtype or device",
                         side->name, 1e-9 * (double)side->room.bytes, 1e-9 * (double)out->use.peak);
    }
    out->limited = out->batch <= most;
    if (!out->limited)
        out->batch = most;
    s.batch = out->batch;
    status  = needs(job, i, out->batch, step_setup_ranks(&s) > 1, &out->use, err);
    if (!status)
        status = needs(job, i, out->batch + 1, step_setup_ranks(&s) > 1, &out->beyond, err);
    if (!status)
        status = predict_step(&side->session.who, &s, &out->step, err);
    return status;
}

static void large_row(const plan_job *job, size_t i, const large *l, table *t, format f)
{
    const double size = f == FORMAT_TABLE ? 1e-9 : 1,
                 rate = (double)l->batch * (double)l->step.nodes * (double)l->step.devices *
                        (double)job->question.setup.sync.accumulation;
    char beyond[200];

    table_text(t, job->side[i].name);
    table_text(t, job->side[i].device ? job->side[i].device : "");
    table_count(t, (uint64_t)l->step.nodes);
    table_count(t, (uint64_t)l->batch);
    table_real(t, size * (double)job->side[i].room.bytes);
    table_real(t, size * (double)l->use.peak);
    table_real(t, l->limited ? size * (double)l->beyond.peak : NAN);
    table_real(t, 1e3 * l->step.step);
    table_real(t, 1e3 * l->step.low[QUANTITY_STEP]);
    table_real(t, 1e3 * l->step.high[QUANTITY_STEP]);
    table_real(t, rate / l->step.step);
    table_text(t, prediction_beyond(&l->step, beyond, sizeof beyond));
}

static void large_columns(table *t)
{
    table_column(t, "machine", "machine", 0);
    table_column(t, "device", "device", 0);
    table_column(t, "nodes", "nodes", 0);
    table_column(t, "largest_batch", "largest batch", 0);
    table_column(t, "memory_bytes", "memory [GB]", 3);
    table_column(t, "needs_bytes", "needs [GB]", 3);
    table_column(t, "one_more_bytes", "one more [GB]", 3);
    table_column(t, "step_ms", "step [ms]", 2);
    table_column(t, "step_low_ms", "low", 2);
    table_column(t, "step_high_ms", "high", 2);
    table_column(t, "samples_per_s", "samples/s", 1);
    table_column(t, "beyond", "beyond", 0);
}

static void large_sentence(const plan_job *job, size_t i, const large *l, FILE *out)
{
    const plan_side *side = &job->side[i];
    step_setup       s    = job->question.setup;
    int64_t          less;

    s.nodes = l->step.nodes;
    less    = batch_limit(&job->machine[i].fits_less, step_setup_ranks(&s), s.sync.accumulation);
    if (l->limited)
        fprintf(
            out,
            "%s: the largest batch that fits %.6g GB is %lld on %lld node%s; it is %lld if a tenth "
            "of the memory is not free\n",
            side->name, 1e-9 * (double)side->room.bytes, (long long)l->batch,
            (long long)l->step.nodes, l->step.nodes == 1 ? "" : "s", (long long)less);
    else
        fprintf(out, "%s: the whole data set of %lld samples fits %.6g GB\n", side->name,
                (long long)l->batch, 1e-9 * (double)side->room.bytes);
}

lm_status plan_print_largest(const plan_job *job, format f, lm_error *err)
{
    const plan_question *q      = &job->question;
    FILE                *words  = f == FORMAT_TABLE ? stdout : stderr;
    large               *all    = calloc(job->n * q->n_nodes, sizeof *all);
    table               *t      = table_new();
    lm_status            status = all ? LM_OK : lm_error_set(err, LM_E_NOMEM, "out of memory");

    large_columns(t);
    for (size_t k = 0; k < job->n * q->n_nodes && !status; k++) {
        const size_t i = k / q->n_nodes;

        status = find_large(job, i, q->nodes[k % q->n_nodes], &all[k], err);
        if (!status)
            large_row(job, i, &all[k], t, f);
    }
    for (size_t k = 0; k < job->n * q->n_nodes && !status && f != FORMAT_JSON; k++)
        large_sentence(job, k / q->n_nodes, &all[k], words);
    if (!status && f == FORMAT_JSON) {
        json j = { .out = stdout };

        json_open(&j, NULL, '{');
        json_text(&j, "network", job->o->argument[0]);
        json_text(&j, "optimizer", optimizer_name(q->setup.optimizer));
        table_json(t, &j, "points");
        json_close(&j, '}');
    } else if (!status) {
        if (f == FORMAT_TABLE)
            putchar('\n');
        status = table_print(t, f, stdout, err);
    }
    table_free(t);
    free(all);
    return status;
}
