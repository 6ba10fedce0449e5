/* The machines of 'layermeter plan': formulas, device, memory, price. */
#include "cli/cmd_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

/* ---- formulas ---- */

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

/* ---- memory ---- */

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

/* ---- prices ---- */

static lm_status open_price(plan_command *c, paid_rule *r, size_t i, lm_error *err)
{
    plan_job            *job   = &c->job;
    plan_side           *side  = &job->side[i];
    const fleet_options *f     = &c->a->fleet;
    const paid_asked     asked = { side->name, fleet_hour(f, i), fleet_text(&f->instances, i),
                                   fleet_text(&f->devices, i), c->session[i].cal };
    paid                 found;
    const lm_status      status = paid_find(r, &asked, &found, err);

    if (status)
        return status;
    memcpy(job->machine[i].hour, found.hour, sizeof found.hour);
    if (found.price && !side->device) /* the instance tells */
        side->device = found.price->device;
    side->price = *found.unpaid ? NULL : found.price;
    strcpy(side->no_price, found.unpaid);
    return LM_OK;
}

static lm_status open_prices(plan_command *c, lm_error *err)
{
    plan_job            *job    = &c->job;
    const fleet_options *f      = &c->a->fleet;
    paid_rule            r      = { .prices  = c->prices,
                                    .devices = c->devices,
                                    .used    = job->question.setup.devices,
                                    .tier    = job->view.tier,
                                    .wanted = *job->currency || f->hour.n || f->instances.n || f->prices || f->spot,
                                    .so = ", so no price is known" };
    lm_status            status = LM_OK;

    strcpy(r.currency, job->currency);
    for (size_t i = 0; i < job->n && !status; i++)
        status = open_price(c, &r, i, err);
    strcpy(job->currency, r.currency);
    return status;
}

/* ---- all of it ---- */

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
    plan_job *job    = &c->job;
    lm_status status = LM_OK;

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
        (status = prices_open(c->a->fleet.prices, &c->prices, err)) ||
        (status = open_prices(c, err)))
        return status;
    for (size_t i = 0; i < job->n && !status; i++)
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
