/* Finds or makes the machine file of a device by its name. */
#include "transfer/of_device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "machine/machine.h"
#include "machine/shipped.h"
#include "transfer/carry.h"

/* The transferable file of the nearest device, for products of `dtype` (0: any but TF32); NULL: none. */
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
            (dtype ? !dtype_of_rate(m->product, dtype) : m->product == DTYPE_TF32) ||
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

/* Adds files of other devices that belong to the nearest one. */
static void take_beside(const shipped_list *list, const device_list *devices, const device *to,
                        const shipped_machine *near, device_machine *out)
{
    for (size_t i = 0; i < list->n && out->n_beside < OF_DEVICE_BESIDE; i++) {
        const shipped_machine *m = &list->machine[i];
        const device          *on;

        if (m == near || !m->measured || m->dtype != near->dtype ||
            strcmp(m->settings, near->settings) != 0 || !(device_peak(to, m->product) > 0) ||
            devices_find(devices, m->device, &on, NULL))
            continue;
        snprintf(out->beside[out->n_beside].path, PATH_MAX, "%s", m->path);
        snprintf(out->beside[out->n_beside++].from, OF_DEVICE_NAME, "%s", m->device);
    }
}

static double apart(const device_list *devices, const char *a, const device *b, lm_dtype dtype)
{
    const device *on;

    return devices_find(devices, a, &on, NULL) ? INFINITY : transfer_distance(on, b, dtype);
}

/* Is some device of the files as far from the others as `to` is from the nearest? */
static bool spread_tells(const device_list *devices, const device *to, const device_machine *m,
                         lm_dtype dtype)
{
    const char  *name[1 + OF_DEVICE_BESIDE] = { m->from };
    const double near                       = apart(devices, m->from, to, dtype);
    double       most                       = 0;

    for (size_t i = 0; i < m->n_beside; i++)
        name[1 + i] = m->beside[i].from;
    for (size_t i = 0; i <= m->n_beside; i++) {
        const device *on;
        double        least = INFINITY;

        if (devices_find(devices, name[i], &on, NULL))
            continue;
        for (size_t k = 0; k <= m->n_beside; k++)
            least = k == i ? least : fmin(least, apart(devices, name[k], on, dtype));
        most = isfinite(least) ? fmax(most, least) : most;
    }
    return near <= most;
}

static lm_status choose(const shipped_list *list, const device_list *devices, const device *of,
                        lm_dtype dtype, device_machine *out, lm_error *err)
{
    const shipped_machine *m = shipped_find(list, of->name, dtype), *near, *with;

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
    out->n_beside = 0;
    with          = m->host ? NULL : shipped_host(list, m->product);
    snprintf(out->host, sizeof out->host, "%s", with ? with->path : "");
    if (!device_same_name(m->device, of->name))
        take_beside(list, devices, of, m, out);
    if (out->n_beside && !spread_tells(devices, of, out, m->product))
        out->n_beside = 0;
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
    const char          *path[1 + OF_DEVICE_BESIDE] = { m->path };
    const char          *from[1 + OF_DEVICE_BESIDE] = { m->from };
    const carry_question q                          = { .machine = { path, 1 + m->n_beside },
                                                        .from    = { from, 1 + m->n_beside },
                                                        .to      = m->device,
                                                        .devices = devices,
                                                        .how     = transfer_default };
    carried              w                          = { .n = 0 };
    lm_status            status;

    if (device_same_name(m->device, m->from))
        return machine_load(m->path, out, err);
    for (size_t i = 0; i < m->n_beside; i++) {
        path[1 + i] = m->beside[i].path;
        from[1 + i] = m->beside[i].from;
    }
    if (!(status = carry_over(&q, NULL, &w, err))) {
        *out  = w.cal;
        w.cal = NULL;
    }
    carried_free(&w);
    return status;
}

/* Takes over the host of another file. */
static lm_status take_host(const char *path, calibration *to, lm_error *err)
{
    calibration    *from   = NULL;
    const lm_status status = machine_load(path, &from, err);

    if (!status) {
        to->host           = from->host;
        to->host.elsewhere = true;
    }
    calibration_free(from);
    return status;
}

lm_status device_machine_load(const device_machine *m, const char *devices, calibration **out,
                              lm_error *err)
{
    const char *slash  = strrchr(m->path, '/');
    lm_status   status = load(m, devices, out, err);

    if (!status && *m->host && !(*out)->host.rows && (status = take_host(m->host, *out, err)))
        calibration_free(*out);
    if (!status && !calibration_note(*out, SHIPPED_AS, slash ? slash + 1 : m->path)) {
        calibration_free(*out);
        status = no_memory(err);
    }
    return status;
}
