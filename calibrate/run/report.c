/* Findings of a calibration. Its tables are made once, and printed as text and as JSON. */
#include "run/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "base/stats.h"
#include "observe/doubts.h"
#include "report/table.h"

typedef enum {
    PROVENANCE,
    MEASURED,
    SPREAD,
    MACHINES,
    COEFFICIENTS,
    HELD_OUT,
    MORE,
    N_SECTIONS
} report_section;

static const struct {
    const char *key, *title;
} sections[N_SECTIONS] = {
    [PROVENANCE] = { "provenance", "Where and how it was measured" },
    [MEASURED]   = { "measured", "What was measured" },
    [SPREAD]     = { "spread", "How far the times can be trusted" },
    [MACHINES] = { "machines", "Machine files: one for each element type and choice of settings" },
    [COEFFICIENTS] = { "coefficients", "Coefficients" },
    [HELD_OUT]     = { "held_out", "Errors on networks left out of the fit, each in turn" },
    [MORE]         = { "more_time", "What more time would buy" },
};

/* ---- tables ---- */

static void fill_provenance(const findings *f, table *t)
{
    table_column(t, "key", "key", 0);
    table_column(t, "value", "value", 0);
    for (size_t i = 0; i < f->obs->n_provenance; i++) {
        table_text(t, f->obs->provenance[i].key);
        table_text(t, f->obs->provenance[i].value);
    }
}

/* Rows of the observations with this name, of a kind. */
static void fill_measured_one(const findings *f, const observation *first, table *t)
{
    static const char *const kinds[OBS_N_KINDS] = {
        [OBS_NETWORK] = "network", [OBS_KERNEL] = "kernel", [OBS_COLLECTIVE] = "all-reduce",
        [OBS_LAYER] = "layer",     [OBS_COUNTS] = "counts", [OBS_STREAM] = "stream"
    };
    size_t  rows = 0, skipped = 0, flagged = 0;
    int64_t batch = 0, ranks = 1;

    for (size_t i = 0; i < f->obs->n_rows; i++) {
        const observation *r = &f->obs->row[i];

        if (r->kind != first->kind || strcmp(r->name, first->name) != 0)
            continue;
        rows += !r->skipped;
        skipped += r->skipped;
        flagged += *r->flags != '\0';
        batch = r->batch > batch ? r->batch : batch;
        ranks = r->ranks > ranks ? r->ranks : ranks;
    }
    table_text(t, kinds[first->kind]);
    table_text(t, first->name);
    table_count(t, rows);
    table_count(t, skipped);
    table_count(t, flagged);
    if (batch)
        table_count(t, (uint64_t)batch);
    else
        table_real(t, NAN);
    table_count(t, (uint64_t)ranks);
}

static void fill_measured(const findings *f, table *t)
{
    table_column(t, "kind", "kind", 0);
    table_column(t, "name", "name", 0);
    table_column(t, "times", "times", 0);
    table_column(t, "skipped", "skipped", 0);
    table_column(t, "flagged", "flagged", 0);
    table_column(t, "largest_batch", "largest batch", 0);
    table_column(t, "most_ranks", "most ranks", 0);
    for (size_t i = 0; i < f->obs->n_rows; i++) {
        size_t before = 0;

        while (before < i && (f->obs->row[before].kind != f->obs->row[i].kind ||
                              strcmp(f->obs->row[before].name, f->obs->row[i].name) != 0))
            before++;
        if (before == i)
            fill_measured_one(f, &f->obs->row[i], t);
    }
}

/* Median over the rows of one phase of the 95th percentile, and of the fastest,
 * against the median repetition. */
