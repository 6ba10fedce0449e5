/* Machines that teach common models. */
#include "assemble/assembly.h"

#include "base/no_memory.h"
#include "fit/singles.h"
#include "machine/machine.h"

static layer_device figures_of(const device *d)
{
    static const device_figure figure[N_LAYER_FIGURES] = {
        [LAYER_FLOPS]           = DEVICE_F32,
        [LAYER_BANDWIDTH]       = DEVICE_BANDWIDTH,
        [LAYER_MULTIPROCESSORS] = DEVICE_MULTIPROCESSORS,
        [LAYER_L2]              = DEVICE_L2,
        [LAYER_CLOCK]           = DEVICE_CLOCK,
        [LAYER_POWER]           = DEVICE_POWER,
    };
    layer_device out = { { 0 } };

    for (layer_figure f = 0; f < N_LAYER_FIGURES; f++)
        if (d->figure[figure[f]] > 0)
            out.figure[f] = d->figure[figure[f]];
    return out;
}

/* The device of the command line, or the one that the file names. */
static lm_status find_device(measured_device *m, const char *name, const device_list *list,
                             lm_error *err)
{
    if (!name)
        name = observations_provenance(m->obs, "device");
    if (!name)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: no 'device' in its head: say --device, of each file", m->path);
    if (devices_find(list, name, &m->on, err)) {
        lm_error_prefix(err, "%s", m->path);
        return err->code;
    }
    return LM_OK;
}

/* Reads the files, and fits the prices of single layers of each. */
static lm_status read_all(const assembly_question *q, workloads *loads, assemblies *out,
                          lm_error *err)
{
    const word_list *on     = &q->devices;
    lm_status        status = LM_OK;

    for (size_t i = 0; i < q->paths.n && !status; i++) {
        measured_device *m = &out->machine[i];

        m->path = q->paths.at[i];
        out->n  = i + 1;
        if ((status = measured_device_read(m, q->where, true, loads, err)) ||
            (status = find_device(m, on->n ? on->at[i] : NULL, out->sheets, err)))
            continue;
        if (!m->cal->layers || !layer_model_any(m->cal->layers))
            status = lm_error_set(
                err, LM_E_ARG,
                "%s: several files share what single layers teach, and here are too few single layers",
                m->path);
        else if (on->n && !calibration_measured_on(m->cal, m->on->name))
            status = no_memory(err);
        else
            m->cal->layers->device = figures_of(m->on);
    }
    return status;
}

static lm_status check_list(const char *option, const word_list *list, size_t n, lm_error *err)
{
    return list->n == n ? LM_OK
                        : lm_error_set(err, LM_E_ARG,
                                       "%s: %zu for %zu files: each needs one, in their order",
                                       option, list->n, n);
}

static lm_status learn_residual(assemblies *a, lm_error *err)
{
    const points *of[VALIDATE_DEVICES];
    layer_model  *m[VALIDATE_DEVICES];
    lm_status     status;

    for (size_t i = 0; i < a->n; i++) {
        of[i] = &a->machine[i].p;
        m[i]  = a->machine[i].cal->layers;
    }
    if ((status = singles_learn_pool(of, m, a->n, a->residual, err)))
        lm_error_prefix(err, "--residual");
    return status;
}

static lm_status teach(const assemblies *a, taught_models *models, lm_error *err)
{
    layerwise_source from[VALIDATE_DEVICES];
    calibration     *cal[VALIDATE_DEVICES];

    for (size_t i = 0; i < a->n; i++) {
        const measured_device *m = &a->machine[i];

        from[i] = (layerwise_source){ .obs = m->obs, .p = &m->p, .on = m->on };
        cal[i]  = m->cal;
    }
    return taught_models_teach(models, from, a->n, cal, err);
}

lm_status assemblies_of(const assembly_question *q, workloads *loads, taught_models *models,
                        assemblies *out, lm_error *err)
{
    const size_t n = q->paths.n;
    lm_status    status;

    if (n > VALIDATE_DEVICES)
        return lm_error_set(err, LM_E_ARG, "more than %d files", VALIDATE_DEVICES);
    if ((status = devices_open(q->sheets, &out->sheets, err)) ||
        (status = check_list("-o", &q->outputs, n, err)) ||
        (q->devices.n && (status = check_list("--device", &q->devices, n, err))) ||
        (status = read_all(q, loads, out, err)) ||
        (q->residual != RESIDUAL_OFF && (status = learn_residual(out, err))) ||
        (status = teach(out, models, err)))
        return status;
    for (size_t i = 0; !status && i < out->n; i++)
        status = machine_save(out->machine[i].cal, q->outputs.at[i], err);
    return status;
}

void assemblies_free(assemblies *a)
{
    for (size_t i = 0; i < a->n; i++)
        measured_device_free(&a->machine[i]);
    devices_free(a->sheets);
}
