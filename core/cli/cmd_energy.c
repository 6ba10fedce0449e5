/* layermeter energy: a step at several clocks: time, power, energy, and which clock is best. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/power_options.h"
#include "cli/setup_options.h"
#include "energy/clocks.h"
#include "fit/forms.h"
#include "predict/layerwise_step.h"
#include "predict/scaling.h"
#include "report/table.h"

enum {
    MACHINE,
    MODEL,
    BATCH,
    NODES,
    DEVICES_PER_NODE,
    CLOCKS,
    POWER_CAP,
    IDLE_POWER,
    KNEE,
    GRID,
    SETUP_OPTIONS,
    DATASET,
    SESSION_OPTIONS,
    FORMAT,
    NETWORK_OPTIONS
};

static const option_spec specs[] = {
    [MACHINE]          = { "machine", "FILE", NULL,
                           "machine file, written by 'layermeter fit' (needed but for paleo)" },
    [MODEL]            = { "model", "NAME", "layermeter",
                           "formulas: layermeter, convmeter or nnls; paleo; or justus, prenet (fit --model)" },
    [BATCH]            = { "batch", "N", "32", "samples per device and micro-step" },
    [NODES]            = { "nodes", "N", "1", "nodes: what a network connects" },
    [DEVICES_PER_NODE] = OPTION_DEVICES_PER_NODE,
    [CLOCKS]           = { "clocks", "LIST", NULL,
                           "MHz to compare, 600,900,1200: else 16 steps up to the highest" },
    [POWER_CAP]  = { "power-cap", "WATTS", NULL, "the limit to keep to, 120W: the clock falls" },
    [IDLE_POWER] = OPTION_IDLE_POWER,
    [KNEE]       = OPTION_KNEE,
    [GRID]       = OPTION_GRID,
    SETUP_ROWS,
    [DATASET] = OPTION_DATASET,
    SESSION_ROWS,
    [FORMAT] = { "format", "FORMAT", "table", "table, csv or json" },
    NETWORK_ROWS,
    { NULL, NULL, NULL, NULL },
};

static const char details[] =
    "The first row is the step as the device runs by itself, then one with its clock held at each of\n"
    "--clocks. Time bound by arithmetic grows as the clock falls, that of traffic, launches and all-reduces\n"
    "stays. Power is what the device draws at rest, and dynamic power: as clock x voltage^2, the voltage\n"
    "constant up to --voltage-knee and in proportion to the clock above, unless a fit knows better. Where it\n"
    "would pass the limit, the clock falls until it does not ('clock' is what is left of it). Energy is that\n"
    "of all devices; EDP its product with the time. 'best' names the clocks that are best for time, energy\n"
    "and EDP.\n"
    "\n"
    "'power by' says whether the powers were fitted (power_w of observations) or are assumed: by\n"
    "--idle-power, a device draws its datasheet's limit while it computes or moves bytes, and what it draws\n"
    "at rest while it waits.\n"
    "\n"
    "A model that 'fit --model' learned of single layers tells the step by itself, and nicolai its power, too\n"
    "('learned'); what of its time follows the clock is said by the default model's prices in the machine file.\n";

static const char examples[] =
    "  layermeter energy resnet50 --machine machine.ini --batch 64\n"
    "  layermeter energy resnet50 --machine machine.ini --idle-power 30W --voltage-knee 900MHz --clocks 600,900,1200\n"
    "  layermeter energy vgg16 --machine machine.ini --power-cap 120W --grid 400gCO2/kWh\n"
    "  layermeter energy vgg16 --machine machine.ini --model nicolai --batch 64\n";

static const power_options power_at = { IDLE_POWER, POWER_CAP, KNEE, GRID, true };

/* A step as it runs by itself, and with its clock held. */
typedef struct answers {
    scale_point  point;
    power_state  usual;
    bool         learned; /* the power of it, by the model that tells the step */
    double      *mhz;     /* asked for, and what becomes of each */
    power_state *at;
    size_t       n;
} answers;

