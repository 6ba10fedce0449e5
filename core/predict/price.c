/* Seconds of one training step. */
#include "predict/price.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* In one message of the weights' own type, as all-reduces of whole steps are measured. */
static bool measured_as_sent(const step_setup *s)
{
    return s->sync.rule == SYNC_ONCE && !s->sync.dtype;
}

bool predict_measurable(const predictor *who, const char **input)
{
    return !other_dtype(who) && who->cal->measured.n &&
           !workloads_input(who->loads, who->network, who->input, who->dtype, input, NULL);
}

unsigned predict_measured(const predictor *who, const step_setup *s)
{
    const int64_t ranks = step_setup_ranks(s);
    measured_at   at    = { .network = who->network, .batch = s->batch, .ranks = ranks };
    unsigned      parts = 0;
    bool          together, alone;

    if (!predict_measurable(who, &at.input))
        return 0;
    together = measured_has(&who->cal->measured, &at);
    at.ranks = 1;
    alone    = measured_has(&who->cal->measured, &at);
    if (together || alone)
        parts = 1u << PART_FORWARD | 1u << PART_BACKWARD;
    if (parts && s->optimizer == OPTIMIZER_MOMENTUM) /* what fits take updates of */
        parts |= 1u << PART_UPDATE | 1u << PART_GRAD_ONE | 1u << PART_STEP;
    if (together && measured_as_sent(s))
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

static void copy_notes(const prediction *from, prediction *to)
{
    for (size_t i = 0; i < from->n_beyond; i++)
        sum_note(to, from->beyond[i].what, from->beyond[i].factor);
}

/* What a step is put together from. */
typedef struct assembly {
    const predictor  *who;
    const step_setup *asked;
    const own_parts  *own;
    rank_parts       *ranks;
    bound_basis       by;
    lm_error         *err;
} assembly;

/* Of the all-reduce's ledger the exposed share becomes the step's. */
static lm_status add_exposed(const assembly *a, prediction *p)
{
    const lm_status status = own_ask_ranks(a->who, a->asked, a->own, a->ranks, a->err);

    if (status)
        return status;
    copy_notes(&a->ranks->sum, p);
    sum_exposed(a->who->cal, &a->ranks->sum.ledger, a->ranks->seconds, p);
    return LM_OK;
}

/* All-reduces behind the backward pass, and the bounds of all. */
static lm_status hide(const assembly *a, const overlap_question *q, const overlap *o, prediction *p)
{
    const double update = a->own->seconds[PART_UPDATE];
    lm_status    status;

    sum_overlap(o, q->backward, update, p);
    if ((status = add_exposed(a, p))) /* why is what one message is answered, too */
        return status;
    if (isnan(p->sync))
        return sum_missing(&(sum){ .who = a->who, .err = a->err }, PART_SYNC);
    bounds_overlapped(&a->by, q, update, p);
    return LM_OK;
}

/* Synchronisation by a policy; `buckets`: NULL where nobody wants them. */
static lm_status synchronise(const assembly *a, bool sync_only, prediction *p, overlap *buckets)
{
    const predictor         *who      = a->who;
    const step_setup        *asked    = a->asked;
    const sync_setting       how      = { &asked->sync, asked->nodes, asked->devices, 1, 1 };
    const gradient_schedule *schedule = NULL;
    overlap_question         q        = { .setup     = asked,
                                          .backward  = p->backward / own_times(PART_BACKWARD, asked),
                                          .compute   = p->forward + p->backward,
                                          .sync_only = sync_only };
    overlap                  o;
    lm_status                status;

    if ((status = workloads_gradients(who->loads, who->network, who->input, who->dtype,
                                      asked->batch, &who->cal->settings, &schedule, a->err)) ||
        (status = own_plan(who, schedule, &asked->sync, &q.plan, a->err)))
        return status;
    if (buckets) {
        overlap_plan_run(q.plan, asked->batch, &how, q.backward, q.compute, &o);
        status = overlap_copy(&o, buckets, a->err);
    } else {
        overlap_plan_sums(q.plan, asked->batch, &how, q.backward, q.compute, &o);
    }
    if (!status && !step_setup_in_turn(asked)) /* else the buckets are all that is wanted */
        status = hide(a, &q, &o, p);
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

/* One part after the other: nothing is hidden, and of several ranks what they add is known. */
static void add_up(const assembly *a, prediction *out)
{
    const own_parts *own     = a->own;
    const double    *seconds = own->seconds;
    const bool       many    = own->key.many;
    const bool       untold  = many && own->part[2] == PART_GRAD_MANY;

    out->copy = out->straggler = 0;
    out->messages              = 0;
    if (own->n_parts == 1) {
        out->forward = out->backward = out->grad = out->sync = out->exposed = NAN;
        out->step                                                           = seconds[PART_STEP];
        return;
    }
    out->forward  = seconds[PART_FORWARD];
    out->backward = seconds[PART_BACKWARD];
    out->grad     = untold ? 0 : seconds[own->part[2]];
    if (many)
        out->grad += a->ranks->seconds;
    /* a model without an update of its own does not tell the all-reduce from it */
    out->sync     = untold ? NAN : many ? a->ranks->seconds : 0;
    out->exposed  = out->sync;
    out->messages = many && !untold;
    out->step     = out->forward + out->backward + out->grad;
}

/* What it stands on, and what leaves the range. */
static void found(const assembly *a, prediction *out)
{
    const bool measured = a->own->key.together && measured_as_sent(a->asked);

    out->batch    = a->asked->batch;
    out->nodes    = a->asked->nodes;
    out->devices  = a->asked->devices;
    out->ledger   = a->own->sum.ledger;
    out->n_beyond = 0;
    memset(&out->own, 0, sizeof out->own);
    if (a->ranks->beyond > 0)
        sum_note(out, "nodes", a->ranks->beyond);
    copy_notes(&a->own->sum, out);
    if (a->own->key.many && step_setup_in_turn(a->asked)) {
        copy_notes(&a->ranks->sum, out);
        if (measured)
            ledger_add(&out->ledger, CERTAINTY_MEASURED, ledger_seconds(&a->ranks->sum.ledger));
        else
            ledger_add_all(&out->ledger, &a->ranks->sum.ledger, 1);
    }
    note_counts(a->who, &a->own->load, out);
}

/* One part after the other. */
static void put_in_turn(const assembly *a, prediction *out)
{
    found(a, out);
    add_up(a, out);
    bounds_in_turn(&a->by, a->own->seconds[PART_UPDATE], a->own->n_parts == 1, out);
    if (a->own->by_layers) /* those of layers are not of networks */
        bounds_unknown(out);
}

/* All-reduces in buckets, or these alone. */
static lm_status put_buckets(const assembly *a, bool sync_only, prediction *out, overlap *buckets)
{
    prediction p;
    lm_status  status;

    if (step_setup_in_turn(a->asked)) {
        put_in_turn(a, &p);
    } else {
        found(a, &p);
        p.forward  = a->own->seconds[PART_FORWARD];
        p.backward = a->own->seconds[PART_BACKWARD];
    }
    status = synchronise(a, sync_only, &p, buckets);
    if (a->own->by_layers)
        bounds_unknown(&p);
    if (!status)
        *out = p;
    return status;
}

/* `buckets`: NULL where nobody wants them. */
static lm_status predict(const predictor *who, const step_setup *asked, bool sync_only,
                         prediction *out, overlap *buckets, lm_error *err)
{
    const bool in_turn = step_setup_in_turn(asked);
    step_room  room;
    assembly   a = { .who = who, .asked = asked, .err = err };
    lm_status  status;

    a.ranks = own_ranks(who, asked, &room);
    if ((status = own_of(who, asked, a.ranks, &room, &a.own, err)))
        return status;
    if (!a.own->load.counts.params)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "%s has no parameters: there is nothing to train", who->network);
    if (in_turn && a.own->key.many && (status = own_ask_ranks(who, asked, a.own, a.ranks, err)))
        return status;
    a.by = (bound_basis){ .known       = a.own->known,
                          .of_batch    = &a.own->reach,
                          .of_ranks    = &a.ranks->reach,
                          .told_link   = a.ranks->told_link,
                          .told_update = a.own->n_parts > 2 && a.own->part[2] == PART_UPDATE };
    if (!in_turn || buckets)
        return put_buckets(&a, sync_only, out, buckets);
    put_in_turn(&a, out);
    return LM_OK;
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
        return layerwise_predict_step(who, s, out, NULL, err);
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
        return layerwise_predict_step(who, s, out, buckets, err);
    if (who->paleo)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "PALEO does not say when gradients are ready: no all-reduce is hidden");
    return predict(who, s, false, out, buckets, err);
}
