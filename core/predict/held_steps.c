/* A step at several clocks, or under several power limits. */
#include "predict/held_steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "fit/forms.h"
#include "models/linear.h"
#include "network/optimizer.h"
#include "predict/step_power.h"

/* The given clocks, else the usual ones. */
static lm_status choose_clocks(const held_question *q, held_steps *h, lm_error *err)
{
    h->n   = q->n ? q->n : CLOCKS_USUAL;
    h->mhz = malloc((h->n + CLOCKS_USUAL) * sizeof *h->mhz);
    h->at  = malloc(h->n * sizeof *h->at);
    h->on  = malloc(h->n * sizeof *h->on);
    if (!h->mhz || !h->at || !h->on)
        return no_memory(err);
    for (size_t i = 0; i < h->n; i++)
        h->on[i] = h->point.step.grounds;
    clocks_usual(&q->power.model, h->mhz);
    for (size_t i = 0; i < q->n; i++)
        h->mhz[i] = (double)q->mhz[i];
    return LM_OK;
}

/* Equal steps between the learned clocks; with a single one, the usual steps. */
static lm_status choose_taught(const held_question *q, const clock_range *range, held_steps *h,
                               lm_error *err)
{
    const lm_status status = choose_clocks(q, h, err);

    for (size_t i = 0; i < h->n && !q->n && range->low < range->high && !status; i++)
        h->mhz[i] = range->low + (range->high - range->low) * (double)i / (double)(h->n - 1);
    return status;
}

/* Does the power model know several clocks? */
static lm_status check_known(const power_choice *c, const char *machine, lm_error *err)
{
    const power_model *m   = &c->model;
    const char        *who = machine ? machine : "--model paleo";

    if (!power_known(m) && c->learned)
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%s: powers were learned of layers, and their change with the clock is not known: give --idle-power",
            who);
    if (!power_known(m))
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%s: no power was measured: measure it (column power_w), or give --idle-power and --voltage-knee, such as --idle-power 50W --voltage-knee 900MHz",
            who);
    if (power_clocks_known(m))
        return LM_OK;
    return lm_error_set(err, LM_E_NOTFOUND, "%s: other clocks cannot be predicted: %s", who,
                        isnan(m->idle_w)     ? "give --idle-power"
                        : isnan(m->knee_mhz) ? "give --voltage-knee, such as 900MHz"
                                             : "no datasheet has the device's highest clock");
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
        "%s: %s does not say which part of the time follows the clock, and there are no prices of %s "
        "for it: calibrate whole networks, too",
        who->machine, who->model, DEFAULT_MODEL);
}

static step_power told_power(const held_question *q, const held_steps *h)
{
    return step_power_of(&q->power.model, &h->point.bottleneck, &h->point.step);
}

/* ---- models that learned clocks ---- */

typedef struct asking {
    const predictor     *who;
    const held_question *q;
    clock_range          range;
    held_steps          *h;
} asking;

/* Power of a step at a learned clock (NAN: not held): learned, else the power model's. */
static double watts_at(const asking *k, const step_power *told, double mhz)
{
    const power_load load = step_load(&k->h->point.bottleneck);

    return told->learned || isnan(mhz) ? told->watts.value
                                       : power_held(&k->q->power.model, &load, mhz, NAN).watts;
}

/* A step at a learned clock. */
static lm_status ask_at(const asking *k, double mhz, power_state *out, grounds *on, lm_error *err)
{
    scale_question at = k->q->step;
    scale_point    p;
    step_power     told;
    lm_status      status;

    at.setup.clock_mhz = mhz;
    if ((status = predictor_check_clock(k->who, mhz, err)) ||
        (status = scale_at(k->who, &at, k->q->nodes, &p, err)))
        return status;
    *on  = p.step.grounds;
    told = step_power_of(&k->q->power.model, &p.bottleneck, &p.step);
    *out = (power_state){ mhz, watts_at(k, &told, mhz), p.step.step / k->h->point.step.step };
    return LM_OK;
}

