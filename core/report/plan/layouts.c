/* The best layouts, of 'layermeter plan --layouts'. */
#include "report/plan/layouts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "plan/layout_predict.h"
#include "plan/limits.h"
#include "predict/predict.h"
#include "report/plan/parts.h"
#include "report/step_fields.h"
#include "report/timeline_view.h"

/* A row. */
typedef struct layout_row {
    const char *machine;
    char        words[LAYOUT_TEXT];
    layout_plan plan;
    int64_t     nodes, place;
    double      samples, tokens; /* a second; tokens NAN: not known */
    double      billions;        /* of tokens in the run; NAN: not known */
    double      room; /* bytes of a rank's memory; 0: no limit, or what else is held was told */
    double      devices, at_peak; /* of all nodes; utilization_at_peak() */
    plan_power  power;
} layout_row;

#define SHARE(name, s) REAL_OF(name, layout_row, r->plan.found.share[s] / r->plan.found.step)

REAL_OF(step, layout_row, r->plan.found.step)
REAL_OF(low, layout_row, r->plan.found.low)
REAL_OF(high, layout_row, r->plan.found.high)
REAL_OF(bytes, layout_row, r->plan.found.bytes)

/* `room` 0: no limit, or all is counted */
static room_verdict verdict_of(const layout_row *r)
{
    return r->room > 0 ? room_judge(r->plan.found.bytes, r->room, false, ROOM_RESERVED) : ROOM_FITS;
}

TEXT_OF(fits, layout_row, room_verdict_name(verdict_of(r)))

static const char *kwh_currency(const void *whole, size_t i)
{
    return i ? NULL : whole ? ((const plan_heads *)whole)->kwh : "";
}

REAL_OF(goodput, layout_row, r->plan.ideal / r->plan.run.value)
REAL_OF(mfu, layout_row, r->at_peak > 0 ? r->at_peak * r->samples / r->devices : NAN)
REAL_OF(device_hours, layout_row, r->plan.run.value / 3600 * r->devices)
REAL_OF(rate_h, layout_row,
        LAYOUT_PLANS_TOKENS / 3600 / r->tokens * r->plan.run.value / r->plan.ideal)
REAL_OF(rate_cost, layout_row, r->plan.cost.value / r->billions)
REAL_OF(rate_cost_low, layout_row, r->plan.cost.low / r->billions)
REAL_OF(rate_cost_high, layout_row, r->plan.cost.high / r->billions)
TEXT_OF(words, layout_row, r->words)
TEXT_OF(tie, layout_row, r->plan.place == 0 ? "" : r->plan.tie ? "tie" : "slower")
SHARE(share_compute, SHARE_COMPUTE)
SHARE(share_tensor, SHARE_TENSOR)
SHARE(share_pipeline, SHARE_PIPELINE)
SHARE(share_data, SHARE_DATA)
SHARE(share_update, SHARE_UPDATE)

/* Beside those of plans, whose bits lie below. */
enum {
    LAYOUTS_TOKENS = 1 << 24,
    LAYOUTS_PEAK   = 1 << 25,
    LAYOUTS_ROOM   = 1 << 26,
    LAYOUTS_RUN    = 1 << 27
};

#define ROW(member)  FIELD_AT(layout_row, member)
#define PLAN(member) FIELD_AT(layout_row, plan.member)
#define RUN(at)      PLAN(run.at), .per = 3600, IN_UNIT("h", TABLE_POSITIVE(2)), .when = LAYOUTS_RUN
#define COST(at)     PLAN(cost.at), WITH_DIGITS(TABLE_POSITIVE(2)), .when = PLAN_PRICED | LAYOUTS_RUN
/* by a billion tokens */
#define BILLION(name)   .real = name, WITH_DIGITS(TABLE_POSITIVE(2))
#define RATE_COST(name) BILLION(name), .when = PLAN_PRICED | LAYOUTS_TOKENS

