/* layermeter energy: a step at several clocks: time, power, energy, and which clock is best. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "cli/decoding.h"
#include "cli/power_options.h"
#include "device/power.h"
#include "fit/forms.h"
#include "predict/scaling.h"
#include "report/table.h"

typedef struct energy_options {
    session_options session;
    setup_choice    how;
    power_choice    power;
    int64_t         batch, nodes, dataset;
    option_counts   clocks; /* MHz */
    format          format;
} energy_options;

#define AT(member) OPTION_AT(energy_options, member)

static const option_row option_rows[] = {
    { "batch", AT(batch), &type_count, "N", "32", .help = "samples of each device and micro-step" },
    OPTION_GROUP(energy_options, session, session_option_rows),
    { "dataset", AT(dataset) },
    { "clocks", AT(clocks), &type_ascending, "LIST", NULL, HELP_WHAT,
      "MHz to compare, 600,900,1200 (default: 16 steps up to the highest)" },
    { "nodes", AT(nodes), &type_count, "N", "1", .help = "nodes, which a network connects" },
    { "devices-per-node", AT(how.setup.devices) },
    { "power-cap", .help = "power limit to keep to, 120W: the clock falls until it is kept" },
    OPTION_GROUP(energy_options, power, power_option_rows),
    OPTION_GROUP(energy_options, power, grid_option_rows),
    OPTION_GROUP(energy_options, power, knee_option_rows),
    OPTION_GROUP(energy_options, how, phase_option_rows),
    OPTION_GROUP(energy_options, how, setup_option_rows),
    { "format", AT(format) },
    { .name = NULL },
};

static const char details[] =
    "The first row is the step as the device runs by itself; then one row for each of --clocks, with the\n"
    "clock held there. Time bound by arithmetic grows as the clock falls; time of traffic, launches and\n"
    "all-reduces stays. Power is idle power plus dynamic power, which goes as clock x voltage^2: the\n"
    "voltage is constant up to --voltage-knee and in proportion to the clock above, unless a fit knows\n"
    "better. If power would pass the limit, the clock falls until it does not. Energy is that of all\n"
    "devices; EDP is energy times time. 'best' names the clocks that are best for time, energy and EDP.\n"
    "\n"
    "'power by' says where powers come from: fitted (power_w of observations), or assumed from\n"
    "--idle-power: the datasheet's limit while the device computes or moves bytes, idle power while it\n"
    "waits. A model that was learned from single layers (fit --model) tells the step, nicolai its power,\n"
    "too; the default model's prices in the machine file say which part of the time follows the clock.\n"
    "Taught at several clocks (fit --where clock=900 --model nicolai), nicolai is asked at each of them;\n"
    "its answer at the nearest one is carried over to a clock beyond, as other models' steps are.\n";

static const char examples[] =
    "  layermeter energy resnet50 --machine machine.ini --batch 64\n"
    "  layermeter energy resnet50 --machine m.ini --idle-power 30W --voltage-knee 900MHz --clocks 600,900\n"
    "  layermeter energy vgg16 --machine machine.ini --power-cap 120W --grid 400gCO2/kWh\n"
    "  layermeter energy vgg16 --machine machine.ini --model nicolai --batch 64\n";

/* A step at the device's own clock, and with its clock held. */
typedef struct answers {
    scale_point  point;
    power_state  usual;
    bool         learned; /* the power of it, by the model that tells the step */
    double      *mhz;     /* wanted clocks, the state at each, and what it stands on */
    power_state *at;
    grounds     *on;
    size_t       n;
    char from[2][40]; /* "carried from 600 MHz", the lowest clock that was learned; the highest */
} answers;

static void answers_free(answers *a)
{
    free(a->mhz);
    free(a->at);
    free(a->on);
}

