/* A step under a layout: prices and schedule of one rank's part and of its messages. */
#include "predict/laid_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "predict/answering.h"
#include "predict/host_step.h"
#include "predict/layer_passes.h"
#include "program/facts.h"

/* State of one prediction. */
typedef struct laid_step {
    predictor         part;
    const step_setup *asked;
    layout            l;     /* with all members set */
    bound_network    *bound; /* the part at the micro-batch */
    step_price        price;
    priced_program   *program;
    rank_span         group[N_RANK_GROUPS];
    double            micro, updated; /* updated: share of the update that this rank does */
    const host_time  *host;           /* NULL: host time is ignored */
    host_work         issued[2];      /* of the passes of a micro-step, forward first */
    lm_error         *err;
} laid_step;

/* ---- what can be told ---- */

/* Refuses models without prices for layouts. */
static lm_status check_told(const laid_step *s)
{
    if (s->part.by->from_layers || !s->part.cal)
        return lm_error_set(s->err, LM_E_UNSUPPORTED,
                            "a layout needs the default model and a machine file, not %s",
                            s->part.model);
    return LM_OK;
}

lm_status layout_of_step(const predictor *who, const step_setup *s, layout *out, lm_error *err)
{
    const workload_name of    = { .name       = who->network,
                                  .input      = who->input,
                                  .dtype      = who->dtype,
                                  .mixed      = who->mixed,
                                  .on         = who->on,
                                  .evaluation = s->program != PROGRAM_TRAINING };
    bound_network      *whole = NULL;
    layout              l     = s->layout;
    layout_facts        facts;
    lm_status           status = workloads_bind_at(who->loads, &of, 1, &whole, err);

    if (status)
        return status;
    facts          = layout_facts_of(whole);
    l.micro_batch  = s->batch;
    l.accumulation = s->sync.accumulation;
    bound_network_free(whole);
    status = layout_settle(&l, NULL, step_setup_ranks(s), err);
    if (!status && (status = layout_settle(&l, &facts, step_setup_ranks(s), err)))
        lm_error_prefix(err, "%.80s", who->network);
    if (!status)
        *out = l;
    return status;
}

static bool trains(const laid_step *s)
{
    return s->asked->program == PROGRAM_TRAINING;
}

/* Replicas that infer send each other nothing, so the stages of one lie beside each other. */
static void place_stages_near(layout *l)
{
    static const layout_dim near[N_LAYOUT_DIMS] = { LAYOUT_TP, LAYOUT_CP, LAYOUT_EP, LAYOUT_PP,
                                                    LAYOUT_DP };

    if (l->ep == 1 && !(l->told & LAYOUT_BIT(TOLD_PLACEMENT)))
        memcpy(l->order, near, sizeof near);
}

/* ---- prices ---- */

/* The program of replicas: inference exchanges no gradients. */
static lm_status find_gradients(laid_step *s)
{
    static const gradient_schedule none     = { .n = 0 };
    const gradient_schedule       *schedule = &none;
    const predictor               *who      = &s->part;
    const workload_name            of       = predictor_workload(who, s->asked->program);
    lm_status                      status;

    if (!trains(s))
        return priced_program_told(who->cal, predictor_sync_model(who), &who->link, &none,
                                   s->asked->batch, NULL, &s->asked->sync, &s->program, s->err);
    status = workloads_gradients(who->loads, &of, s->asked->batch, &who->cal->settings, &schedule,
                                 s->err);
    return status ? status : who->by->buckets(who, s->asked, schedule, &s->program, s->err);
}

static lm_status find_program(laid_step *s)
{
    const workload_name of     = predictor_workload(&s->part, s->asked->program);
    const double        travel = calibration_travels(s->part.cal, of.dtype);
    layer_passes       *work   = NULL;
    lm_status           status = find_gradients(s);

    if (!status)
        status = layer_passes_of(&s->part, s->asked, s->bound, &work, s->err);
    if (!status)
        status = priced_program_lay_out(s->program, &s->l, s->bound, work, travel, s->err);
    free(work);
    return status;
}

/* Finds the host's time: that of fitted training steps under layouts, else the given one. */
static lm_status find_host(laid_step *s)
{
    const host_time *h      = &s->part.cal->host;
    const bool       eager  = predictor_framework(&s->part) == FRAMEWORK_EAGER;
    const lm_status  status = host_check(&s->part, &s->price, s->err);
    host_operations  n;

    if (status)
        return status;
    n            = host_operations_of(s->bound, s->asked->optimizer, h);
    s->issued[0] = host_work_of(h, &n, trains(s) ? HOST_FORWARD : HOST_INFERENCE);
    s->issued[1] = host_work_of(h, &n, HOST_BACKWARD);
    if (s->part.framework != FRAMEWORK_GRAPH && (eager || (trains(s) && h->rows && h->laid)))
        s->host = h;
    return LM_OK;
}

