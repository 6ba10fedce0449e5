/* The machines of 'layermeter plan': formulas, device, memory, price. */
#include "cli/cmd_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

/* ---- formulas -----------------------------------------------------------------------------------
 */

/* The same predictor with half the bandwidth that is assumed between nodes. */
static void open_half_link(plan_job *job, size_t i)
{
    plan_side *side = &job->side[i];

    if (!(side->session.who->link.bytes_per_second > 0))
        return; /* nothing is assumed */
    side->half = *side->session.who;
    side->half.link.bytes_per_second /= 2;
    job->machine[i].half_link = &side->half;
}

static lm_status open_formulas(plan_job *job, const options *o, size_t i, lm_error *err)
{
    plan_side            *side   = &job->side[i];
    const session_options q      = fleet_session(&job->a->fleet, i);
    lm_status             status = session_open(o, &q, &side->session, err);

    job->machine[i].who = side->session.who;
    if (status)
        return status;
    open_half_link(job, i);
    side->device = q.source.device;
    if (!side->device && side->session.cal)
        side->device = calibration_told(side->session.cal, "device");
    side->name = q.machine ? q.machine : q.source.device;
    return LM_OK;
}

/* ---- memory -------------------------------------------------------------------------------------
 */

/* The number of the i-th machine; 0: not given. */
static uint64_t bytes_of(const option_counts *list, size_t i)
{
    return list->n ? (uint64_t)list->at[list->n > 1 ? i : 0] : 0;
}

static lm_status open_room(plan_job *job, size_t i, lm_error *err)
{
    plan_side        *side = &job->side[i];
    const device     *d    = NULL;
    const step_setup *s    = &job->question.setup;
    plan_machine     *m    = &job->machine[i];
    bind_options      b = { .dtype = side->session.who->dtype, .input = side->session.who->input };
    device_room       less;
    lm_status         status;

    side->room = (device_room){ .bytes    = bytes_of(&job->a->memory, i),
                                .overhead = bytes_of(&job->a->overhead, i) };
    if (!side->room.bytes && side->device) {
        status = devices_find(job->devices, side->device, &d, err);
        if (status && job->a->fleet.devices.n)
            return status;
        if (!status && !isnan(d->figure[DEVICE_MEMORY]))
            side->room.bytes = (uint64_t)d->figure[DEVICE_MEMORY];
    }
    less       = side->room;
    less.bytes = (uint64_t)((double)less.bytes * (1 - MEMORY_LESS));
    status     = batch_limits_of(side->session.net, side->session.reg, &b, &s->sync, s->optimizer,
                                 &side->room, &m->fits, err);
    return status ? status
                  : batch_limits_of(side->session.net, side->session.reg, &b, &s->sync,
                                    s->optimizer, &less, &m->fits_less, err);
}

/* ---- prices -------------------------------------------------------------------------------------
 */

/* Is a price asked for, so that a missing one is a mistake? */
static bool price_wanted(const plan_job *job)
{
    const fleet_options *f = &job->a->fleet;

    return *job->currency || f->hour.n || f->instances.n || f->prices || f->spot;
}

/* All costs are in one currency: that of the budget, else that of the first price. */
static lm_status in_one_currency(plan_job *job, const money *hour, money *out, lm_error *err)
{
    lm_status status;

    if (!*job->currency)
        strcpy(job->currency, hour->currency);
    status = exchange_to(&job->prices->rates, hour, job->currency, out, err);
    if (status)
        lm_error_prefix(err, "%s", job->prices->path);
    return status;
}

static lm_status price_tiers(plan_job *job, size_t i, lm_error *err)
{
    plan_side    *side    = &job->side[i];
    const int64_t devices = job->question.setup.devices;
    lm_status     status  = LM_OK;

    for (price_tier t = PRICE_LIST; t < N_PRICE_TIERS && !status; t++) {
        money hour;

        if (t != job->view.tier && isnan(side->price->hour[t].amount))
            continue;
        status = price_of_node(side->price, t, devices, &hour, err);
        if (!status)
            status = in_one_currency(job, &hour, &job->machine[i].hour[t], err);
    }
    return status;
}

static lm_status open_price(plan_job *job, size_t i, bool wanted, lm_error *err)
{
    plan_side           *side  = &job->side[i];
    const fleet_options *f     = &job->a->fleet;
    const money         *given = fleet_hour(f, i);
    lm_status            status;
    money                hour;

    for (int t = 0; t < N_PRICE_TIERS; t++)
        job->machine[i].hour[t].amount = NAN;
    if (given) {
        hour = *given;
        hour.amount *= (double)job->question.setup.devices;
        status = in_one_currency(job, &hour, &job->machine[i].hour[job->view.tier], err);
    } else {
        status = fleet_price(f, i, side->session.cal, job->prices, job->devices,
                             ", so no price is known", &side->price, err);
        if (!status)
            status = price_tiers(job, i, err);
    }
    if (side->price && !side->device) /* the instance tells */
        side->device = side->price->device;
    if (!status || wanted)
        return status;
    side->price = NULL;
    strcpy(side->no_price, err->text);
    return LM_OK;
}

bool plan_job_priced(const plan_job *job, const char **why)
{
    for (size_t i = 0; i < job->n; i++)
        if (*job->side[i].no_price) {
            if (why)
                *why = job->side[i].no_price;
            return false;
        }
    return true;
}

const char *plan_price_name(const plan_job *job)
{
    if (!plan_job_priced(job, NULL))
        return NULL;
    for (size_t i = 0; i < job->n; i++)
        if (job->side[i].price)
            return price_tier_name(job->view.tier);
    return "given";
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

/* Buckets are part of the memory that batches need: before these. */
static void settle(plan_job *job)
{
    bool all = true;

    for (size_t i = 0; i < job->n; i++)
        all &= predict_in_buckets(job->machine[i].who);
    setup_settle(&job->a->how, all);
    job->question.setup.sync = job->a->how.setup.sync;
}

lm_status plan_job_open(plan_job *job, const options *o, lm_error *err)
{
    const bool wanted = price_wanted(job);
    lm_status  status = LM_OK;

    job->n       = fleet_size(&job->a->fleet);
    job->side    = calloc(job->n, sizeof *job->side);
    job->machine = calloc(job->n, sizeof *job->machine);
    if (!job->side || !job->machine)
        return no_memory(err);
    for (size_t i = 0; i < job->n && !status; i++)
        status = open_formulas(job, o, i, err);
    if (status)
        return status;
    settle(job);
    if ((status = devices_open(job->a->fleet.session.source.devices, &job->devices, err)) ||
        (status = prices_open(job->a->fleet.prices, &job->prices, err)))
        return status;
    for (size_t i = 0; i < job->n && !status; i++)
        if (!(status = open_price(job, i, wanted, err)))
            status = open_room(job, i, err);
    if (status)
        return status;
    if (!plan_job_priced(job, NULL)) /* costs of some say nothing beside those of others */
        for (size_t i = 0; i < job->n; i++)
            job->machine[i].hour[PRICE_LIST].amount = job->machine[i].hour[PRICE_SPOT].amount = NAN;
    return plan_power_open(job, err);
}

void plan_job_close(plan_job *job)
{
    for (size_t i = 0; job->side && i < job->n; i++)
        session_close(&job->side[i].session);
    plan_set_free(&job->set);
    devices_free(job->devices);
    prices_free(job->prices);
    free(job->own_batch);
    free(job->side);
    free(job->machine);
}
