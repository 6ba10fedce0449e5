/* Writes machine files. */
#include "fit/calibration_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "energy/power_file.h"
#include "single/composed_file.h"
#include "single/learned.h"
#include "single/operator_file.h"
#include "single/operator_residual.h"
#include "single/store.h"
#include "sync/collective_file.h"

/* Seconds of one unit that nothing takes: of what a network has by the million, and of what it has
 * by the layer. */
#define MOST_SECONDS_OF_MANY 1.0
#define MOST_SECONDS_OF_FEW  1e5

lm_status calibration_check_price(const char *name, const char *unit, double seconds, lm_error *err)
{
    static const char *const many[] = { "FLOP", "byte", "element" };
    double                   most   = MOST_SECONDS_OF_FEW;

    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++)
        if (!strcmp(unit, many[i]))
            most = MOST_SECONDS_OF_MANY;
    if (fabs(seconds) < most)
        return LM_OK;
    return lm_error_set(err, LM_E_ARG,
                        "%s: %.3g s/%s, which nothing takes: edited, or of times in another unit? "
                        "fit observations in seconds",
                        name, seconds, unit);
}

static void put_number(FILE *out, const char *key, double value)
{
    char text[40];

    if (isfinite(value))
        fprintf(out, "%s = %s\n", key, text_exact(value, text, sizeof text));
}

static void put_coefficient(FILE *out, const char *name, const char *unit, const coefficient *c)
{
    char value[40], error[40], low[40], high[40];

    fprintf(out, "%-10s = %s s/%s", name, text_exact(c->value, value, sizeof value), unit);
    if (isfinite(c->standard_error))
        fprintf(out, ", se %s", text_exact(c->standard_error, error, sizeof error));
    if (!c->determined)
        fputs(", undetermined", out);
    if (c->at_bound)
        fputs(", bound", out);
    if (isfinite(c->known))
        fprintf(out, ", known %s", text_exact(c->known, error, sizeof error));
    if (isfinite(c->low))
        fprintf(out, ", range %s .. %s", text_exact(c->low, low, sizeof low),
                text_exact(c->high, high, sizeof high));
    fputc('\n', out);
}

static void put_terms(FILE *out, const fitted *f)
{
    const coefficient *c = f->term;
    char               name[64], text[COUNTED_TEXT];

    if (f->knots.macs[0] > 0)
        fprintf(out, "macs_knots = %s\n", counted_print(f->knots.macs, text));
    if (f->knots.reuse[0] > 0)
        fprintf(out, "reuse_knots = %s\n", counted_print(f->knots.reuse, text));

    for (size_t t = 0; t < N_TERMS; t++)
        if (!isnan(c[t].value))
            put_coefficient(out, term_name(t, name, sizeof name), term_unit(t), &c[t]);
}

static void put_fitted(FILE *out, size_t form_at, const fitted *f)
{
    const form *form_here = &forms[form_at];

    fprintf(out, "\n[%s.%s]\n; %s; %s least squares%s\n", form_here->model,
            part_name(form_here->part), form_here->source,
            form_here->relative ? "relative" : "ordinary",
            form_here->non_negative ? ", non-negative" : "");
    fprintf(out, "rows = %zu\nrank = %zu\n", f->rows, f->rank);
    put_number(out, "condition", f->condition);
    put_number(out, "mape_percent", 100 * f->errors.mape);
    put_number(out, "rmse_ms", 1e3 * f->errors.rmse);
    put_number(out, "nrmse", f->errors.nrmse);
    put_number(out, "r2", f->errors.r2);
    if (f->held_out_groups) {
        fprintf(out, "held_out_networks = %zu\n", f->held_out_groups);
        put_number(out, "held_out_mape_percent", 100 * f->held_out_mape);
    }
    if (f->by_allreduces) {
        fputs(BY_ALLREDUCES " = yes\n", out);
        return;
    }
    for (size_t k = 0; k < form_here->n_features; k++)
        put_coefficient(out, feature_name(form_here->feature[k]),
                        feature_unit(form_here->feature[k]), &f->coefficient[k]);
    if (!form_here->n_features)
        put_terms(out, f);
}

static void put_intervals(FILE *out, const char *model, const intervals *all)
{
    bool any = false;
    char text[INTERVAL_TEXT];

    for (size_t s = 0; s < N_INTERVALS; s++) {
        if (!interval_known(&all->of[s]))
            continue;
        if (!any)
            fprintf(out, "\n[%s.intervals]\n", model);
        any = true;
        fprintf(out, "%s = %s\n", interval_slot_name(s), interval_print(&all->of[s], text));
    }
}

