/* Steps of an eager framework: the device's price and the host's time beside it. */
#include "predict/host_step.h"

#include <math.h>
#include <string.h>

static const char *file_of(const predictor *who)
{
    return who->machine ? who->machine : "the machine file";
}

/* All bounds move with the value. */
static void set(bounded *to, double value)
{
    const double longer = to->value > 0 ? value / to->value : 1;

    *to = (bounded){ value, to->low * longer, to->high * longer };
}

static void issue(const host_time *h, const host_operations *n, bool training, step_price *p)
{
    host_clock   clock  = { 0, 0 };
    const double passes = p->forward.value + p->backward.value, update = p->update.value;

    bounded *part[N_HOST_PARTS] = { &p->forward, &p->backward, &p->update, &p->forward };

    for (host_part k = training ? HOST_FORWARD : HOST_INFERENCE;
         k < (training ? HOST_INFERENCE : N_HOST_PARTS); k++)
        if (!isnan(part[k]->value))
            set(part[k], host_pass(&clock, h->queue, host_work_of(h, n, k), part[k]->value));
    ledger_add(&p->passes.ledger,
               !training && host_assumes(h, HOST_INFERENCE) ? CERTAINTY_ASSUMED
                                                            : CERTAINTY_EXTRAPOLATED,
               p->forward.value + p->backward.value - passes);
    if (!isnan(update))
        ledger_add(&p->rest.ledger, CERTAINTY_EXTRAPOLATED, p->update.value - update);
}

/* Checks that measurements used CUDA graphs, or that the model has a separate host time. */
static lm_status check_graph(const predictor *who, lm_error *err)
{
    const char *settings = who->cal ? calibration_told(who->cal, "settings") : NULL;

    if (step_prices_launches(who) || (settings && strstr(settings, "launch=graph")))
        return LM_OK;
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "--framework graph: %s was measured launch by launch: calibrate with launch = "
        "graph, or single kernels",
        file_of(who));
}

static lm_status check_eager(const predictor *who, const step_price *p, lm_error *err)
{
    const char *by = who->cal ? calibration_told(who->cal, "compute_backend") : NULL;

    if (by && !strcmp(by, "pytorch"))
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

lm_status host_check(const predictor *who, const step_price *p, lm_error *err)
{
    switch (who->framework) {
    case FRAMEWORK_GRAPH: return check_graph(who, err);
    case FRAMEWORK_EAGER: return check_eager(who, p, err);
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
    if (status || (status = predictor_price(who, s, out, err)) || who->framework != FRAMEWORK_EAGER)
        return status;
    if ((status = host_check(who, out, err)) ||
        (status =
             host_operations_at(who->loads, &of, s->batch, s->optimizer, &who->cal->host, &n, err)))
        return status;
    issue(&who->cal->host, &n, s->program == PROGRAM_TRAINING, out);
    return LM_OK;
}