const field layout_fields[] = {
    { "machine", .title = "machine", ROW(machine), .once = "machine", .help = "machine file" },
    { "nodes", .title = "nodes", ROW(nodes), .help = "what a network connects" },
    { "place", .title = "#", ROW(place),
      .help = "among the layouts of these nodes, the fastest is 1" },
    { "layout", .yields = 1, .title = "layout", .text = words,
      .help = "words of --layout; mb is --batch, ga --accumulate" },
    { "step_ms", .title = "step [ms]", .real = step, IN_MS, .help = "the whole step" },
    { "step_low_ms", .title = "low", .real = low, IN_MS, .help = "low end of its interval" },
    { "step_high_ms", .title = "high", .real = high, IN_MS, .help = "high end of its interval" },
    { "tie", .title = "", .text = tie,
      .help = "tie: may be as fast as the first, by the bounds of passes and messages" },
    { "memory_bytes", .yields = 2, .title = "memory [GB]", .real = bytes, IN_GB,
      .help = "of the fullest rank" },
    { "fits", .yields = 60, .title = "fits", .text = fits, .when = LAYOUTS_ROOM,
      .help =
          "close: above 90 % of the memory, of which libraries and allocators hold a part, too" },
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
    { "mfu_percent", .yields = 29, .title = "MFU [%]", .real = mfu, IN_PERCENT,
      .when = LAYOUTS_PEAK,
      .help = "products of the network by the devices' peaks: model FLOP utilization" },
    { "run_h", .yields = 10, .title = "run [h]", RUN(value),
      .help = "the whole training, with its failures" },
    { "run_low_h", .yields = 50, .title = "low", RUN(low), .help = "low end of its interval" },
    { "run_high_h", .yields = 50, .title = "high", RUN(high), .help = "high end of its interval" },
    { "goodput", .yields = 25, .title = "goodput [%]", .real = goodput, .when = PLAN_FAILURES,
      IN_PERCENT,
      .help = "share of the run in which it gets on: neither checkpoints nor failures" },
    { "checkpoint_every_s", .yields = 27, .title = "checkpoint every", PLAN(every),
      .when = PLAN_FAILURES, IN_UNIT("s", TABLE_DURATION), .help = "work between two checkpoints" },
    { "failures", .yields = 65, .title = "failures", PLAN(n_failures),
      .when = PLAN_FAILURES | LAYOUTS_RUN, .digits = 1,
      .help = "of any device in the run, expected" },
    { "device_hours", .yields = 28, .title = "device-hours", .real = device_hours, IN_UNIT("h", -1),
      .when = LAYOUTS_RUN, .help = "of all devices" },
    { "cost", .yields = 3, .title = "cost", COST(value),
      .help = "of all nodes, from start to end" },
    { "cost_low", .yields = 52, .title = "low", COST(low), .help = "low end of its interval" },
    { "cost_high", .yields = 52, .title = "high", COST(high), .help = "high end of its interval" },
    { "hours_per_btokens", .yields = 34, .title = "h/10^9 tokens", BILLION(rate_h),
      .when = LAYOUTS_TOKENS, .help = "time of a billion tokens, with failures" },
    { "cost_per_btokens", .yields = 12, .title = "cost/10^9 tokens", RATE_COST(rate_cost),
      .help = "of all nodes, for a billion tokens" },
    { "cost_per_btokens_low", .yields = 53, .title = "low", RATE_COST(rate_cost_low),
      .help = "low end of its interval" },
    { "cost_per_btokens_high", .yields = 53, .title = "high", RATE_COST(rate_cost_high),
      .help = "high end of its interval" },
    { "power_w", .yields = 55, .title = "power [W]", ROW(power.watts.value), IN_UNIT("W", 1),
      .when = PLAN_POWER, .help = "mean power of a device: computing, waiting and in bubbles" },
    { "power_low_w", .title = NULL, ROW(power.watts.low), IN_UNIT("W", 1), .when = PLAN_POWER,
      .help = "low end of its interval" },
    { "power_high_w", .title = NULL, ROW(power.watts.high), IN_UNIT("W", 1), .when = PLAN_POWER,
      .help = "high end of its interval" },
    { "energy_j", .title = NULL, ROW(power.joules), IN_UNIT("J", -1), .when = PLAN_POWER,
      .help = "energy of all devices in a step" },
    { "energy_kwh", .yields = 51, .title = "energy [kWh]", ROW(power.kwh), IN_UNIT("kWh", -1),
      .when = PLAN_POWER | LAYOUTS_RUN, .help = "energy of all devices in the run" },
    { "co2_kg", .yields = 22, .title = "CO2 [kg]", ROW(power.kg_co2), IN_UNIT("kg", -1),
      .when = PLAN_POWER | PLAN_CO2 | LAYOUTS_RUN, .help = "CO2 of that electricity" },
    { "electricity", .yields = 23, .title = "electricity [%s]", .each = kwh_currency,
      ROW(power.electricity), .digits = -1, .when = PLAN_POWER | PLAN_ELECTRICITY | LAYOUTS_RUN,
      .help = "what it costs" },
    { "power_by", .yields = 75, .title = "power by", ROW(power.by), .when = PLAN_POWER,
      .once = "power by", .help = "where the power comes from: fitted, learned or assumed" },
    { 0 },
};

