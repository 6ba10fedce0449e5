/* Machines that share what they teach. */
#include "assemble/pool.h"

#include <math.h>

#include "base/no_memory.h"
#include "fit/singles.h"

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

/* By the command line, or by what the file says it was measured on. */
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

lm_status pool_read(pool *p, const word_list *path, const word_list *on, const char *where,
                    workloads *loads, const device_list *list, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < path->n && !status; i++) {
        measured_device *m = &p->machine[i];

        m->path = path->at[i];
        p->n    = i + 1;
        if ((status = measured_device_read(m, where, true, loads, err)) ||
            (status = find_device(m, on->n ? on->at[i] : NULL, list, err)))
            continue;
        if (!m->cal->layers || !layer_model_any(m->cal->layers))
            status = lm_error_set(err, LM_E_ARG,
                                  "%s: several files share what single layers teach, and there "
                                  "are too few of them here",
                                  m->path);
        else if (on->n && !calibration_measured_on(m->cal, m->on->name))
            status = no_memory(err);
        else
            m->cal->layers->device = figures_of(m->on);
    }
    return status;
}

lm_status pool_learn(pool *p, residual_trees found[N_LAYER_CLASSES], lm_error *err)
{
    const points *of[VALIDATE_DEVICES];
    layer_model  *m[VALIDATE_DEVICES];

    for (size_t i = 0; i < p->n; i++) {
        of[i] = &p->machine[i].p;
        m[i]  = p->machine[i].cal->layers;
    }
    if (!singles_learn_pool(of, m, p->n, found, err))
        return LM_OK;
    lm_error_prefix(err, "--residual");
    return err->code;
}

void pool_sources(const pool *p, layerwise_source from[VALIDATE_DEVICES],
                  calibration *cal[VALIDATE_DEVICES])
{
    for (size_t i = 0; i < p->n; i++) {
        from[i] = (layerwise_source){ .obs = p->machine[i].obs,
                                      .p   = &p->machine[i].p,
                                      .on  = p->machine[i].on };
        cal[i]  = p->machine[i].cal;
    }
}

void pool_free(pool *p)
{
    for (size_t i = 0; i < p->n; i++)
        measured_device_free(&p->machine[i]);
}

/* ---- learned models ---- */

#define SEED 1

/* To be written beside each machine file, of which the first owns it and others have their own. */
static lm_status keep(layerwise_model *m, calibration *const *cal, size_t n, lm_error *err)
{
    const char *name   = m->kind->name;
    lm_status   status = calibration_learned_add(cal[0], name, &layerwise_kept, m, err);

    for (size_t i = 1; i < n && !status; i++) {
        void *copy = NULL;

        if (!(status = kept_copy(&layerwise_kept, name, m, &copy, err)))
            status = calibration_learned_add(cal[i], name, &layerwise_kept, copy, err);
    }
    return status;
}

bool pool_teaches(const layerwise_data *d)
{
    for (size_t i = 0; i < d->n_lots; i++)
        if (d->lot[i].n >= d->kind->fewest)
            return true;
    return false;
}

lm_status pool_teach(const layerwise_data *d, const double *setting, calibration *const *cal,
                     size_t n, const layerwise_model **out, lm_error *err)
{
    layerwise_model *m      = NULL;
    lm_status        status = layerwise_learn(d, setting, SEED, NULL, NULL, &m, err);

    if (!status && !(status = keep(m, cal, n, err)))
        *out = m;
    return status;
}
