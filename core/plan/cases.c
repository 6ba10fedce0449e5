/* What a step takes if what is assumed of it holds, or does not. */
#include "plan/cases.h"
#include "fit/shared.h"
#include "predict/layerwise_step.h"

#include <math.h>

static cases all_of(double seconds)
{
    cases c;

    for (int i = 0; i < N_TIME_CASES; i++)
        c.seconds[i] = seconds;
    return c;
}

/* A step's parts before anything of it is hidden, seconds; `sync` is a factor on the all-reduces.
 */
typedef struct parts_of_step {
    double forward, backward, update, sync;
} parts_of_step;

/* What a step is predicted from. */
typedef struct stepping {
    const predictor  *who;
    const step_setup *setup;
    const prediction *predicted;
    parts_of_step     expected;
    lm_error         *err;
} stepping;

/* The pass by itself: beside messages it may take longer. */
static lm_status backward_alone(const stepping *s, double *out)
{
    const size_t  at = form_find(s->who->model, PART_BACKWARD);
    full_workload counted;
    lm_status status = predict_load(s->who, s->setup->batch, s->setup->optimizer, &counted, s->err);

    if (!status)
        *out = (double)s->setup->sync.accumulation *
               calibration_seconds(s->who->cal, at, &counted.load) *
               shared_times(s->who->cal, s->who->model, PART_BACKWARD, s->setup->devices);
    return status;
}

/* The step that these parts make: what is hidden of the all-reduces comes from the recurrence. */
static lm_status add_up(const stepping *s, const parts_of_step *p, double *out)
{
    const step_setup        *setup    = s->setup;
    const double             micro    = (double)setup->sync.accumulation;
    const sync_setting       how      = { &setup->sync, setup->nodes, setup->devices,
                                          p->backward / s->expected.backward, p->sync };
    const gradient_schedule *schedule = NULL;
    overlap                  o;
    lm_status                status;

    *out = NAN;
    if (isnan(p->forward + p->backward + p->update + p->sync))
        return LM_OK;
    if (step_setup_in_turn(setup)) {
        *out = p->forward + p->backward + p->update + p->sync * s->predicted->sync;
        return LM_OK;
    }
    if ((status = workloads_gradients(s->who->loads, s->who->network, s->who->input, s->who->dtype,
                                      setup->batch, &s->who->cal->settings, &schedule, s->err)) ||
        (status =
             overlapped_sync(s->who->cal, s->who->model, schedule, setup->batch, &how,
                             s->expected.backward / micro, p->forward + p->backward, &o, s->err)))
        return status;
    *out = p->forward + p->backward * (micro - 1) / micro + o.backward + o.exposed + o.copy +
           o.straggler + p->update;
    overlap_clear(&o);
    return LM_OK;
}

/* What a quantity's interval widens by at this place; NAN: it has none. */
static double widened(const stepping *s, quantity q, double seconds)
{
    const intervals *known        = calibration_intervals(s->who->cal, s->who->model);
    const int64_t    ranks        = step_setup_ranks(s->setup);
    const interval  *i            = &known->of[interval_slot_of(q, ranks > 1)];
    const double     at[N_SCOPES] = { [SCOPE_SECONDS] = seconds,
                                      [SCOPE_BATCH]   = (double)s->setup->batch,
                                      [SCOPE_NODES]   = (double)ranks };

    return interval_known(i) ? pow(i->per_octave, interval_beyond(i, at)) : NAN;
}

/* By the step's own interval, else by those of its parts, as they make the bounds. */
static lm_status add_beyond(const stepping *s, cases *out)
{
    const parts_of_step *e    = &s->expected;
    const double         step = widened(s, QUANTITY_STEP, s->predicted->step);
    const bool           many = step_setup_ranks(s->setup) > 1;
    parts_of_step        more, less;
    lm_status            status;

    if (!isnan(step)) {
        out->seconds[TIME_BEYOND_HIGH] = s->predicted->step * step;
        out->seconds[TIME_BEYOND_LOW]  = s->predicted->step / step;
        return LM_OK;
    }
    more = (parts_of_step){ widened(s, QUANTITY_FORWARD, e->forward),
                            widened(s, QUANTITY_BACKWARD, e->backward),
                            widened(s, QUANTITY_UPDATE, e->update),
                            many ? widened(s, QUANTITY_SYNC, s->predicted->sync) : 1 };
    less = (parts_of_step){ e->forward / more.forward, e->backward / more.backward,
                            e->update / more.update, e->sync / more.sync };
    more = (parts_of_step){ e->forward * more.forward, e->backward * more.backward,
                            e->update * more.update, e->sync * more.sync };
    if ((status = add_up(s, &more, &out->seconds[TIME_BEYOND_HIGH])))
        return status;
    return add_up(s, &less, &out->seconds[TIME_BEYOND_LOW]);
}

