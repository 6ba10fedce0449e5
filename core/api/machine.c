/* Handles of machines: the user's or a shipped machine file, with its interconnects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "base/no_memory.h"
#include "machine/interconnect.h"
#include "machine/machine.h"

static lm_status handle_of(calibration *cal, const char *path, lm_machine **out, lm_error *err)
{
    lm_machine *m = calloc(1, sizeof *m);

    if (!m || !(m->path = strdup(path))) {
        free(m);
        calibration_free(cal);
        return no_memory(err);
    }
    m->cal = cal;
    *out   = m;
    return LM_OK;
}

/* ---- what connects devices and nodes ---- */

static bool within_node(const calibration *cal)
{
    const algorithm_model *a = collective_algorithm(cal->collectives, COLLECTIVE_ALLREDUCE, NULL);

    return a && a->of[FABRIC_ONE].rows;
}

static bool is_told(const interconnect *link)
{
    return link->bytes_per_second > 0 || link->name;
}

/* Sets the datasheet's links of a usual node if none are given: between devices of a node and, for
 * shipped files, between nodes. */
static lm_status lay_usual(const machine_asked *q, const device *on, lm_machine *m, lm_error *err)
{
    calibration       *cal = m->cal;
    named_interconnect named;
    lm_status          status;

    if (!on->link || within_node(cal) || (cal->collectives && !q->link.name) ||
        !calibration_asks(cal, DEFAULT_MODEL)) /* a model with its own formula answers */
        return LM_OK;
    if ((status = interconnect_find(on->link, &named, err)) ||
        (status = interconnect_lay(cal, &named, err)) || !q->shipped || is_told(&q->link))
        return status;
    m->link         = named.told;
    m->link.assumed = true;
    snprintf(m->link_name, sizeof m->link_name, "%s", on->link);
    m->link.name = m->link_name;
    return LM_OK;
}

static lm_status connect_nodes(const machine_asked *q, lm_machine *m, lm_error *err)
{
    const char   *name = q->device ? q->device : calibration_device(m->cal);
    device_list  *list = NULL;
    const device *on   = NULL;
    lm_status     status;

    snprintf(m->link_name, sizeof m->link_name, "%s", q->link.name ? q->link.name : "");
    m->link      = q->link;
    m->link.name = q->link.name ? m->link_name : NULL;
    if (name && (status = devices_open(q->devices, &list, err)))
        return status;
    if (name && devices_find(list, name, &on, NULL))
        on = NULL; /* a CPU, or a device of the user */
    status = on && q->link.name ? interconnect_suits(q->link.name, on, err) : LM_OK;
    if (!status)
        status = interconnect_settle(m->cal, &m->link, err);
    if (!status && on)
        status = lay_usual(q, on, m, err);
    devices_free(list);
    return status;
}

/* ---- handles ---- */

lm_status machine_handle_open(const machine_asked *q, lm_machine **out, lm_error *err)
{
    calibration *cal = NULL;
    lm_machine  *m   = NULL;
    lm_status    status;

    if ((status = q->shipped ? device_machine_load(q->shipped, q->devices, &cal, err)
                             : machine_load(q->path, &cal, err)) ||
        (status = handle_of(cal, q->shipped ? q->shipped->device : q->path, &m, err)))
        return status;
    m->shipped = q->shipped != NULL;
    if ((status = connect_nodes(q, m, err)))
        lm_machine_close(m);
    else
        *out = m;
    return status;
}

lm_status lm_machine_open(const char *path, lm_machine **out, lm_error *err)
{
    return machine_handle_open(&(machine_asked){ .path = path }, out, err);
}

static lm_status check_options(const lm_machine_options *o, lm_error *err)
{
    if (!o->path && !o->device)
        return lm_error_set(err, LM_E_ARG,
                            "options: a machine is a file (path), or what ships for a device");
    if (o->path && o->dtype)
        return lm_error_set(err, LM_E_ARG,
                            "options: dtype chooses among the files that ship for a device: a path "
                            "has its own");
    if (o->interconnect && strlen(o->interconnect) >= sizeof((lm_machine *)0)->link_name)
        return lm_error_set(err, LM_E_ARG, "options: no interconnect '%.40s...'", o->interconnect);
    return LM_OK;
}

lm_status lm_machine_open_with(const lm_library *library, const lm_machine_options *options,
                               lm_machine **out, lm_error *err)
{
    lm_machine_options o;
    device_machine     found;
    machine_asked      q;
    lm_status          status = QUESTION_TAKE(o, options, err);

    if (status || (status = check_options(&o, err)))
        return status;
    q = (machine_asked){ .path    = o.path,
                         .device  = o.device,
                         .devices = library->from.devices,
                         .link    = { .name = o.interconnect } };
    if (!o.path) {
        if ((status = device_machine_find(o.device, q.devices, o.dtype, &found, err)))
            return status;
        q.shipped = &found;
        q.device  = found.device;
    }
    return machine_handle_open(&q, out, err);
}

const char *lm_machine_told(const lm_machine *machine, const char *key)
{
    return calibration_told(machine->cal, key);
}

void lm_machine_close(lm_machine *machine)
{
    if (!machine)
        return;
    calibration_free(machine->cal);
    free(machine->path);
    free(machine);
}
