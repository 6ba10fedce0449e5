/* Bounds of a predicted step or forward pass. */
#include "predict/answering.h"

#include <math.h>

/* Bounds for a link that the user describes, without measurements. Its all-reduces get the spread
 * of published ones. Times that contain them are sums of bounds. */
static void bound_told(prediction *out)
{
    for (int i = 0; i < 2; i++) {
        double *const to     = i ? out->high : out->low;
        const double  update = isnan(to[PHASE_UPDATE]) ? out->update : to[PHASE_UPDATE];

        to[PHASE_SYNC]          = (i ? LINK_MOST : LINK_LEAST) * out->sync;
        to[PHASE_GRAD]          = to[PHASE_SYNC] + update;
        to[PHASE_BACKWARD_GRAD] = to[PHASE_BACKWARD] + to[PHASE_GRAD];
        to[PHASE_STEP]          = to[PHASE_FORWARD] + to[PHASE_BACKWARD_GRAD];
    }
}

/* Bounds from fitted intervals. A composed time without its own interval gets the sum of its
 * parts. */
static void bound_by_intervals(const answering *a, prediction *out)
{
    const step_price    *p     = &a->own->price;
    exchanged           *r     = a->ranks;
    const interval_place place = { out->batch, out->nodes * out->devices, &a->own->reach,
                                   &r->reach };
    double               s[N_TIMES];

    if (r->reach_of != p->known) {
        intervals_reach(p->known, SCOPE_NODES, place.ranks, &r->reach);
        r->reach_of = p->known;
    }
    for (phase q = 0; q < N_TIMES; q++)
        s[q] = NAN;
    s[PHASE_FORWARD]  = out->forward;
    s[PHASE_BACKWARD] = out->alone.value;
    if (p->tells_update)
        s[PHASE_UPDATE] = out->update;
    s[PHASE_SYNC]          = out->sync;
    s[PHASE_GRAD]          = out->grad;
    s[PHASE_BACKWARD_GRAD] = out->alone.value + out->grad;
    s[PHASE_STEP]          = out->step;
    intervals_of_step(p->known, s, &place, out->low, out->high);
    if (a->own->many && r->price.told_link)
        bound_told(out);
}

/* Bounds that the model states for parts. Composed times are sums. */
static void bound_as_stated(const answering *a, prediction *out)
{
    const step_price *p   = &a->own->price;
    double           *low = out->low, *high = out->high;

    for (phase q = 0; q < N_TIMES; q++)
        low[q] = high[q] = NAN;
    if (a->own->many && a->ranks->price.bounds_stated) {
        low[PHASE_SYNC]  = a->ranks->price.low;
        high[PHASE_SYNC] = a->ranks->price.high;
    } else if (a->own->many && a->ranks->price.told_link) {
        low[PHASE_SYNC]  = out->sync * LINK_LEAST;
        high[PHASE_SYNC] = out->sync * LINK_MOST;
    } else if (a->own->many && a->ranks->price.known) {
        const interval_place place = { .batch = out->batch, .ranks = out->nodes * out->devices };
        double               s[N_TIMES];

        for (phase q = 0; q < N_TIMES; q++)
            s[q] = NAN;
        s[PHASE_SYNC] = out->sync;
        intervals_at(a->ranks->price.known, PHASE_SYNC, s, &place, &low[PHASE_SYNC],
                     &high[PHASE_SYNC]);
    }
    for (int i = 0; i < 2; i++) {
        double *const to   = i ? high : low;
        const double  sync = a->own->many ? to[PHASE_SYNC] : 0;

        to[PHASE_STEP] = a->micro * (i ? p->step.high : p->step.low) + sync;
        if (isnan(out->forward + out->backward))
            continue;
        to[PHASE_FORWARD]  = a->micro * (i ? p->forward.high : p->forward.low);
        to[PHASE_BACKWARD] = a->micro * (i ? p->backward.high : p->backward.low) +
                             a->asked->again * to[PHASE_FORWARD];
        to[PHASE_UPDATE]        = i ? p->update.high : p->update.low;
        to[PHASE_GRAD]          = to[PHASE_UPDATE] + sync;
        to[PHASE_BACKWARD_GRAD] = to[PHASE_BACKWARD] + to[PHASE_GRAD];
        to[PHASE_STEP]          = to[PHASE_FORWARD] + to[PHASE_BACKWARD_GRAD];
    }
}

