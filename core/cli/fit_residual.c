/* layermeter fit --residual. */
#include "cli/cmd_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "fit/layer_watts.h"
#include "fit/singles.h"
#include "learn/boost.h"
#include "observe/launches.h"
#include "single/residual.h"

/* What was found of one class, in a line. */
static void print_class(const char *path, const char *part_text, const residual_trees *judged,
                        size_t count, bool on)
{
    fprintf(stderr, "layermeter: %s: residual of %s: ", path, part_text);
    if (judged->judged)
        fprintf(stderr, "%.1f %% off with it, %.1f %% without, on %zu times of other shapes%s\n",
                100 * judged->mape, 100 * judged->mape_priced, judged->judged,
                on ? "" : ": it stays off");
    else
        fprintf(stderr, "%zu times are too few, it takes %d of several shapes: it stays off\n",
                count, RESIDUAL_ROWS);
}

void print_residuals(const char *path, const layer_model *m, const residual_trees *judged)
{
    for (size_t c = 0; c < N_LAYER_CLASSES; c++)
        if (m->of[c].present && m->of[c].rows) {
            char name[40];

            print_class(path, layer_class_part(c, name), &judged[c], m->of[c].rows,
                        m->learned && m->learned->of[c]);
        }
}

static lm_status learn_layers(const points *p, layer_model *m, const char *path, lm_error *err)
{
    residual_trees  judged[N_LAYER_CLASSES];
    const lm_status status = singles_learn(p, m, judged, err);

    if (!status)
        print_residuals(path, m, judged);
    return status;
}

static lm_status learn_kernels(const observations *obs, layer_model *m, const char *path,
                               lm_error *err)
{
    residual_trees judged[N_LAYER_CLASSES];
    launches       l;
    lm_status      status = launches_from(obs, &l, err);

    if (status)
        return status;
    status = launch_learn(l.launch, NULL, l.n, l.multiprocessors, m, judged, err);
    if (!status)
        print_residuals(path, m, judged);
    launches_free(&l);
    return status;
}

/* Powers, where layers have them. */
static lm_status learn_power(const points *p, calibration *cal, lm_error *err)
{
    layer_watts    *w      = NULL;
    const lm_status status = layer_watts_fit(p, cal->layers, &w, err);

    return status || !w ? status
                        : calibration_learned_add(cal, LAYER_WATTS_NAME, &layer_watts_kept, w, err);
}

lm_status fit_residual(const observations *obs, const points *p, residual_choice choice,
                       calibration *cal, lm_error *err)
{
    const bool layers  = cal->layers && layer_model_any(cal->layers);
    const bool kernels = cal->operators && p->n_kernel_rows;
    lm_status  status  = LM_OK;

    if (choice == RESIDUAL_OFF ||
        (choice == RESIDUAL_AUTO && ((!layers && !kernels) || !boost_available())))
        return LM_OK;
    if (!layers && !kernels)
        return lm_error_set(err, LM_E_ARG,
                            "%s: --residual on is about prices of single layers or kernels, and "
                            "there are too few of them here: leave it out, or measure some",
                            obs->path);
    if (layers)
        status = learn_layers(p, cal->layers, obs->path, err);
    if (!status && layers)
        status = learn_power(p, cal, err);
    if (!status && kernels)
        status = learn_kernels(obs, cal->operators, obs->path, err);
    if (status)
        lm_error_prefix(err, "--residual");
    return status;
}

static void add_trees(table *t, const char *part_text, const residual_trees *r)
{
    table_text(t, MODEL_RESIDUAL);
    table_text(t, part_text);
    table_count(t, r->rows);
    table_text(t, ""); /* trees have no coefficients */
    table_text(t, "");
    for (int i = 0; i < 5; i++) /* condition, R2, RMSE, NRMSE, MAPE */
        table_real(t, NAN);
    table_real(t, 100 * r->mape);
}

static void add_learned(table *t, const layer_model *m)
{
    char name[40];

    for (size_t c = 0; m && m->learned && c < N_LAYER_CLASSES; c++)
        if (m->learned->of[c])
            add_trees(t, layer_class_part(c, name), m->learned->of[c]);
}

void add_residuals(table *t, const calibration *cal)
{
    add_learned(t, cal->layers);
    add_learned(t, cal->operators);
}
