/* A job's own curve as a model: steps of one network, continued to more devices. */
#include "fabric/job_curve.h"

#include <math.h>
#include <string.h>

#include "models/explanation.h"
#include "models/linear.h"

static const job_curve *curve_of(const predictor *who)
{
    const char *input = NULL;

    return step_measurable(who, &input) ? job_curves_find(&who->cal->curves, who->network, input)
                                        : NULL;
}

/* Does a curve apply? Separately measured passes and steps with overlap are better, if there are
 * any. */
bool job_curve_applies(const predictor *who)
{
    const size_t forward = form_find(DEFAULT_MODEL, PHASE_FORWARD);

    return who->cal && who->cal->curves.n && !strcmp(who->model, DEFAULT_MODEL) &&
           !who->cal->fitted[forward].present && !who->cal->overlapping.rows && curve_of(who);
}

static lm_status curve_open(predictor *who, const model_source *from, lm_error *err)
{
    (void)from;
    (void)err;
    who->state = curve_of(who);
    return LM_OK;
}

static const char *machine_of(const predictor *who)
{
    return who->machine ? who->machine : "the machine file";
}

/* Basis of a device's own time: a single batch is no basis for another, nor is a single number of
 * micro-steps, as these share one update. */
static certainty certainty_at(const predictor *who, const step_setup *s)
{
    const job_curve *c      = who->state;
    const double     batch  = (double)s->batch;
    const double     micro  = (double)s->sync.accumulation;
    const bool       inside = batch >= c->least_batch && batch <= c->most_batch;

    if (micro < c->least_micro || micro > c->most_micro)
        return c->most_micro > c->least_micro ? CERTAINTY_EXTRAPOLATED : CERTAINTY_ASSUMED;
    if (micro == 1 && step_measured(who, s) & 1u << PHASE_FORWARD)
        return CERTAINTY_MEASURED;
    return inside        ? CERTAINTY_INTERPOLATED
           : c->step > 0 ? CERTAINTY_EXTRAPOLATED
                         : CERTAINTY_ASSUMED;
}

static void note_range(const char *what, double value, double least, double most, grounds *g)
{
    if (value > most)
        grounds_note(g, what, value / most);
    else if (value < least)
        grounds_note(g, what, value / least);
}

static lm_status curve_price(const predictor *who, const step_setup *s, step_price *out,
                             lm_error *err)
{
    const job_curve    *c       = who->state;
    const workload_name of      = predictor_workload(who, s->program);
    const bounded       unknown = { NAN, NAN, NAN };
    const double        batch = (double)s->batch, micro = (double)s->sync.accumulation;
    const double        own    = job_curve_own(c, batch);
    const double        once   = job_curve_own_once(c, batch, micro);
    const double        spread = job_curve_own_spread(c, batch);
    net_metrics         counts;
    lm_status           status;

    if (s->program == PROGRAM_INFERENCE)
        return linear_missing(who, PHASE_INFERENCE, err);
    if ((status = workloads_counts(who->loads, &of, s->batch, &counts, err)))
        return status;
    *out = (step_price){ .forward  = unknown,
                         .backward = unknown,
                         .update   = unknown,
                         .step     = { own, fmin(own, once) / spread, fmax(own, once) * spread },
                         .joules_passes = unknown,
                         .joules_step   = unknown,
                         .counts        = counts };
    ledger_add(&out->passes.ledger, certainty_at(who, s), own);
    note_range("batch", batch, c->least_batch, c->most_batch, &out->passes);
    note_range("micro-steps", micro, c->least_micro, c->most_micro, &out->passes);
    return linear_trains(who, &counts, err);
}

/* All-reduces between hosts without measurements: by the user's link. */
static lm_status told_exchange(const predictor *who, const step_setup *s, const net_metrics *counts,
                               exchange_price *out, lm_error *err)
{
    const job_curve      *c = who->state;
    const collective_call a = { COLLECTIVE_ALLREDUCE, step_setup_bytes(s, counts), s->nodes, 1, 1 };
    interconnect          link = who->link; /* of all devices of a node, as one */
    collective_answer     answer;
    lm_status             status;

    link.per_device *= (double)s->devices;
    if (!(who->link.bytes_per_second > 0))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: the steps of %s are of one host (column 'hosts' of their rows): "
                            "measure it on two, or say what connects them (--bandwidth); within "
                            "one, ask --devices-per-node",
                            machine_of(who), who->network);
    if ((status = calibration_ask(who->cal, &link, &a, &answer, err)))
        return status;
    *out         = (exchange_price){ .told_link = true };
    out->seconds = answer.seconds + job_curve_exposed(c, 1, (double)s->devices);
    for (size_t i = 0; i < answer.n_beyond; i++)
        grounds_note(&out->grounds, answer.beyond[i].what, answer.beyond[i].factor);
    ledger_add(&out->grounds.ledger, CERTAINTY_ASSUMED, out->seconds);
    return LM_OK;
}