/* Those of --clocks, else the usual ones. */
static lm_status choose_clocks(const power_model *m, const option_counts *clocks, answers *a,
                               lm_error *err)
{
    a->n   = clocks->n ? clocks->n : CLOCKS_USUAL;
    a->mhz = malloc((a->n + CLOCKS_USUAL) * sizeof *a->mhz);
    a->at  = malloc(a->n * sizeof *a->at);
    a->on  = malloc(a->n * sizeof *a->on);
    if (!a->mhz || !a->at || !a->on)
        return no_memory(err);
    for (size_t i = 0; i < a->n; i++)
        a->on[i] = a->point.step.grounds;
    clocks_usual(m, a->mhz);
    for (size_t i = 0; i < clocks->n; i++)
        a->mhz[i] = (double)clocks->at[i];
    return LM_OK;
}

static lm_status check_known(const power_choice *c, const char *machine, lm_error *err)
{
    const power_model *m   = &c->model;
    const char        *who = machine ? machine : "--model paleo";

    if (!power_known(m) && c->learned)
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%s: powers were learned of layers, and what another clock makes of them is "
            "not known: tell --idle-power",
            who);
    if (!power_known(m))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: no power was measured: measure some (column power_w), or tell "
                            "--idle-power",
                            who);
    if (power_clocks_known(m))
        return LM_OK;
    return lm_error_set(err, LM_E_NOTFOUND, "%s: of other clocks nothing is known: %s", who,
                        isnan(m->idle_w)     ? "tell --idle-power"
                        : isnan(m->knee_mhz) ? "tell --voltage-knee, such as 900MHz"
                                             : "no datasheet tells the device's highest clock");
}

/* "energy edp": the goals for which the clock is best. */
static void best_of(const answers *a, size_t i, char *buffer, size_t size)
{
    size_t n = 0;

    *buffer = '\0';
    for (best_for b = 0; b < N_BEST_FOR; b++)
        if (clocks_best(a->at, a->n, b) == i)
            n += (size_t)snprintf(buffer + n, size - n, "%s%s", n ? " " : "", best_for_name(b));
}

/* The step at a clock; held NAN: the device's own clock. */
static energy_row row_of(const answers *a, const power_choice *c, double held,
                         const power_state *at)
{
    const step_watts w       = power_choice_watts(c);
    energy_row       r       = { step_row_of(&a->point, &w), held, at->mhz, "" };
    scale_point     *p       = &r.step.point;
    const double     seconds = p->step.step * at->stretch;

    r.step.power.watts.value = at->watts;
    r.step.power.joules.value =
        at->watts * (double)p->step.nodes * (double)p->step.devices * seconds;
    r.step.power.edp = r.step.power.joules.value * seconds;
    r.step.power_by  = a->learned ? "learned" : c->model.assumed ? "assumed" : "fitted";
    p->step.step     = seconds;
    p->epoch_seconds = seconds * (double)p->steps_per_epoch;
    return r;
}

static lm_status print_answers(const answers *a, const power_choice *c, program_kind program,
                               format f, lm_error *err)
{
    const step_watts w    = power_choice_watts(c);
    const field_view v    = { .fields = energy_fields,
                              .from   = step_fields,
                              .in     = field_place_of(f),
                              .facts  = step_watts_facts(&w) | step_program_fact(program) };
    field_rows       rows = field_rows_of(&v);
    energy_row       r    = row_of(a, c, NAN, &a->usual);

    field_row(&rows, &r);
    for (size_t i = 0; i < a->n; i++) {
        r = row_of(a, c, a->mhz[i], &a->at[i]);

        r.step.point.step.grounds = a->on[i];
        best_of(a, i, r.best, sizeof r.best);
        field_row(&rows, &r);
    }
    return field_rows_print(&rows, f, stdout, LM_OK, err);
}

/* The shares of a learned model's step come from the default model. Without them all of the step
 * would follow the clock. */
static lm_status check_bounds(const predictor *who, const bottleneck_of *b, lm_error *err)
{
    double all = 0;

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        all += b->compute[k];
    if (!who->by->from_layers || all > 0)
        return LM_OK;
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "%s: what of the time follows the clock %s does not say, and no formula of %s "
        "is there for: calibrate whole networks, too",
        who->machine, who->model, DEFAULT_MODEL);
}