static lm_status find_prices(laid_step *s)
{
    const workload_name of = predictor_workload(&s->part, s->asked->program);
    lm_status           status;

    if ((status = workloads_bind_at(s->part.loads, &of, s->asked->batch, &s->bound, s->err)) ||
        (status = predictor_price(&s->part, s->asked, &s->price, s->err)))
        return status;
    if (isnan(s->price.forward.value + s->price.backward.value))
        return lm_error_set(
            s->err, LM_E_UNSUPPORTED,
            "a layout needs separate forward and backward passes, and %s has only whole steps",
            s->part.machine ? s->part.machine : "the machine file");
    if (isnan(s->price.update.value))
        return lm_error_set(s->err, LM_E_UNSUPPORTED,
                            "a layout needs separate updates, which model '%s' does not have",
                            s->part.model);
    if ((status = find_host(s)))
        return status;
    return find_program(s);
}

/* ---- seconds ---- */

static step_times run(const laid_step *s, const step_work *w, double pass, double longer,
                      bool brief)
{
    const program_case c = { .work    = *w,
                             .batch   = s->asked->batch,
                             .ranks   = s->group[GROUP_DATA],
                             .group   = s->group,
                             .pass    = pass,
                             .message = longer,
                             .brief   = brief };
    step_times         t;

    priced_program_run(s->program, &c, &t);
    return t;
}

static step_work work_of(const laid_step *s)
{
    const double again    = s->asked->again;
    const double forward  = s->micro * s->price.forward.value;
    const double backward = s->micro * s->price.backward.value + again * forward;

    return (step_work){ .forward  = forward,
                        .backward = backward,
                        .host     = s->host,
                        .issued   = { s->issued[0],
                                      { s->issued[1].operations + again * s->issued[0].operations,
                                        s->issued[1].seconds + again * s->issued[0].seconds } },
                        .update   = s->price.update.value * s->updated,
                        /* replicas that infer do not wait for each other */
                        .compute = trains(s) ? forward + backward : 0,
                        .micro   = s->micro };
}

/* Error for a message without a price: names the first group without prices. */
static lm_status unknown_message(const laid_step *s)
{
    for (int g = 0; g < N_RANK_GROUPS; g++) {
        const collective_call a = { .kind    = COLLECTIVE_ALLREDUCE,
                                    .bytes   = 1 << 20,
                                    .nodes   = s->group[g].nodes,
                                    .devices = s->group[g].devices,
                                    .groups  = s->group[g].beside };
        collective_answer     answer;
        const lm_status status = calibration_ask(s->part.cal, &s->part.link, &a, &answer, s->err);

        if (status) {
            lm_error_prefix(s->err, "%s", s->part.machine ? s->part.machine : "the machine file");
            return status;
        }
    }
    return lm_error_set(s->err, LM_E_NOTFOUND, "the messages of this layout have no coefficients");
}

static lm_status put_seconds(const laid_step *s, prediction *out, step_times *t)
{
    const step_work w = work_of(s);

    *t = run(s, &w, 1, 1, true);
    if (isnan(t->step))
        return unknown_message(s);
    *out = (prediction){ .batch     = s->asked->batch,
                         .nodes     = s->asked->nodes,
                         .devices   = s->asked->devices,
                         .forward   = t->forward,
                         .backward  = t->backward,
                         .sync      = t->sync + t->waited,
                         .exposed   = t->exposed,
                         .messages  = (int64_t)t->n,
                         .copy      = t->copy,
                         .straggler = t->straggler,
                         .update    = t->weights * w.update,
                         .waited    = t->tensor,
                         .bubble    = t->bubble,
                         .others    = t->others,
                         .grad      = t->grad,
                         .step      = t->step,
                         .alone     = { w.backward, NAN, NAN },
                         .p95       = NAN };
    if (s->bound->sharing.flops)
        out->unsplit = (double)s->bound->sharing.flops_whole / (double)s->bound->sharing.flops;
    return LM_OK;
}

/* ---- what it stands on, and its bounds ---- */