/* "  118 s a step (44.6 s to 6.05 min), ...": what it takes and costs. */
static void put_answer(const plan_job *job, const layout_row *r, FILE *out)
{
    const layout_plan *p    = &r->plan;
    money              cost = { .amount = p->cost.value };
    char               text[3][HOURS_TEXT], grouped[32], paid[MONEY_TEXT], needs[ROOM_TEXT];

    strcpy(cost.currency, job->currency);
    fprintf(out, "  %s a step", text_duration(p->found.step, text[0], HOURS_TEXT));
    if (!isnan(p->found.low))
        fprintf(out, " (%s to %s)", text_duration(p->found.low, text[0], HOURS_TEXT),
                text_duration(p->found.high, text[1], HOURS_TEXT));
    if (!isnan(r->tokens))
        fprintf(out, ", %s tokens/s",
                text_grouped((uint64_t)fmin(r->tokens + 0.5, 1e18), grouped, sizeof grouped));
    if (r->at_peak > 0)
        fprintf(out, ", MFU %.1f %%", 100 * mfu(r, 0));
    fprintf(
        out, ", %s; %s %s",
        room_needs(p->found.bytes, job->side[p->machine].room.overhead > 0, ROOM_RESERVED, needs),
        job->question.training.dataset ? "the run takes" : "a billion tokens take",
        text_duration(p->run.value, text[0], HOURS_TEXT));
    if (!isnan(p->run.low))
        fprintf(out, " (%s to %s)", text_duration(p->run.low, text[1], HOURS_TEXT),
                text_duration(p->run.high, text[2], HOURS_TEXT));
    if (job->question.failures.mtbf > 0)
        fprintf(out, " with %.3g failures", p->n_failures);
    if (device_hours(r, 0) < 100)
        fprintf(out, ", %.3g device-hours", device_hours(r, 0));
    else
        fprintf(
            out, ", %s device-hours",
            text_grouped((uint64_t)fmin(device_hours(r, 0) + 0.5, 1e18), grouped, sizeof grouped));
    if (!isnan(cost.amount))
        fprintf(out, ", %s", money_print(&cost, paid));
    if (r->power.watts.value > 0)
        fprintf(out, ", %.4g W a device, %.4g kWh", r->power.watts.value, r->power.kwh);
    fputc('\n', out);
    if (verdict_of(r) == ROOM_CLOSE)
        fprintf(out,
                "  %s: %.4g of %.4g GB leave %.3g GB for libraries and the allocator "
                "(--framework-overhead 8GB searches with more)\n",
                room_verdict_words(ROOM_CLOSE), 1e-9 * p->found.bytes, 1e-9 * r->room,
                1e-9 * (r->room - p->found.bytes));
}

/* Numbers of nodes in a row on which nothing fits a machine's memory, from `c` on: one line for all. */
static size_t put_short(const plan_job *job, const layout_plans *p, size_t c, FILE *out)
{
    const layout_counts *k     = &p->counts[c];
    const plan_side     *side  = &job->side[k->machine];
    const layout_counts *least = k;
    size_t               n     = 1;
    char                 needs[ROOM_TEXT];

    while (c + n < p->n_counts && p->counts[c + n].machine == k->machine &&
           p->counts[c + n].short_of > 0) {
        least = p->counts[c + n].short_of < least->short_of ? &p->counts[c + n] : least;
        n++;
    }
    if (n == 1) {
        fprintf(out, "%s\n", k->none);
        return n;
    }
    fprintf(out,
            "%s: no layout on %lld to %lld nodes fits %.6g GB of memory: the smallest takes %s "
            "on %lld node%s\n",
            side->name, (long long)k->nodes, (long long)p->counts[c + n - 1].nodes,
            1e-9 * (double)side->room.bytes,
            room_needs(least->short_of, side->room.overhead > 0, ROOM_RESERVED, needs),
            (long long)least->nodes, least->nodes == 1 ? "" : "s");
    return n;
}

