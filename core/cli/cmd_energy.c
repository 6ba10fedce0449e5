/* layermeter energy: a step at several clocks: time, power, energy, and which clock is best. */
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "cli/decoding.h"
#include "cli/layout_options.h"
#include "cli/power_options.h"
#include "plan/money.h"
#include "predict/dataset.h"
#include "predict/held_steps.h"
#include "report/table.h"

typedef struct energy_options {
    session_options session;
    setup_choice    how;
    power_choice    power;
    layout_choice   layout;
    money           energy_price; /* of a kWh; amount 0: not given */
    int64_t         tokens;       /* of a sample; 0: it has none */
    int64_t         batch, gpus;
    option_counts   nodes; /* one number */
    dataset_told    dataset;
    int64_t         samples; /* of it; 0: not known */
    option_counts   clocks;  /* MHz */
    option_counts   limits;  /* W */
    table_look      look;
} energy_options;

#define AT(member) OPTION_AT(energy_options, member)

VALUE_TYPE(type_kwh, money, money_parse_per_kwh);

static const option_row option_rows[] = {
    { "batch", AT(batch), &type_count, "N", "32", .help = "samples per device and micro-step" },
    OPTION_GROUP(energy_options, session, session_option_rows),
    { "dataset", AT(dataset.samples) },
    { "tokens", AT(dataset.tokens) },
    { "clocks", AT(clocks), &type_ascending, "LIST", NULL, HELP_WHAT,
      "clocks to compare, in MHz: 600,900,1200 (default: 16 steps up to the highest)" },
    { "power-limit", AT(limits), &type_ascending, "LIST", NULL, HELP_WHAT,
      "power limits to compare instead of clocks, in watts: 150,200,250", .excludes = "clocks",
      .refusal = "a device keeps a clock or a power limit: give one of the two" },
    { "nodes", AT(nodes), .argument = "N", .fallback = "1", .help = "number of nodes" },
    { "gpus", AT(gpus) },
    { "devices-per-node", AT(how.setup.devices) },
    { "power-cap", .help = "power limit, 120W: the clock falls until the device keeps it",
      .excludes = "power-limit",
      .refusal =
          "is one limit for all clocks, and --power-limit compares limits: give one of the two" },
    OPTION_GROUP(energy_options, power, power_option_rows),
    OPTION_GROUP(energy_options, power, grid_option_rows),
    OPTION_GROUP(energy_options, power, knee_option_rows),
    { "energy-price", AT(energy_price), &type_kwh, "MONEY/kWh", NULL, HELP_WHERE,
      "price of electricity, 0.30EUR/kWh: also print its cost for an epoch" },
    OPTION_GROUP(energy_options, layout, layout_option_rows),
    OPTION_GROUP(energy_options, layout, layout_recompute_rows),
    OPTION_GROUP(energy_options, how, phase_option_rows),
    OPTION_GROUP(energy_options, how, setup_option_rows),
    OPTION_GROUP(energy_options, look, look_option_rows),
    { .name = NULL },
};

static const char details[] =
    "The first row is the step at the clock that the device chooses. Each of --clocks has a row, with\n"
    "that clock fixed. Time that is bound by arithmetic grows as the clock falls. The time of memory\n"
    "traffic, launches and all-reduces stays the same.\n"
    "\n"
    "Power is idle power plus dynamic power. Dynamic power is proportional to clock x voltage^2. The\n"
    "voltage is constant up to --voltage-knee and proportional to the clock above it, unless a fit\n"
    "determined it. If power would exceed the limit, the clock falls until it does not. Energy is that of\n"
    "all devices; EDP is energy times time. 'best' marks the best clocks for time, energy and EDP.\n"
    "\n"
    "--power-limit compares power limits instead of clocks. If this network and batch were measured under\n"
    "three limits or more (column power_limit_w), the answer follows from these steps. Its intervals come\n"
    "from held-out limits. Other steps run at the clock that the limit allows.\n"
    "\n"
    "With a layout (--tp 8 --pp 4, or --layout 'tp8 pp4') the energy is divided into computing, waiting\n"
    "for messages, and bubbles of the pipeline. A waiting device draws its measured power. If this was\n"
    "not measured, the device is assumed to draw the mean of idle power and full load.\n"
    "\n"
    "'power by' names the source of the power: a fit (power_w of observations), or the assumption with\n"
    "--idle-power. With --idle-power a device draws the power limit of its datasheet while it computes or\n"
    "moves bytes, and idle power while it waits. A model that learned single layers (fit --model)\n"
    "predicts the step; nicolai also predicts the power. The coefficients of the default model then\n"
    "determine which part of the time depends on the clock. If nicolai learned several clocks (fit\n"
    "--where clock=900 --model nicolai), it predicts each of them. Other clocks are scaled from the\n"
    "nearest one, as for other models.\n";