/* Notes experts whose all-to-alls have the coefficients of another kind. */
static void put_experts(const laid_step *s, grounds *g)
{
    const rank_span      *at = &s->group[GROUP_EXPERTS];
    const collective_call a  = { .kind    = COLLECTIVE_ALLTOALL,
                                 .bytes   = 1 << 20,
                                 .nodes   = at->nodes,
                                 .devices = at->devices,
                                 .groups  = at->beside };
    collective_answer     answer;

    if (s->l.ep > 1 && !calibration_ask(s->part.cal, &s->part.link, &a, &answer, NULL) &&
        answer.stand_in)
        grounds_note(g,
                     answer.stand_in == &collective_types[COLLECTIVE_ALLREDUCE]
                         ? "all-to-alls of experts priced by all-reduces: not measured"
                         : "all-to-alls of experts priced by another kind: not measured",
                     0);
}

/* Were whole steps fitted, with their messages and their host? */
static bool knows_steps(const calibration *cal)
{
    return cal->laid.rows && !cal->laid.kernels;
}

static void put_grounds(const laid_step *s, const step_times *t, prediction *out)
{
    const step_price *p = &s->price;
    grounds          *g = &out->grounds;

    g->n_beyond = 0;
    grounds_join(g, &p->passes);
    grounds_join(g, &p->rest);
    if (p->counts.layers_not_lowered)
        grounds_note(g, "layers without kernels are not in it", 0);
    if (s->part.cal->transferred)
        grounds_note(g, "transferred", 0);
    if (predictor_other_types(&s->part))
        grounds_note(g, "dtype", 0);
    if (!knows_steps(s->part.cal))
        grounds_note(g, "layout", 0); /* no step under a layout was measured */
    put_experts(s, g);
    ledger_add_all(&g->ledger, &p->passes.ledger, s->micro * t->passes);
    ledger_add_all(&g->ledger, &p->rest.ledger, t->weights * s->updated);
    ledger_add(&g->ledger, CERTAINTY_ASSUMED, fmax(0, out->step - ledger_seconds(&g->ledger)));
}

/* Was the machine file transferred, without a fit to steps under layouts? */
static bool is_carried(const predictor *part)
{
    return part->cal->transferred && !part->cal->laid.rows;
}

void laid_pass_bounds(const predictor *part, const intervals *known, const double at[N_TIMES],
                      const interval_place *place, double low[N_TIMES], double high[N_TIMES])
{
    const bool own     = part->cal->laid.kernels && part->cal->laid.groups;
    const bool carried = own || is_carried(part);
    double     least = LAID_CARRIED_LOW, most = LAID_CARRIED_HIGH;

    if (own)
        laid_steps_bounds(&part->cal->laid, part->network, &least, &most);
    for (phase q = PHASE_FORWARD; q <= PHASE_UPDATE; q++) {
        if (q == PHASE_SYNC)
            continue;
        if (carried) {
            low[q]  = least * at[q];
            high[q] = most * at[q];
        } else {
            intervals_at(known, q, at, place, &low[q], &high[q]);
        }
    }
}

/* Bounds of a step's parts, from the intervals at the micro-batch, which sets the size of
 * kernels. */
static void bound_parts(const laid_step *s, const step_work *w, double sync, double *low,
                        double *high)
{
    const interval_place place = { .batch = s->asked->batch, .ranks = step_setup_ranks(s->asked) };
    const interval_place one   = { .batch = s->asked->batch, .ranks = 1 };
    const double         micro = s->micro;
    double               at[N_TIMES];

    for (phase q = 0; q < N_TIMES; q++)
        at[q] = low[q] = high[q] = NAN;
    at[PHASE_FORWARD]  = w->forward / micro;
    at[PHASE_BACKWARD] = w->backward / micro;
    at[PHASE_UPDATE]   = w->update; /* of all stages */
    at[PHASE_SYNC]     = sync;
    intervals_at(s->price.known, PHASE_SYNC, at, &place, &low[PHASE_SYNC], &high[PHASE_SYNC]);
    if (trains(s))
        laid_pass_bounds(&s->part, s->price.known, at, &place, low, high);
    else
        answering_bound_inference(&s->price, &one, low, high);
    low[PHASE_FORWARD] *= micro;
    high[PHASE_FORWARD] *= micro;
    low[PHASE_BACKWARD] *= micro;
    high[PHASE_BACKWARD] *= micro;
    bounded_hold(&low[PHASE_FORWARD], micro * s->price.least.forward);
    bounded_hold(&low[PHASE_BACKWARD], micro * s->price.least.backward);
    bounded_hold(&low[PHASE_UPDATE], s->price.least.update * s->updated);
    if (!(sync > 0)) /* nothing is exchanged */
        low[PHASE_SYNC] = high[PHASE_SYNC] = 0;
}