/* Extrapolates from the nearest learned clock to a clock beyond. */
static lm_status ask_beyond(const asking *k, double mhz, power_state *out, grounds *on,
                            lm_error *err)
{
    const bool       high = mhz > k->range.high;
    const double     near = high ? k->range.high : k->range.low;
    const power_load load = step_load(&k->h->point.bottleneck);
    power_state      asked;
    lm_status        status;

    if ((status = predictor_check_highest(k->who, mhz, err)) ||
        (status = check_bounds(k->who, &k->h->point.bottleneck, err)) ||
        (status = check_known(&k->q->power, k->who->machine, err)) ||
        (status = ask_at(k, near, &asked, on, err)))
        return status;
    snprintf(k->h->from[high], sizeof k->h->from[high], "carried from %.6g MHz", near);
    grounds_note(on, k->h->from[high], 0);
    *out = power_carried(&k->q->power.model, &load, asked.watts, near, mhz);
    out->stretch *= asked.stretch;
    return LM_OK;
}

static lm_status ask_clocks(const asking *k, lm_error *err)
{
    const held_question *q     = k->q;
    const clock_range   *r     = &k->range;
    const double         usual = r->usual > 0 ? r->usual : (double)NAN;
    held_steps          *h     = k->h;
    step_power           told;
    lm_status            status;

    if (isfinite(q->power.cap_w))
        return lm_error_set(
            err, LM_E_ARG,
            "--power-cap: %s predicts power as it was measured, not under another limit",
            k->who->model);
    told       = told_power(q, h);
    h->learned = told.learned;
    h->usual   = (power_state){ usual, watts_at(k, &told, usual), 1 };
    if (!told.learned && ((status = check_bounds(k->who, &h->point.bottleneck, err)) ||
                          (status = check_known(&q->power, k->who->machine, err))))
        return status;
    if (r->low >= r->high && !q->n && check_known(&q->power, k->who->machine, &h->alone))
        return LM_OK;
    status = choose_taught(q, r, h, err);
    for (size_t i = 0; i < h->n && !status; i++)
        status = h->mhz[i] < r->low || h->mhz[i] > r->high
                     ? ask_beyond(k, h->mhz[i], &h->at[i], &h->on[i], err)
                     : ask_at(k, h->mhz[i], &h->at[i], &h->on[i], err);
    return status;
}

/* ---- models of one clock ---- */

/* Predicts the step at each clock. Power comes from the learned model, if it has one. */
static void hold(const held_question *q, held_steps *h)
{
    const power_load load = step_load(&h->point.bottleneck);
    const step_power told = told_power(q, h);
    power_model      m    = q->power.model;

    h->learned = told.learned && isfinite(told.watts.value);
    if (h->learned)
        m = power_as_measured(&m, &load, told.watts.value);
    h->usual = power_held(&m, &load, NAN, q->power.cap_w);
    clocks_try(&m, &load, q->power.cap_w, h->mhz, h->n, h->at);
}

/* A step at the device's usual clock, if other clocks are unknown; false: its power is unknown,
 * too. */
static bool as_it_runs(const held_question *q, held_steps *h)
{
    const step_power told = told_power(q, h);

    h->learned = told.learned && isfinite(told.watts.value);
    h->usual   = (power_state){ NAN, told.watts.value, 1 };
    return isfinite(told.watts.value);
}

/* Does the device have the given clocks? Without a machine file its datasheet says so. */
static lm_status check_highest(const predictor *who, const held_question *q, lm_error *err)
{
    const double top    = who->cal ? HUGE_VAL : q->power.model.top_mhz;
    lm_status    status = LM_OK;

    for (size_t i = 0; i < q->n && !status; i++)
        status = (double)q->mhz[i] > top
                     ? lm_error_set(err, LM_E_ARG,
                                    "no clock of %lld MHz: the highest of the device is %.6g MHz",
                                    (long long)q->mhz[i], top)
                     : predictor_check_highest(who, (double)q->mhz[i], err);
    return status;
}

static lm_status hold_clocks(const predictor *who, const held_question *q, held_steps *h,
                             lm_error *err)
{
    lm_status status = check_highest(who, q, err);

    if (!status)
        status = check_bounds(who, &h->point.bottleneck, err);
    if (!status)
        status = check_known(&q->power, who->machine, err);
    if (status && !q->n && isnan(q->power.cap_w) && as_it_runs(q, h)) {
        h->alone = *err;
        return LM_OK;
    }
    if (!status)
        status = choose_clocks(q, h, err);
    if (!status)
        hold(q, h);
    return status;
}

/* ---- power limits ---- */