static void fill_spread(const findings *f, table *t)
{
    double *slow = malloc((f->obs->n_rows + 1) * sizeof *slow);
    double *fast = malloc((f->obs->n_rows + 1) * sizeof *fast);

    table_column(t, "phase", "phase", 0);
    table_column(t, "times", "times", 0);
    table_column(t, "min_percent", "fastest [%]", 1);
    table_column(t, "p95_percent", "95th percentile [%]", 1);
    for (phase p = 0; slow && fast && p < N_PHASES; p++) {
        size_t n = 0;

        for (size_t i = 0; i < f->obs->n_rows; i++) {
            const observation *r = &f->obs->row[i];

            if (r->kind == OBS_KERNEL || r->kind == OBS_LAYER || r->phase != p || r->skipped ||
                isnan(r->p95_seconds) || isnan(r->min_seconds))
                continue;
            if (p == PHASE_SYNC && r->bucket_bytes) /* what was not hidden: next to nothing */
                continue;
            slow[n]   = r->p95_seconds / r->seconds - 1;
            fast[n++] = r->min_seconds / r->seconds - 1;
        }
        if (!n)
            continue;
        table_text(t, phase_name(p));
        table_count(t, n);
        table_real(t, 100 * stats_quantile(fast, n, 0.5));
        table_real(t, 100 * stats_quantile(slow, n, 0.5));
    }
    free(slow);
    free(fast);
}

static void fill_machines(const machines *wrote, table *t)
{
    table_column(t, "file", "file", 0);
    table_column(t, "of", "of", 0);
    table_column(t, "points", "points", 0);
    table_column(t, "step_mape_percent", "MAPE of a step [%]", 1);
    table_column(t, "remark", "remark", 0);
    for (size_t i = 0; i < wrote->n; i++) {
        const machine_found *m = &wrote->item[i];

        table_text(t, *m->file ? m->file : "(none)");
        table_text(t, m->of);
        table_count(t, m->n_points);
        table_real(t, 100 * m->step_mape);
        table_text(t, m->why_not);
    }
}

static void fill_coefficient(const form *f, const coefficient *c, feature of, table *t)
{
    table_text(t, f->model);
    table_text(t, phase_formula(f->part));
    table_text(t, feature_name(of));
    table_real(t, c->value);
    table_real(t, c->standard_error);
    table_text(t, feature_unit(of));
    table_text(t, !c->determined ? "undetermined" : c->at_bound ? "at bound" : "");
}

/* Prices of all-reduces that are in use. */
static void fill_fabric(const algorithm_model *a, fabric at, table *t)
{
    const fabric_model *m = &a->of[at];
    char                name[80];

    snprintf(name, sizeof name, "%s.%s.%s", collective_types[a->kind].name, a->name,
             fabric_name(at));
    for (size_t k = 0; m->rows && k < m->n_planes; k++)
        for (sync_column c = 0; c < N_SYNC_COLUMNS; c++) {
            if (!(m->plane[k].price[c] > 0))
                continue;
            table_text(t, DEFAULT_MODEL);
            table_text(t, name);
            table_text(t, sync_column_name(c));
            table_real(t, m->plane[k].price[c]);
            table_real(t, NAN);
            table_text(t, sync_column_unit(c, a->kind));
            table_text(t, k ? "second plane" : "");
        }
}

static void fill_coefficients(const findings *f, table *t)
{
    table_column(t, "model", "model", 0);
    table_column(t, "part", "part", 0);
    table_column(t, "feature", "feature", 0);
    table_column(t, "seconds", "seconds", -1);
    table_column(t, "standard_error", "standard error", -1);
    table_column(t, "per", "per", 0);
    table_column(t, "remark", "remark", 0);
    for (size_t i = 0; f->cal && i < n_forms; i++)
        for (size_t k = 0; f->cal->fitted[i].present && !f->cal->fitted[i].by_allreduces &&
                           k < forms[i].n_features;
             k++)
            fill_coefficient(&forms[i], &f->cal->fitted[i].coefficient[k], forms[i].feature[k], t);
    for (size_t i = 0; f->cal && f->cal->collectives && i < f->cal->collectives->n; i++)
        for (fabric at = 0; at < N_FABRICS; at++)
            fill_fabric(&f->cal->collectives->algorithm[i], at, t);
}