/* May another host than the predicted one issue the operations? A laid one was fitted with the step. */
static bool doubts_host(const laid_step *s)
{
    if (s->part.framework == FRAMEWORK_GRAPH || !trains(s))
        return false;
    return s->host ? !s->host->laid : is_carried(&s->part) || s->part.cal->laid.kernels;
}

/* Distance of a step from the same with the fastest host, which is never waited for, or the slowest. */
static double host_far(const laid_step *s, const step_work *w, double step, bool slowest)
{
    const host_time most  = { .rows = 1, .queue = true };
    step_work       other = *w;

    if (!doubts_host(s))
        return 0;
    other.host = slowest ? &most : NULL;
    for (int i = 0; i < 2; i++)
        other.issued[i].seconds = other.issued[i].operations * LAID_HOST_MOST;
    return fabs(run(s, &other, 1, 1, true).step - step);
}

/*
 * Distance of a bound of the step from the step, s. One machine file prices all kernels, so their errors
 * are equal; the same holds for messages. Errors of kernels, of messages and of the host are independent,
 * so their effects on the step add up in squares. `passes`: the step with kernels at their bound; `sent`:
 * with messages at their bound; `both`: with both. Where messages hide behind kernels, the step is the
 * longer of the two, and one of them alone shortens it little. Each then has half of what both do beyond
 * their own effects (Shapley 1953).
 */
static double far_of(double step, double passes, double sent, double both, double host)
{
    const double p = passes - step, m = sent - step, h = host;
    const double more = (both - step - p - m) / 2;

    return fmax(stats_quadrature(p, m, h), stats_quadrature(p + more, m + more, h));
}

#define HOST_TOLD 0.5 /* of the step: an unknown host that may add more is named */

/* Bounds of the step: the schedule with kernels and messages at the lows of their intervals, and at
 * the highs. */
static void put_bounds(const laid_step *s, prediction *out)
{
    const step_work w = work_of(s);
    double          low[N_TIMES], high[N_TIMES], host[2];

    for (phase q = 0; q < N_TIMES; q++)
        out->low[q] = out->high[q] = NAN;
    out->slow = out->fast = NAN;
    out->known            = s->price.known;
    if (!s->price.known || s->price.unbounded)
        return;
    for (int i = 0; i < 2; i++)
        host[i] = host_far(s, &w, out->step, i);
    if (host[1] > HOST_TOLD * out->step && !s->host)
        grounds_note(&out->grounds, "an unknown host starts kernels (--framework graph: none)", 0);
    bound_parts(s, &w, out->sync, low, high);
    for (int i = 0; i < 2; i++) {
        const double *from   = i ? high : low;
        const double  longer = out->sync > 0 ? from[PHASE_SYNC] / out->sync : 1;
        const double  pass   = trains(s) ? from[PHASE_BACKWARD] / w.backward : 1;
        double *const to     = i ? out->high : out->low;
        double *const sent   = i ? &out->slow : &out->fast;
        step_work     mine   = w;
        step_times    all;
        double        far;

        *sent        = isnan(longer) ? NAN : run(s, &w, 1, longer, true).step;
        mine.forward = from[PHASE_FORWARD];
        mine.update  = from[PHASE_UPDATE];
        if (isnan(mine.forward + mine.update + from[PHASE_BACKWARD] + longer))
            continue;
        all                     = run(s, &mine, pass, longer, true);
        to[PHASE_FORWARD]       = all.forward;
        to[PHASE_BACKWARD]      = all.backward;
        to[PHASE_UPDATE]        = all.weights * mine.update;
        to[PHASE_SYNC]          = from[PHASE_SYNC];
        to[PHASE_GRAD]          = all.grad;
        to[PHASE_BACKWARD_GRAD] = all.backward + all.grad;
        far = far_of(out->step, run(s, &mine, pass, 1, true).step, *sent, all.step, host[i]);
        to[PHASE_STEP] = out->step + (i ? far : -far);
    }
    out->alone.low  = low[PHASE_BACKWARD];
    out->alone.high = high[PHASE_BACKWARD];
}

/* Bounds of the step from held-out steps. Parts have no such bounds. */
static void put_own_bounds(const laid_step *s, prediction *out)
{
    double low, high;

    if (!s->part.cal->laid.groups || !knows_steps(s->part.cal) || !trains(s))
        return;
    laid_steps_bounds(&s->part.cal->laid, s->part.network, &low, &high);
    out->low[PHASE_STEP]  = low * out->step;
    out->high[PHASE_STEP] = high * out->step;
}

