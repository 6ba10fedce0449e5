/* The machine of a device by its name. */
#include "transfer/of_device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "machine/machine.h"
#include "machine/shipped.h"
#include "transfer/carry.h"

/* Of the files that may be carried over the one of the nearest device, of products of `dtype` (0: of
 * any); NULL: there is none. */
static const shipped_machine *nearest(const shipped_list *list, const device_list *devices,
                                      const device *to, lm_dtype dtype)
{
    const shipped_machine *best  = NULL;
    double                 least = INFINITY;

    for (size_t i = 0; i < list->n; i++) {
        const shipped_machine *m = &list->machine[i];
        const device          *on;
        double                 far;

        if (!m->measured || !(device_peak(to, m->product) > 0) ||
            (dtype && !dtype_of_rate(m->product, dtype)) ||
            devices_find(devices, m->device, &on, NULL))
            continue;
        far = transfer_distance(on, to, m->product);
        if (far < least) {
            least = far;
            best  = m;
        }
    }
    return best;
}

static lm_status choose(const shipped_list *list, const device_list *devices, const device *of,
                        lm_dtype dtype, device_machine *out, lm_error *err)
{
    const shipped_machine *m = shipped_find(list, of->name, dtype), *near;

    if ((dtype == LM_BF16 || dtype == LM_F8) && !(device_peak(of, dtype) > 0))
        return lm_error_set(err, LM_E_NOTFOUND, "'%.60s' does not compute with %s: take f16",
                            of->name, text_dtype_name(dtype));
    if (!m || (dtype && !dtype_of_rate(m->product, dtype)))
        if ((near = nearest(list, devices, of, dtype)))
            m = near;
    if (!m)
        m = nearest(list, devices, of, 0);
    if (!m)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "no machine file ships for '%.60s', nor one to carry over: take its "
                            "datasheet's peaks as a lower bound (--model paleo)",
                            of->name);
    snprintf(out->device, sizeof out->device, "%s", of->name);
    snprintf(out->path, sizeof out->path, "%s", m->path);
    snprintf(out->from, sizeof out->from, "%s", m->device);
    return LM_OK;
}

lm_status device_machine_find(const char *name, const char *devices, lm_dtype dtype,
                              device_machine *out, lm_error *err)
{
    device_list  *list    = NULL;
    shipped_list *shipped = NULL;
    const device *of;
    lm_status     status;

    if (!(status = devices_open(devices, &list, err)) &&
        !(status = devices_find(list, name, &of, err)) && !(status = shipped_open(&shipped, err)))
        status = choose(shipped, list, of, dtype, out, err);
    shipped_free(shipped);
    devices_free(list);
    return status;
}

static lm_status load(const device_machine *m, const char *devices, calibration **out,
                      lm_error *err)
{
    const char          *path = m->path, *from = m->from;
    const carry_question q = { .machine = { &path, 1 },
                               .from    = { &from, 1 },
                               .to      = m->device,
                               .devices = devices,
                               .how     = transfer_default };
    carried              w = { .n = 0 };
    lm_status            status;

    if (device_same_name(m->device, m->from))
        return machine_load(m->path, out, err);
    if (!(status = carry_over(&q, NULL, &w, err))) {
        *out  = w.cal;
        w.cal = NULL;
    }
    carried_free(&w);
    return status;
}

lm_status device_machine_load(const device_machine *m, const char *devices, calibration **out,
                              lm_error *err)
{
    const char *slash  = strrchr(m->path, '/');
    lm_status   status = load(m, devices, out, err);

    if (!status && !calibration_note(*out, SHIPPED_AS, slash ? slash + 1 : m->path)) {
        calibration_free(*out);
        status = no_memory(err);
    }
    return status;
}