static void answers_free(answers *a)
{
    free(a->mhz);
    free(a->at);
}

/* Those of --clocks, else the usual ones. */
static lm_status choose_clocks(const power_model *m, const int64_t *list, size_t n, answers *a,
                               lm_error *err)
{
    a->n   = list ? n : CLOCKS_USUAL;
    a->mhz = malloc((a->n + CLOCKS_USUAL) * sizeof *a->mhz);
    a->at  = malloc(a->n * sizeof *a->at);
    if (!a->mhz || !a->at)
        return no_memory(err);
    clocks_usual(m, a->mhz);
    for (size_t i = 0; list && i < n; i++)
        a->mhz[i] = (double)list[i];
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

static void add_columns(table *t, const power_choice *c)
{
    table_column(t, "held_mhz", "held at [MHz]", 0);
    table_column(t, "clock_mhz", "clock [MHz]", 0);
    table_column(t, "step_ms", "step [ms]", TABLE_MS(2));
    table_column(t, "power_w", "power [W]", 1);
    table_column(t, "energy_j", "energy [J]", -1);
    table_column(t, "edp_js", "EDP [Js]", -1);
    table_column(t, "samples_per_j", "samples/J", -1);
    table_column(t, "epoch_s", "epoch [s]", TABLE_POSITIVE(0));
    table_column(t, "epoch_kwh", "epoch [kWh]", -1);
    if (isfinite(c->grams_per_kwh))
        table_column(t, "epoch_co2_g", "epoch [gCO2]", -1);
    table_column(t, "power_by", "power by", 0);
    table_column(t, "best", "best", 0);
}

static void add_row(table *t, const power_choice *c, const scale_point *p, double mhz,
                    const power_state *at, const char *by, const char *best)
{
    const prediction *s       = &p->step;
    const double      seconds = s->step * at->stretch;
    const double      joules  = at->watts * (double)s->nodes * (double)s->devices * seconds;
    const double      kwh     = joules * (double)p->steps_per_epoch / JOULES_PER_KWH;

    table_real(t, mhz);
    table_real(t, at->mhz);
    table_real(t, 1e3 * seconds);
    table_real(t, at->watts);
    table_real(t, joules);
    table_real(t, joules * seconds);
    table_real(t, (double)p->global_batch / joules);
    table_real(t, seconds * (double)p->steps_per_epoch);
    table_real(t, kwh);
    if (isfinite(c->grams_per_kwh))
        table_real(t, kwh * c->grams_per_kwh);
    table_text(t, by);
    table_text(t, best);
}

/* "energy edp": what the clock is best for. */
static const char *best_of(const answers *a, size_t i, char *buffer, size_t size)
{
    size_t n = 0;

    *buffer = '\0';
    for (best_for b = 0; b < N_BEST_FOR; b++)
        if (clocks_best(a->at, a->n, b) == i)
            n += (size_t)snprintf(buffer + n, size - n, "%s%s", n ? " " : "", best_for_name(b));
    return buffer;
}

static lm_status print_answers(const answers *a, const power_choice *c, format f, lm_error *err)
{
    table            *t  = table_new();
    const char *const by = a->learned ? "learned" : power_by(c, NULL);
    char              text[40];
    lm_status         status;

    add_columns(t, c);
    add_row(t, c, &a->point, NAN, &a->usual, by, "");
    for (size_t i = 0; i < a->n; i++)
        add_row(t, c, &a->point, a->mhz[i], &a->at[i], by, best_of(a, i, text, sizeof text));
    status = table_print(t, f, stdout, err);
    table_free(t);
    return status;
}

/* What was asked for. */
typedef struct question {
    scale_question step;
    int64_t        nodes;
    int64_t       *clock; /* MHz; NULL: not given */
    size_t         n_clocks;
    setup_choice   how;
    power_choice   power;
    format         f;
} question;

static bool read_question(const options *o, question *q, int *code)
{
    static const setup_options how = { SYNC,       BUCKET,    GRAD_DTYPE,
                                       ACCUMULATE, OPTIMIZER, DEVICES_PER_NODE };
    lm_error                   err = { 0 };
    int64_t                    batch, dataset;

    if (format_parse(o->value[FORMAT], &q->f, &err)) {
        *code = report_misuse("", &err);
        return false;
    }
    if (!option_count(o, BATCH, &batch, code) || !option_count(o, NODES, &q->nodes, code) ||
        !option_count(o, DATASET, &dataset, code) ||
        !setup_options_read_of(o, o->value[MODEL], &how, &q->how, code) ||
        !power_options_read(o, &power_at, &q->power, code) ||
        (o->value[CLOCKS] && !option_list(o, CLOCKS, &q->clock, &q->n_clocks, code)))
        return false;
    if (q->how.n > 1) {
        lm_error_set(&err, LM_E_ARG, "takes one size");
        return option_misuse(o, BUCKET, &err, code);
    }
    if (q->clock)
        q->n_clocks = option_list_tidy(q->clock, q->n_clocks);
    q->step             = scale_weak(1, dataset);
    q->step.setup       = q->how.setup;
    q->step.setup.batch = batch;
    return true;
}

/* Shares of a learned model's step are the default model's: without these all of it would follow
 * the clock. */
static lm_status check_bounds(const predictor *who, const bottleneck_of *b, lm_error *err)
{
    double all = 0;

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        all += b->compute[k];
    if (!who->layerwise || all > 0)
        return LM_OK;
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "%s: what of a step follows the clock %s does not say, and no formula of %s "
        "is there for: calibrate whole networks, too",
        who->machine, who->model, model_at(0));
}

