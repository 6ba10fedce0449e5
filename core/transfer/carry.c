/* Transfer of machine files. */
#include "transfer/carry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "machine/machine.h"
#include "observe/variants.h"

static lm_status open_sources(const carry_question *q, carried *w, lm_error *err)
{
    const size_t n      = q->from.n;
    lm_status    status = devices_open(q->devices, &w->devices, err);

    if (status)
        return status;
    if (n != q->machine.n)
        return lm_error_set(err, LM_E_ARG,
                            "--from: %zu devices for %zu machine files: it takes one each, and at "
                            "most %d",
                            n, q->machine.n, TRANSFER_SOURCES);
    for (size_t i = 0; i < n && !status; i++) {
        status = devices_find(w->devices, q->from.at[i], &w->from[i].device, err);
        if (!status)
            status = machine_load(q->machine.at[i], &w->machine[i], err);
        if (status)
            return status;
        w->n           = i + 1;
        w->from[i].cal = w->machine[i];
        if (w->machine[i]->transferred && !calibration_told(w->machine[i], "corrected_by"))
            return lm_error_set(err, LM_E_ARG,
                                "%s was itself carried over from another device, without any "
                                "measurements of its own: name the machine that was measured",
                                q->machine.at[i]);
    }
    return devices_find(w->devices, q->to, &w->to, err);
}

static lm_status widen(carried *w, const transfer_options *how, lm_error *err)
{
    double    doubt;
    lm_status status = transfer_doubt(w->from, w->n, w->to, how, &doubt, err);

    w->own = w->cal->intervals[0];
    if (status)
        return status;
    return transfer_widen(w->cal, doubt, w->n < 2 ? "assumed" : "machines left out")
               ? LM_OK
               : no_memory(err);
}

/* Checks that times of the new device have the variant of the coefficients. */
static lm_status check_variant(const carried *w, const char *path, lm_error *err)
{
    for (size_t i = 0; i < w->p.n_points; i++) {
        const observation *row = w->p.point[i].row;

        if (row->kind != OBS_COLLECTIVE && w->cal->dtype && row->dtype != w->cal->dtype)
            return lm_error_set(err, LM_E_ARG, "%s:%d: dtype %s, but the machines are of %s", path,
                                row->line, text_dtype_name(row->dtype),
                                text_dtype_name(w->cal->dtype));
    }
    return points_check_variants(&w->p, path, err);
}

const char *carried_groups_name(const carried *w)
{
    return w->of_layers ? "single layers" : "networks";
}

size_t carried_factors(const carried *w)
{
    return w->of_layers ? N_CORRECT : N_RESOURCES;
}

static lm_status note_correction(const char *with, carried *w, lm_error *err)
{
    char text[300];

    snprintf(text, sizeof text, "%zu times of %zu %s:", w->factors.rows, w->errors.groups,
             carried_groups_name(w));
    for (size_t r = 0; r < carried_factors(w); r++)
        text_add(text, sizeof text, "%s %s x%.3g", r == CORRECT_BACKWARD ? ", backward" : "",
                 resource_name((resource)(r % N_RESOURCES)), w->factors.of[r]);
    text_add(text, sizeof text, ", of %.60s", with);
    return calibration_note(w->cal, "corrected_by", text) &&
                   calibration_note_origin(w->cal, w->obs->provenance, w->obs->n_provenance)
               ? LM_OK
               : no_memory(err);
}

static lm_status correct(const carry_question *q, const registry *reg, carried *w, lm_error *err)
{
    const char *path = q->with;
    double      sum  = 0;
    lm_status   status;

    if ((status = workloads_new(reg, &w->loads, err)) ||
        (status = observations_load(path, &w->obs, err)) ||
        (status = points_from(w->obs, w->loads, &w->p, err)))
        return status;
    memcpy(w->p.figure, w->to->figure, sizeof w->p.figure); /* bounds of a fit to them */
    if (q->where && (status = points_where(&w->p, q->where, err))) {
        lm_error_prefix(err, "%s", path);
        return status;
    }
    if ((status = check_variant(w, path, err)) ||
        (status = points_count_terms(&w->p, w->loads, &w->cal->settings, err)))
        return status;
    if ((status = correct_rows(w->cal, &w->p, &w->row, &w->n_rows, err))) {
        lm_error_prefix(err, "%s", path);
        return status;
    }
    for (size_t i = 0; i < w->p.n_points; i++)
        w->of_layers |= w->p.point[i].shape && w->cal->layers;
    for (size_t i = 0; i < w->n_rows; i++)
        for (size_t r = 0; r < N_CORRECT; r++)
            w->share[r] += w->row[i].part[r] / w->row[i].seconds;
    for (size_t r = 0; r < N_CORRECT; r++)
        sum += w->share[r];
    for (size_t r = 0; r < N_CORRECT; r++)
        w->share[r] /= sum;
    status = correct_calibration(w->cal, &w->p, w->row, w->n_rows, &w->own, &w->factors, &w->errors, err);
    return status ? status : note_correction(path, w, err);
}

lm_status carry_over(const carry_question *q, const registry *reg, carried *w, lm_error *err)
{
    transfer_options how = q->how;
    lm_status        status;

    how.doubt_most = q->with ? TRANSFER_DOUBT_CORRECTED : transfer_default.doubt_most;
    if ((status = open_sources(q, w, err)) ||
        (status = transfer_prepare(w->from, w->n, w->to, &how, err)) ||
        (status = transfer_pool(w->from, w->n, w->to, &how, &w->cal, err)) ||
        (status = widen(w, &how, err)))
        return status;
    return q->with ? correct(q, reg, w, err) : LM_OK;
}

void carried_free(carried *w)
{
    for (size_t i = 0; i < w->n; i++)
        calibration_free(w->machine[i]);
    calibration_free(w->cal);
    devices_free(w->devices);
    free(w->row);
    points_free(&w->p);
    observations_free(w->obs);
    workloads_free(w->loads);
}
