/* The machines of 'layermeter plan': formulas, device, memory, price. */
#include "cli/cmd_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

/* ---- formulas -----------------------------------------------------------------------------------
 */

/* The same predictor with half the bandwidth that is assumed between nodes. */
static void open_half_link(plan_command *c, size_t i)
{
    const plan_side *side = &c->job.side[i];

    if (!(side->who->link.bytes_per_second > 0))
        return; /* nothing is assumed */
    c->half[i] = *side->who;
    c->half[i].link.bytes_per_second /= 2;
    c->job.machine[i].half_link = &c->half[i];
}

static lm_status open_formulas(plan_command *c, const options *o, size_t i, lm_error *err)
{
    plan_side            *side   = &c->job.side[i];
    session              *s      = &c->session[i];
    const session_options q      = fleet_session(&c->a->fleet, i);
    lm_status             status = session_open(o, &q, s, err);

    side->who = c->job.machine[i].who = s->who;
    if (status)
        return status;
    side->net    = s->net;
    side->reg    = s->reg;
    side->device = q.source.device;
    if (!side->device && s->cal)
        side->device = calibration_told(s->cal, "device");
    side->name = q.machine ? q.machine : q.source.device;
    open_half_link(c, i);
    return LM_OK;
}

/* ---- memory -------------------------------------------------------------------------------------
 */

/* The number of the i-th machine; 0: not given. */
static uint64_t bytes_of(const option_counts *list, size_t i)
{
    return list->n ? (uint64_t)list->at[list->n > 1 ? i : 0] : 0;
}

static lm_status open_room(plan_command *c, size_t i, lm_error *err)
{
    plan_job         *job  = &c->job;
    plan_side        *side = &job->side[i];
    const device     *d    = NULL;
    const step_setup *s    = &job->question.setup;
    plan_machine     *m    = &job->machine[i];
    bind_options      b    = { .dtype = side->who->dtype, .input = side->who->input };
    device_room       less;
    lm_status         status;

    side->room = (device_room){ .bytes    = bytes_of(&c->a->memory, i),
                                .overhead = bytes_of(&c->a->overhead, i) };
    if (!side->room.bytes && side->device) {
        status = devices_find(c->devices, side->device, &d, err);
        if (status && c->a->fleet.devices.n)
            return status;
        if (!status && !isnan(d->figure[DEVICE_MEMORY]))
            side->room.bytes = (uint64_t)d->figure[DEVICE_MEMORY];
    }
    less       = side->room;
    less.bytes = (uint64_t)((double)less.bytes * (1 - MEMORY_LESS));
    status     = batch_limits_of(side->net, side->reg, &b, &s->sync, s->optimizer, &side->room,
                                 &m->fits, err);
    return status ? status
                  : batch_limits_of(side->net, side->reg, &b, &s->sync, s->optimizer, &less,
                                    &m->fits_less, err);
}

/* ---- prices -------------------------------------------------------------------------------------
 */

/* Is a price asked for, so that a missing one is a mistake? */
static bool price_wanted(const plan_command *c)
{
    const plan_job      *job = &c->job;
    const fleet_options *f   = &c->a->fleet;

    return *job->currency || f->hour.n || f->instances.n || f->prices || f->spot;
}

/* All costs are in one currency: that of the budget, else that of the first price. */
static lm_status in_one_currency(plan_command *c, const money *hour, money *out, lm_error *err)
{
    plan_job *job = &c->job;
    lm_status status;

    if (!*job->currency)
        strcpy(job->currency, hour->currency);
    status = exchange_to(&c->prices->rates, hour, job->currency, out, err);
    if (status)
        lm_error_prefix(err, "%s", c->prices->path);
    return status;
}

static lm_status price_tiers(plan_command *c, size_t i, lm_error *err)
{
    plan_job     *job     = &c->job;
    plan_side    *side    = &job->side[i];
    const int64_t devices = job->question.setup.devices;
    lm_status     status  = LM_OK;

    for (price_tier t = PRICE_LIST; t < N_PRICE_TIERS && !status; t++) {
        money hour;

        if (t != job->view.tier && isnan(side->price->hour[t].amount))
            continue;
        status = price_of_node(side->price, t, devices, &hour, err);
        if (!status)
            status = in_one_currency(c, &hour, &job->machine[i].hour[t], err);
    }
    return status;
}

