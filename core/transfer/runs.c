/* Correction of a fit by runs. */
#include "transfer/runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "fit/exposed/exposed.h"
#include "fit/shared.h"
#include "observe/flags.h"
#include "observe/variants.h"

/* ---- rows ---- */

static bool is_step_alone(const point *pt)
{
    return pt->row->kind == OBS_NETWORK && pt->row->phase == PHASE_STEP &&
           isnan(pt->seconds[PHASE_FORWARD]) && isnan(pt->seconds[PHASE_BACKWARD]) &&
           isnan(pt->beside[PHASE_BACKWARD]) && isnan(pt->together[PHASE_BACKWARD]);
}

/* Seconds of a point with only a whole step; NAN: another point. */
static double run_seconds(const point *pt)
{
    if (!is_step_alone(pt))
        return NAN;
    return point_in_buckets(pt) ? pt->beside[PHASE_STEP] : pt->seconds[PHASE_STEP];
}

/* Has a run the variant of the fit? Without settings it counts as having them. */
static bool is_variant(const calibration *cal, const observation *row)
{
    char        own[VARIANT_TEXT], fitted_to[VARIANT_TEXT];
    const char *settings = "";

    for (size_t i = 0; i < cal->n_provenance; i++)
        if (!strcmp(cal->provenance[i].key, "settings"))
            settings = cal->provenance[i].value;
    variant_print(row, own);
    snprintf(fitted_to, sizeof fitted_to, "dtype=%s%s%s", text_dtype_name(row->dtype),
             *settings ? " " : "", settings);
    return row->dtype == cal->dtype && (!strchr(own, ' ') || !strcmp(own, fitted_to));
}

static const phase passes_of_step[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE };

#define N_OF_STEP (sizeof passes_of_step / sizeof passes_of_step[0])

static bool has_parts(const calibration *cal)
{
    for (size_t i = 0; i < N_OF_STEP; i++)
        if (!cal->fitted[form_find(DEFAULT_MODEL, passes_of_step[i])].present)
            return false;
    return true;
}

/* Divides a step's passes into parts, with other ranks on the host; NAN: unknown. */
static void split_step(const calibration *cal, const point *pt, double seconds[N_CORRECT])
{
    for (size_t i = 0; i < N_OF_STEP; i++) {
        const phase  which  = passes_of_step[i];
        const double longer = shared_times(cal, DEFAULT_MODEL, which, shared_devices(pt->row));
        double       alone[N_CORRECT] = { 0 };

        correct_split(cal, form_find(DEFAULT_MODEL, which), pt, alone);
        for (size_t r = 0; r < N_CORRECT; r++)
            seconds[r] += longer * alone[r];
    }
}

/* Seconds that a step waits beside its passes; NAN: unknown. */
static lm_status exposed_of(const calibration *cal, const points *p, const point *pt,
                            const double passes[N_CORRECT], double *out, lm_error *err)
{
    const observation *row = pt->row;
    lm_status          status;
    exposed_step       s;

    *out = row->ranks > 1 ? NAN : 0;
    if (row->ranks < 2 || row->hosts < 1 || row->ranks % row->hosts)
        return LM_OK;
    if (!point_in_buckets(pt)) {
        *out = calibration_collective(cal, DEFAULT_MODEL, NULL,
                                      &(collective_call){ COLLECTIVE_ALLREDUCE, pt->load.bytes,
                                                          row->hosts, row->ranks / row->hosts, 1 });
        return LM_OK;
    }
    if ((status = exposed_predict(p, cal, DEFAULT_MODEL, pt, NAN, &s, err)))
        return status;
    *out = s.times.step;
    for (size_t r = 0; r < N_CORRECT; r++)
        *out -= passes[r];
    return LM_OK;
}

static bool same_row(const correct_row *a, const correct_row *b)
{
    return a->group == b->group && a->batch == b->batch && a->fixed == b->fixed &&
           !memcmp(a->part, b->part, sizeof a->part);
}

