/* The machines of a plan: device, memory, price, power. */
#include "plan/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "network/bind.h"
#include "plan/limits.h"
#include "predict/recompute.h"
#include "predict/utilization.h"
#include "program/facts.h"

/* Adds a predictor with half of the assumed bandwidth between nodes, if one is assumed. */
static void open_half_link(plan_job *job, size_t i)
{
    const predictor *who = job->side[i].who;

    if (!(who->link.bytes_per_second > 0))
        return;
    job->half[i] = *who;
    job->half[i].link.bytes_per_second /= 2;
    job->machine[i].half_link = &job->half[i];
}

static void open_side(plan_job *job, size_t i, const side_asked *a)
{
    plan_side *side = &job->side[i];

    side->who = job->machine[i].who = a->who;
    side->name                      = a->paid.name;
    side->room                      = a->room;
    side->device                    = a->paid.device;
    if (!side->device && a->who->cal)
        side->device = calibration_told(a->who->cal, "device");
    open_half_link(job, i);
}

/* Share of the forward pass that is recomputed, at the largest batch of the question. */
static lm_status open_again(const plan_job *job, plan_side *side, lm_error *err)
{
    const plan_question *q = &job->question;
    step_setup           s = q->setup;

    s.batch = q->n_batch ? q->batch[q->n_batch - 1] : 1;
    return recompute_share(side->who, &s, side->room.recompute, &side->again, err);
}

static lm_status open_room(plan_job *job, size_t i, const device_list *devices, bool told,
                           lm_error *err)
{
    plan_side         *side = &job->side[i];
    const device      *d    = NULL;
    const step_setup  *s    = &job->question.setup;
    plan_machine      *m    = &job->machine[i];
    const bind_options b    = limits_bind(side->who, s->program);
    device_room        less;
    lm_status          status = LM_OK;

    if (!side->room.bytes && side->device) {
        status = devices_find(devices, side->device, &d, err);
        if (status && told)
            return status;
        if (!status && !isnan(d->figure[DEVICE_MEMORY]))
            side->room.bytes = (uint64_t)d->figure[DEVICE_MEMORY];
        status = LM_OK; /* a device without a datasheet has no limit */
    }
    less       = side->room;
    less.bytes = (uint64_t)((double)less.bytes * (1 - MEMORY_LESS));
    if (less.recompute && (status = open_again(job, side, err)))
        return status;
    for (size_t k = 0; (!k || k < job->question.n_shares) && !status; k++) {
        const layout *l = job->question.n_shares ? &job->question.share[k] : NULL;

        status = batch_limits_of(job->net, job->reg, &b, &s->sync, s->optimizer, l, &side->room,
                                 &m->fits[k], err);
        if (!status)
            status = batch_limits_of(job->net, job->reg, &b, &s->sync, s->optimizer, l, &less,
                                     &m->fits_less[k], err);
    }
    return status;
}

/* ---- ways in which devices share the network ---- */

/* Can ranks share the network so? Fills in what follows from its sizes. */
static lm_status can_share(const plan_job *job, layout *l, lm_error *err)
{
    bind_options   b = limits_bind(job->side[0].who, PROGRAM_INFERENCE), part;
    bound_network *bound;
    layout_facts   facts;
    lm_status      status;

    b.batch = 1;
    part    = b;
    if ((status = bind_network(job->net, job->reg, &b, &bound, err)))
        return status;
    facts = layout_facts_of(bound);
    bound_network_free(bound);
    l->micro_batch = 1;
    if ((status = layout_settle(l, &facts, 0, err)))
        return status;
    part.shard = layout_shard(l);
    if (!(status = bind_network(job->net, job->reg, &part, &bound, err)))
        bound_network_free(bound);
    l->global_batch = l->micro_batch = l->dp = 0; /* of the plans */
    l->accumulation                          = 0;
    return status;
}

static bool all_share(const plan_job *job)
{
    bool can = true;

    for (size_t i = 0; i < job->n; i++)
        can &= job->side[i].who->cal && !job->side[i].who->by->from_layers;
    return can;
}

