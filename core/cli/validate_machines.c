/* layermeter validate --leave-out device: predictions of each machine by the others. */
#include "cli/cmd_validate.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

/* Checks that a model can be carried over: the default model and models that learn from datasheets
 * can. */
static lm_status check_carried(const validate_options *a, const char *name, lm_error *err)
{
    const layerwise_kind *kind = layerwise_find(name);
    double                setting[LAYERWISE_SETTINGS];
    char                  learned[100];

    if (kind && layerwise_settings(kind, a->learn, setting, err)) {
        lm_error_prefix(err, "--learn");
        return err->code;
    }
    if (step_model_carried(name))
        return LM_OK;
    return lm_error_set(err, LM_E_ARG,
                        "--leave-out device: only the models %s,%s are carried over to other "
                        "devices; found '%.40s'",
                        DEFAULT_MODEL, layerwise_names(",", learned, sizeof learned), name);
}

lm_status validate_machines_check(options *o, lm_error *err)
{
    validate_options *a = o->filled;
    const size_t      n = (size_t)o->n_arguments;

    if (!option_given(o, &a->models))
        a->models.n = 1; /* only the default model of the usual list */
    if (n < 2)
        return lm_error_set(err, LM_E_ARG,
                            "--leave-out device: takes a file for each machine, two or more, and "
                            "--device A,B to say which these are");
    if (a->device.n != n)
        return lm_error_set(
            err, LM_E_ARG,
            "--leave-out device: %zu of --device for %zu files: each needs one, in their order",
            a->device.n, n);
    for (size_t i = 0; i < a->models.n; i++)
        if (check_carried(a, a->models.at[i], err))
            return LM_E_ARG;
    return LM_OK;
}

/* Predictions of one model for all machines. */
static lm_status judge_carried(const validate_options *a, const devices_left_out *d, judged *to,
                               lm_error *err)
{
    const layerwise_kind *kind = layerwise_find(to->model);
    double                setting[LAYERWISE_SETTINGS];
    lm_status             status;

    if (!kind) {
        memcpy(to->at, d->at, d->all.n_points * sizeof *to->at);
        return LM_OK;
    }
    if ((status = layerwise_settings(kind, a->learn, setting, err)))
        return status;
    return devices_leave_out_learned(d, kind, setting, to->at, err);
}

static lm_status print_machines(const validate_options *a, const devices_left_out *d, lm_error *err)
{
    const size_t  n                 = a->models.n;
    judged        judge[JUDGED_MAX] = { { 0 } };
    const judging all               = { &d->all, &d->by, &d->by, judge, n, false };
    lm_status     status            = LM_OK;

    for (size_t i = 0; i < d->n; i++)
        print_flagged(d->machine[i].obs, &d->machine[i].p);
    for (size_t m = 0; m < n && !status; m++) {
        judge[m] = (judged){ a->models.at[m], calloc(d->all.n_points + 1, sizeof(comparison)) };
        status   = judge[m].at ? judge_carried(a, d, &judge[m], err) : no_memory(err);
    }
    if (!status)
        status = judging_print(&all, &a->form, err);
    for (size_t m = 0; m < n; m++)
        free(judge[m].at);
    return status;
}

lm_status validate_machines(const options *o, lm_error *err)
{
    const validate_options *a       = o->filled;
    registry               *reg     = NULL;
    workloads              *loads   = NULL;
    device_list            *devices = NULL;
    devices_left_out        d       = { .n = 0 };
    bool                    carry   = false;
    lm_status               status;

    for (size_t m = 0; m < a->models.n; m++)
        carry |= !layerwise_find(a->models.at[m]);
    if (!(status = open_registry(o, &reg, err)) && !(status = workloads_new(reg, &loads, err)) &&
        !(status = devices_open(a->devices, &devices, err)) &&
        !(status = devices_leave_out(o->argument, a->device.at, a->device.n, a->where, carry,
                                     devices, loads, &d, err)))
        status = print_machines(a, &d, err);
    devices_left_out_free(&d);
    devices_free(devices);
    workloads_free(loads);
    registry_free(reg);
    return status;
}