/* Equal steps between the clocks that the model learned from; of one alone, the usual steps. */
static lm_status choose_taught(const power_model *m, const clock_range *range,
                               const option_counts *clocks, answers *a, lm_error *err)
{
    lm_status status = choose_clocks(m, clocks, a, err);

    for (size_t i = 0; i < a->n && !clocks->n && range->low < range->high && !status; i++)
        a->mhz[i] = range->low + (range->high - range->low) * (double)i / (double)(a->n - 1);
    return status;
}

/* What is asked of a model that learned clocks. */
typedef struct asking {
    const predictor      *who;
    const energy_options *e;
    const scale_question *q;
    clock_range           range;
    answers              *a;
} asking;

/* A step at a clock that was learned. */
static lm_status ask_at(const asking *k, double mhz, power_state *out, grounds *on, lm_error *err)
{
    scale_question at = *k->q;
    scale_point    p;
    lm_status      status;

    at.setup.clock_mhz = mhz;
    if ((status = predictor_check_clock(k->who, mhz, err)) ||
        (status = scale_at(k->who, &at, k->e->nodes, &p, err)))
        return status;
    *on = p.step.grounds;
    *out =
        (power_state){ mhz, step_power_of(&k->e->power.model, &p.bottleneck, &p.step).watts.value,
                       p.step.step / k->a->point.step.step };
    return LM_OK;
}

/* What is known at the nearest clock that was learned, carried over to one beyond. */
static lm_status ask_beyond(const asking *k, double mhz, power_state *out, grounds *on,
                            lm_error *err)
{
    const power_choice *c    = &k->e->power;
    const bool          high = mhz > k->range.high;
    const double        near = high ? k->range.high : k->range.low;
    const power_load    load = step_load(&k->a->point.bottleneck);
    power_state         asked;
    lm_status           status;

    if ((status = predictor_check_highest(k->who, mhz, err)) ||
        (status = check_bounds(k->who, &k->a->point.bottleneck, err)) ||
        (status = check_known(c, k->who->machine, err)) ||
        (status = ask_at(k, near, &asked, on, err)))
        return status;
    snprintf(k->a->from[high], sizeof k->a->from[high], "carried from %.6g MHz", near);
    grounds_note(on, k->a->from[high], 0);
    *out = power_carried(&c->model, &load, asked.watts, near, mhz);
    out->stretch *= asked.stretch;
    return LM_OK;
}

/* Asks a model that learned clocks at each of them. */
static lm_status ask_clocks(const asking *k, lm_error *err)
{
    const power_choice *c = &k->e->power;
    const clock_range  *r = &k->range;
    answers            *a = k->a;
    lm_status           status;

    if (isfinite(c->cap_w))
        return lm_error_set(err, LM_E_ARG,
                            "--power-cap: %s tells powers as they were measured, and not what "
                            "another limit makes of them",
                            k->who->model);
    a->learned = true;
    a->usual =
        (power_state){ r->usual > 0 ? r->usual : (double)NAN,
                       step_power_of(&c->model, &a->point.bottleneck, &a->point.step).watts.value,
                       1 };
    if (!(a->usual.watts > 0))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: %s learned no power of these layers: measure some (column "
                            "power_w), then fit again",
                            k->who->machine, k->who->model);
    if (r->low >= r->high && !k->e->clocks.n && check_known(c, k->who->machine, err)) {
        fprintf(stderr, "layermeter: %s\n", err->text);
        return LM_OK;
    }
    status = choose_taught(&c->model, r, &k->e->clocks, a, err);
    for (size_t i = 0; i < a->n && !status; i++)
        status = a->mhz[i] < r->low || a->mhz[i] > r->high
                     ? ask_beyond(k, a->mhz[i], &a->at[i], &a->on[i], err)
                     : ask_at(k, a->mhz[i], &a->at[i], &a->on[i], err);
    return status;
}