/* Adds a row; `count`: runs of each row so far. */
static void add(run_rows *r, size_t *count, const correct_row *row, size_t slot, double nodes)
{
    size_t at = 0;

    r->runs++;
    while (at < r->n && !(same_row(&r->row[at], row) && r->slot[at] == slot))
        at++;
    if (at == r->n) {
        r->row[at]   = *row;
        r->slot[at]  = slot;
        r->nodes[at] = nodes;
        count[at]    = 1;
        r->n++;
    } else {
        count[at]++;
        r->row[at].seconds += (row->seconds - r->row[at].seconds) / (double)count[at];
    }
}

static lm_status take(const calibration *cal, const points *p, const point *pt, run_rows *r,
                      size_t *count, lm_error *err)
{
    const bool  buckets = point_in_buckets(pt);
    correct_row row     = {
            .group = pt->group, .of = PHASE_STEP, .batch = pt->row->batch, .seconds = run_seconds(pt)
    };
    double    passes = 0;
    lm_status status;

    if (isnan(row.seconds)) {
        r->n_other += is_step_alone(pt); /* another optimizer than the file's usual one */
        return LM_OK;
    }
    if (pt->flags & FLAGS_DOUBTFUL) {
        r->n_doubtful++;
        return LM_OK;
    }
    if (!is_variant(cal, pt->row)) {
        r->n_other++;
        return LM_OK;
    }
    split_step(cal, pt, row.part);
    if ((status = exposed_of(cal, p, pt, row.part, &row.fixed, err)))
        return status;
    for (size_t k = 0; k < N_CORRECT; k++)
        passes += row.part[k];
    if (!(passes > 0) || isnan(row.fixed))
        r->n_untold++;
    else if (fabs(row.fixed) > RUNS_EXPOSED_MOST * (passes + row.fixed))
        r->n_exposed++;
    else
        add(r, count, &row,
            buckets ? (size_t)PHASE_OVERLAPPED : interval_phase(PHASE_STEP, pt->row->ranks > 1),
            (double)pt->row->ranks);
    return LM_OK;
}

static lm_status check(const run_rows *r, lm_error *err)
{
    if (r->n)
        return LM_OK;
    if (!(r->n_doubtful + r->n_other + r->n_exposed + r->n_untold))
        return lm_error_set(
            err, LM_E_ARG,
            "no run in it: expected whole steps of networks without their parts, as 'layermeter watch --observations' appends them");
    return lm_error_set(err, LM_E_ARG,
                        "no run can be used: %zu are flagged, %zu of another element type, other "
                        "settings or another optimizer, of %zu all-reduces are more than %g %%, "
                        "and of %zu the coefficients are unknown",
                        r->n_doubtful, r->n_other, r->n_exposed, 100 * RUNS_EXPOSED_MOST,
                        r->n_untold);
}

lm_status run_rows_from(const calibration *cal, const points *p, run_rows *out, lm_error *err)
{
    const size_t room   = p->n_points + 1;
    size_t      *count  = malloc(room * sizeof *count);
    run_rows     r      = { .row   = malloc(room * sizeof *r.row),
                            .slot  = malloc(room * sizeof *r.slot),
                            .nodes = malloc(room * sizeof *r.nodes) };
    lm_status    status = count && r.row && r.slot && r.nodes ? LM_OK : no_memory(err);

    if (!status && !has_parts(cal))
        status = lm_error_set(
            err, LM_E_ARG,
            "runs correct formulas of a step's parts, and not all were fitted: fit whole steps alone, from one file");
    for (size_t i = 0; i < p->n_points && !status; i++)
        status = take(cal, p, &p->point[i], &r, count, err);
    r.networks = r.row ? correct_groups(r.row, r.n) : 0;
    if (!status)
        status = check(&r, err);
    free(count);
    if (status)
        run_rows_free(&r);
    else
        *out = r;
    return status;
}

void run_rows_free(run_rows *r)
{
    free_all(r->row, r->slot, r->nodes);
    *r = (run_rows){ .row = NULL };
}

/* ---- what leaving out shows ---- */