/* The cheapest and the fastest plan. */
typedef struct layout_choice {
    const layout_row *cheapest, *fastest; /* NULL: nothing fits */
} layout_choice;

static layout_choice choose(const layout_plans *p, const layout_row *row)
{
    layout_choice c = { NULL, NULL };

    for (size_t i = 0; i < p->n; i++) {
        const layout_plan *x = &row[i].plan;

        if (!c.cheapest || x->cost.value < c.cheapest->plan.cost.value ||
            isnan(c.cheapest->plan.cost.value))
            c.cheapest = &row[i];
        if (!c.fastest || x->run.value < c.fastest->plan.run.value)
            c.fastest = &row[i];
    }
    return c;
}

static bool same_count(const layout_row *r, size_t machine, int64_t nodes)
{
    return r && r->plan.machine == machine && r->nodes == nodes;
}

/* Up to so many numbers of nodes, each is told in full; of more, the two of the choice. */
#define COUNTS_IN_FULL 2

static bool in_full(const layout_plans *p, const layout_choice *of, size_t machine, int64_t nodes)
{
    return p->n_counts <= COUNTS_IN_FULL || same_count(of->fastest, machine, nodes) ||
           (of->cheapest && !isnan(of->cheapest->plan.cost.value) &&
            same_count(of->cheapest, machine, nodes));
}

static void put_tried(const plan_job *job, const layout_counts *k, FILE *out)
{
    fprintf(out, ": %zu %s, of which %zu do not fit the memory", k->looked_at,
            !job->whole         ? "layouts"
            : k->looked_at == 1 ? "micro-batch of the layout"
                                : "micro-batches of the layout",
            k->too_large);
    if (k->no_time)
        fprintf(out, " and %zu have no price", k->no_time);
    if (k->bounded)
        fprintf(
            out,
            "; %zu parts with more ranks of cp were skipped: too slow even if cp scaled perfectly",
            k->bounded);
    if (*k->whole)
        fprintf(out, "; %s", k->whole);
    if (k->refused)
        fprintf(out, "; %zu of the best %s not predicted: %s", k->refused,
                k->refused == 1 ? "is" : "are", k->why);
}

/* Layouts that fit, but miss the deadline or budget. */
static void put_missed(const layout_counts *k, bool full, FILE *out)
{
    char text[HOURS_TEXT];

    if (k->missed > 0)
        fprintf(out, "%sdeadline or budget missed: the fastest run takes %s\n", full ? "  " : ": ",
                text_duration(k->missed, text, sizeof text));
    else
        fprintf(out, "%sfailures are more frequent than progress: no run ends\n",
                full ? "  " : ": ");
}

/* For each machine and number of nodes: layouts that were tried, what the best takes, its limit, and why
 * the next is worse. Of many numbers of nodes only the chosen ones in full, of others the best layout. */
