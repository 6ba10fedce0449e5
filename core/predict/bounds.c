/* Bounds of predicted steps. */
#include "predict/bounds.h"

#include <math.h>
#include <stdlib.h>

static void seconds_of(const bound_basis *by, double update, const prediction *p,
                       double s[N_QUANTITIES])
{
    for (quantity q = 0; q < N_QUANTITIES; q++)
        s[q] = NAN;
    s[QUANTITY_FORWARD]  = p->forward;
    s[QUANTITY_BACKWARD] = p->backward;
    if (by->told_update)
        s[QUANTITY_UPDATE] = update;
    s[QUANTITY_SYNC]          = p->sync;
    s[QUANTITY_GRAD]          = p->grad;
    s[QUANTITY_BACKWARD_GRAD] = p->backward + p->grad;
    s[QUANTITY_STEP]          = p->step;
}

/* What was measured of other links says nothing of one that was told. */
static const quantity of_link[] = { QUANTITY_SYNC, QUANTITY_GRAD, QUANTITY_BACKWARD_GRAD,
                                    QUANTITY_STEP };

static interval_place place_of(const bound_basis *by, const prediction *p)
{
    return (interval_place){ p->batch, p->nodes * p->devices, by->of_batch, by->of_ranks };
}

static void bound(const bound_basis *by, const double s[N_QUANTITIES], prediction *out)
{
    const interval_place place = place_of(by, out);

    intervals_of_step(by->known, s, &place, out->low, out->high);
    for (size_t i = 0; by->told_link && i < sizeof of_link / sizeof of_link[0]; i++)
        out->low[of_link[i]] = out->high[of_link[i]] = NAN;
    out->slow = out->fast = NAN;
}

void bounds_in_turn(const bound_basis *by, double update, bool whole_step, prediction *out)
{
    double s[N_QUANTITIES];

    seconds_of(by, update, out, s);
    bound(by, s, out);
    if (out->nodes * out->devices == 1) {
        out->slow = out->fast = out->step;
    } else if (!whole_step) {
        out->slow = out->step - out->sync + out->high[QUANTITY_SYNC];
        out->fast = out->step - out->sync + out->low[QUANTITY_SYNC];
    }
}

void bounds_of_sync(const predictor *who, prediction *out)
{
    const interval_place place = { .batch = out->batch, .ranks = out->nodes * out->devices };
    double               s[N_QUANTITIES];

    out->low[QUANTITY_SYNC] = out->high[QUANTITY_SYNC] = NAN;
    if (calibration_assumes(who->cal, who->model, out->nodes))
        return;
    for (quantity q = 0; q < N_QUANTITIES; q++)
        s[q] = NAN;
    s[QUANTITY_SYNC] = out->sync;
    intervals_at(calibration_intervals(who->cal, who->model), QUANTITY_SYNC, s, &place,
                 &out->low[QUANTITY_SYNC], &out->high[QUANTITY_SYNC]);
}

void bounds_unknown(prediction *out)
{
    for (quantity q = 0; q < N_QUANTITIES; q++)
        if (q != QUANTITY_SYNC)
            out->low[q] = out->high[q] = NAN;
    out->slow = out->fast = NAN;
}

/* The recurrence with the pass and the all-reduces so many times as long. */
static overlap at_bound(const overlap_question *q, double pass, double message)
{
    const sync_setting s = { &q->setup->sync, q->setup->nodes, q->setup->devices, pass, message };
    overlap            o;

    overlap_plan_sums(q->plan, q->setup->batch, &s, q->backward, q->compute, &o);
    return o;
}

/* Steps in buckets as they were measured know more of such a step than its parts do. */
static void bound_as_measured(const bound_basis *by, const step_setup *setup, prediction *out)
{
    const interval_place place = place_of(by, out);
    double               s[N_QUANTITIES];

    if (setup->sync.rule != SYNC_DDP || !interval_known(&by->known->of[QUANTITY_OVERLAPPED]))
        return;
    for (quantity q = 0; q < N_QUANTITIES; q++)
        s[q] = NAN;
    s[QUANTITY_OVERLAPPED] = out->step;
    intervals_at(by->known, QUANTITY_OVERLAPPED, s, &place, &out->low[QUANTITY_STEP],
                 &out->high[QUANTITY_STEP]);
}

double bounds_step_at(const overlap_question *q, double forward, double pass, double message,
                      double rest)
{
    const double alone = (double)q->setup->sync.accumulation - 1; /* micro-steps without messages */
    const overlap o    = at_bound(q, pass, message);

    return forward + alone * pass * q->backward + o.backward + o.exposed + rest;
}

bool bounds_hidden(const overlap_question *q, double update, prediction *out)
{
    const double micro = (double)q->setup->sync.accumulation;
    const double own   = out->copy + out->straggler;
    double       pass[2], sync[2];
    double      *low = out->low, *high = out->high;
    overlap      most, least;

    for (quantity i = QUANTITY_GRAD; i <= QUANTITY_STEP; i++)
        low[i] = high[i] = NAN; /* these follow from what is hidden */
    out->slow = out->fast = NAN;
    pass[0]               = low[QUANTITY_BACKWARD] / (micro * q->backward);
    pass[1]               = high[QUANTITY_BACKWARD] / (micro * q->backward);
    sync[0]               = low[QUANTITY_SYNC] / out->sync;
    sync[1]               = high[QUANTITY_SYNC] / out->sync;
    if (isnan(sync[0])) /* nobody knows */
        return false;
    out->fast = bounds_step_at(q, out->forward, 1, sync[0], own + update);
    out->slow = bounds_step_at(q, out->forward, 1, sync[1], own + update);
    if (isnan(pass[0]) || q->sync_only)
        return false;
    most  = at_bound(q, pass[0], sync[1]);
    least = at_bound(q, pass[1], sync[0]);
    for (int i = 0; i < 2; i++) {
        const overlap o      = at_bound(q, pass[i], sync[i]);
        double *const to     = i ? high : low;
        const double  rest   = to[QUANTITY_UPDATE] + own;
        const double  passes = (micro - 1) * pass[i] * q->backward + o.backward;

        to[QUANTITY_BACKWARD]      = passes;
        to[QUANTITY_GRAD]          = (i ? most : least).exposed + rest;
        to[QUANTITY_BACKWARD_GRAD] = passes + o.exposed + rest;
        to[QUANTITY_STEP]          = to[QUANTITY_FORWARD] + to[QUANTITY_BACKWARD_GRAD];
    }
    return true;
}

void bounds_overlapped(const bound_basis *by, const overlap_question *q, double update,
                       prediction *out)
{
    prediction beside_none = *out;
    double     s[N_QUANTITIES];

    beside_none.backward = (double)q->setup->sync.accumulation * q->backward;
    seconds_of(by, update, &beside_none, s);
    bound(by, s, out);
    if (bounds_hidden(q, update, out))
        bound_as_measured(by, q->setup, out);
}
