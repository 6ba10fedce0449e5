/* Bounds of predicted steps. */
#include "predict/bounds.h"

#include <math.h>
#include <stdlib.h>

static void seconds_of(const predictor *who, double update, const prediction *p,
                       double s[N_QUANTITIES])
{
    for (quantity q = 0; q < N_QUANTITIES; q++)
        s[q] = NAN;
    s[QUANTITY_FORWARD]  = p->forward;
    s[QUANTITY_BACKWARD] = p->backward;
    if (form_find(who->model, PART_UPDATE) < n_forms)
        s[QUANTITY_UPDATE] = update;
    s[QUANTITY_SYNC]          = p->sync;
    s[QUANTITY_GRAD]          = p->grad;
    s[QUANTITY_BACKWARD_GRAD] = p->backward + p->grad;
    s[QUANTITY_STEP]          = p->step;
}

static void bound(const predictor *who, const double s[N_QUANTITIES], quantity q, prediction *out)
{
    intervals_at(calibration_intervals(who->cal, who->model), q, s, out->batch,
                 out->nodes * out->devices, &out->low[q], &out->high[q]);
}

void bounds_in_turn(const predictor *who, double update, bool whole_step, prediction *out)
{
    double s[N_QUANTITIES];

    seconds_of(who, update, out, s);
    for (quantity q = 0; q < N_QUANTITIES; q++)
        if (whole_step && q != QUANTITY_STEP)
            out->low[q] = out->high[q] = NAN;
        else
            bound(who, s, q, out);
}

/* The recurrence with the pass and the all-reduces so many times as long. */
static lm_status at_bound(const predictor *who, const overlap_question *q, double pass,
                          double message, overlap *out, lm_error *err)
{
    const sync_setting s   = { &q->setup->sync, q->setup->nodes, q->setup->devices, pass, message };
    const lm_status status = overlapped_sync(who->cal, who->model, q->schedule, q->setup->batch, &s,
                                             q->backward, q->compute, out, err);

    if (!status) {
        free(out->bucket); /* the sums are all that is wanted */
        out->bucket = NULL;
    }
    return status;
}

lm_status bounds_overlapped(const predictor *who, const overlap_question *q, double update,
                            prediction *out, lm_error *err)
{
    const double alone = (double)q->setup->sync.accumulation - 1; /* micro-steps without messages */
    prediction   beside_none = *out;
    double       s[N_QUANTITIES], pass[2], sync[2];
    double      *low = out->low, *high = out->high;
    overlap      o[2], most, least;
    lm_status    status;

    beside_none.backward = (alone + 1) * q->backward;
    seconds_of(who, update, &beside_none, s);
    for (quantity i = 0; i < N_QUANTITIES; i++)
        low[i] = high[i] = NAN;
    bound(who, s, QUANTITY_FORWARD, out);
    bound(who, s, QUANTITY_BACKWARD, out);
    bound(who, s, QUANTITY_UPDATE, out);
    bound(who, s, QUANTITY_SYNC, out);
    pass[0] = low[QUANTITY_BACKWARD] / beside_none.backward;
    pass[1] = high[QUANTITY_BACKWARD] / beside_none.backward;
    sync[0] = low[QUANTITY_SYNC] / out->sync;
    sync[1] = high[QUANTITY_SYNC] / out->sync;
    if (isnan(pass[0] + sync[0])) /* nobody knows */
        return LM_OK;
    for (int i = 0; i < 2; i++)
        if ((status = at_bound(who, q, pass[i], sync[i], &o[i], err)))
            return status;
    if ((status = at_bound(who, q, pass[0], sync[1], &most, err)) ||
        (status = at_bound(who, q, pass[1], sync[0], &least, err)))
        return status;
    for (int i = 0; i < 2; i++) {
        double *const to     = i ? high : low;
        const double  own    = to[QUANTITY_UPDATE] + out->copy + out->straggler;
        const double  passes = alone * pass[i] * q->backward + o[i].backward;

        to[QUANTITY_BACKWARD]      = passes;
        to[QUANTITY_GRAD]          = (i ? most : least).exposed + own;
        to[QUANTITY_BACKWARD_GRAD] = passes + o[i].exposed + own;
        to[QUANTITY_STEP]          = to[QUANTITY_FORWARD] + to[QUANTITY_BACKWARD_GRAD];
    }
    return LM_OK;
}
