/* layermeter fit --residual. */
#include "cli/fit_residual.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fit/singles.h"
#include "learn/boost.h"
#include "single/residual.h"

lm_status residual_choice_parse(const char *text, residual_choice *out, lm_error *err)
{
    static const char *const choices[] = { "off", "on", "auto" };

    for (int i = 0; i < 3; i++)
        if (!strcmp(choices[i], text)) {
            *out = (residual_choice)i;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_ARG, "expected on, off or auto, found '%.40s'", text);
}

static void print_found(const char *path, const layer_model *m, const layer_residual *judged)
{
    for (size_t c = 0; c < N_LAYER_CLASSES; c++) {
        const bool on = m->learned && m->learned->of[c];

        if (!m->of[c].present || !residual_learnable(c))
            continue;
        fprintf(stderr, "layermeter: %s: residual of single.%s: ", path, layer_classes[c]->name);
        if (judged[c].judged)
            fprintf(stderr,
                    "%.1f %% off with it, %.1f %% without, on %zu times of other shapes%s\n",
                    100 * judged[c].mape, 100 * judged[c].mape_priced, judged[c].judged,
                    on ? "" : ": it stays off");
        else
            fprintf(stderr, "%zu times are too few, it takes %d of several shapes: it stays off\n",
                    m->of[c].rows, RESIDUAL_ROWS);
    }
}

lm_status fit_residual(const points *p, residual_choice choice, calibration *cal, const char *path,
                       lm_error *err)
{
    layer_residual judged[N_LAYER_CLASSES];
    lm_status      status;

    if (choice == RESIDUAL_OFF || (choice == RESIDUAL_AUTO && (!cal->layers || !boost_available())))
        return LM_OK;
    if (!cal->layers || !layer_model_any(cal->layers))
        return lm_error_set(err, LM_E_ARG,
                            "%s: --residual on is about prices of single layers, and there are too "
                            "few of them here: leave it out, or measure single layers",
                            path);
    status = singles_learn(p, cal->layers, judged, err);
    if (!status)
        print_found(path, cal->layers, judged);
    else
        lm_error_prefix(err, "--residual");
    return status;
}

void add_residuals(table *t, const layer_model *m)
{
    for (size_t c = 0; m->learned && c < N_LAYER_CLASSES; c++) {
        const layer_residual *r = m->learned->of[c];
        char                  part_text[40];

        if (!r)
            continue;
        snprintf(part_text, sizeof part_text, "single.%s", layer_classes[c]->name);
        table_text(t, MODEL_RESIDUAL);
        table_text(t, part_text);
        table_count(t, r->rows);
        table_text(t, ""); /* trees have no coefficients */
        table_text(t, "");
        for (int i = 0; i < 5; i++) /* condition, R2, RMSE, NRMSE, MAPE */
            table_real(t, NAN);
        table_real(t, 100 * r->mape);
    }
}