static lm_status choose_limits(const held_question *q, held_steps *h, lm_error *err)
{
    h->n   = q->n_watts;
    h->mhz = malloc(h->n * sizeof *h->mhz);
    h->at  = malloc(h->n * sizeof *h->at);
    h->on  = malloc(h->n * sizeof *h->on);
    if (!h->mhz || !h->at || !h->on)
        return no_memory(err);
    for (size_t i = 0; i < h->n; i++) {
        h->on[i]  = h->point.step.grounds;
        h->mhz[i] = (double)q->watts[i];
    }
    return LM_OK;
}

/* Steps of this network and batch that were measured under limits, on one device; NULL: none. */
static const limit_curve *measured_limits(const predictor *who, const held_question *q)
{
    const step_setup *s     = &q->step.setup;
    const bool        train = s->program == PROGRAM_TRAINING;
    limit_key         key   = { .network   = who->network,
                                .optimizer = optimizer_name(train ? s->optimizer : OPTIMIZER_MOMENTUM),
                                .batch     = s->batch,
                                .of        = train ? PHASE_STEP : PHASE_INFERENCE };

    if (!who->cal || q->nodes * s->devices > 1 || s->sync.accumulation > 1 ||
        !step_measurable(who, &key.input))
        return NULL;
    return limit_curves_find(&who->cal->limits, &key);
}

static power_state limited(const held_steps *h, const limit_curve *c, double limit_w)
{
    const limit_row at = limit_curve_at(h->limits, c, limit_w);

    return (power_state){ NAN, at.watts, at.seconds / h->point.step.step };
}

/* Takes the measured curve. Its highest limit stands for the unlimited device. */
static void ask_curve(const predictor *who, const limit_curve *c, held_steps *h)
{
    const double lowest = c->row[0].limit_w, highest = c->row[c->n - 1].limit_w;

    h->limits = &who->cal->limits;
    h->usual  = limited(h, c, highest);
    for (size_t i = 0; i < h->n; i++) {
        h->at[i]          = limited(h, c, h->mhz[i]);
        h->on[i].n_beyond = 0; /* it contains no prices */
        if (h->mhz[i] < lowest || h->mhz[i] > highest)
            grounds_note(&h->on[i], "limit", h->mhz[i] / (h->mhz[i] < lowest ? lowest : highest));
    }
}

/* No clock keeps a limit below the power at rest. */
static lm_status check_rest(const held_steps *h, double idle_w, lm_error *err)
{
    if (h->n && !(h->mhz[0] > idle_w))
        return lm_error_set(err, LM_E_ARG,
                            "--power-limit: the limit is %.4g W, and %.4g W are drawn at rest",
                            h->mhz[0], idle_w);
    return LM_OK;
}

static lm_status hold_limits(const predictor *who, const held_question *q, held_steps *h,
                             lm_error *err)
{
    const limit_curve *c    = measured_limits(who, q);
    const power_load   load = step_load(&h->point.bottleneck);
    const step_power   told = told_power(q, h);
    power_model        m    = q->power.model;
    lm_status          status;

    if (!c && ((status = check_bounds(who, &h->point.bottleneck, err)) ||
               (status = check_known(&q->power, who->machine, err))))
        return status;
    if ((status = choose_limits(q, h, err)) ||
        (status = check_rest(h, c ? who->cal->limits.idle_w : m.idle_w, err)))
        return status;
    if (c) {
        ask_curve(who, c, h);
        return LM_OK;
    }
    h->learned = told.learned && isfinite(told.watts.value);
    if (h->learned)
        m = power_as_measured(&m, &load, told.watts.value);
    h->usual = power_usual(&m, &load);
    for (size_t i = 0; i < h->n; i++)
        h->at[i] = power_held(&m, &load, NAN, h->mhz[i]);
    return LM_OK;
}

lm_status held_steps_of(const predictor *who, const held_question *q, held_steps *out,
                        lm_error *err)
{
    asking    k = { .who = who, .q = q, .h = out };
    lm_status status;

    *out = (held_steps){ .n = 0 };
    if ((status = scale_at(who, &q->step, q->nodes, &out->point, err)))
        return status;
    if (q->n_watts)
        return hold_limits(who, q, out, err);
    return predictor_tells_clocks(who, &k.range) ? ask_clocks(&k, err)
                                                 : hold_clocks(who, q, out, err);
}

void held_steps_free(held_steps *h)
{
    free_all(h->mhz, h->at, h->on);
}
