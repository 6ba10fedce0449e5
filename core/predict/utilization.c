/* Model FLOP utilization. */
#include "predict/utilization.h"

#include <math.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/settings.h"
#include "device/device.h"
#include "network/metrics.h"
#include "network/timeline.h"

static double peak_of(const device *d, const predictor *who)
{
    const char *settings = who->cal ? calibration_settings(who->cal) : NULL;

    if (who->as_tf32 > 0)
        return d->figure[DEVICE_TF32];
    if (who->dtype == LM_F32 && !who->mixed &&
        (setting_is(settings, "math", "tf32") || setting_is(settings, "math", "torch")))
        return d->figure[DEVICE_TF32];
    return device_peak(d, predictor_product_dtype(who));
}

static lm_status find_peak(const predictor *who, const model_source *from, double *out,
                           lm_error *err)
{
    const char   *told = from->device ? from->device : NULL;
    const char   *name = told ? told : who->cal ? calibration_device(who->cal) : NULL;
    device_list  *list = NULL;
    const device *d;
    lm_error      unknown;
    lm_status     status;

    *out = NAN;
    if (!name)
        return LM_OK;
    if ((status = devices_open(from->devices, &list, err)))
        return status;
    if (!devices_find(list, name, &d, &unknown))
        *out = peak_of(d, who);
    devices_free(list);
    return LM_OK;
}

/* FLOPs of the products that fused attention computes again in its backward pass: one of five, Q K^T
 * (lm_kernel_macs()). */
static double fused_again(const bound_network *bound)
{
    double flops = 0;

    for (size_t i = 0; i < bound->n_layers; i++)
        for (size_t n = 0; n < bound->layer[i].n_kernels[LM_GRAD_INPUT]; n++) {
            const lm_kernel *k = &bound->layer[i].kernels[LM_GRAD_INPUT][n];
            const double     w = (double)k->u.attention.width;

            if (k->op == LM_OP_ATTENTION && !bound->layer[i].idle)
                flops += 2 * (double)k->repeat * (double)lm_kernel_macs(k) * w /
                         (3 * w + 2 * (double)k->u.attention.value_width);
        }
    return flops;
}

/* FLOPs of a step's products, each once. */
static double flops_once(const bound_network *bound, const net_metrics *m)
{
    return (double)m->flops_forward + (double)m->flops_backward - fused_again(bound);
}

lm_status utilization_at_peak(const predictor *who, program_kind program, const model_source *from,
                              double *out, lm_error *err)
{
    const workload_name of    = predictor_workload(who, program);
    bound_network      *bound = NULL;
    net_metrics         m;
    double              peak;
    lm_status           status = find_peak(who, from, &peak, err);

    if (!status)
        status = workloads_bind_at(who->loads, &of, 1, &bound, err);
    if (!status)
        status = metrics_of_network(bound, NULL, &m, err);
    if (!status)
        *out =
            (program == PROGRAM_TRAINING ? flops_once(bound, &m) : (double)m.flops_forward) / peak;
    bound_network_free(bound);
    return status;
}

static lm_status add_again(const bound_network *bound, const char *segments, double *out,
                           lm_error *err)
{
    arena      *room = arena_new();
    timeline    t;
    net_metrics all, one;
    double      again  = 0;
    lm_status   status = room ? timeline_make(bound, segments, room, &t, err) : no_memory(err);

    if (!status)
        status = metrics_of_network(bound, NULL, &all, err);
    for (size_t i = 0; i < bound->n_layers && !status; i++)
        if (t.again[i] != TIMELINE_NEVER &&
            !(status = metrics_of_layer(&bound->layer[i], &one, err)))
            again += (double)one.flops_forward;
    if (!status)
        *out = (again + fused_again(bound)) / flops_once(bound, &all);
    arena_free(room);
    return status;
}

lm_status utilization_again(const predictor *who, const char *segments, double *out, lm_error *err)
{
    const workload_name of    = predictor_workload(who, PROGRAM_TRAINING);
    bound_network      *bound = NULL;
    lm_status           status;

    *out = 0;
    if (!segments)
        return LM_OK;
    if (!(status = workloads_bind_at(who->loads, &of, 1, &bound, err)))
        status = add_again(bound, segments, out, err);
    bound_network_free(bound);
    return status;
}
