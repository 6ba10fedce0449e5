/* PALEO's model (models/paleo.h) as a step model: a datasheet and percents of its peaks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "device/device.h"
#include "models/explanation.h"
#include "models/paleo_points.h"
#include "models/paleo_step.h"

/* Counts at the last two batches. */
typedef struct memo {
    struct {
        int64_t      batch; /* 0: none yet */
        program_kind program;
        paleo_counts counts;
    } counted[2];
    size_t next;
} memo;

/* ---- opening ---- */

lm_status paleo_open_with(predictor *who, const paleo_platform *platform, lm_error *err)
{
    paleo_platform *own = malloc(sizeof *own);

    who->by    = &paleo_model;
    who->state = own;
    who->memo  = calloc(1, sizeof(memo));
    if (!own || !who->memo)
        return no_memory(err);
    *own = *platform;
    return LM_OK;
}

static lm_status paleo_open(predictor *who, const model_source *from, lm_error *err)
{
    paleo_platform p    = from->platform;
    device_list   *list = NULL;
    const device  *d    = NULL;
    lm_status      status;

    if (!(status = devices_open(from->devices, &list, err)))
        status = devices_find(list, from->device, &d, err);
    if (!status) {
        p.peak      = device_peak(d, predictor_product_dtype(who));
        p.bandwidth = d->figure[DEVICE_BANDWIDTH];
        if (isnan(p.peak) || isnan(p.bandwidth))
            status = lm_error_set(
                err, LM_E_NOTFOUND, "%s:%d: '%.60s' has no %s", d->path, d->line, d->name,
                isnan(p.peak) ? text_dtype_name(predictor_product_dtype(who)) : "bandwidth");
    }
    devices_free(list);
    return status ? status : paleo_open_with(who, &p, err);
}

static void paleo_close(predictor *who)
{
    free((void *)who->state);
    free(who->memo);
    who->state = who->memo = NULL;
}

static paleo_platform platform_of(const predictor *who)
{
    paleo_platform p = *(const paleo_platform *)who->state;

    p.link = who->link.bytes_per_second > 0 ? who->link.bytes_per_second : NAN;
    return p;
}

double paleo_share(const predictor *who)
{
    return ((const paleo_platform *)who->state)->ppp_comp;
}

/* ---- a step ---- */

static lm_status count(const predictor *who, const step_setup *setup, const paleo_counts **out,
                       lm_error *err)
{
    const workload_name of    = predictor_workload(who, setup->program);
    memo               *s     = who->memo;
    bound_network      *bound = NULL;
    lm_status           status;

    for (size_t i = 0; i < 2; i++)
        if (s->counted[i].batch == setup->batch && s->counted[i].program == setup->program) {
            *out = &s->counted[i].counts;
            return LM_OK;
        }
    if ((status = workloads_bind_at(who->loads, &of, setup->batch, &bound, err)))
        return status;
    s->counted[s->next].batch   = setup->batch;
    s->counted[s->next].program = setup->program;
    s->counted[s->next].counts  = paleo_of_network(bound);
    bound_network_free(bound);
    *out    = &s->counted[s->next].counts;
    s->next = !s->next;
    return LM_OK;
}

static lm_status paleo_price(const predictor *who, const step_setup *s, step_price *out,
                             lm_error *err)
{
    const bounded        unknown  = { NAN, NAN, NAN };
    const paleo_counts  *c        = NULL;
    const paleo_platform platform = platform_of(who);
    step_price           p = { .step = unknown, .joules_passes = unknown, .joules_step = unknown };
    paleo_times          t;
    lm_status            status;

    if (!step_setup_in_turn(s) || s->sync.dtype)
        return lm_error_set(
            err, LM_E_UNSUPPORTED,
            "PALEO hides no all-reduce behind the backward pass, and sends gradients "
            "as they are: take --sync once without --grad-dtype");
    if (s->batch < 1)
        return lm_error_set(err, LM_E_ARG, "batch %lld: must be 1 or more", (long long)s->batch);
    if ((status = count(who, s, &c, err)))
        return status;
    t = paleo_step(c, &platform, 1);
    if (s->program == PROGRAM_INFERENCE) {
        p          = inference_price();
        t.backward = t.update = 0;
    }
    p.forward  = (bounded){ t.forward, NAN, NAN };
    p.backward = (bounded){ t.backward, NAN, NAN };
    p.update   = (bounded){ t.update, NAN, NAN };
    /* a datasheet's figures */
    ledger_add(&p.passes.ledger, CERTAINTY_ASSUMED, t.forward + t.backward);
    ledger_add(&p.rest.ledger, CERTAINTY_ASSUMED, t.update);
    if (c->unknown) {
        grounds_note(&p.passes, "nothing here", 0);
        p.passes.beyond[0].layers = c->unknown;
    }
    *out = p;
    return LM_OK;
}

/* Price of messages: a scheme over one bandwidth. */
static lm_status paleo_exchange(const predictor *who, const step_setup *s,
                                const net_metrics *counts, exchange_price *out, lm_error *err)
{
    const paleo_platform platform = platform_of(who);
    const paleo_counts  *c        = NULL;
    const lm_status      status   = count(who, s, &c, err);

    (void)counts;
    if (status)
        return status;
    *out = (exchange_price){ .seconds = paleo_step(c, &platform, step_setup_ranks(s)).sync };
    ledger_add(&out->grounds.ledger, CERTAINTY_ASSUMED, out->seconds);
    return !isnan(out->seconds)
               ? LM_OK
               : lm_error_set(err, LM_E_NOTFOUND,
                              "%lld devices exchange gradients, and a datasheet tells no network "
                              "between them: give its rate, --bandwidth 10Gbit/s",
                              (long long)step_setup_ranks(s));
}