static const char examples[] =
    "  layermeter energy resnet50 --machine machine.ini --batch 64\n"
    "  layermeter energy resnet50 --machine m.ini --idle-power 30W --voltage-knee 900MHz --clocks 600,900\n"
    "  layermeter energy vgg16 --machine machine.ini --power-cap 120W --grid 400gCO2/kWh\n"
    "  layermeter energy vgg16 --machine machine.ini --model nicolai --batch 64\n"
    "  layermeter energy resnet50 --machine machine.ini --batch 64 --power-limit 150,200,250\n"
    "  layermeter energy llama3_8b --device H100 --nodes 2 --devices-per-node 8 --layout 'tp4 pp2 gb64' \\\n"
    "    --batch 1 --idle-power 100W --tokens 1T --energy-price 0.30EUR/kWh\n";

/* "energy edp": the goals for which the clock is best. */
static void best_of(const held_steps *h, size_t i, char *buffer, size_t size)
{
    *buffer = '\0';
    for (best_for b = 0; b < N_BEST_FOR; b++)
        if (clocks_best(h->at, h->n, b) == i)
            text_add(buffer, size, "%s%s", *buffer ? " " : "", best_for_name(b));
}

/* By steps that were measured under limits. */
static void put_bounds(const held_steps *h, energy_row *r)
{
    step_row *s = &r->step;

    s->point.step.low[PHASE_STEP]  = s->point.step.step * h->limits->seconds_low;
    s->point.step.high[PHASE_STEP] = s->point.step.step * h->limits->seconds_high;
    s->power.watts.low             = s->power.watts.value * h->limits->watts_low;
    s->power.watts.high            = s->power.watts.value * h->limits->watts_high;
}

/* The step at a held clock, or under a limit; NAN: as the device runs by itself. */
static energy_row row_of(const held_steps *h, const power_choice *c, double held,
                         const power_state *at)
{
    const step_watts w       = power_choice_watts(c);
    energy_row       r       = { .step = step_row_of(&h->point, &w), .held = held, .mhz = at->mhz };
    scale_point     *p       = &r.step.point;
    const double     seconds = p->step.step * at->stretch;

    r.step.power.watts.value = at->watts;
    r.step.power.joules.value =
        at->watts * (double)p->step.nodes * (double)p->step.devices * seconds;
    r.step.power.edp = r.step.power.joules.value * seconds;
    r.step.power_by  = h->learned ? "learned" : c->model.assumed ? "assumed" : "fitted";
    r.energy         = step_energy_of(&c->model, &p->bottleneck, &p->step, at);
    p->step.step     = seconds;
    p->epoch_seconds = p->steps_per_epoch ? seconds * (double)p->steps_per_epoch : NAN;
    if (h->limits)
        put_bounds(h, &r);
    return r;
}

/* What a row has from the options. */
static void tell(const energy_options *e, energy_row *r)
{
    r->step.tokens = e->tokens;
    r->step.layout = e->layout.given ? e->layout.words : NULL;
    r->kwh_price   = e->energy_price.amount;
}