/* Tries the clocks on the step. Its power is the learned model's, if that tells it. */
static void hold(const power_choice *c, answers *a)
{
    const power_load load = step_load(&a->point.bottleneck);
    const step_power told = step_power_of(&c->model, &a->point.bottleneck, &a->point.step);
    power_model      m    = c->model;

    a->learned = told.learned && isfinite(told.watts.value);
    if (a->learned)
        m = power_as_measured(&m, &load, told.watts.value);
    a->usual = power_held(&m, &load, NAN, c->cap_w);
    clocks_try(&m, &load, c->cap_w, a->mhz, a->n, a->at);
}

/* A step as the device runs, where nothing tells of other clocks; false: its power is not known. */
static bool as_it_runs(const power_choice *c, answers *a)
{
    const step_power told = step_power_of(&c->model, &a->point.bottleneck, &a->point.step);

    a->learned = told.learned && isfinite(told.watts.value);
    a->usual   = (power_state){ NAN, told.watts.value, 1 };
    return isfinite(told.watts.value);
}

/* A step at another clock, by its time and power at one clock. */
static lm_status hold_clocks(const predictor *who, const energy_options *e, answers *a,
                             lm_error *err)
{
    const power_choice *c      = &e->power;
    lm_status           status = check_bounds(who, &a->point.bottleneck, err);

    if (!status)
        status = check_known(c, who->machine, err);
    if (status && !e->clocks.n && isnan(c->cap_w) && as_it_runs(c, a)) {
        fprintf(stderr, "layermeter: %s\n", err->text);
        return LM_OK;
    }
    if (!status)
        status = choose_clocks(&c->model, &e->clocks, a, err);
    if (!status)
        hold(c, a);
    return status;
}

static lm_status answer(const session *s, const predictor *who, energy_options *e, lm_error *err)
{
    answers             a = { .n = 0 };
    asking              k = { .who = who, .e = e, .a = &a };
    const power_choice *c = &e->power;
    scale_question      q = scale_weak(1, e->dataset);
    lm_status           status;

    setup_settle(&e->how, predict_in_buckets(s->who));
    q.setup          = e->how.setup;
    q.setup.batch    = e->batch;
    k.q              = &q;
    e->power.learned = predictor_tells_power(who);
    status           = power_choice_complete(&e->power, s->cal, e->session.source.device,
                                             e->session.source.devices, err);
    if (!status)
        status = scale_at(who, &q, e->nodes, &a.point, err);
    if (!status)
        status = predictor_tells_clocks(who, &k.range) ? ask_clocks(&k, err)
                                                       : hold_clocks(who, e, &a, err);
    if (!status)
        status = print_answers(&a, c, e->how.setup.program, e->format, err);
    answers_free(&a);
    return status;
}

static lm_status check(options *o, lm_error *err)
{
    energy_options *a      = o->filled;
    lm_status       status = setup_check(o, &a->how, &a->session, false, err);

    power_choice_begin(o, &a->power, true);
    if (!status && a->how.n > 1)
        status = misused(o, &a->how.buckets, err, "takes one size");
    return status ? status : session_check(o, &a->session, power_asks_device(o, &a->power), err);
}

static lm_status run(const options *o, lm_error *err)
{
    energy_options *a = o->filled;
    session         s;
    decoding       *d      = NULL;
    lm_status       status = session_open(o, &a->session, &s, err);

    if (!status)
        status = decoding_open(&s, &a->session, &a->how, &d, err);
    if (!status)
        status = answer(&s, decoding_who(d, &s), a, err);
    if (!status) {
        decoding_explain(d, a->format == FORMAT_TABLE ? stdout : stderr);
        print_note(s.net, a->format == FORMAT_TABLE ? stdout : stderr);
    }
    decoding_close(d);
    session_close(&s);
    return status;
}

const command cmd_energy =
    COMMAND("energy", "NETWORK", "A step's power and energy at several clocks, and which is best",
            energy_options, 1, 1, check, run);