/* Bounds from measured steps with buckets: narrower than those from parts. */
static void bound_as_measured(const answering *a, prediction *out)
{
    const intervals     *known = a->own->price.known;
    const interval_place place = { out->batch, out->nodes * out->devices, &a->own->reach,
                                   &a->ranks->reach };
    double               s[N_TIMES];

    if (!known || a->asked->sync.rule != SYNC_DDP || !interval_known(&known->of[PHASE_OVERLAPPED]))
        return;
    for (phase q = 0; q < N_TIMES; q++)
        s[q] = NAN;
    s[PHASE_OVERLAPPED] = out->step;
    intervals_at(known, PHASE_OVERLAPPED, s, &place, &out->low[PHASE_STEP], &out->high[PHASE_STEP]);
}

/* Takes seconds out of a low bound in the proportion in which the time has them. */
static void ease(double *low, double time, double seconds)
{
    if (seconds > 0 && time > 0)
        *low *= fmax(0, 1 - seconds / time);
}

/* A host of another machine may be slower than the user's: low bounds are of the kernels alone. */
static void ease_host(const answering *a, prediction *out)
{
    const part_seconds *p        = &a->own->price.added;
    const double        forward  = a->micro * p->forward;
    const double        backward = a->micro * p->backward + a->asked->again * forward;

    if (!a->who->cal || !a->who->cal->host.elsewhere)
        return;
    ease(&out->low[PHASE_FORWARD], out->forward, forward);
    ease(&out->low[PHASE_BACKWARD], out->alone.value, backward);
    ease(&out->low[PHASE_UPDATE], out->update, p->update);
    ease(&out->low[PHASE_GRAD], out->grad, p->update);
    ease(&out->low[PHASE_BACKWARD_GRAD], out->alone.value + out->grad, backward + p->update);
    ease(&out->low[PHASE_STEP], out->step, forward + backward + p->update);
}

/*
 * Bounds of a step with hidden all-reduces: the schedule with all parts at their lows, and with all
 * at their highs. The step grows with each part. The exposed part alone is longest with the pass at
 * its low and the all-reduces at their high.
 */
static void bound_hidden(answering *a, prediction *out)
{
    const double own   = out->copy + out->straggler;
    const double alone = out->alone.value;
    double      *low = out->low, *high = out->high;
    step_work    w       = answering_work(a);
    const double pass[2] = { low[PHASE_BACKWARD] / alone, high[PHASE_BACKWARD] / alone };
    const double sync[2] = { low[PHASE_SYNC] / out->sync, high[PHASE_SYNC] / out->sync };

    out->alone.low  = low[PHASE_BACKWARD];
    out->alone.high = high[PHASE_BACKWARD];
    low[PHASE_GRAD] = low[PHASE_BACKWARD_GRAD] = low[PHASE_STEP] = NAN;
    high[PHASE_GRAD] = high[PHASE_BACKWARD_GRAD] = high[PHASE_STEP] = NAN;
    if (isnan(sync[0])) /* unknown */
        return;
    out->fast = answering_times(a, &w, 1, sync[0], true).step;
    out->slow = answering_times(a, &w, 1, sync[1], true).step;
    if (isnan(pass[0]) || a->brief)
        return;
    for (int i = 0; i < 2; i++) {
        double *const to = i ? high : low;
        step_times    t;

        w.forward = to[PHASE_FORWARD];
        w.update  = to[PHASE_UPDATE];
        t         = answering_times(a, &w, pass[i], sync[i], true);

        to[PHASE_BACKWARD] = t.backward;
        to[PHASE_GRAD] = answering_times(a, &w, pass[!i], sync[i], true).exposed + own + w.update;
        to[PHASE_BACKWARD_GRAD] = t.backward + t.grad;
        to[PHASE_STEP]          = t.step;
    }
    bound_as_measured(a, out);
}

/* If the forward pass of training replaces inference, its interval does, too, but wider. */
void answering_bound_inference(const step_price *p, const interval_place *place, double *low,
                               double *high)
{
    static const phase not_done[] = { PHASE_BACKWARD, PHASE_UPDATE, PHASE_GRAD,
                                      PHASE_BACKWARD_GRAD };
    const phase        by         = p->stands_in ? PHASE_FORWARD : PHASE_INFERENCE;
    double             s[N_TIMES];

    for (phase q = 0; q < N_TIMES; q++)
        s[q] = NAN;
    for (size_t i = 0; i < sizeof not_done / sizeof not_done[0]; i++)
        low[not_done[i]] = high[not_done[i]] = 0;
    s[by]              = p->forward.value;
    low[PHASE_FORWARD] = p->forward.low, high[PHASE_FORWARD] = p->forward.high;
    if (p->known)
        intervals_at(p->known, by, s, place, &low[PHASE_FORWARD], &high[PHASE_FORWARD]);
    if (p->stands_in) {
        low[PHASE_FORWARD] *= EVALUATION_LEAST;
        high[PHASE_FORWARD] *= EVALUATION_MOST;
    }
}