static void put_sentences(const plan_job *job, const layout_plans *p, const layout_row *row,
                          const layout_choice *choice, FILE *out)
{
    char words[LAYOUT_TEXT], text[LAYOUT_SENTENCE];

    for (size_t c = 0; c < p->n_counts; c++) {
        const layout_counts *k     = &p->counts[c];
        const layout_plan   *first = NULL;
        const bool           full  = in_full(p, choice, k->machine, k->nodes);
        bool                 close = false;

        if (k->short_of > 0) {
            c += put_short(job, p, c, out) - 1;
            continue;
        }
        if (*k->none) {
            fprintf(out, "%s\n", k->none);
            continue;
        }
        fprintf(out, "%s, %lld node%s of %lld device%s", job->side[k->machine].name,
                (long long)k->nodes, k->nodes == 1 ? "" : "s",
                (long long)job->question.setup.devices,
                job->question.setup.devices == 1 ? "" : "s");
        if (full) {
            put_tried(job, k, out);
            fputc('\n', out);
        }
        for (size_t i = 0; i < p->n && (full || !first); i++) {
            const layout_plan *x = &p->plan[i];

            if (x->machine != k->machine || x->nodes != k->nodes)
                continue;
            if (first) {
                fprintf(out, "  %s: %s%s\n", layout_print(&x->found.layout, words),
                        layouts_worse(&first->found, &x->found, text),
                        x->tie ? "; a tie: by its interval it may be as fast" : "");
                continue;
            }
            close = !full && verdict_of(&row[i]) == ROOM_CLOSE;
            if (full)
                put_answer(job, &row[i], out);
            fprintf(out, "%s%s: %s%s%s\n", full ? "  " : ": ",
                    layout_print(&x->found.layout, words), layouts_limit(&x->found, text),
                    close ? "; " : "", close ? room_verdict_words(ROOM_CLOSE) : "");
            first = x;
        }
        if (!first)
            put_missed(k, full, out);
    }
}

static void put_choice(const plan_job *job, const char *what, const layout_row *r, FILE *out)
{
    money cost = { .amount = r->plan.cost.value };
    char  text[HOURS_TEXT], paid[MONEY_TEXT];

    strcpy(cost.currency, job->currency);
    fprintf(out, "%s: %s, %lld node%s, %s: %s", what, r->machine, (long long)r->nodes,
            r->nodes == 1 ? "" : "s", r->words, text_duration(r->plan.run.value, text, HOURS_TEXT));
    if (!isnan(cost.amount))
        fprintf(out, ", %s", money_print(&cost, paid));
    fputs(job->question.training.dataset ? "\n" : " for a billion tokens\n", out);
}

/* Of several machines or numbers of nodes: the cheapest plan, and the fastest. */
static void put_choices(const plan_job *job, const layout_plans *p, const layout_choice *of,
                        FILE *out)
{
    const bool priced = of->cheapest && !isnan(of->cheapest->plan.cost.value);

    if (p->n_counts < 2 || !of->fastest)
        return;
    if (of->cheapest != of->fastest && priced)
        put_choice(job, "cheapest", of->cheapest, out);
    put_choice(job, of->cheapest == of->fastest && priced ? "cheapest and fastest" : "fastest",
               of->fastest, out);
}

/* The most rows of a table for a reader. */
#define ROWS_MOST 12

/* Does the table have the row? A long one leaves out all but the best layout of what was not chosen. */
static bool row_shown(const layout_plans *p, const layout_choice *of, const layout_row *r, format f)
{
    return f != FORMAT_TABLE || p->n <= ROWS_MOST || !r->plan.place ||
           in_full(p, of, r->plan.machine, r->nodes);
}

static layout_asked asked_of(const plan_job *job, const layout_plan *p)
{
    return (layout_asked){ job->side[p->machine].who, job->net, job->reg, &job->question.setup,
                           p->nodes };
}

static lm_status draw(const plan_job *job, const layout_plan *p, const char *path, lm_error *err)
{
    const layout_asked a = asked_of(job, p);
    step_setup         s;
    prediction         step;
    char               words[LAYOUT_TEXT];
    lm_status          status = layout_step(&a, &p->found.layout, &s, err);

    if (!status)
        status = predict_step(a.who, &s, &step, err);
    return status ? status
                  : timeline_draw_step(path, a.who, &s, &step,
                                       layout_print(&p->found.layout, words), err);
}

static lm_status row_of(const plan_job *job, const layout_plan *p, int64_t tokens, layout_row *out,
                        lm_error *err)
{
    const training    *t    = &job->question.training;
    const plan_side   *side = &job->side[p->machine];
    const layout_asked a    = asked_of(job, p);
    step_setup         s;
    prediction         step;
    lm_status          status = LM_OK;
    layout_row         r      = { .machine = job->side[p->machine].name,
                                  .plan    = *p,
                                  .nodes   = p->nodes,
                                  .place   = (int64_t)p->place + 1,
                                  .room    = side->room.overhead ? 0 : (double)side->room.bytes,
                                  .samples = (double)job->question.global_batch / p->found.step,
                                  .at_peak = job->side[p->machine].at_peak,
                                  .devices = (double)p->nodes * (double)job->question.setup.devices };

    layout_print(&p->found.layout, r.words);
    r.tokens   = tokens ? r.samples * (double)tokens : NAN;
    r.billions = !tokens ? NAN
                 : t->dataset
                     ? (double)t->epochs * (double)t->dataset * (double)tokens / LAYOUT_PLANS_TOKENS
                     : 1;
    if (plan_power_facts(job) && !(status = layout_step(&a, &p->found.layout, &s, err)) &&
        !(status = predict_step(side->who, &s, &step, err)))
        status = plan_power_of(job, side, &s, &step, p->run.value, &r.power, err);
    *out = r;
    return status;
}

