/* Times of a step under different assumptions. */
#include "plan/cases.h"

#include <math.h>

static cases all_of(double seconds)
{
    cases c;

    for (int i = 0; i < N_TIME_CASES; i++)
        c.seconds[i] = seconds;
    return c;
}

/* Factor by which the interval of a time widens beyond the measured range; NAN: no interval. */
static double widened(const step_setup *setup, const prediction *p, phase q, double seconds)
{
    const bool      many         = step_setup_exchanges(setup);
    const int64_t   ranks        = many ? step_setup_ranks(setup) : 1;
    const interval *i            = p->known ? &p->known->of[interval_phase(q, many)] : NULL;
    const double    at[N_SCOPES] = { [SCOPE_SECONDS] = seconds,
                                     [SCOPE_BATCH]   = (double)setup->batch,
                                     [SCOPE_NODES]   = (double)ranks };

    return i && interval_known(i) ? interval_grown(i, interval_beyond(i, at)) : NAN;
}

/* Adds the widening: by the step's own interval, else by those of its parts, as for the bounds. */
static lm_status add_beyond(const predictor *who, const step_setup *s, const prediction *p,
                            const step_parts *e, cases *out, lm_error *err)
{
    const phase      all  = s->program == PROGRAM_TRAINING ? PHASE_STEP
                            : p->stands_in                 ? PHASE_FORWARD
                                                           : PHASE_INFERENCE;
    const double     step = widened(s, p, all, p->step);
    const bool       many = step_setup_exchanges(s);
    const step_parts by   = { widened(s, p, PHASE_FORWARD, e->forward),
                              widened(s, p, PHASE_BACKWARD, e->backward),
                              widened(s, p, PHASE_UPDATE, e->update),
                            many ? widened(s, p, PHASE_SYNC, p->sync) : 1 };
    const step_parts more = { e->forward * by.forward, e->backward * by.backward,
                              e->update * by.update, e->messages * by.messages };
    const step_parts less = { e->forward / by.forward, e->backward / by.backward,
                              e->update / by.update, e->messages / by.messages };
    lm_status        status;

    out->seconds[TIME_BEYOND_HIGH] = p->step * step;
    out->seconds[TIME_BEYOND_LOW]  = p->step / step;
    if (!isnan(step) || s->program == PROGRAM_INFERENCE)
        return LM_OK;
    if ((status = predict_case(who, s, p, &more, &out->seconds[TIME_BEYOND_HIGH], err)))
        return status;
    return predict_case(who, s, p, &less, &out->seconds[TIME_BEYOND_LOW], err);
}

/* Adds cases: the device's own work at each of its bounds, then all-reduces at theirs; the other
 * part as expected. */
static lm_status add_bounds(const predictor *who, const step_setup *s, const prediction *p,
                            const step_parts *e, cases *out, lm_error *err)
{
    const step_parts low  = { p->low[PHASE_FORWARD], p->alone.low, p->low[PHASE_UPDATE], 1 };
    const step_parts high = { p->high[PHASE_FORWARD], p->alone.high, p->high[PHASE_UPDATE], 1 };
    lm_status        status;

    out->seconds[TIME_SYNC_LOW]  = p->fast;
    out->seconds[TIME_SYNC_HIGH] = p->slow;
    if (isnan(e->forward + e->backward)) { /* a whole step, and one message behind it */
        out->seconds[TIME_COMPUTE_LOW]  = p->low[PHASE_STEP] + p->step - p->fast;
        out->seconds[TIME_COMPUTE_HIGH] = p->high[PHASE_STEP] + p->step - p->slow;
        return LM_OK;
    }
    if ((status = predict_case(who, s, p, &low, &out->seconds[TIME_COMPUTE_LOW], err)))
        return status;
    return predict_case(who, s, p, &high, &out->seconds[TIME_COMPUTE_HIGH], err);
}

lm_status cases_of_step(const predictor *who, const step_setup *s, const prediction *p, cases *out,
                        lm_error *err)
{
    const step_parts expected = { p->forward, p->alone.value, p->update, 1 };
    cases            c        = all_of(p->step);
    lm_status        status   = LM_OK;

    c.seconds[TIME_LOW]  = p->low[PHASE_STEP];
    c.seconds[TIME_HIGH] = p->high[PHASE_STEP];
    if (s->laid_out && s->program == PROGRAM_INFERENCE && !isnan(p->slow + p->fast)) {
        /* independent errors add up in squares */
        const double less = p->step - p->low[PHASE_STEP], more = p->high[PHASE_STEP] - p->step;
        const double fast = p->step - p->fast, slow = p->slow - p->step;

        c.seconds[TIME_COMPUTE_LOW]  = p->step - sqrt(fmax(0, less * less - fast * fast));
        c.seconds[TIME_COMPUTE_HIGH] = p->step + sqrt(fmax(0, more * more - slow * slow));
        c.seconds[TIME_SYNC_LOW]     = p->fast;
        c.seconds[TIME_SYNC_HIGH]    = p->slow;
    } else if (!step_setup_exchanges(s)) { /* all of it is compute */
        c.seconds[TIME_COMPUTE_LOW]  = p->low[PHASE_STEP];
        c.seconds[TIME_COMPUTE_HIGH] = p->high[PHASE_STEP];
    } else if (isnan(p->sync)) { /* all-reduces are not separate from the rest */
        for (time_case t = TIME_COMPUTE_LOW; t <= TIME_SYNC_HIGH; t++)
            c.seconds[t] = NAN;
    } else {
        status = add_bounds(who, s, p, &expected, &c, err);
    }
    if (!status)
        status = add_beyond(who, s, p, &expected, &c, err);
    if (!status)
        *out = c;
    return status;
}

lm_status cases_of_evaluation(const predictor *who, int64_t batch, cases *out, lm_error *err)
{
    step_setup s = step_setup_of(batch, 1);
    prediction p;
    lm_status  status;

    s.program = PROGRAM_INFERENCE;
    status    = predict_step(who, &s, &p, err);
    return status ? status : cases_of_step(who, &s, &p, out, err);
}