static void bound_inference(const answering *a, prediction *out)
{
    const step_price    *p     = &a->own->price;
    const interval_place place = { .batch = out->batch, .ranks = 1, .of_batch = &a->own->reach };
    double               s[N_TIMES];

    for (phase q = 0; q < N_TIMES; q++)
        s[q] = out->low[q] = out->high[q] = NAN;
    out->low[PHASE_SYNC] = out->high[PHASE_SYNC] = 0;
    out->alone                                   = (bounded){ 0, 0, 0 };
    answering_bound_inference(p, &place, out->low, out->high);
    ease_host(a, out);
    out->low[PHASE_STEP]  = out->low[PHASE_FORWARD];
    out->high[PHASE_STEP] = out->high[PHASE_FORWARD];
    if (a->who->cal) {
        out->p95     = spread_p95(&a->who->cal->latency, out->step);
        s[PHASE_P95] = out->p95;
        if (p->known)
            intervals_at(p->known, PHASE_P95, s, &place, &out->p95_low, &out->p95_high);
    }
    out->slow = out->fast = out->step; /* nothing is exchanged */
}

static void widen(prediction *out, double least, double most, bool messages)
{
    for (phase q = 0; q < N_TIMES; q++)
        if (messages || q != PHASE_SYNC) {
            out->low[q] *= least;
            out->high[q] *= most;
        }
}

void answering_doubt_types(const predictor *who, program_kind program, prediction *out)
{
    const bool   fp8   = predictor_infers_fp8(who, program);
    const double least = fp8 ? 1 : 1 / DTYPE_DOUBT, most = fp8 ? FP8_MOST : DTYPE_DOUBT;

    if (predictor_other_types(who)) {
        widen(out, least, most, true);
        out->fast *= least;
        out->slow *= most;
        out->grounds.ledger = (ledger){ .seconds = { 0 } };
        ledger_add(&out->grounds.ledger, CERTAINTY_ASSUMED, out->step);
    }
    if (who->as_tf32 > 0) {
        widen(out, TF32_LEAST, TF32_MOST, false);
        grounds_note(&out->grounds, "tf32", 0);
    }
}

void answering_hold_bounds(const answering *a, prediction *out)
{
    const part_seconds *l        = &a->own->price.least;
    const double        forward  = a->micro * l->forward;
    const double        backward = a->micro * l->backward + a->asked->again * forward;
    double             *low      = out->low;

    bounded_hold(&low[PHASE_FORWARD], forward);
    bounded_hold(&low[PHASE_BACKWARD], backward);
    bounded_hold(&low[PHASE_UPDATE], l->update);
    bounded_hold(&low[PHASE_GRAD], l->update);
    bounded_hold(&low[PHASE_BACKWARD_GRAD], backward + l->update);
    bounded_hold(&low[PHASE_STEP], forward + backward + l->update);
    bounded_hold(&out->alone.low, backward);
    bounded_hold(&out->p95_low, out->low[PHASE_STEP]);
}

void answering_put_bounds(answering *a, prediction *out)
{
    out->known     = a->own->price.known;
    out->stands_in = a->own->price.stands_in;
    out->p95 = out->p95_low = out->p95_high = NAN;
    if (a->asked->program == PROGRAM_INFERENCE) {
        bound_inference(a, out);
        return;
    }
    if (out->known)
        bound_by_intervals(a, out);
    else
        bound_as_stated(a, out);
    ease_host(a, out);
    out->slow = out->fast = NAN;
    if (a->own->price.unbounded)
        return;
    if (!a->in_turn) {
        bound_hidden(a, out);
        return;
    }
    out->alone.low  = out->low[PHASE_BACKWARD];
    out->alone.high = out->high[PHASE_BACKWARD];
    if (!a->own->many) {
        out->slow = out->fast = out->step;
    } else {
        out->slow = out->step - out->sync + out->high[PHASE_SYNC];
        out->fast = out->step - out->sync + out->low[PHASE_SYNC];
    }
}
