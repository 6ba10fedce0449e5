/* Steps under layouts, from observations. */
#include "predict/laid_rows.h"

#include <string.h>

#include "base/text.h"
#include "network/autocast.h"
#include "predict/recompute.h"
#include "program/row_layout.h"

bool laid_row_is(const observation *r)
{
    return *r->layout && !r->skipped;
}

size_t laid_rows_count(const observations *obs)
{
    size_t n = 0;

    for (size_t i = 0; i < obs->n_rows; i++)
        n += laid_row_is(&obs->row[i]);
    return n;
}

bool laid_rows_correct(const observations *obs, bool from, bool on)
{
    bool laid = false, others = false;

    for (size_t i = 0; i < obs->n_rows; i++) {
        if (laid_row_is(&obs->row[i]) && !row_of_replicas(&obs->row[i]))
            return true;
        laid |= laid_row_is(&obs->row[i]);
        others |= !*obs->row[i].layout && !obs->row[i].skipped;
    }
    return laid && (from || (on && !others));
}

lm_dtype laid_rows_dtype(const observations *obs)
{
    for (size_t i = 0; i < obs->n_rows; i++)
        if (laid_row_is(&obs->row[i]))
            return settings_product_dtype(obs->row[i].settings, obs->row[i].dtype);
    return 0;
}

lm_status laid_rows_alone(const observations *obs, lm_error *err)
{
    for (size_t i = 0; i < obs->n_rows; i++)
        if (!*obs->row[i].layout && !obs->row[i].skipped)
            return lm_error_set(
                err, LM_E_ARG,
                "%s:%d: no layout, and other rows have one: fit these by themselves, "
                "and steps under layouts --from their machine file",
                obs->path, obs->row[i].line);
    return LM_OK;
}

static sync_policy policy_of(const observation *r)
{
    sync_policy p = step_setup_of(1, 1).sync;

    if (r->bucket_bytes > 0)
        p = (sync_policy){ .rule        = SYNC_DDP,
                           .first_bytes = SYNC_DDP_FIRST_BYTES,
                           .limit_bytes = (uint64_t)r->bucket_bytes };
    return p;
}

static lm_status read_setup(const observation *r, step_setup *out, lm_error *err)
{
    layout     l;
    step_setup s = step_setup_of(r->batch, r->hosts);
    lm_status  status;

    if ((status = row_layout(r, &l, err)))
        return status;
    s.devices           = r->ranks / r->hosts;
    s.sync              = policy_of(r);
    s.sync.accumulation = l.accumulation ? l.accumulation : 1;
    s.layout            = l;
    s.laid_out          = true;
    if (!l.accumulation && l.global_batch)
        s.sync.accumulation = l.global_batch / step_setup_replicas(&s) / r->batch;
    if ((status = optimizer_parse(observation_optimizer(r), &s.optimizer, err)))
        return status;
    *out = s;
    return LM_OK;
}

/* Autocast of the row, else of the machine file. */
static lm_status read_mixed(const observation *r, const calibration *cal, lm_dtype *out,
                            lm_error *err)
{
    const lm_dtype mine = autocast_of_settings(r->settings), its = cal->mixed;

    if (mine && its && mine != its)
        return lm_error_set(err, LM_E_ARG,
                            "settings: mixed=%s, and the machine file is of mixed=%s: fit from one "
                            "without autocast, or of the same",
                            text_dtype_name(mine), text_dtype_name(its));
    *out = mine ? mine : its;
    return LM_OK;
}

lm_status laid_row_open(const observations *obs, const observation *r, calibration *cal,
                        workloads *loads, const interconnect *link, laid_row *out, lm_error *err)
{
    lm_status status;

    *out     = (laid_row){ .of = r };
    out->who = (predictor){ .cal     = cal,
                            .loads   = loads,
                            .model   = DEFAULT_MODEL,
                            .network = r->name,
                            .input   = *r->input ? r->input : NULL,
                            .dtype   = cal->dtype ? cal->dtype : r->dtype,
                            .machine = obs->path,
                            .link    = *link };
    if ((status = read_setup(r, &out->setup, err)) ||
        (status = read_mixed(r, cal, &out->who.mixed, err)) ||
        (status = predictor_open(&out->who, &(model_source){ 0 }, err)) ||
        (strcmp(out->setup.layout.recompute, "none") != 0 &&
         (status = recompute_share(&out->who, &out->setup, out->setup.layout.recompute,
                                   &out->setup.again, err))))
        lm_error_prefix(err, "%s:%d", obs->path, r->line);
    return status;
}