static lm_status open_price(plan_command *c, size_t i, bool wanted, lm_error *err)
{
    plan_job            *job   = &c->job;
    plan_side           *side  = &job->side[i];
    const fleet_options *f     = &c->a->fleet;
    const money         *given = fleet_hour(f, i);
    lm_status            status;
    money                hour;

    for (int t = 0; t < N_PRICE_TIERS; t++)
        job->machine[i].hour[t].amount = NAN;
    if (given) {
        hour = *given;
        hour.amount *= (double)job->question.setup.devices;
        status = in_one_currency(c, &hour, &job->machine[i].hour[job->view.tier], err);
    } else {
        status = fleet_price(f, i, c->session[i].cal, c->prices, c->devices,
                             ", so no price is known", &side->price, err);
        if (!status)
            status = price_tiers(c, i, err);
    }
    if (side->price && !side->device) /* the instance tells */
        side->device = side->price->device;
    if (!status || wanted)
        return status;
    side->price = NULL;
    strcpy(side->no_price, err->text);
    return LM_OK;
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

/* Buckets are part of the memory that batches need: before these. */
static void settle(plan_command *c)
{
    plan_job *job = &c->job;
    bool      all = true;

    for (size_t i = 0; i < job->n; i++)
        all &= predict_in_buckets(job->machine[i].who);
    setup_settle(&c->a->how, all);
    job->question.setup.sync = c->a->how.setup.sync;
}

/* What the options tell, and what the machines' files do. */
static lm_status open_powers(plan_command *c, lm_error *err)
{
    plan_job           *job   = &c->job;
    const power_choice *told  = &c->a->power;
    bool                known = false;

    job->kwh           = c->a->energy_price;
    job->grams_per_kwh = told->grams_per_kwh;
    if (!(job->kwh.amount > 0))
        job->kwh.amount = NAN;
    for (size_t i = 0; i < job->n; i++) {
        plan_side      *side   = &job->side[i];
        power_choice    power  = *told;
        const lm_status status = power_choice_complete(&power, c->session[i].cal, side->device,
                                                       c->a->fleet.session.source.devices, err);

        if (status)
            return status;
        side->power   = power.model;
        side->learned = predictor_tells_power(side->who);
        known |= power_known(&side->power) || side->learned;
    }
    if ((isfinite(job->kwh.amount) || isfinite(told->grams_per_kwh)) && !known)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: no power was measured: tell --idle-power, or leave out "
                            "--energy-price and --grid",
                            job->side[0].name);
    return LM_OK;
}

lm_status plan_command_open(plan_command *c, const options *o, lm_error *err)
{
    plan_job  *job    = &c->job;
    const bool wanted = price_wanted(c);
    lm_status  status = LM_OK;

    job->n       = fleet_size(&c->a->fleet);
    job->side    = calloc(job->n, sizeof *job->side);
    job->machine = calloc(job->n, sizeof *job->machine);
    c->session   = calloc(job->n, sizeof *c->session);
    c->half      = calloc(job->n, sizeof *c->half);
    if (!job->side || !job->machine || !c->session || !c->half)
        return no_memory(err);
    for (size_t i = 0; i < job->n && !status; i++)
        status = open_formulas(c, o, i, err);
    if (status)
        return status;
    settle(c);
    if ((status = devices_open(c->a->fleet.session.source.devices, &c->devices, err)) ||
        (status = prices_open(c->a->fleet.prices, &c->prices, err)))
        return status;
    for (size_t i = 0; i < job->n && !status; i++)
        if (!(status = open_price(c, i, wanted, err)))
            status = open_room(c, i, err);
    if (status)
        return status;
    if (!plan_job_priced(job, NULL)) /* costs of some say nothing beside those of others */
        for (size_t i = 0; i < job->n; i++)
            job->machine[i].hour[PRICE_LIST].amount = job->machine[i].hour[PRICE_SPOT].amount = NAN;
    return open_powers(c, err);
}

void plan_command_close(plan_command *c)
{
    for (size_t i = 0; c->session && i < c->job.n; i++)
        session_close(&c->session[i]);
    plan_job_free(&c->job);
    devices_free(c->devices);
    prices_free(c->prices);
    free(c->session);
    free(c->half);
}