/* Inference: the way that is told, or tensor parallelism over 1, 2, 4 ... devices of a node. */
static lm_status open_shares(plan_job *job, lm_error *err)
{
    plan_question *q = &job->question;
    lm_error       why;

    if (q->setup.program != PROGRAM_INFERENCE)
        return LM_OK;
    if (q->told) {
        q->n_shares = 1;
        q->share[0] = job->told;
        return can_share(job, &q->share[0], err);
    }
    for (int64_t tp = 1; tp <= q->setup.devices && q->n_shares < PLAN_SHARES && all_share(job);
         tp *= 2) {
        layout *l = &q->share[q->n_shares];

        *l    = layout_plain();
        l->tp = tp;
        if (q->setup.devices % tp == 0 && !can_share(job, l, &why))
            q->n_shares++;
    }
    if (q->n_shares == 1) /* each device alone */
        q->n_shares = 0;
    return LM_OK;
}

static lm_status open_price(plan_job *job, size_t i, const paid_asked *asked, paid_rule *r,
                            lm_error *err)
{
    plan_side      *side = &job->side[i];
    paid_price      found;
    const lm_status status = paid_find(r, asked, &found, err);

    if (status)
        return status;
    memcpy(job->machine[i].hour, found.hour, sizeof found.hour);
    if (found.price && !side->device) /* the instance determines it */
        side->device = found.price->device;
    side->price = *found.unpaid ? NULL : found.price;
    side->among = found.among;
    strcpy(side->no_price, found.unpaid);
    return LM_OK;
}

static lm_status open_prices(plan_job *job, const side_asked *side, const sides_asked *all,
                             lm_error *err)
{
    paid_rule   r = { .prices  = all->prices,
                      .devices = all->devices,
                      .used    = job->question.setup.devices,
                      .tier    = job->view.tier,
                      .wanted  = *job->currency || all->wants_price,
                      .so      = ", so no price is known" };
    const char *why;
    lm_status   status = LM_OK;

    strcpy(r.currency, job->currency);
    for (size_t i = 0; i < job->n && !status; i++)
        status = open_price(job, i, &side[i].paid, &r, err);
    strcpy(job->currency, r.currency);
    if (!status && r.wanted && !plan_job_priced(job, &why))
        status = lm_error_set(err, LM_E_NOTFOUND, "%s", why);
    return status;
}

static lm_status open_powers(plan_job *job, const sides_asked *all, lm_error *err)
{
    bool known = false;

    for (size_t i = 0; i < job->n; i++) {
        plan_side      *side  = &job->side[i];
        power_choice    power = all->power;
        const lm_status status =
            power_choice_complete(&power, side->who->cal, side->device, all->device_file, err);

        if (status)
            return status;
        side->power   = power.model;
        side->learned = predictor_tells_power(side->who);
        known |= power_known(&side->power) || side->learned;
    }
    if ((isfinite(job->kwh.amount) || isfinite(job->grams_per_kwh)) && !known)
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%s: no power was measured: give --idle-power, or leave out --energy-price and --grid",
            job->side[0].name);
    return LM_OK;
}

static lm_status open_peaks(plan_job *job, const sides_asked *all, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < job->n && !status && all->wants_peak; i++) {
        plan_side         *side = &job->side[i];
        const model_source from = { .device = side->device, .devices = all->device_file };

        status =
            utilization_at_peak(side->who, job->question.setup.program, &from, &side->at_peak, err);
    }
    return status;
}

lm_status plan_job_open(plan_job *job, const side_asked *side, const sides_asked *all,
                        lm_error *err)
{
    lm_status status;

    job->side    = calloc(job->n, sizeof *job->side);
    job->machine = calloc(job->n, sizeof *job->machine);
    job->half    = calloc(job->n, sizeof *job->half);
    if (!job->side || !job->machine || !job->half)
        return no_memory(err);
    for (size_t i = 0; i < job->n; i++)
        open_side(job, i, &side[i]);
    status = open_prices(job, side, all, err);
    if (!status)
        status = open_shares(job, err);
    for (size_t i = 0; i < job->n && !status; i++)
        status = open_room(job, i, all->devices, side[i].paid.device, err);
    if (!status)
        status = open_powers(job, all, err);
    return status ? status : open_peaks(job, all, err);
}