static void widen_by_factors(interval *i, const correct_factors *f)
{
    double least = 1, most = 1;

    for (size_t r = 0; r < N_CORRECT; r++) {
        least = fmin(least, f->of[r]);
        most  = fmax(most, f->of[r]);
    }
    i->low /= most;
    i->high /= least;
}

static void reach(interval *i, scope s, double value)
{
    i->range[s].low  = fmin(i->range[s].low, value);
    i->range[s].high = fmax(i->range[s].high, value);
}

/* Sets the interval of one kind of steps; `before` is that without correction. */
static lm_status state_slot(const run_rows *r, const double *seconds, size_t slot,
                            const interval *before, interval *out, lm_error *err)
{
    residual *of     = malloc((r->n + 1) * sizeof *of);
    interval  found  = interval_unknown;
    size_t    n      = 0;
    lm_status status = of ? LM_OK : no_memory(err);

    for (size_t i = 0; i < r->n && !status; i++)
        if (r->slot[i] == slot)
            of[n++] =
                (residual){ .ratio = seconds[i] > 0 ? r->row[i].seconds / seconds[i] : HUGE_VAL,
                            .group = r->row[i].group };
    if (!status)
        status = interval_bounds(of, n, &found, err);
    if (!status && interval_known(&found) && interval_known(before)) {
        out->low  = fmin(before->low, found.low);
        out->high = fmax(before->high, found.high);
    }
    for (size_t i = 0; i < n && !status && !interval_known(&found); i++) {
        out->low  = isnan(out->low) ? NAN : fmin(out->low, of[i].ratio);
        out->high = isnan(out->high) ? NAN : fmax(out->high, of[i].ratio);
    }
    for (size_t i = 0; i < r->n && !status && interval_known(out); i++)
        if (r->slot[i] == slot) {
            reach(out, SCOPE_SECONDS, r->row[i].seconds);
            reach(out, SCOPE_BATCH, (double)r->row[i].batch);
            if (slot != PHASE_STEP)
                reach(out, SCOPE_NODES, r->nodes[i]);
        }
    free(of);
    return status;
}

static lm_status state_intervals(const run_rows *r, const double *seconds, const correct_factors *f,
                                 intervals *all, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t s = 0; s < N_TIMES && !status; s++) {
        const interval before = all->of[s];

        /* all-reduces are not corrected */
        if (s != PHASE_SYNC)
            widen_by_factors(&all->of[s], f);
        status = state_slot(r, seconds, s, &before, &all->of[s], err);
    }
    return status;
}

/* Groups of runs that are left out together. */
static void choose_groups(const run_rows *r, correct_row *row, run_correction *out)
{
    out->by_network    = r->networks > 1;
    out->errors.groups = out->by_network ? r->networks : r->n;
    memcpy(row, r->row, r->n * sizeof *row);
    for (size_t i = 0; i < r->n && !out->by_network; i++)
        row[i].group = i;
}

lm_status correct_by_runs(calibration *cal, const run_rows *r, run_correction *out, lm_error *err)
{
    correct_row   *row     = malloc((r->n + 1) * sizeof *row);
    double        *seconds = malloc((r->n + 1) * sizeof *seconds);
    run_correction found   = { .kept = false };
    lm_status      status  = row && seconds ? LM_OK : no_memory(err);

    if (!status) {
        choose_groups(r, row, &found);
        status = correct_fit(row, r->n, NULL, &found.factors, err);
    }
    for (size_t i = 0; i < r->n && !status; i++)
        seconds[i] = NAN;
    if (!status && r->n > 1)
        status = correct_left_out(row, r->n, seconds, err);
    if (!status) {
        correct_judge(row, r->n, seconds, &found.errors);
        found.kept = found.errors.mape < found.errors.mape_before; /* false for NAN */
    }
    if (!status && found.kept)
        status = state_intervals(r, seconds, &found.factors, &cal->intervals[0], err);
    if (!status && found.kept)
        correct_apply(cal, &found.factors, false);
    if (!status)
        *out = found;
    free(row);
    free(seconds);
    return status;
}
