/* Seconds of one training step. */
#include "predict/price.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit/shared.h"
#include "predict/bounds.h"
#include "predict/by_layers.h"
#include "predict/layerwise_step.h"
#include "predict/own.h"
#include "predict/paleo_step.h"
#include "predict/sum.h"

step_setup step_setup_of(int64_t batch, int64_t nodes)
{
    return (step_setup){ .batch     = batch,
                         .nodes     = nodes,
                         .devices   = 1,
                         .sync      = { .rule = SYNC_ONCE, .accumulation = 1 },
                         .optimizer = OPTIMIZER_MOMENTUM };
}

int64_t step_setup_ranks(const step_setup *s)
{
    return s->devices > 1 && s->nodes > INT64_MAX / s->devices ? INT64_MAX : s->nodes * s->devices;
}

bool step_setup_in_turn(const step_setup *s)
{
    return step_setup_ranks(s) == 1 || s->sync.rule == SYNC_ONCE;
}

double step_setup_bytes(const step_setup *s, const workload *load)
{
    return s->sync.dtype ? (double)load->counts.params * (double)lm_dtype_bytes(s->sync.dtype)
                         : load->bytes;
}

static bool has(const predictor *who, part which)
{
    const size_t at = form_find(who->model, which);

    return at < n_forms && who->cal->fitted[at].present;
}

size_t predict_parts(const predictor *who, bool many, part out[4])
{
    const char *model = who->model;
    size_t      n     = 0;

    if (!many && !has(who, PART_FORWARD) && has(who, PART_STEP) && !predict_composed(who)) {
        out[n++] = PART_STEP; /* nothing but whole steps was measured */
        return n;
    }
    out[n++] = PART_FORWARD;
    out[n++] = PART_BACKWARD;
    if (form_find(model, PART_UPDATE) == n_forms) {
        out[n++] = many ? PART_GRAD_MANY : PART_GRAD_ONE;
    } else {
        out[n++] = PART_UPDATE;
        if (many)
            out[n++] = PART_SYNC;
    }
    return n;
}

const char *predict_sync_model(const predictor *who)
{
    return who->layerwise ? model_at(0) : who->model;
}

static bool other_dtype(const predictor *who)
{
    return who->cal->dtype && who->dtype != who->cal->dtype;
}

unsigned predict_measured(const predictor *who, const step_setup *s)
{
    const int64_t ranks = step_setup_ranks(s);
    measured_at   at    = { .network = who->network, .batch = s->batch, .ranks = ranks };
    unsigned      parts = 0;
    bool          together, alone;

    if (other_dtype(who) || !who->cal->measured.n ||
        workloads_input(who->loads, who->network, who->input, who->dtype, &at.input, NULL))
        return 0;
    together = measured_has(&who->cal->measured, &at);
    at.ranks = 1;
    alone    = measured_has(&who->cal->measured, &at);
    if (together || alone)
        parts = 1u << PART_FORWARD | 1u << PART_BACKWARD;
    if (parts && s->optimizer == OPTIMIZER_MOMENTUM) /* what fits take updates of */
        parts |= 1u << PART_UPDATE | 1u << PART_GRAD_ONE | 1u << PART_STEP;
    if (together && s->sync.rule == SYNC_ONCE && !s->sync.dtype)
        parts |= 1u << PART_SYNC | 1u << PART_GRAD_MANY;
    return parts;
}

certainty predict_certainty(const predictor *who, unsigned measured, part which,
                            const contribution *c)
{
    if (measured & 1u << which)
        return CERTAINTY_MEASURED;
    if (who->cal->transferred) /* of another machine */
        return CERTAINTY_ASSUMED;
    return certainty_of(c->c, c->count, other_dtype(who));
}

certainty predict_sync_certainty(const predictor *who, unsigned measured, const allreduce_share *s)
{
    if (measured & 1u << PART_SYNC)
        return CERTAINTY_MEASURED;
    if (s->assumed || who->cal->transferred)
        return CERTAINTY_ASSUMED;
    return s->beyond ? CERTAINTY_EXTRAPOLATED : CERTAINTY_INTERPOLATED;
}

lm_status predict_load(const predictor *who, int64_t batch, optimizer o, full_workload *out,
                       lm_error *err)
{
    return workloads_full(who->loads, who->network, who->input, who->dtype, batch,
                          &who->cal->settings, o, out, err);
}

static lm_status check_setup(const step_setup *s, lm_error *err)
{
    if (s->nodes < 1)
        return lm_error_set(err, LM_E_ARG, "%lld nodes: must be 1 or more", (long long)s->nodes);
    if (s->devices < 1)
        return lm_error_set(err, LM_E_ARG, "%lld devices of a node: must be 1 or more",
                            (long long)s->devices);
    if (s->sync.accumulation < 1)
        return lm_error_set(err, LM_E_ARG, "%lld micro-steps: must be 1 or more",
                            (long long)s->sync.accumulation);
    if (step_setup_ranks(s) == INT64_MAX)
        return lm_error_set(err, LM_E_OVERFLOW, "%lld nodes of %lld devices do not fit 64 bits",
                            (long long)s->nodes, (long long)s->devices);
    return LM_OK;
}

