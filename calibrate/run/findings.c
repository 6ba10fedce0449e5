/* Findings of a run's observations. */
#include "run/findings.h"

#include <stdlib.h>

#include "base/no_memory.h"

static lm_status validate(findings *f, lm_error *err)
{
    for (size_t m = 0; m < FINDINGS_MODELS && model_at(m); m++) {
        lm_status status;

        f->model[m]    = model_at(m);
        f->held_out[m] = calloc(f->p.n_points + 1, sizeof(comparison));
        f->n_models    = m + 1;
        if (!f->held_out[m])
            return no_memory(err);
        status = compare_points(&f->p, f->model[m], &f->networks, NULL, f->held_out[m], err);
        if (status)
            return status;
    }
    return LM_OK;
}

lm_status findings_make(const char *observations_path, workloads *loads, const char *where,
                        findings *out, lm_error *err)
{
    lm_status status;

    *out   = (findings){ .obs = NULL };
    status = observations_load(observations_path, &out->obs, err);
    if (!status)
        status = points_from(out->obs, loads, &out->p, err);
    if (!status)
        status = variants_of(&out->p, &out->all, err);
    if (!status && !where && out->all.n)
        where = out->all.of[0].text;
    if (!status && where)
        status = points_where(&out->p, where, err);
    if (!status)
        status = split_new(&out->p, &(split_rule){ .kind = SPLIT_NETWORK }, &out->networks, err);
    if (status)
        return status;
    status = fit_all(out->obs, &out->p, &out->cal, &out->why_not);
    if (status == LM_E_ARG) /* too few rows: kept, not fitted */
        return LM_OK;
    if (status) {
        *err = out->why_not;
        return status;
    }
    return validate(out, err);
}

void findings_free(findings *f)
{
    for (size_t m = 0; m < f->n_models; m++)
        free(f->held_out[m]);
    calibration_free(f->cal);
    split_free(&f->networks);
    variants_free(&f->all);
    points_free(&f->p);
    observations_free(f->obs);
    *f = (findings){ .obs = NULL };
}
