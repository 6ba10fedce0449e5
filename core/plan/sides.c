/* The machines of a plan: device, memory, price, power. */
#include "plan/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "network/bind.h"
#include "network/stages.h"
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
    job->half[i].link.per_device /= 2;
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

        if (l && !plan_share_needed(m, &job->question, k))
            break; /* nor are those behind it */
        status = batch_limits_of(job->net, job->reg, &b, &s->sync, s->optimizer, l, &side->room,
                                 &m->fits[k], err);
        if (!status)
            status = batch_limits_of(job->net, job->reg, &b, &s->sync, s->optimizer, l, &less,
                                     &m->fits_less[k], err);
    }
    return status;
}

/* ---- ways in which devices share the network ---- */

/* Do the stages of a pipeline read only what the stage before them makes? */
static lm_status can_cut(const bound_network *part, const layout *l, lm_error *err)
{
    int64_t        *stage = calloc(part->n_layers + 1, sizeof *stage);
    const lm_status status =
        stage ? stages_of_layers(part, l->pp, l->stages, stage, err) : no_memory(err);

    free(stage);
    return status;
}

/* Can ranks share the network so? Fills in what follows from its sizes. */
static lm_status can_share(const plan_job *job, layout *l, lm_error *err)
{
    bind_options   b     = limits_bind(job->side[0].who, PROGRAM_INFERENCE), part;
    bound_network *bound = NULL;
    layout_facts   facts;
    lm_status      status;

    b.batch = 1;
    part    = b;
    if ((status = bind_network(job->net, job->reg, &b, &bound, err)))
        return status;
    facts = layout_facts_of(bound);
    bound_network_free(bound);
    bound          = NULL;
    l->micro_batch = 1;
    if ((status = layout_settle(l, &facts, 0, err)))
        return status;
    part.shard = layout_shard(l);
    if (!(status = bind_network(job->net, job->reg, &part, &bound, err)) && l->pp > 1)
        status = can_cut(bound, l, err);
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

/* Adds a way, if the network can be shared so. */
static void add_share(plan_job *job, int64_t tp, int64_t pp)
{
    plan_question *q = &job->question;
    layout        *l = &q->share[q->n_shares];
    lm_error       why;

    if (q->n_shares == PLAN_SHARES)
        return;
    *l    = layout_plain();
    l->tp = tp;
    l->pp = pp;
    if (!can_share(job, l, &why))
        q->n_shares++;
}

/*
 * Inference: the way that is told. Else 1, 2, 4 ... devices of a node, by tensor parallelism and in stages.
 * Where a node does not hold the network, as many nodes, each a stage (as vLLM advises, "Parallelism and
 * scaling"; Narayanan et al. 2021, takeaway 1: tensor parallelism within a node, stages between nodes).
 */
static lm_status open_shares(plan_job *job, lm_error *err)
{
    plan_question *q       = &job->question;
    const int64_t  devices = q->setup.devices, most = q->n_nodes ? q->nodes[q->n_nodes - 1] : 1;

    if (q->setup.program != PROGRAM_INFERENCE)
        return LM_OK;
    if (q->told) {
        q->n_shares = 1;
        q->share[0] = job->told;
        return can_share(job, &q->share[0], err);
    }
    if (!all_share(job))
        return LM_OK;
    for (int64_t ranks = 1; ranks <= devices; ranks *= 2)
        for (int64_t pp = 1; pp <= ranks && devices % ranks == 0; pp *= 2)
            add_share(job, ranks / pp, pp);
    for (int64_t pp = 2; pp <= most; pp *= 2)
        add_share(job, devices, pp);
    return LM_OK;
}

/* Drops the ways of several nodes that no machine needs; a single way is each device alone. */
static void drop_shares(plan_job *job)
{
    plan_question *q      = &job->question;
    bool           needed = q->told;

    while (!needed && q->n_shares) {
        for (size_t i = 0; i < job->n; i++)
            needed |= plan_share_needed(&job->machine[i], q, q->n_shares - 1);
        q->n_shares -= !needed;
    }
    if (q->n_shares == 1 && !q->told)
        q->n_shares = 0;
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
        drop_shares(job);
    if (!status)
        status = open_powers(job, all, err);
    return status ? status : open_peaks(job, all, err);
}