/* The all-reduce with its ledger, of which the exposed share becomes the step's. */
static lm_status add_exposed(sum *s, const prediction *p)
{
    ledger   *to     = &s->out->ledger;
    ledger    before = *to;
    double    whole;
    lm_status status = sum_add(s, PART_SYNC, 1, &whole);

    if (status)
        return status;
    if (!s->who->cal->overlapping.rows) {
        *to = before;
        ledger_add(to, CERTAINTY_ASSUMED, p->exposed);
        return LM_OK;
    }
    for (certainty c = 0; c < N_CERTAINTIES; c++)
        to->seconds[c] = before.seconds[c] + (to->seconds[c] - before.seconds[c]) / whole *
                                                 (p->exposed + p->copy + p->straggler);
    return LM_OK;
}

/* A plan's buckets are its own. */
static lm_status copy_buckets(const overlap *from, overlap *to, lm_error *err)
{
    overlap_bucket *bucket = malloc((from->n + 1) * sizeof *bucket);

    if (!bucket)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    memcpy(bucket, from->bucket, from->n * sizeof *bucket);
    *to        = *from;
    to->bucket = bucket;
    return LM_OK;
}

/* All-reduces behind the backward pass, and the bounds of all. */
static lm_status hide(sum *s, const overlap_question *q, const overlap *o, double update)
{
    prediction *p = s->out;
    lm_status   status;

    p->backward += o->backward - q->backward;
    p->sync      = o->sync;
    p->messages  = (int64_t)o->n;
    p->exposed   = o->exposed;
    p->copy      = o->copy;
    p->straggler = o->straggler;
    p->grad      = p->exposed + p->copy + p->straggler + update;
    p->step      = p->forward + p->backward + p->grad;
    if (isnan(p->sync)) { /* why is what one message is answered, too */
        double none;

        status = sum_add(s, PART_SYNC, 1, &none);
        return status ? status : sum_missing(s, PART_SYNC);
    }
    if ((status = add_exposed(s, p)))
        return status;
    bounds_overlapped(s->who, q, update, p);
    return LM_OK;
}

/* Synchronisation by a policy; `buckets`: NULL where nobody wants them. */
static lm_status synchronise(sum *s, const step_setup *asked, double backward, double update,
                             overlap *buckets)
{
    const predictor         *who      = s->who;
    const sync_setting       how      = { &asked->sync, asked->nodes, asked->devices, 1, 1 };
    const gradient_schedule *schedule = NULL;
    overlap_question         q        = { .setup     = asked,
                                          .backward  = backward,
                                          .compute   = s->out->forward + s->out->backward,
                                          .sync_only = s->sync_only };
    overlap                  o;
    lm_status                status;

    if ((status = workloads_gradients(who->loads, who->network, who->input, who->dtype,
                                      asked->batch, &who->cal->settings, &schedule, s->err)) ||
        (status = own_plan(who, schedule, &asked->sync, &q.plan, s->err)))
        return status;
    if (buckets) {
        overlap_plan_run(q.plan, asked->batch, &how, backward, q.compute, &o);
        status = copy_buckets(&o, buckets, s->err);
    } else {
        overlap_plan_sums(q.plan, asked->batch, &how, backward, q.compute, &o);
    }
    if (!status && !step_setup_in_turn(asked)) /* else the buckets are all that is wanted */
        status = hide(s, &q, &o, update);
    if (status && buckets)
        overlap_clear(buckets);
    if (!who->scan)
        overlap_plan_free(q.plan);
    return status;
}

static void note_counts(const predictor *who, const workload *load, prediction *out)
{
    if (load->counts.layers_not_lowered)
        sum_note(out, "layers without kernels are not in it", 0);
    if (who->cal->transferred)
        sum_note(out, "transferred", 0);
    if (other_dtype(who))
        sum_note(out, "dtype", 0);
}

/* One part after the other: nothing is hidden. */
static void add_up(const part *which, size_t n, const double seconds[N_PARTS], prediction *out)
{
    const bool many = out->nodes * out->devices > 1;

    if (n == 1) {
        out->forward = out->backward = out->grad = out->sync = out->exposed = NAN;
        out->step                                                           = seconds[PART_STEP];
        return;
    }
    out->forward  = seconds[PART_FORWARD];
    out->backward = seconds[PART_BACKWARD];
    for (size_t i = 2; i < n; i++)
        out->grad += seconds[which[i]];
    /* a model without an update of its own does not tell the all-reduce from it */
    out->sync     = many && which[2] == PART_GRAD_MANY ? NAN : seconds[PART_SYNC];
    out->exposed  = out->sync;
    out->messages = many && !isnan(out->sync);
    out->step     = out->forward + out->backward + out->grad;
}