/* Price of the exposed part of the all-reduces. */
static lm_status curve_exchange(const predictor *who, const step_setup *s,
                                const net_metrics *counts, exchange_price *out, lm_error *err)
{
    const job_curve *c     = who->state;
    const double     hosts = (double)s->nodes, devices = (double)s->devices;
    const double     exposed = job_curve_exposed(c, hosts, devices);
    const double     spread  = job_curve_exposed_spread(c, hosts, devices);
    const bool       beyond  = hosts > c->hosts || devices > c->devices;

    if (!job_curve_knows(c, false, devices > 1))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: the steps of %s are of one device of each host: measure it on "
                            "several devices of a host, or ask --devices-per-node 1",
                            machine_of(who), who->network);
    if (!job_curve_knows(c, hosts > 1, false))
        return told_exchange(who, s, counts, out, err);
    *out = (exchange_price){ .seconds = exposed,
                             .beyond  = hosts * devices > c->ranks ? hosts * devices / c->ranks : 0,
                             .bounds_stated = true,
                             .low           = exposed / spread,
                             .high          = exposed * spread };
    ledger_add(&out->grounds.ledger, beyond ? CERTAINTY_EXTRAPOLATED : CERTAINTY_INTERPOLATED,
               exposed);
    return LM_OK;
}

static lm_status curve_buckets(const predictor *who, const step_setup *s,
                               const gradient_schedule *gradients, priced_program **out,
                               lm_error *err)
{
    (void)s;
    (void)gradients;
    (void)out;
    return lm_error_set(err, LM_E_UNSUPPORTED,
                        "%s has only whole steps of %s, with all-reduces as they were sent: give "
                        "--sync once, which keeps them so",
                        machine_of(who), who->network);
}

/* Parts of a step: the device's work and the exposed all-reduces. No layer has a share of its
 * own. */
static lm_status curve_explain(const predictor *who, const step_setup *s, explanation *e,
                               lm_error *err)
{
    const job_curve    *c        = who->state;
    const workload_name of       = predictor_workload(who, s->program);
    const double        within   = job_curve_exposed(c, 1, (double)s->devices);
    const certainty     standing = certainty_at(who, s);
    const ledger       *all      = &e->step.grounds.ledger;
    const certainty     rest     = ledger_share(all, CERTAINTY_ASSUMED) > 0 ? CERTAINTY_ASSUMED
                                   : ledger_share(all, CERTAINTY_EXTRAPOLATED) > 0 ? CERTAINTY_EXTRAPOLATED
                                                                                   : standing;
    bound_network      *bound;
    lm_status           status = workloads_bind_at(who->loads, &of, s->batch, &bound, err);

    if (status)
        return status;
    e->part[0] = PHASE_STEP;
    e->part[1] = PHASE_SYNC;
    e->n_parts = step_setup_exchanges(s) ? 2 : 1;
    if (!(status = explanation_name_layers(e, bound, err)) &&
        !(status = explanation_add_whole(e, PHASE_STEP, "step", "a device by itself",
                                         (double)s->sync.accumulation *
                                             job_curve_own(c, (double)s->batch),
                                         N_TERM_BOUNDS, standing, err)) &&
        !(status = explanation_add_whole(e, PHASE_SYNC, "step", "all-reduces within hosts", within,
                                         N_TERM_BOUNDS, rest, err)))
        status = explanation_add_whole(e, PHASE_SYNC, "step", "all-reduces between hosts",
                                       e->step.sync - within, N_TERM_BOUNDS, rest, err);
    bound_network_free(bound);
    return status;
}

const step_model job_curve_model = {
    .open     = curve_open,
    .price    = curve_price,
    .exchange = curve_exchange,
    .buckets  = curve_buckets,
    .explain  = curve_explain,
};