static lm_status print_answers(const held_steps *h, const energy_options *e, lm_error *err)
{
    const power_choice *c    = &e->power;
    const table_look   *look = &e->look;
    const step_watts    w    = power_choice_watts(c);
    const field_view    v    = { .fields = energy_fields,
                                 .from   = step_fields,
                                 .in     = field_place_of(look->format),
                                 .whole  = e->energy_price.currency,
                                 .facts  = step_watts_facts(&w) | (e->layout.given ? STEP_LAYOUT : 0) |
                                          (e->tokens ? STEP_TOKENS : 0) |
                                          (e->energy_price.amount > 0 ? STEP_ELECTRICITY : 0) |
                                          (e->samples ? STEP_EPOCHS : 0) |
                                          (e->limits.n ? STEP_LIMITS : STEP_CLOCKS) |
                                          step_program_fact(e->how.setup.program),
                                 .look = look };
    field_rows          rows = field_rows_of(&v);
    energy_row          r    = row_of(h, c, NAN, &h->usual);

    tell(e, &r);
    field_row(&rows, &r);
    for (size_t i = 0; i < h->n; i++) {
        r = row_of(h, c, h->mhz[i], &h->at[i]);

        r.step.point.step.grounds = h->on[i];
        best_of(h, i, r.best, sizeof r.best);
        tell(e, &r);
        field_row(&rows, &r);
    }
    return field_rows_print(&rows, look->format, stdout, LM_OK, err);
}

static lm_status answer(const session *s, const predictor *who, energy_options *e, lm_error *err)
{
    lm_status     status = dataset_samples(who, &e->dataset, &e->samples, err);
    held_question q      = { .step = scale_weak(1, e->samples), .nodes = e->nodes.at[0] };
    held_steps    h      = { .n = 0 };

    e->how.setup.batch = e->batch;
    if (status || (status = layout_choice_settle(&e->layout, who, &e->how.setup, err)))
        return status;
    setup_settle(&e->how, predict_in_buckets(s->who));
    q.step.setup     = e->how.setup;
    q.mhz            = e->clocks.at;
    q.n              = e->clocks.n;
    q.watts          = e->limits.at;
    q.n_watts        = e->limits.n;
    e->power.learned = predictor_tells_power(who);
    if ((status = scale_tokens(who, &e->tokens, err)) ||
        (status = scale_fits_dataset(&q.step, e->nodes.at[0], err)) ||
        (status = power_choice_complete(&e->power, s->cal, e->session.source.device,
                                        e->session.source.devices, err)))
        return status;
    q.power = e->power;
    status  = held_steps_of(who, &q, &h, err);
    if (!status && h.alone.code)
        note("%s", h.alone.text);
    if (!status)
        status = print_answers(&h, e, err);
    held_steps_free(&h);
    return status;
}

static lm_status check(options *o, lm_error *err)
{
    energy_options *a      = o->filled;
    lm_status       status = layout_choice_check(
              o, &a->layout, &(layout_beside){ .one = &a->batch, .accumulate = &a->how.accumulate }, err);

    if (!status)
        status =
            layout_choice_place(o, &a->layout, &a->gpus, &a->nodes, &a->how.setup.devices, err);
    if (!status && a->nodes.n > 1)
        status = misused(o, &a->nodes, err, "takes one number");
    if (!status)
        status = setup_check(o, &a->how, &a->session, false, err);
    a->how.setup.layout   = a->layout.layout;
    a->how.setup.laid_out = a->layout.given;
    power_choice_begin(o, &a->power, true);
    if (!status && a->how.n > 1)
        status = misused(o, &a->how.buckets, err, "takes one size");
    if (!status)
        status = look_check(o, &a->look, energy_fields, step_fields, err);
    return status ? status : session_check(o, &a->session, power_asks_device(o, &a->power), err);
}

static lm_status run(const options *o, lm_error *err)
{
    energy_options *a = o->filled;
    session         s;
    decoding       *d      = NULL;
    lm_status       status = session_open(o, &a->session, &s, err);

    a->dataset.given = option_given(o, &a->dataset.samples);
    if (!status)
        status = decoding_open(&s, &a->session, &a->how, &d, err);
    if (!status)
        status = answer(&s, decoding_who(d, &s), a, err);
    if (!status) {
        decoding_explain(d, a->look.format == FORMAT_TABLE ? stdout : stderr);
        print_note(s.net, a->look.format == FORMAT_TABLE ? stdout : stderr);
    }
    decoding_close(d);
    session_close(&s);
    return status;
}

const command cmd_energy = COMMAND(
    "energy", "NETWORK", "Predict a step's power and energy at several clocks, find the best",
    energy_options, 1, 1, check, run);