/* Each bound of the parts, the others as expected. */
static lm_status add_bounds(const stepping *s, cases *out)
{
    const prediction *p         = s->predicted;
    const double     *end[2]    = { p->low, p->high };
    const time_case   compute[] = { TIME_COMPUTE_LOW, TIME_COMPUTE_HIGH },
                    sync[]      = { TIME_SYNC_LOW, TIME_SYNC_HIGH };
    double    of[N_QUANTITIES], backward[2];
    lm_status status = LM_OK;

    for (quantity q = 0; q < N_QUANTITIES; q++)
        of[q] = NAN;
    of[QUANTITY_BACKWARD] = s->expected.backward;
    intervals_at(calibration_intervals(s->who->cal, s->who->model), QUANTITY_BACKWARD, of,
                 &(interval_place){ .batch = p->batch, .ranks = step_setup_ranks(s->setup) },
                 &backward[0], &backward[1]);
    for (int i = 0; i < 2 && !status; i++) {
        parts_of_step parts = { end[i][QUANTITY_FORWARD], backward[i], end[i][QUANTITY_UPDATE], 1 };

        status     = add_up(s, &parts, &out->seconds[compute[i]]);
        parts      = s->expected;
        parts.sync = end[i][QUANTITY_SYNC] / p->sync;
        if (!status)
            status = add_up(s, &parts, &out->seconds[sync[i]]);
    }
    return status;
}

/* Where nothing tells the all-reduces from the rest, there are no such cases. */
static lm_status by_parts(const predictor *who, const step_setup *setup, const prediction *p,
                          cases *out, lm_error *err)
{
    stepping  s = { .who = who, .setup = setup, .predicted = p, .err = err };
    lm_status status;

    s.expected =
        (parts_of_step){ p->forward, NAN, p->grad - p->exposed - p->copy - p->straggler, 1 };
    if (!isnan(p->sync) && (status = backward_alone(&s, &s.expected.backward)))
        return status;
    if (step_setup_ranks(setup) == 1) { /* all of it is compute */
        out->seconds[TIME_COMPUTE_LOW]  = p->low[QUANTITY_STEP];
        out->seconds[TIME_COMPUTE_HIGH] = p->high[QUANTITY_STEP];
    } else if (isnan(p->sync)) {
        for (time_case t = TIME_COMPUTE_LOW; t <= TIME_SYNC_HIGH; t++)
            out->seconds[t] = NAN;
    } else if ((status = add_bounds(&s, out))) {
        return status;
    }
    return add_beyond(&s, out);
}

/* Layers and their all-reduces, each at its bound beside the other; how bounds widen is in them
 * already. */
static lm_status of_layers(const predictor *who, const step_setup *s, const prediction *p,
                           cases *out, lm_error *err)
{
    double          compute[2];
    const lm_status status = layerwise_compute_bounds(who, s, p, compute, err);
    cases           c      = all_of(NAN);

    if (status)
        return status;
    c.seconds[TIME_EXPECTED] = c.seconds[TIME_HALF_LINK] = p->step;
    c.seconds[TIME_LOW]                                  = p->low[QUANTITY_STEP];
    c.seconds[TIME_HIGH]                                 = p->high[QUANTITY_STEP];
    c.seconds[TIME_SYNC_LOW]                             = p->fast;
    c.seconds[TIME_SYNC_HIGH]                            = p->slow;
    c.seconds[TIME_COMPUTE_LOW]                          = compute[0];
    c.seconds[TIME_COMPUTE_HIGH]                         = compute[1];
    *out                                                 = c;
    return LM_OK;
}

lm_status cases_of_step(const predictor *who, const step_setup *s, const prediction *p, cases *out,
                        lm_error *err)
{
    cases     c      = all_of(p->step);
    lm_status status = LM_OK;

    c.seconds[TIME_LOW]  = p->low[QUANTITY_STEP];
    c.seconds[TIME_HIGH] = p->high[QUANTITY_STEP];
    if (who->paleo) { /* which has no intervals */
        c                        = all_of(NAN);
        c.seconds[TIME_EXPECTED] = c.seconds[TIME_HALF_LINK] = p->step;
    } else if (who->layerwise) {
        status = of_layers(who, s, p, &c, err);
    } else {
        status = by_parts(who, s, p, &c, err);
    }
    if (!status)
        *out = c;
    return status;
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
    intervals_at(calibration_intervals(who->cal, who->model), QUANTITY_INFERENCE, s,
                 &(interval_place){ .batch = batch, .ranks = 1 }, &low, &high);
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
            "calibrate %s, then fit again",
            who->machine ? who->machine : "the machine file", who->model, who->model,
            who->layerwise ? "passes of single layers" : "whole networks");
    *out = bounded(p.forward, p.low[QUANTITY_FORWARD], p.high[QUANTITY_FORWARD]);
    return LM_OK;
}