static lm_status paleo_buckets(const predictor *who, const step_setup *s,
                               const gradient_schedule *gradients, priced_program **out,
                               lm_error *err)
{
    (void)who;
    (void)s;
    (void)gradients;
    (void)out;
    return lm_error_set(err, LM_E_UNSUPPORTED,
                        "PALEO does not say when gradients are ready: no all-reduce is hidden");
}

/* Counts of one bound only. Times are linear in counts: FLOPs alone give arithmetic, bytes alone
 * traffic. */
static paleo_counts only(const paleo_counts *c, term_bound b)
{
    paleo_counts one = *c;

    for (int pass = 0; pass < LM_N_PASSES; pass++)
        *(b == BOUND_ARITHMETIC ? &one.pass[pass].bytes : &one.pass[pass].flops) = 0;
    *(b == BOUND_ARITHMETIC ? &one.param_bytes : &one.params) = 0;
    return one;
}

static lm_status paleo_bounds(const predictor *who, const step_setup *s, bound_price *out,
                              lm_error *err)
{
    const paleo_platform platform = platform_of(who);
    const paleo_counts  *c        = NULL;
    const lm_status      status   = count(who, s, &c, err);

    *out = (bound_price){ .passes = { 0 } };
    for (term_bound b = BOUND_ARITHMETIC; b <= BOUND_TRAFFIC && !status; b++) {
        const paleo_counts one = only(c, b);
        const paleo_times  t   = paleo_step(&one, &platform, 1);

        out->passes[b] = t.forward;
        if (s->program == PROGRAM_INFERENCE)
            continue;
        out->passes[b] += t.backward;
        out->update[0][b] = out->update[1][b] = t.update;
    }
    return status;
}

/* ---- taking apart ---- */

/* Arithmetic or traffic of a layer. */
static lm_status share_layer(const predictor *who, const step_setup *setup, size_t layer,
                             const paleo_counts *c, term_bound b, explanation *e, lm_error *err)
{
    const bool           arithmetic = b == BOUND_ARITHMETIC;
    const double         micro      = (double)setup->sync.accumulation;
    const paleo_platform platform   = platform_of(who);
    const paleo_counts   mine       = only(c, b);
    const paleo_times    t          = paleo_step(&mine, &platform, step_setup_ranks(setup));
    const paleo_work     backward = paleo_backward(c), update = paleo_update(c);
    const paleo_work    *done[]    = { &c->pass[LM_FORWARD], &backward, &update };
    const double         seconds[] = { micro * t.forward, micro * t.backward, t.update, t.sync };
    lm_status            status    = LM_OK;

    for (size_t i = 0; i < e->n_parts && !status; i++) {
        const double once  = i == 3       ? (arithmetic ? 0 : c->param_bytes)
                             : arithmetic ? done[i]->flops
                                          : done[i]->bytes;
        const double count = i < 2 ? micro * once : once;
        const share  s     = { .layer       = layer,
                               .part        = e->part[i],
                               .kernels     = e->layer[layer].type,
                               .regressor   = arithmetic ? "flops" : "bytes",
                               .unit        = arithmetic ? "FLOP" : "byte",
                               .count       = count,
                               .coefficient = seconds[i] / count,
                               .seconds     = seconds[i],
                               .bound       = b,
                               .standing    = CERTAINTY_ASSUMED };

        if (count > 0 && seconds[i] > 0)
            status = explanation_add(e, &s, err);
    }
    return status;
}

static lm_status paleo_explain(const predictor *who, const step_setup *s, explanation *e,
                               lm_error *err)
{
    const workload_name of      = predictor_workload(who, s->program);
    static const phase  parts[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_SYNC };
    bound_network      *net     = NULL;
    lm_status           status  = workloads_bind_at(who->loads, &of, s->batch, &net, err);

    if (status)
        return status;
    e->n_parts = sizeof parts / sizeof parts[0];
    memcpy(e->part, parts, sizeof parts);
    if (s->program == PROGRAM_INFERENCE) {
        e->n_parts = 1;
        e->part[0] = PHASE_INFERENCE;
    }
    status = explanation_name_layers(e, net, err);
    for (size_t l = 0; l < net->n_layers && !status; l++) {
        const paleo_counts c = paleo_of_layer(net, l);

        if (!(status = share_layer(who, s, l, &c, BOUND_ARITHMETIC, e, err)))
            status = share_layer(who, s, l, &c, BOUND_TRAFFIC, e, err);
    }
    bound_network_free(net);
    return status;
}

/* Compares the model with points after a fit of its percents of peak. */
static lm_status paleo_compare(const char *model, const compared *with, comparison *out,
                               lm_error *err)
{
    (void)model;
    return compare_paleo(with->p, with->by, workloads_registry(with->p->loads), with->on, out, err);
}

const step_model paleo_model = {
    .from_datasheet = true,
    .open           = paleo_open,
    .close          = paleo_close,
    .price          = paleo_price,
    .exchange       = paleo_exchange,
    .buckets        = paleo_buckets,
    .bounds         = paleo_bounds,
    .explain        = paleo_explain,
    .compare        = paleo_compare,
};
