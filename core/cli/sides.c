/* Machines that answer the same question side by side. */
#include "cli/sides.h"

#include <string.h>

#include "predict/utilization.h"

lm_status side_blame(const side *m, lm_status status, lm_error *err)
{
    if (status && m->label && strncmp(err->text, m->label, strlen(m->label)) != 0)
        lm_error_prefix(err, "%s", m->label);
    return status;
}

lm_status sides_open(const options *o, const sides_options *q, sides *all, lm_error *err)
{
    const lm_status status = fleet_open(o, q->fleet, all->one, err);

    all->n = fleet_size(q->fleet);
    if (!status)
        setup_settle(q->how, fleet_in_buckets(all->one, all->n));
    return status;
}

static lm_status begin(const sides_options *q, const session_options *of, side *m, lm_error *err)
{
    session   asked  = *m->s;
    lm_status status = decoding_open(m->s, of, q->how, &m->decode, err);

    m->source = of->source;
    m->power  = *q->power;
    m->limit  = *q->limit;
    m->setup  = q->how->setup;
    if (status || (status = power_choice_open(&m->power, m->s->who, &of->source, err)) ||
        (status = decoding_network(m->decode, m->s, &asked.net, err)))
        return status;
    asked.who = decoding_who(m->decode, m->s);
    if ((status = limit_begin(&m->limit, &asked, of, &m->setup, q->batch, err)))
        return status;
    return q->how->setup.clock_mhz > 0
               ? predictor_check_clock(m->s->who, q->how->setup.clock_mhz, err)
               : LM_OK;
}

lm_status sides_begin(const sides_options *q, sides *all, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < all->n && !status; i++) {
        const session_options of = fleet_session(q->fleet, i);
        side                 *m  = &all->of[i];

        *m = (side){ .s = &all->one[i] };
        if (all->n > 1)
            m->label = of.machine ? of.machine : of.source.device;
        status = side_blame(m, begin(q, &of, m, err), err);
    }
    return status;
}

lm_status sides_utilization(sides *all, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < all->n && !status; i++) {
        side            *m   = &all->of[i];
        const predictor *who = m->s->who;

        status = utilization_at_peak(who, PROGRAM_TRAINING, &m->source, &m->at_peak, err);
        if (!status)
            status = utilization_again(who, m->limit.recompute, &m->again, err);
        status = side_blame(m, status, err);
    }
    return status;
}

void sides_close(sides *all)
{
    for (size_t i = 0; i < all->n; i++)
        decoding_close(all->of[i].decode);
    fleet_close(all->one, FLEET_MAX);
}

lm_status sides_judge(sides *all, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < all->n && !status; i++)
        status =
            side_blame(&all->of[i], limit_judge(&all->of[i].limit, &all->of[i].notes, err), err);
    return status;
}
