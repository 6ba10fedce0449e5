/* layermeter fit, of several files. */
#include "cli/cmd_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "cli/cmd_validate.h"
#include "fit/singles.h"
#include "machine/machine.h"
#include "single/residual.h"

typedef struct pool {
    measured_device machine[VALIDATE_DEVICES];
    size_t          n;
} pool;

/* ---- machines -----------------------------------------------------------------------------------
 */

/* A list of the command line: as long as the list of files. */
static lm_status check_list(const char *option, const option_texts *list, size_t n, lm_error *err)
{
    return list->n == n ? LM_OK
                        : lm_error_set(err, LM_E_ARG,
                                       "%s: %zu for %zu files: each needs one, in their order",
                                       option, list->n, n);
}

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

static lm_status read_machines(pool *p, const options *o, const fit_options *a, workloads *loads,
                               const device_list *list, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < (size_t)o->n_arguments && !status; i++) {
        measured_device *m = &p->machine[i];

        m->path = o->argument[i];
        p->n    = i + 1;
        if ((status = measured_device_read(m, a->where, true, loads, err)) ||
            (status = find_device(m, a->device.n ? a->device.at[i] : NULL, list, err)))
            continue;
        if (!m->cal->layers || !layer_model_any(m->cal->layers))
            status = lm_error_set(err, LM_E_ARG,
                                  "%s: several files share what single layers teach, and there "
                                  "are too few of them here",
                                  m->path);
        else
            m->cal->layers->device = figures_of(m->on);
    }
    return status;
}

/* ---- what came of it ----------------------------------------------------------------------------
 */

static void add_row(table *t, const char *machine, size_t class, size_t rows_of, double mape,
                    double held_out)
{
    char name[40];

    table_text(t, machine);
    table_text(t, layer_class_part(class, name));
    table_count(t, rows_of);
    table_real(t, 100 * mape);
    table_real(t, 100 * held_out);
}

static void add_learned(table *t, const learned_models *l)
{
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; l->model[i] && k < l->model[i]->n_tasks; k++) {
            const layerwise_task *task = &l->model[i]->task[k];

            table_text(t, l->kind[i]->name);
            table_text(t, task->name);
            table_count(t, task->judged.seen + task->judged.held);
            table_real(t, NAN);
            table_real(t, 100 * task->judged.mape);
        }
}

static void fill(const pool *p, const residual_trees *found, const learned_models *l, table *t)
{
    table_column(t, "machine", "machine", 0);
    table_column(t, "part", "part", 0);
    table_column(t, "rows", "rows", 0);
    table_column(t, "mape_percent", "MAPE [%]", 1);
    table_column(t, "held_out_mape_percent", "held out [%]", 1);
    for (size_t i = 0; i < p->n; i++)
        for (size_t c = 0; c < N_LAYER_CLASSES; c++) {
            const layer_prices *of = &p->machine[i].cal->layers->of[c];

            if (of->present)
                add_row(t, p->machine[i].on->name, c, of->rows, of->errors.mape, NAN);
        }
    for (size_t c = 0; c < N_LAYER_CLASSES; c++)
        if (found[c].judged)
            add_row(t, MODEL_RESIDUAL, c, found[c].rows, NAN, found[c].mape);
    add_learned(t, l);
}

static lm_status learn_models(pool *p, learned_models *l, lm_error *err)
{
    layerwise_source from[VALIDATE_DEVICES];
    calibration     *cal[VALIDATE_DEVICES];

    for (size_t i = 0; i < p->n; i++) {
        from[i] = (layerwise_source){ p->machine[i].obs, &p->machine[i].p, p->machine[i].on };
        cal[i]  = p->machine[i].cal;
    }
    return learned_models_fit(l, from, p->n, cal, err);
}

static lm_status learn(pool *p, residual_trees *found, lm_error *err)
{
    const points *of[VALIDATE_DEVICES];
    layer_model  *m[VALIDATE_DEVICES];

    for (size_t i = 0; i < p->n; i++) {
        of[i] = &p->machine[i].p;
        m[i]  = p->machine[i].cal->layers;
    }
    return singles_learn_pool(of, m, p->n, found, err);
}

lm_status fit_pool(const options *o, const fit_options *a, learned_models *learned,
                   workloads *loads, table *t, lm_error *err)
{
    const bool     alone                  = a->residual == RESIDUAL_OFF;
    const size_t   n                      = (size_t)o->n_arguments;
    pool          *p                      = calloc(1, sizeof *p);
    device_list   *list                   = NULL;
    residual_trees found[N_LAYER_CLASSES] = { { .rows = 0 } };
    lm_status      status = p ? devices_open(a->devices, &list, err) : no_memory(err);

    if (!status)
        status = check_list("-o", &a->outputs, n, err);
    if (!status && a->device.n)
        status = check_list("--device", &a->device, n, err);
    if (!status)
        status = read_machines(p, o, a, loads, list, err);
    if (!status && !alone && (status = learn(p, found, err)))
        lm_error_prefix(err, "--residual");
    if (!status)
        status = learn_models(p, learned, err);
    for (size_t i = 0; !status && i < p->n; i++)
        status = machine_save(p->machine[i].cal, a->outputs.at[i], err);
    for (size_t i = 0; !status && i < p->n; i++)
        print_flagged(p->machine[i].obs, &p->machine[i].p);
    if (!status) {
        if (!alone)
            print_residuals("all files", p->machine[0].cal->layers, found);
        fill(p, found, learned, t);
    }
    for (size_t i = 0; p && i < p->n; i++)
        measured_device_free(&p->machine[i]);
    devices_free(list);
    free(p);
    return status;
}