static unsigned facts_of(const plan_job *job, const layout_plans *p)
{
    unsigned facts = plan_facts_of(job) | (p->tokens ? LAYOUTS_TOKENS : 0) |
                     (job->question.training.dataset ? LAYOUTS_RUN : 0);

    for (size_t i = 0; i < job->n; i++)
        facts |= (job->side[i].at_peak > 0 ? LAYOUTS_PEAK : 0) |
                 (job->side[i].room.bytes ? LAYOUTS_ROOM : 0);
    return facts;
}

static void put_memory(const plan_side *side, const char *label, FILE *out)
{
    const memory_types t = limits_types(side->who, true);
    char               text[MEMORY_TYPES_TEXT];

    fprintf(out, "memory: %s%sof %s%s\n", label ? label : "", label ? ": " : "",
            memory_types_print(&t, text),
            t.dtype == side->who->dtype ? "" : " (--mixed f16: as autocast needs it)");
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
        put_memory(&job->side[x->machine], job->n > 1 ? job->side[x->machine].name : NULL, out);
        step_basis_explain(job->side[x->machine].who, &step,
                           job->n > 1 ? job->side[x->machine].name : NULL, out);
    }
}

lm_status plan_print_layouts(const plan_job *job, const layout_plans *p, const table_look *look,
                             const char *picture, lm_error *err)
{
    const format     f      = look->format;
    const plan_heads heads  = { job->currency, job->kwh.currency, plan_sample_word(job) };
    const field_view v      = { .fields = layout_fields,
                                .in     = field_place_of(f),
                                .whole  = &heads,
                                .look   = look,
                                .facts  = facts_of(job, p) };
    field_rows       rows   = field_rows_of(&v);
    layout_row      *row    = calloc(p->n + 1, sizeof *row);
    lm_status        status = row ? LM_OK : no_memory(err);
    layout_choice    choice;
    size_t           left = 0;

    if (!status && picture)
        status = draw(job, &p->plan[0], picture, err);
    for (size_t i = 0; i < p->n && !status; i++)
        status = row_of(job, &p->plan[i], p->tokens, &row[i], err);
    choice = status ? (layout_choice){ NULL, NULL } : choose(p, row);
    for (size_t i = 0; i < p->n && !status; i++)
        if (row_shown(p, &choice, &row[i], f))
            field_row(&rows, &row[i]);
        else
            left++;
    if (!status && f == FORMAT_JSON) {
        json j = { .out = stdout };

        json_open(&j, NULL, '{');
        json_text(&j, "network", job->network);
        json_count(&j, "global_batch", (uint64_t)job->question.global_batch);
        if (*job->currency)
            json_text(&j, "currency", job->currency);
        table_json(rows.t, &j, "layouts");
        json_close(&j, '}');
    } else if (!status) {
        put_choices(job, p, &choice, f == FORMAT_TABLE ? stdout : stderr);
        put_sentences(job, p, row, &choice, f == FORMAT_TABLE ? stdout : stderr);
        if (f == FORMAT_TABLE)
            putchar('\n');
        status = table_print(rows.t, f, stdout, err);
        if (left && !status)
            printf("%zu more layouts: --format csv\n", left);
        for (size_t i = 0; i < job->n && !status && plan_job_priced(job, NULL); i++)
            plan_print_price(job, i, f == FORMAT_TABLE ? stdout : stderr);
        if (!status)
            put_basis(job, p, f == FORMAT_TABLE ? stdout : stderr);
    }
    free(row);
    table_free(rows.t);
    return status;
}