/* ---- answers ---- */

/* A layout of replicas only is a step without a layout. */
static lm_status predict_replicas(const predictor *who, const step_setup *asked, prediction *out,
                                  step_times *messages, lm_error *err)
{
    step_setup s = *asked;

    s.laid_out = false;
    return messages ? predict_timeline(who, &s, out, messages, err)
                    : predict_step(who, &s, out, err);
}

/* Share of the updated weights that belong to this rank's experts. */
static double experts_of(const bound_network *part)
{
    double all = 0;

    for (size_t i = 0; i < part->n_layers; i++)
        for (size_t k = 0; k < part->layer[i].n_weights; k++)
            if (!(part->layer[i].weights[k].flags & LM_FROZEN))
                all += (double)lm_bytes(&part->layer[i].weights[k].tensor);
    return all > 0 ? (double)part->sharing.expert_bytes / all : 0;
}

static lm_status copy_messages(const laid_step *s, step_times *out)
{
    const step_work w      = work_of(s);
    step_times      t      = run(s, &w, 1, 1, false);
    overlap_bucket *bucket = malloc((t.n + 1) * sizeof *bucket);

    if (!bucket)
        return no_memory(s->err);
    if (t.n)
        memcpy(bucket, t.bucket, t.n * sizeof *bucket);
    *out        = t;
    out->bucket = bucket;
    return LM_OK;
}

static laid_step begin_step(const predictor *who, const step_setup *asked, lm_error *err)
{
    return (laid_step){ .part  = predictor_part(who, asked),
                        .asked = asked,
                        .micro = (double)asked->sync.accumulation,
                        .err   = err };
}

static void end_step(laid_step *s)
{
    priced_program_free(s->program);
    bound_network_free(s->bound);
}

lm_status laid_check_whole(const layout *l, lm_error *err)
{
    if (!(l->tp > 1 || l->zero || l->fsdp || l->ep > 1))
        return LM_OK;
    return lm_error_set(
        err, LM_E_UNSUPPORTED,
        "muon with %s: an update needs whole matrices, and the messages for them are not predicted: take replicas and stages (--dp, --pp)",
        l->tp > 1 ? "tp"
        : l->fsdp ? "fsdp"
        : l->zero ? "zero"
                  : "ep");
}

static lm_status settle_step(const predictor *who, laid_step *s)
{
    lm_status status = trains(s) ? LM_OK : layout_check_inference(&s->asked->layout, s->err);

    if (!status)
        status = layout_of_step(who, s->asked, &s->l, s->err);
    if (!status && !trains(s))
        place_stages_near(&s->l);
    if (!status && !layout_is_plain(&s->l))
        status = check_told(s);
    return status || !trains(s) || s->asked->optimizer != OPTIMIZER_MUON
               ? status
               : laid_check_whole(&s->l, s->err);
}

static lm_status price_step(laid_step *s)
{
    lm_status status = layout_groups(&s->l, s->asked->devices, s->group, s->err);

    if (!status && !(status = find_prices(s)))
        s->updated = layout_updated(&s->l, 1, experts_of(s->bound));
    return status;
}

lm_status predict_laid_out(const predictor *who, const step_setup *asked, prediction *out,
                           step_times *messages, lm_error *err)
{
    laid_step  s = begin_step(who, asked, err);
    step_times t;
    lm_status  status = settle_step(who, &s);

    if (!status && layout_is_plain(&s.l) && !(s.part.cal && knows_steps(s.part.cal)))
        return predict_replicas(who, asked, out, messages, err);
    if (!status)
        status = price_step(&s);
    if (!status && !(status = put_seconds(&s, out, &t))) {
        put_grounds(&s, &t, out);
        put_bounds(&s, out);
        put_own_bounds(&s, out);
        answering_doubt_types(who, asked->program, out);
        if (messages)
            status = copy_messages(&s, messages);
    }
    end_step(&s);
    return status;
}

lm_status predict_stage_tasks(const predictor *who, const step_setup *asked, pipeline_take take,
                              void *by, lm_error *err)
{
    laid_step  s      = begin_step(who, asked, err);
    lm_status  status = settle_step(who, &s);
    prediction p;
    step_times t;

    if (!status && s.l.pp == 1)
        status = lm_error_set(err, LM_E_ARG, "pp 1: there are no stages to draw");
    if (!status)
        status = price_step(&s);
    if (!status && !(status = put_seconds(&s, &p, &t)))
        status = priced_program_tasks(s.program, asked->sync.accumulation, take, by, err);
    end_step(&s);
    return status;
}
