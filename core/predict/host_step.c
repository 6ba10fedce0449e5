/* Steps of an eager framework: the device's price and the host's time beside it. */
#include "predict/host_step.h"

#include <math.h>

#include "base/settings.h"
static const char *file_of(const predictor *who)
{
    return who->machine ? who->machine : "the machine file";
}

/* All bounds move with the value. Returns the seconds that it grows by. */
static double set(bounded *to, double value)
{
    const double more   = value - to->value;
    const double longer = to->value > 0 ? value / to->value : 1;

    *to = (bounded){ value, to->low * longer, to->high * longer };
    return more;
}

static void issue(const host_time *h, const host_operations *n, bool training, step_price *p)
{
    host_clock      clock              = { 0, 0 };
    bounded *const  part[N_HOST_PARTS] = { &p->forward, &p->backward, &p->update, &p->forward };
    double          more[N_HOST_PARTS] = { 0 };
    const certainty known = h->elsewhere || (!training && host_assumes(h, HOST_INFERENCE))
                                ? CERTAINTY_ASSUMED
                                : CERTAINTY_EXTRAPOLATED;

    for (host_part k = training ? HOST_FORWARD : HOST_INFERENCE;
         k < (training ? HOST_INFERENCE : N_HOST_PARTS); k++)
        if (!isnan(part[k]->value))
            more[k] =
                set(part[k], host_pass(&clock, h->queue, host_work_of(h, n, k), part[k]->value));
    more[HOST_FORWARD] += more[HOST_INFERENCE]; /* one of the two */
    ledger_add(&p->passes.ledger, known, more[HOST_FORWARD] + more[HOST_BACKWARD]);
    ledger_add(&p->rest.ledger, known, more[HOST_UPDATE]);
    p->added = (part_seconds){ more[HOST_FORWARD], more[HOST_BACKWARD], more[HOST_UPDATE] };
}

/* Checks that measurements used CUDA graphs, or that the model has a separate host time. */
static lm_status check_graph(const predictor *who, lm_error *err)
{
    if (step_prices_launches(who) ||
        (who->cal && setting_is(calibration_settings(who->cal), "launch", "graph")))
        return LM_OK;
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "--framework graph: %s was measured launch by launch: calibrate with launch = "
        "graph, or single kernels",
        file_of(who));
}

static lm_status check_eager(const predictor *who, const step_price *p, lm_error *err)
{
    if (predictor_includes_host(who))
        return lm_error_set(
            err, LM_E_ARG,
            "--framework eager: %s was measured with PyTorch and includes its host: leave it out",
            file_of(who));
    if (!who->cal || !who->cal->host.rows)
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "--framework eager: %s knows no framework's host: 'layermeter fit --host "
            "ROWS.csv', steps of small batches by examples/pytorch/collect.py",
            file_of(who));
    if (isnan(p->forward.value + p->backward.value))
        return lm_error_set(
            err, LM_E_UNSUPPORTED,
            "--framework eager: %s has only whole steps, and the host's time belongs to passes",
            file_of(who));
    return LM_OK;
}

/* An update whose operations are not counted is refused if the user asked for the host; by default the
 * update stays as measured, with a note. */
static lm_status settle_update(const predictor *who, const step_setup *s, step_price *p,
                               lm_error *err)
{
    if (s->program != PROGRAM_TRAINING || optimizer_is_measured(s->optimizer))
        return LM_OK;
    if (who->framework == FRAMEWORK_EAGER)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "--framework eager: how many operations an update of %s issues is not "
                            "counted",
                            optimizer_name(s->optimizer));
    grounds_note(&p->rest, "host of the update", 0);
    return LM_OK;
}

lm_status host_check(const predictor *who, const step_price *p, lm_error *err)
{
    switch (who->framework) {
    case FRAMEWORK_GRAPH: return check_graph(who, err);
    case FRAMEWORK_EAGER: return check_eager(who, p, err);
    case FRAMEWORK_FILE:
    case FRAMEWORK_NONE: break;
    }
    return LM_OK;
}

lm_status host_price(const predictor *who, const step_setup *s, step_price *out, lm_error *err)
{
    const workload_name of = predictor_workload(who, s->program);
    host_operations     n;
    lm_status           status = LM_OK;

    if (who->framework == FRAMEWORK_GRAPH)
        status = check_graph(who, err);
    if (status || (status = predictor_price(who, s, out, err)) ||
        predictor_framework(who) != FRAMEWORK_EAGER)
        return status;
    if (who->framework == FRAMEWORK_FILE && isnan(out->forward.value + out->backward.value))
        return LM_OK; /* whole steps only, which include their host */
    if ((status = host_check(who, out, err)) || (status = settle_update(who, s, out, err)) ||
        (status =
             host_operations_at(who->loads, &of, s->batch, s->optimizer, &who->cal->host, &n, err)))
        return status;
    issue(&who->cal->host, &n, s->program == PROGRAM_TRAINING, out);
    return LM_OK;
}