/* What calibration_load() would refuse is not written. */
static lm_status check_prices(const calibration *cal, const char *path, lm_error *err)
{
    lm_status status = LM_OK;
    char      name[64];

    for (size_t f = 0; f < n_forms && !status; f++) {
        const fitted *here = &cal->fitted[f];

        for (size_t k = 0; here->present && k < forms[f].n_features && !status; k++)
            status = calibration_check_price(feature_name(forms[f].feature[k]),
                                             feature_unit(forms[f].feature[k]),
                                             here->coefficient[k].value, err);
        for (size_t t = 0; here->present && here->term && t < N_TERMS && !status; t++)
            if (!isnan(here->term[t].value))
                status = calibration_check_price(term_name(t, name, sizeof name), term_unit(t),
                                                 here->term[t].value, err);
        if (status)
            lm_error_prefix(err, "%s: %s.%s", path, forms[f].model, part_name(forms[f].part));
    }
    return status;
}

static void put_machine(FILE *out, const calibration *cal, size_t sections)
{
    fputs(
        "; Coefficients of a machine, written by layermeter fit. Times are in seconds; `se` is a standard\n"
        "; error, `range` what the feature covered in the data, `bound` a coefficient held at 0, and\n"
        "; `undetermined` one that the data cannot tell from the others. Intervals: the central 90 % of\n"
        "; measured / predicted on groups left out of a fit, how many these were, by what factor bounds\n"
        "; widen for each octave beyond what was measured, and what that was.\n\n"
        "[machine]\n",
        out);
    fprintf(out, "sections = %zu\n", sections);
    fprintf(out, "max_ranks = %lld\nmax_hosts = %lld\ntile = %lld\ngroup_tile = %lld\n",
            (long long)cal->max_ranks, (long long)cal->max_hosts, (long long)cal->settings.tile,
            (long long)cal->settings.group_tile);
    if (cal->transferred)
        fputs("transferred = yes\n", out);
    if (cal->dtype)
        fprintf(out, "dtype = %s\n", text_dtype_name(cal->dtype));
}

/* All sections but [machine]. */
static void put_rest(FILE *out, const calibration *cal)
{
    fputs("\n[provenance]\n", out);
    for (size_t i = 0; i < cal->n_provenance; i++)
        fprintf(out, "%s = %s\n", cal->provenance[i].key, cal->provenance[i].value);
    measured_write(out, &cal->measured);
    for (size_t f = 0; f < n_forms; f++)
        if (cal->fitted[f].present)
            put_fitted(out, f, &cal->fitted[f]);
    if (cal->operators)
        operator_file_write(out, cal->operators);
    if (cal->layers)
        layer_model_print(out, cal->layers);
    if (cal->composed)
        composed_file_write(out, cal->composed);
    calibration_learned_print(out, cal);
    if (cal->allreduces)
        collective_file_write(out, cal->allreduces);
    overlap_file_write(out, &cal->overlapping);
    sharing_write(out, &cal->shared);
    if (cal->power)
        power_file_write(out, cal->power);
    for (size_t m = 0; model_at(m); m++)
        put_intervals(out, model_at(m), &cal->intervals[m]);
}

/* How many sections there are stands in front of them, so that a file that ends early is seen. */
static lm_status put_all(const char *path, const calibration *cal, file_drafts *to, lm_error *err)
{
    char     *rest = NULL, *text = NULL;
    size_t    size     = 0;
    size_t    sections = 1;
    FILE     *out      = open_memstream(&rest, &size);
    bool      whole    = out != NULL;
    lm_status status;

    if (whole) {
        put_rest(out, cal);
        whole = !ferror(out);
        whole &= !fclose(out);
    }
    for (const char *at = rest; whole && (at = strstr(at, "\n[")); at++)
        sections++;
    if (whole && (whole = (out = open_memstream(&text, &size)) != NULL)) {
        put_machine(out, cal, sections);
        fputs(rest, out);
        whole = !ferror(out);
        whole &= !fclose(out);
    }
    status = whole ? file_drafts_add(to, path, text, err) : no_memory(err);
    free(rest);
    free(text);
    return status;
}

/* The machine file last: it names the others with their hashes. */
lm_status calibration_save(const calibration *cal, const char *path, lm_error *err)
{
    file_drafts drafts = { 0 };
    lm_status   status = check_prices(cal, path, err);

    if (!status && cal->layers)
        status = learned_save(cal->layers, path, &drafts, err);
    if (!status && cal->operators)
        status = operator_residual_save(cal->operators, path, &drafts, err);
    if (!status)
        status = calibration_learned_save(cal, path, &drafts, err);
    if (!status)
        status = put_all(path, cal, &drafts, err);
    if (!status)
        return file_drafts_commit(&drafts, err);
    file_drafts_drop(&drafts);
    return status;
}
