/* What a step takes if what is assumed of it holds, or does not. */
#include "plan/cases.h"

#include <math.h>

static cases all_of(double seconds)
{
    cases c;

    for (int i = 0; i < N_TIME_CASES; i++)
        c.seconds[i] = seconds;
    return c;
}

/* What a quantity's interval widens by at this place; NAN: it has none. */
static double widened(const intervals *known, quantity q, bool many, double seconds,
                      const prediction *p)
{
    const interval *i            = &known->of[interval_slot_of(q, many)];
    const double    at[N_SCOPES] = { [SCOPE_SECONDS] = seconds,
                                     [SCOPE_BATCH]   = (double)p->batch,
                                     [SCOPE_NODES]   = (double)p->nodes * (double)p->devices };

    return interval_known(i) ? pow(i->per_octave, interval_beyond(i, at)) : NAN;
}

/* By the step's own interval, else by those of its parts, as they make the bounds. */
static void add_beyond(const predictor *who, const prediction *p, cases *out)
{
    const bool       many  = p->nodes * p->devices > 1;
    const intervals *known = calibration_intervals(who->cal, who->model);
    const struct {
        quantity of;
        double   seconds, in_step;
    } of_step[] = {
        { QUANTITY_FORWARD, p->forward, p->forward },
        { QUANTITY_BACKWARD, p->backward, p->backward },
        { QUANTITY_UPDATE, p->grad - p->exposed, p->grad - p->exposed },
        { QUANTITY_SYNC, p->sync, p->exposed },
    };
    double factor = widened(known, QUANTITY_STEP, many, p->step, p), more = 0, less = 0;

    if (!isnan(factor)) {
        out->seconds[TIME_BEYOND_HIGH] = p->step * factor;
        out->seconds[TIME_BEYOND_LOW]  = p->step / factor;
        return;
    }
    for (size_t i = 0; i < sizeof of_step / sizeof of_step[0]; i++) {
        if (!many && of_step[i].of == QUANTITY_SYNC)
            continue;
        factor = widened(known, of_step[i].of, many, of_step[i].seconds, p);
        more += of_step[i].in_step * (factor - 1);
        less += of_step[i].in_step * (1 - 1 / factor);
    }
    out->seconds[TIME_BEYOND_HIGH] = p->step + more;
    out->seconds[TIME_BEYOND_LOW]  = p->step - less;
}

static void add_compute(const prediction *p, cases *out)
{
    const double update = p->grad - p->exposed;

    if (p->nodes * p->devices == 1) { /* nothing else is in it */
        out->seconds[TIME_COMPUTE_LOW]  = p->low[QUANTITY_STEP];
        out->seconds[TIME_COMPUTE_HIGH] = p->high[QUANTITY_STEP];
        return;
    }
    out->seconds[TIME_COMPUTE_LOW] = p->step + p->low[QUANTITY_FORWARD] - p->forward +
                                     p->low[QUANTITY_BACKWARD] - p->backward +
                                     p->low[QUANTITY_UPDATE] - update;
    out->seconds[TIME_COMPUTE_HIGH] = p->step + p->high[QUANTITY_FORWARD] - p->forward +
                                      p->high[QUANTITY_BACKWARD] - p->backward +
                                      p->high[QUANTITY_UPDATE] - update;
}

static void add_sync(const prediction *p, cases *out)
{
    if (p->nodes * p->devices == 1)
        return;
    out->seconds[TIME_SYNC_LOW]  = p->step - p->exposed + p->low[QUANTITY_SYNC];
    out->seconds[TIME_SYNC_HIGH] = p->step - p->exposed + p->high[QUANTITY_SYNC];
}

lm_status cases_of_step(const predictor *who, const step_setup *s, const prediction *p, cases *out,
                        lm_error *err)
{
    cases c = all_of(p->step);

    (void)s;
    (void)err;
    c.seconds[TIME_LOW]  = p->low[QUANTITY_STEP];
    c.seconds[TIME_HIGH] = p->high[QUANTITY_STEP];
    if (who->paleo) { /* which has no intervals */
        c                        = all_of(NAN);
        c.seconds[TIME_EXPECTED] = p->step;
    } else {
        add_compute(p, &c);
        add_sync(p, &c);
        add_beyond(who, p, &c);
    }
    *out = c;
    return LM_OK;
}

/* Evaluation is compute. */
static cases bounded(double seconds, double low, double high)
{
    cases c = all_of(seconds);

    c.seconds[TIME_LOW] = c.seconds[TIME_COMPUTE_LOW] = low;
    c.seconds[TIME_HIGH] = c.seconds[TIME_COMPUTE_HIGH] = high;
    return c;
}

static lm_status by_inference(const predictor *who, size_t at, int64_t batch, cases *out,
                              lm_error *err)
{
    full_workload counted;
    double        s[N_QUANTITIES], low, high;
    lm_status     status = predict_load(who, batch, OPTIMIZER_SGD, &counted, err);

    if (status)
        return status;
    for (quantity q = 0; q < N_QUANTITIES; q++)
        s[q] = NAN;
    s[QUANTITY_INFERENCE] = calibration_seconds(who->cal, at, &counted.load);
    if (isnan(s[QUANTITY_INFERENCE]))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: %s.inference lacks a coefficient that the network needs: measure "
                            "networks with such layers in evaluation mode, then fit again",
                            who->machine ? who->machine : "the machine file", who->model);
    intervals_at(calibration_intervals(who->cal, who->model), QUANTITY_INFERENCE, s, batch, 1, &low,
                 &high);
    *out = bounded(s[QUANTITY_INFERENCE], low, high);
    return LM_OK;
}

lm_status cases_of_evaluation(const predictor *who, int64_t batch, cases *out, lm_error *err)
{
    const size_t     at = form_find(who->model, PART_INFERENCE);
    const step_setup s  = step_setup_of(batch, 1);
    prediction       p;
    lm_status        status;

    if (!who->paleo && at < n_forms && who->cal->fitted[at].present)
        return by_inference(who, at, batch, out, err);
    if ((status = predict_step(who, &s, &p, err)))
        return status;
    if (isnan(p.forward))
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%s has neither %s.inference nor %s.forward, which an evaluation takes: "
            "calibrate whole networks, then fit again",
            who->machine ? who->machine : "the machine file", who->model, who->model);
    *out = bounded(p.forward, p.low[QUANTITY_FORWARD], p.high[QUANTITY_FORWARD]);
    return LM_OK;
}