/* Tries the clocks on the step, whose power is the learned model's where that tells it. */
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

static lm_status answer(const options *o, session *s, question *q, lm_error *err)
{
    answers             a = { .n = 0 };
    const power_choice *c = &q->power;
    lm_status           status;

    if (s->layerwise)
        s->layerwise->optimizer = o->value[OPTIMIZER];
    q->power.learned = layerwise_tells_power(&s->who);
    setup_options_settle(&q->how, setup_in_buckets(&s->who));
    q->step.setup.sync = q->how.setup.sync;
    status = power_choice_complete(&q->power, s->cal, o->value[DEVICE], o->value[DEVICES], err);
    if (!status)
        status = scale_at(&s->who, &q->step, q->nodes, &a.point, err);
    if (!status)
        status = check_bounds(&s->who, &a.point.bottleneck, err);
    if (!status)
        status = check_known(c, s->who.machine, err);
    if (!status)
        status = choose_clocks(&c->model, q->clock, q->n_clocks, &a, err);
    if (!status) {
        hold(c, &a);
        status = print_answers(&a, c, q->f, err);
    }
    answers_free(&a);
    return status;
}

static int run(const options *o)
{
    static const session_options at   = SESSION_PLACES;
    lm_error                     err  = { 0 };
    session                      s    = { 0 };
    question                     q    = { .nodes = 1 };
    int                          code = EXIT_DONE;

    if (read_question(o, &q, &code) && session_open(o, &at, &s, &code)) {
        if (answer(o, &s, &q, &err))
            code = report_failure(&err);
        else
            print_note(s.net, q.f == FORMAT_TABLE ? stdout : stderr);
    }
    session_close(&s);
    free(q.how.policy);
    free(q.clock);
    return code;
}

const command cmd_energy = {
    .name          = "energy",
    .arguments     = "NETWORK",
    .doc           = "A step's power and energy at several clocks, and which is best",
    .details       = details,
    .examples      = examples,
    .options       = specs,
    .min_arguments = 1,
    .max_arguments = 1,
    .run           = run,
};