/* What a device does by itself takes longer where others of its host do the same. */
static void share_host(const predictor *who, const step_setup *asked, unsigned measured,
                       double seconds[N_PARTS], ledger *to)
{
    const bool known = sharing_known(&who->cal->shared, asked->devices);

    if (predict_by_layers(who) && !predict_composed(who))
        return;
    for (part w = 0; w < N_PARTS; w++) {
        const double more =
            seconds[w] * (shared_times(who->cal, who->model, w, asked->devices) - 1);

        if (!(more > 0))
            continue;
        seconds[w] += more;
        ledger_add(to,
                   !known              ? CERTAINTY_EXTRAPOLATED
                   : measured >> w & 1 ? CERTAINTY_MEASURED
                                       : CERTAINTY_INTERPOLATED,
                   more);
    }
}

/* `buckets`: NULL where nobody wants them. */
static lm_status predict(const predictor *who, const step_setup *asked, bool sync_only,
                         prediction *out, overlap *buckets, lm_error *err)
{
    const int64_t    ranks    = step_setup_ranks(asked);
    const bool       overlaps = !step_setup_in_turn(asked);
    const own_parts *own      = NULL;
    own_parts        room;
    double           seconds[N_PARTS];
    part             parts[4];
    size_t           n;
    workload         load;
    prediction result = { .batch = asked->batch, .nodes = asked->nodes, .devices = asked->devices };
    sum        s      = { .who = who, .load = &load, .out = &result, .err = err };
    lm_status  status = own_of(who, asked, &room, &own, err);

    if (status)
        return status;
    if (!own->load.counts.params)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "%s has no parameters: there is nothing to train", who->network);
    load        = own->load;
    load.nodes  = (double)ranks;
    load.bytes  = step_setup_bytes(asked, &load);
    s.measured  = own->key.measured;
    s.sync_only = sync_only;
    memcpy(seconds, own->seconds, sizeof seconds);
    result.ledger = own->sum.ledger;
    share_host(who, asked, own->key.measured, seconds, &result.ledger);
    if (ranks > 1 && ranks > who->cal->max_ranks && !calibration_asks(who->cal, who->model))
        sum_note(&result, "nodes", (double)ranks / (double)who->cal->max_ranks);
    for (size_t i = 0; i < own->sum.n_beyond; i++)
        sum_note(&result, own->sum.beyond[i].what, own->sum.beyond[i].factor);
    n = predict_parts(who, ranks > 1, parts);
    for (size_t i = 0; i < n; i++) {
        if (!own_leaves_out(parts[i]) || (overlaps && parts[i] == PART_SYNC))
            continue;
        if ((status = sum_add(&s, parts[i], 1, &seconds[parts[i]])))
            return status;
        if (seconds[parts[i]] < 0)
            sum_note(&result, "negative time", 0);
    }
    note_counts(who, &load, &result);
    add_up(parts, n, seconds, &result);
    if (!overlaps)
        bounds_in_turn(who, seconds[PART_UPDATE], n == 1, &result);
    if (overlaps || buckets)
        status = synchronise(&s, asked, seconds[PART_BACKWARD] / own_times(PART_BACKWARD, asked),
                             seconds[PART_UPDATE], buckets);
    if (predict_by_layers(who) && !predict_composed(who)) /* those of layers are not of networks */
        bounds_unknown(&result);
    if (!status)
        *out = result;
    return status;
}

static lm_status step(const predictor *who, const step_setup *s, bool sync_only, prediction *out,
                      lm_error *err)
{
    const lm_status status = check_setup(s, err);

    if (status)
        return status;
    if (who->paleo && (!step_setup_in_turn(s) || s->sync.dtype))
        return lm_error_set(
            err, LM_E_UNSUPPORTED,
            "PALEO hides no all-reduce behind the backward pass, and sends gradients "
            "as they are: take --sync once without --grad-dtype");
    if (who->layerwise)
        return layerwise_predict_step(who, s, out, err);
    return who->paleo ? paleo_predict(who->paleo, s, out, err)
                      : predict(who, s, sync_only, out, NULL, err);
}

lm_status predict_step(const predictor *who, const step_setup *s, prediction *out, lm_error *err)
{
    return step(who, s, false, out, err);
}

lm_status predict_seconds(const predictor *who, const step_setup *s, prediction *out, lm_error *err)
{
    return step(who, s, true, out, err);
}

lm_status predict_timeline(const predictor *who, const step_setup *s, prediction *out,
                           overlap *buckets, lm_error *err)
{
    const lm_status status = check_setup(s, err);

    if (status)
        return status;
    if (who->layerwise)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "%s does not say when gradients are ready: no all-reduce is hidden",
                            who->model);
    if (who->paleo)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "PALEO does not say when gradients are ready: no all-reduce is hidden");
    return predict(who, s, false, out, buckets, err);
}