static void fill_held_out(const findings *f, table *t)
{
    const split *by = &f->networks;

    table_column(t, "network", "network", 0);
    table_column(t, "phase", "phase", 0);
    table_column(t, "model", "model", 0);
    table_column(t, "points", "points", 0);
    table_column(t, "mape_percent", "MAPE [%]", 1);
    table_column(t, "median_ape_percent", "median [%]", 1);
    for (size_t g = 0; f->cal && g <= by->n_folds; g++)
        for (phase q = 0; q < N_TIMES; q++)
            for (size_t m = 0; m < f->n_models; m++) {
                const bool         all = g == by->n_folds;
                const stats_errors e =
                    validate_judge(&f->p, f->held_out[m], q, by, all ? SPLIT_ALWAYS : g).errors;

                if (!e.n || (!all && m > 0) ||
                    !validate_tells(&f->p, q)) /* network by network: the default model's */
                    continue;
                table_text(t, all ? "(all)" : by->name[g]);
                table_text(t, phase_name(q));
                table_text(t, f->model[m]);
                table_count(t, e.n);
                table_real(t, 100 * e.mape);
                table_real(t, 100 * e.median_ape);
            }
}

static void fill_more(const report_effort *e, table *t)
{
    table_column(t, "more_seconds", "more time [s]", 0);
    table_column(t, "points", "points", 0);
    table_column(t, "width_percent", "expected 90 % interval of a step [%]", 1);
    if (isnan(e->width))
        return;
    table_real(t, 0);
    table_count(t, 0);
    table_real(t, 100 * e->width);
    for (size_t i = 0; i < e->n_more; i++) {
        table_real(t, e->more[i].seconds);
        table_count(t, e->more[i].n_points);
        table_real(t, 100 * e->more[i].width);
    }
}

/* ---- words ---- */

static void say_effort(FILE *out, const report_effort *e)
{
    if (e->budget > 0)
        fprintf(out, "%.0f s of a budget of %.0f s", e->seconds, e->budget);
    else
        fprintf(out, "%.0f s, without a budget", e->seconds);
    fprintf(out, ": %zu points", e->n_measured);
    if (e->n_skipped)
        fprintf(out, ", %zu of them without a time", e->n_skipped);
    if (e->n_before)
        fprintf(out, "; %zu were there before", e->n_before);
    fprintf(out, "; %zu of the sweep are left\n", e->n_left);
}

static void say_fit(FILE *out, const findings *f, const machines *wrote)
{
    if (wrote->n > 1)
        fprintf(
            out,
            "What follows is of %s. Of the others: layermeter validate observations.csv --where "
            "'%s' ...\n",
            wrote->item[0].of, wrote->item[1].of);
    if (!f->cal)
        fprintf(out, "No fit, and no machine file: %s\n", f->why_not.text);
    if (f->p.n_flagged_out)
        fprintf(out, "%zu flagged points are left out of the fit: the same was measured better\n",
                f->p.n_flagged_out);
    if (f->p.n_flagged_used)
        fprintf(out, "%zu flagged points are in the fit, as there is nothing better\n",
                f->p.n_flagged_used);
    doubts_print(f->p.doubts, "", "observations.csv", out);
    if (f->p.n_kernel_rows && !(f->cal && f->cal->operators))
        fprintf(out, "%zu rows of single kernels are too few of each kind for a fit\n",
                f->p.n_kernel_rows);
    if (f->p.n_layer_rows)
        fprintf(out, "%zu rows of single layers are not used beside whole networks\n",
                f->p.n_layer_rows);
    for (size_t i = 0; f->cal && i < n_forms; i++)
        if (!f->cal->fitted[i].present && part_calibrated(forms[i].part))
            fprintf(out, "%s.%s is left out: too few rows, it needs %zu\n", forms[i].model,
                    phase_formula(forms[i].part), form_rows(&forms[i]));
}

static void say_before(FILE *out, report_section s, const findings *f, const report_effort *e)
{
    fprintf(out, "\n%s\n", sections[s].title);
    for (size_t i = strlen(sections[s].title); i > 0; i--)
        putc('-', out);
    putc('\n', out);
    if (s == MEASURED)
        say_effort(out, e);
    if (s == SPREAD) {
        trust_print(e->seen, false, out);
        if (observations_provenance(f->obs, "verified"))
            fprintf(out, "%s.\n", observations_provenance(f->obs, "verified"));
        fputs("Repetitions against their median; medians over all times of a phase:\n", out);
    }
    if (s == COEFFICIENTS)
        say_fit(out, f, e->wrote);
    if (s == HELD_OUT && f->cal && f->p.n_groups < 2)
        fputs("A single network cannot be left out.\n", out);
    if (s != MORE)
        return;
    if (isnan(e->width))
        fputs("Not known.\n", out);
    else
        fprintf(out, "Of %s; what networks deviate in any case is part of it.\n", e->asked_for);
    if (!isnan(e->width) && !e->n_left)
        fputs("Every point of this sweep is measured: more networks or sizes in a sweep would "
              "tell more.\n",
              out);
}

