/* layermeter validate --leave-out device: its words, and what models say of each machine. */
#include "cli/validate_machines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/validate_devices.h"

/* Is each file of a machine of its own, and is that one known? False: *code says what is wrong. */
static bool choose_devices(const machines_question *q, char *list, char *name[VALIDATE_DEVICES + 1],
                           int *code)
{
    lm_error err = { 0 };
    size_t   n   = 0;

    if (q->names)
        n = text_split(list, ',', name, VALIDATE_DEVICES + 1);
    if (q->o->n_arguments < 2)
        lm_error_set(&err, LM_E_ARG,
                     "takes a file for each machine, two or more, and --device A,B to say which "
                     "these are");
    else if (n != (size_t)q->o->n_arguments)
        lm_error_set(&err, LM_E_ARG, "%zu of --device for %d files: each needs one, in their order",
                     n, q->o->n_arguments);
    else
        return true;
    *code = report_misuse("--leave-out device", &err);
    return false;
}

/* Models that can be carried over: the default one, and those that learn of datasheets. */
static size_t choose_carried(const machines_question *q, char *list, char *name[JUDGED_MAX],
                             int *code)
{
    char         learned[100];
    lm_error     err = { 0 };
    const size_t n   = text_split(list, ',', name, JUDGED_MAX);

    for (size_t i = 0; i < n; i++) {
        double                setting[LAYERWISE_SETTINGS];
        const layerwise_kind *kind = layerwise_find(name[i]);

        if (kind && layerwise_settings(kind, q->learn, setting, &err)) {
            *code = report_misuse("--learn", &err);
            return 0;
        }
        if (!kind && strcmp(name[i], model_at(0)) != 0) {
            lm_error_set(&err, LM_E_ARG,
                         "only the models %s,%s are carried over to other devices; found '%.40s'",
                         model_at(0), layerwise_names(",", learned, sizeof learned), name[i]);
            *code = report_misuse("--leave-out device", &err);
            return 0;
        }
    }
    return n;
}

/* What one of them says of all machines. */
static lm_status judge_carried(const machines_question *q, const devices_left_out *d, judged *to,
                               lm_error *err)
{
    const layerwise_kind *kind = layerwise_find(to->model);
    double                setting[LAYERWISE_SETTINGS];
    lm_status             status;

    if (!kind) {
        memcpy(to->at, d->at, d->all.n_points * sizeof *to->at);
        return LM_OK;
    }
    if ((status = layerwise_settings(kind, q->learn, setting, err)))
        return status;
    return devices_leave_out_learned(d, kind, setting, to->at, err);
}

static lm_status print_machines(const machines_question *q, const devices_left_out *d,
                                char *const *name, size_t n, lm_error *err)
{
    judged        judge[JUDGED_MAX] = { { 0 } };
    const judging all               = { &d->all, &d->by, &d->by, judge, n, false };
    lm_status     status            = LM_OK;

    for (size_t i = 0; i < d->n; i++)
        print_flagged(d->machine[i].obs, &d->machine[i].p);
    for (size_t m = 0; m < n && !status; m++) {
        judge[m] = (judged){ name[m], calloc(d->all.n_points + 1, sizeof(comparison)) };
        status   = judge[m].at ? judge_carried(q, d, &judge[m], err) : no_memory(err);
    }
    if (!status)
        status = judging_print(&all, &q->form, err);
    for (size_t m = 0; m < n; m++)
        free(judge[m].at);
    return status;
}

int validate_machines(const machines_question *q)
{
    lm_error         err     = { 0 };
    const options   *o       = q->o;
    registry        *reg     = NULL;
    workloads       *loads   = NULL;
    device_list     *devices = NULL;
    devices_left_out d       = { .n = 0 };
    char            *name[VALIDATE_DEVICES + 1], list[1024], *model[JUDGED_MAX], models[128];
    size_t           n;
    bool             carry = false;
    int              code  = EXIT_DONE;

    snprintf(list, sizeof list, "%s", q->names ? q->names : "");
    snprintf(models, sizeof models, "%s", q->models ? q->models : model_at(0));
    if (!choose_devices(q, list, name, &code) || !(n = choose_carried(q, models, model, &code)))
        return code;
    for (size_t m = 0; m < n; m++)
        carry |= !layerwise_find(model[m]);
    if (open_registry(o, &reg, &err) || workloads_new(reg, &loads, &err) ||
        devices_open(q->datasheets, &devices, &err) ||
        devices_leave_out(o->argument, name, (size_t)o->n_arguments, q->where, carry, devices,
                          loads, &d, &err) ||
        print_machines(q, &d, model, n, &err))
        code = report_failure(&err);
    devices_left_out_free(&d);
    devices_free(devices);
    workloads_free(loads);
    registry_free(reg);
    return code;
}
