/* Output of 'layermeter plan'. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "plan/limits.h"
#include "report/plan/parts.h"

/* ---- plans ---- */

static bool priced(const plan_job *job)
{
    return plan_job_priced(job, NULL);
}

/* "fewest nodes, cheapest": the questions that this plan answers. */
static const char *answers_to(const plan_answers *answers, const plan *p, char *out, size_t size)
{
    *out = '\0';
    for (size_t i = 0; i < answers->n; i++) {
        const plan_asked *a = &answers->answer[i].asked;

        if (a->answer == p && !strstr(out, plan_goal_name(a->goal)))
            text_add(out, size, "%s%s", *out ? ", " : "", plan_goal_name(a->goal));
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

lm_status plan_row_of(const plan_job *job, const plan *p, plan_row *out, lm_error *err)
{
    const plan_side *side = &job->side[p->machine];
    const char      *paid = priced(job) ? plan_price_name(job) : "";

    *out = (plan_row){ .machine         = side->name,
                       .plan            = *p,
                       .of              = job->question.training,
                       .device_hours    = plan_device_hours(p, &job->view),
                       .power_by        = "",
                       .currency        = job->currency,
                       .price           = paid ? paid : "",
                       .keeps_to_limits = keeps_to(job, p) };
    for (time_case at = TIME_EXPECTED; at <= TIME_HIGH; at++)
        out->cost[at] = cost_at(job, p, at);
    return predict_step(side->who, &p->setup, &out->step, err);
}

static step_watts watts_of(const plan_job *job, const plan_side *side)
{
    return (step_watts){ &side->power, side->learned, job->grams_per_kwh };
}

unsigned plan_power_facts(const plan_job *job)
{
    unsigned facts = 0;

    for (size_t i = 0; i < job->n; i++) {
        const step_watts w = watts_of(job, &job->side[i]);

        facts |= step_watts_facts(&w);
    }
    return (facts & STEP_POWER ? PLAN_POWER : 0) | (facts & STEP_CO2 ? PLAN_CO2 : 0) |
           (facts && isfinite(job->kwh.amount) ? PLAN_ELECTRICITY : 0);
}

lm_status plan_power_of(const plan_job *job, const plan_side *side, const step_setup *s,
                        const prediction *step, double run, plan_power *out, lm_error *err)
{
    const step_watts   w     = watts_of(job, side);
    step_power         power = { .watts = { NAN, NAN, NAN } };
    bottleneck_profile bounds;
    bottleneck_of      found;

    if (step_watts_facts(&w)) {
        const lm_status status = bottleneck_profile_of(side->who, s, &bounds, err);

        if (status)
            return status;
        found = bottleneck_find(side->who, &bounds, s, step);
        power = step_power_of(&side->power, &found, step);
    }
    *out     = (plan_power){ .watts  = power.watts,
                             .joules = power.joules.value,
                             .by     = step_power_by(&side->power, &power) };
    out->kwh = power.watts.value * (double)step_setup_ranks(s) *
               (run - job->question.training.startup) / JOULES_PER_KWH;
    out->kg_co2      = out->kwh * job->grams_per_kwh / 1000;
    out->electricity = out->kwh * job->kwh.amount;
    return LM_OK;
}

static lm_status add_power(const plan_job *job, const plan *p, plan_row *r, lm_error *err)
{
    plan_power      power;
    const lm_status status = plan_power_of(job, &job->side[p->machine], &p->setup, &r->step,
                                           p->run.seconds[TIME_EXPECTED], &power, err);

    if (status)
        return status;
    r->watts       = power.watts.value;
    r->kwh         = power.kwh;
    r->kg_co2      = power.kg_co2;
    r->electricity = power.electricity;
    r->power_by    = power.by;
    return LM_OK;
}

static int by_time(const void *a, const void *b)
{
    const plan  *x = *(plan *const *)a, *y = *(plan *const *)b;
    const double s = x->run.seconds[TIME_EXPECTED], z = y->run.seconds[TIME_EXPECTED];

    if (s != z)
        return s < z ? -1 : 1;
    return (x > y) - (x < y); /* in the order of the search */
}

unsigned plan_facts_of(const plan_job *job)
{
    const program_kind program = job->question.setup.program;
    bool               spread  = false;

    for (size_t i = 0; i < job->n; i++)
        spread |= job->side[i].who->cal && job->side[i].who->cal->latency.rows;
    return plan_program_fact(program) | (spread ? PLAN_SPREAD : 0) | (job->n > 1 ? PLAN_SIDES : 0) |
           (job->question.n_policies > 1 ? PLAN_SYNC : 0) |
           (job->question.global_batch || job->question.setup.sync.accumulation > 1 ? PLAN_MICRO
                                                                                    : 0) |
           (priced(job) ? PLAN_PRICED : 0) | plan_power_facts(job) |
           (job->question.failures.mtbf > 0 ? PLAN_FAILURES : 0) |
           (job->question.n_shares ? PLAN_SHARED : 0);
}

static lm_status add_row(const plan_job *job, const plan_answers *answers, const plan *p,
                         field_rows *rows, const plan_side **no_power, lm_error *err)
{
    const plan_side *side = &job->side[p->machine];
    const step_watts w    = watts_of(job, side);
    plan_row         r;
    lm_status        status = plan_row_of(job, p, &r, err);

    if (!status && (plan_power_facts(job) & PLAN_POWER))
        status = add_power(job, p, &r, err);
    if (status)
        return status;
    if (isnan(r.watts) && step_watts_facts(&w))
        *no_power = side;
    answers_to(answers, p, r.answers, sizeof r.answers);
    field_row(rows, &r);
    return LM_OK;
}

/* ---- the plans that are worth a row ---- */

/* So many rows are read. */
#define PLANS_SHOWN 12

static bool answers_one(const plan_answers *answers, const plan *p)
{
    for (size_t i = 0; i < answers->n; i++)
        if (answers->answer[i].asked.answer == p)
            return true;
    return false;
}

/* Do time and cost of a plan lie within the intervals of another? Without intervals they do not. */
static bool within(const plan_job *job, const plan *p, const plan *of)
{
    const double seconds = p->run.seconds[TIME_EXPECTED], cost = cost_at(job, p, TIME_EXPECTED);
    const bool   in_time =
        seconds >= of->run.seconds[TIME_LOW] && seconds <= of->run.seconds[TIME_HIGH];

    if (isnan(cost) || isnan(cost_at(job, of, TIME_EXPECTED)))
        return in_time;
    return in_time && cost >= cost_at(job, of, TIME_LOW) && cost <= cost_at(job, of, TIME_HIGH);
}

/* Keeps the answers, and every plan that differs from all kept plans by more than its interval. If
 * too many remain, plans at equal distances in the list stay. Returns their number. */
static size_t thin(const plan_job *job, const plan_answers *answers, const plan **row, size_t n)
{
    size_t kept = 0, must = 0, spare, passed = 0;

    for (size_t i = 0; i < n; i++) {
        bool same = false;

        for (size_t k = 0; k < n && !same; k++) /* rows before i are those that are kept */
            same = (k < kept || (k > i && answers_one(answers, row[k]))) &&
                   within(job, row[i], row[k]);
        if (answers_one(answers, row[i]) || !same)
            row[kept++] = row[i];
    }
    if (kept <= PLANS_SHOWN)
        return kept;
    for (size_t i = 0; i < kept; i++)
        must += answers_one(answers, row[i]);
    spare = must < PLANS_SHOWN ? PLANS_SHOWN - must : 0;
    n     = kept;
    kept  = 0;
    for (size_t i = 0; i < n; i++) {
        const bool   answer = answers_one(answers, row[i]);
        const size_t before = answer ? 0 : passed++ * spare / (n - must);

        if (answer || passed * spare / (n - must) > before)
            row[kept++] = row[i];
    }
    return kept;
}

/* A table and the number of its plans. */
typedef struct listed {
    table *t;
    size_t n, of;
} listed;

/* The shown plans, the shortest first. */
static lm_status plans_table(const plan_job *job, const plan_answers *answers,
                             const table_look *look, bool all, listed *out, lm_error *err)
{
    const plan_heads heads    = { job->currency, job->kwh.currency, plan_sample_word(job) };
    const field_view v        = { .fields = plan_fields,
                                  .in     = field_place_of(look->format),
                                  .facts  = plan_facts_of(job),
                                  .whole  = &heads,
                                  .look   = look };
    field_rows       rows     = field_rows_of(&v);
    const plan     **row      = calloc(job->set.n + 1, sizeof *row);
    const plan_side *no_power = NULL;
    size_t           n        = 0;
    lm_status        status   = row ? LM_OK : no_memory(err);

    for (size_t i = 0; row && i < job->set.n; i++)
        if (!job->set.plan[i].dominated || all || answers_one(answers, &job->set.plan[i]))
            row[n++] = &job->set.plan[i];
    if (row)
        qsort(row, n, sizeof *row, by_time);
    *out = (listed){ .t = rows.t, .of = n };
    if (row && look->format == FORMAT_TABLE && !all)
        n = thin(job, answers, row, n);
    out->n = n;
    for (size_t i = 0; i < n && !status; i++)
        status = add_row(job, answers, row[i], &rows, &no_power, err);
    if (no_power) {
        const step_watts w = watts_of(job, no_power);

        step_watts_explain(&w, no_power->who->model, no_power->name);
    }
    free(row);
    return status;
}

/* ---- words ---- */

void plan_print_price(const plan_job *job, size_t i, FILE *out)
{
    const plan_side *side = &job->side[i];
    const price     *p    = side->price;
    money            hour = { .amount = job->machine[i].hour[job->view.tier].amount };
    char             text[MONEY_TEXT];

    strcpy(hour.currency, job->currency);
    if (*side->no_price && priced(job)) {
        fprintf(out, "note: no costs of %s: %s\n", side->name, side->no_price);
        return;
    }
    if (isnan(hour.amount))
        return;
    fprintf(out, "price: %s: %s per node-hour, ", side->name, money_print(&hour, text));
    if (!p) {
        fprintf(out, "as given\n");
        return;
    }
    fprintf(out, "%s of '%s'", price_tier_name(job->view.tier), p->name);
    if (side->among > 1)
        fprintf(out, ", the cheapest of %zu", side->among);
    fprintf(out, ", %s:%d, %s%s, source: %s\n", p->path, p->line, p->date ? p->date : "undated",
            p->check == PRICE_CHECKED       ? ", checked"
            : p->check == PRICE_NOT_CHECKED ? ", not checked"
                                            : "",
            p->source ? p->source : "not given");
}

/* Warns of paid devices that are idle. */
static void print_unused(const plan_job *job, size_t i, FILE *out)
{
    const price  *p    = job->side[i].price;
    const int64_t used = job->question.setup.devices;

    if (p && p->per == PRICE_PER_NODE && used < p->devices)
        fprintf(out,
                "note: %s: a node is paid whole, and %lld of its %lld devices %s used "
                "(--devices-per-node)\n",
                job->side[i].name, (long long)used, (long long)p->devices,
                used == 1 ? "is" : "are");
}

static void print_left_out(const plan_job *job, FILE *out)
{
    const struct {
        size_t      n;
        const char *why;
    } left[] = {
        { job->set.too_large, "the batch does not fit the memory" },
        { job->set.beyond_dataset, "a step would take more than the data set" },
        { job->set.too_slow, "a batch takes longer than --within" },
        { job->set.idle, "more devices than samples of a step" },
        { job->set.no_end, "devices fail more often than the run gets on" },
        { job->set.no_messages, "the messages of devices that share the network have no prices" },
        { job->set.no_time, "the formulas say that a step takes no time" },
    };

    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        if (left[i].n)
            fprintf(out, "note: %zu plan%s left out: %s\n", left[i].n, left[i].n == 1 ? "" : "s",
                    left[i].why);
}

/* The machine's first answer, else its first plan; NULL: it has none. */
static const plan *named_plan(const plan_job *job, const plan_answers *answers, size_t machine)
{
    for (size_t i = 0; i < answers->n; i++)
        if (answers->answer[i].asked.answer->machine == machine)
            return answers->answer[i].asked.answer;
    for (size_t i = 0; i < job->set.n; i++)
        if (job->set.plan[i].machine == machine)
            return &job->set.plan[i];
    return NULL;
}

/* What the machine is known by. */
static void print_basis(const plan_job *job, const plan_answers *answers, size_t machine, FILE *out)
{
    const plan_side *side  = &job->side[machine];
    const plan      *p     = named_plan(job, answers, machine);
    const char      *label = job->n > 1 ? side->name : NULL;
    prediction       step;

    if (!p || predict_step(side->who, &p->setup, &step, NULL))
        return;
    step_basis_explain(side->who, &step, label, out);
    step_host_hint(side->who, &p->setup, &step, label, out);
}

/* Does its plan wait for a framework's host? */
static bool waits_for_host(const plan_job *job, const plan_answers *answers, size_t machine)
{
    const plan *p = named_plan(job, answers, machine);
    prediction  step;
    double      alone;

    return p && !predict_step(job->side[machine].who, &p->setup, &step, NULL) &&
           step_waits_for_host(job->side[machine].who, &p->setup, &step, &alone);
}

/* The first answer with a sentence: of many machines those over all, for which the table is. */
static size_t first_worded(const plan_job *job, const plan_answers *answers)
{
    size_t i = job->n > PLAN_MACHINES_FEW ? 0 : answers->n;

    while (i < answers->n && answers->answer[i].asked.limits.machine != ANY_MACHINE)
        i++;
    return i < answers->n ? i : 0;
}

/* Are sentences of this machine? */
static bool worded(const plan_job *job, const plan_answers *answers, size_t machine)
{
    size_t i = first_worded(job, answers);

    if (!i)
        return true;
    while (i < answers->n && answers->answer[i].asked.answer->machine != machine)
        i++;
    return i < answers->n;
}

/* Why a machine has a smaller batch than the question, or no plan even with that. */
static void print_smaller(const plan_side *side, int64_t asked, FILE *out)
{
    if (side->batch < asked)
        fprintf(out, "note: %s: batch %" PRId64 ", because %" PRId64 " %s (--batch)\n", side->name,
                side->batch, asked, side->smaller);
    else
        fprintf(out, "note: %s: no plan: batch %" PRId64 " %s\n", side->name, asked, side->smaller);
}

/* The basis of the answers. */
static void print_grounds(const plan_job *job, const plan_answers *answers, FILE *out)
{
    const char *why    = NULL;
    size_t      silent = 0, wait = 0;
    char        text[HOURS_TEXT];

    for (size_t i = 0; i < job->n; i++)
        if (worded(job, answers, i))
            plan_print_price(job, i, out);
    for (size_t i = 0; i < job->n; i++)
        print_unused(job, i, out);
    if (!plan_job_priced(job, &why))
        fprintf(out, "note: no costs: %s\n", why);
    for (size_t i = 0; i < job->n; i++) {
        const plan_side *side = &job->side[i];

        if (!side->room.bytes)
            fprintf(out,
                    "note: %s: the device's memory is not known, so batches may not fit: give "
                    "--memory or --device\n",
                    side->name);
        if (side->smaller)
            print_smaller(side, *job->question.batch, out);
        if (*side->one_node)
            fprintf(out, "note: plans of one device only: %s\n", side->one_node);
    }
    print_left_out(job, out);
    if (job->question.training.startup > 0)
        fprintf(out, "start-up: %s of each run are in times and costs\n",
                text_duration(job->question.training.startup, text, sizeof text));
    else
        fputs("start-up time: not counted (--startup)\n", out);
    for (size_t i = 0; i < job->n; i++)
        if (worded(job, answers, i)) {
            print_basis(job, answers, i, out);
        } else {
            silent++;
            wait += waits_for_host(job, answers, i);
        }
    if (wait)
        fprintf(
            out,
            "note: %zu of the others wait for the host at this batch, so their times are alike: "
            "larger batches (--batch auto) tell them apart\n",
            wait);
    if (silent)
        fprintf(out, "note: prices and sources of the other %zu: a --device alone\n", silent);
    if (job->net->note)
        fprintf(out, "note: %s\n", job->net->note);
}

/* Has this machine an answer? */
static bool answered(const plan_answers *answers, size_t machine)
{
    for (size_t i = 0; i < answers->n; i++)
        if (answers->answer[i].asked.limits.machine == machine)
            return true;
    return false;
}

/* Has an answer before the i-th the same plan for the same goal? */
static bool said_before(const plan_answers *answers, size_t i)
{
    const plan_asked *a = &answers->answer[i].asked;

    while (i--)
        if (answers->answer[i].asked.answer == a->answer &&
            answers->answer[i].asked.goal == a->goal)
            return true;
    return false;
}

/* A line for each answer; the first answer of each machine also names its most important
 * assumption. */
static void print_answers(const plan_job *job, const plan_answers *answers, FILE *out)
{
    const size_t begin = first_worded(job, answers);
    char         text[PLAN_SENTENCE];

    for (size_t i = begin; i < answers->n; i++) {
        const plan_answer *a     = &answers->answer[i];
        const bool         first = a->asked.limits.machine != ANY_MACHINE || i == begin;

        if (!first && said_before(answers, i))
            continue;
        if (!first && job->n == 1 && a->asked.answer == answers->answer[0].asked.answer) {
            fprintf(out, "%s: the same\n", plan_goal_name(a->asked.goal));
            continue;
        }
        fprintf(out, "%s\n", plan_answer_print(job, a, text));
        if (first)
            fprintf(out, "  %s%s\n", plan_hangs_on_print(job, a, text),
                    a->bounded || !a->n_hangs_on
                        ? ""
                        : "; the uncertainty is unknown: such steps have no interval");
    }
    for (size_t m = 0; m < job->n; m++)
        if (!answered(answers, m))
            fprintf(out, "%s\n", plan_unmet_print(job, m, text));
}

/* With a checksum in its last line: 'watch' reads such a plan. */
static lm_status print_json(const plan_job *job, const plan_answers *answers, const table *plans,
                            lm_error *err)
{
    char  *text = NULL;
    size_t size;
    json   j     = { .out = open_memstream(&text, &size) };
    bool   whole = j.out != NULL;

    if (!whole)
        return no_memory(err);
    json_open(&j, NULL, '{');
    plan_json_question(job, &j);
    json_open(&j, "answers", '[');
    for (size_t i = 0; i < answers->n; i++)
        plan_json_answer(job, &answers->answer[i], &j);
    json_close(&j, ']');
    table_json(plans, &j, "plans");
    json_text(&j, "checksum", CHECKSUM_ROOM);
    json_close(&j, '}');
    if ((whole = !fclose(j.out))) {
        checksum_put(text, text + size - strlen(CHECKSUM_ROOM "\"\n}\n"));
        fputs(text, stdout);
    }
    free(text);
    return whole ? LM_OK : no_memory(err);
}

/* What the largest step of the answers means for the epochs. */
static void print_batch(const plan_job *job, const plan_answers *answers, FILE *out)
{
    int64_t global = 0;
    char    text[LIMITS_TEXT];

    if (job->question.setup.program != PROGRAM_TRAINING)
        return;
    for (size_t i = 0; i < answers->n; i++)
        if (answers->answer[i].asked.answer->global_batch > global)
            global = answers->answer[i].asked.answer->global_batch;
    limits_batch_words(global, job->critical, text);
    if (*text)
        fprintf(out, "note: %s\n", text);
}

lm_status plan_print(const plan_job *job, const plan_answers *answers, const table_look *look,
                     bool all, lm_error *err)
{
    const format f      = look->format;
    FILE        *words  = f == FORMAT_TABLE ? stdout : stderr;
    listed       plans  = { .t = NULL };
    lm_status    status = plans_table(job, answers, look, all, &plans, err);

    if (!status && f == FORMAT_JSON) {
        status = print_json(job, answers, plans.t, err);
    } else if (!status) {
        print_answers(job, answers, words);
        if (f == FORMAT_TABLE)
            putchar('\n');
        status = table_print(plans.t, f, stdout, err);
        if (!status && plans.n < plans.of)
            printf(
                "%zu of %zu plans: the others differ from these by less than their intervals, or "
                "lie between them (--all)\n",
                plans.n, plans.of);
        if (!status && f == FORMAT_TABLE)
            putchar('\n');
        if (!status) {
            print_grounds(job, answers, words);
            print_batch(job, answers, words);
        }
    }
    table_free(plans.t);
    return status;
}