/* ---- files ---- */

static lm_status write_text(const char *path, const findings *f, const report_effort *e,
                            table *const t[N_SECTIONS], lm_error *err)
{
    file_draft draft;
    lm_status  status = file_draft_open(&draft, path, err);

    if (status)
        return status;
    fputs("Calibration report\n==================\n", draft.stream);
    for (report_section s = 0; s < N_SECTIONS && !status; s++) {
        say_before(draft.stream, s, f, e);
        status = table_print(t[s], FORMAT_TABLE, draft.stream, err);
    }
    if (!status)
        return file_draft_commit(&draft, err);
    file_draft_drop(&draft);
    return status;
}

/* The findings of trust_print() in words. */
static void put_trust(json *j, const trust_summary *s)
{
    json_open(j, "trust", '{');
    json_count(j, "points", s->n_points);
    json_count(j, "disturbed", s->n_flagged);
    json_count(j, "measured_again", s->n_retries);
    json_count(j, "still_disturbed", s->n_left);
    json_real(j, "noise_floor", s->found.noise_floor);
    json_real(j, "drift", s->found.drift);
    json_count(j, "drifted_rows", s->found.n_drifted);
    json_real(j, "clock_best_mhz", s->clock_best_mhz);
    json_open(j, "slow_ranks", '[');
    for (size_t i = 0; i < s->n_slow; i++) {
        json_open(j, NULL, '{');
        json_count(j, "rank", (uint64_t)s->slow[i].rank);
        json_text(j, "host", s->slow[i].host);
        json_real(j, "ratio", s->slow[i].ratio);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_close(j, '}');
}

static lm_status write_json(const char *path, const findings *f, const report_effort *e,
                            table *const t[N_SECTIONS], lm_error *err)
{
    file_draft draft;
    json       j      = { .out = NULL };
    lm_status  status = file_draft_open(&draft, path, err);

    if (status)
        return status;
    j.out = draft.stream;
    json_open(&j, NULL, '{');
    json_real(&j, "budget_seconds", e->budget > 0 ? e->budget : NAN);
    json_real(&j, "seconds", e->seconds);
    json_count(&j, "points_measured", e->n_measured);
    json_count(&j, "points_skipped", e->n_skipped);
    json_count(&j, "points_before", e->n_before);
    json_count(&j, "points_left", e->n_left);
    json_bool(&j, "fitted", f->cal != NULL);
    json_text(&j, "why_not_fitted", f->cal ? "" : f->why_not.text);
    json_text(&j, "asked_for", e->asked_for);
    put_trust(&j, e->seen);
    for (report_section s = 0; s < N_SECTIONS; s++)
        table_json(t[s], &j, sections[s].key);
    json_close(&j, '}');
    return file_draft_commit(&draft, err);
}

lm_status report_write(const run_folder *to, const findings *found, const report_effort *effort,
                       lm_error *err)
{
    table    *t[N_SECTIONS];
    bool      ok = true;
    lm_status status;

    for (report_section s = 0; s < N_SECTIONS; s++)
        ok &= (t[s] = table_new()) != NULL;
    if (ok) {
        fill_provenance(found, t[PROVENANCE]);
        fill_measured(found, t[MEASURED]);
        fill_spread(found, t[SPREAD]);
        fill_machines(effort->wrote, t[MACHINES]);
        fill_coefficients(found, t[COEFFICIENTS]);
        fill_held_out(found, t[HELD_OUT]);
        fill_more(effort, t[MORE]);
    }
    status = ok ? write_text(to->report, found, effort, t, err) : no_memory(err);
    if (!status)
        status = write_json(to->report_json, found, effort, t, err);
    for (report_section s = 0; s < N_SECTIONS; s++)
        table_free(t[s]);
    return status;
}
