/* Joins several machines into one: means of coefficients, unions of intervals. */
#include "transfer/pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "device/roofline.h"
#include "shrink/shrink.h"
#include "transfer/layers.h"

static double term_scale(const transfer_scale *s, size_t term)
{
    const resource r = form_resource(term);

    return r == RESOURCE_FLOPS && term_family_of(term) != FAMILY_DENSE ? s->scalar : s->of[r];
}

/* A mean over the machines that have the value. */
typedef struct mean {
    double sum, weight, low, high;
} mean;

static void mean_add(mean *m, double weight, double scale, const coefficient *c)
{
    if (isnan(c->value))
        return;
    m->sum += weight * scale * c->value;
    m->weight += weight;
    m->low  = fmin(m->low, c->low); /* fmin() ignores NAN */
    m->high = fmax(m->high, c->high);
}

static coefficient mean_of(const mean *m)
{
    return (coefficient){ .value          = m->weight > 0 ? m->sum / m->weight : NAN,
                          .standard_error = NAN,
                          .low            = m->low,
                          .high           = m->high,
                          .determined     = true,
                          .known          = 0 };
}

/* No product is faster than the device's peak. */
static term_bounds bounds_of(const transfer_source *from, const device *to)
{
    const roofline best = roofline_of(to->figure, calibration_rate_dtype(from[0].cal), false);

    return (term_bounds){ roofline_flop(&best), INFINITY, 0 };
}

/* Terms of counts are not transferred, because machines have different knots. */
static void pool_terms(const transfer_source *from, size_t n, const device *to, size_t form_at,
                       fitted *out)
{
    const term_bounds bounds = bounds_of(from, to);

    for (size_t t = 0; t < N_TERMS; t++) {
        mean m = { 0, 0, NAN, NAN };

        for (size_t i = 0; i < n; i++)
            if (from[i].cal->fitted[form_at].present && !term_counted(t))
                mean_add(&m, from[i].weight, term_scale(&from[i].scale, t),
                         &from[i].cal->fitted[form_at].term[t]);
        out->term[t]       = mean_of(&m);
        out->term[t].value = term_bounds_keep(&bounds, t, out->term[t].value);
        out->rank += out->term[t].value > 0;
    }
}

static bool has_allreduces(const calibration *cal)
{
    return collective_algorithm(cal->collectives, COLLECTIVE_ALLREDUCE, NULL) != NULL;
}

/* Links between devices are kept: the collectives of the nearest machine with all-reduces. */
static lm_status pool_collectives(const transfer_source *from, size_t n, calibration *out,
                                  lm_error *err)
{
    const transfer_source *of = NULL;

    for (size_t i = 0; i < n; i++)
        if (has_allreduces(from[i].cal) && (!of || from[i].weight > of->weight))
            of = &from[i];
    if (!of)
        return LM_OK;
    if (!(out->collectives = collective_copy(of->cal->collectives)))
        return no_memory(err);
    for (size_t f = 0; f < n_forms; f++)
        if (form_carried(f) && forms[f].part == PHASE_SYNC && out->fitted[f].present) {
            memset(out->fitted[f].coefficient, 0, sizeof out->fitted[f].coefficient);
            out->fitted[f].by_allreduces = true;
        }
    return LM_OK;
}

/* The host does not belong to the device: that of the nearest machine whose host is known. Of
 * steps under layouts it was fitted together with prices that are not carried (join_laid()). */
static void pool_host(const transfer_source *from, size_t n, calibration *out)
{
    const transfer_source *of = NULL;

    for (size_t i = 0; i < n; i++)
        if (from[i].cal->host.rows && !from[i].cal->host.laid &&
            (!of || from[i].weight > of->weight))
            of = &from[i];
    if (of) {
        out->host           = of->cal->host;
        out->host.elsewhere = true;
    }
}

/* Formulas of features describe networks between nodes, which stay unchanged. */
static void pool_features(const transfer_source *from, size_t n, size_t form_at, fitted *out)
{
    for (size_t k = 0; k < forms[form_at].n_features; k++) {
        mean m = { 0, 0, NAN, NAN };

        for (size_t i = 0; i < n; i++)
            if (from[i].cal->fitted[form_at].present && !from[i].cal->fitted[form_at].by_allreduces)
                mean_add(&m, from[i].weight, 1, &from[i].cal->fitted[form_at].coefficient[k]);
        out->coefficient[k] = mean_of(&m);
        out->rank++;
    }
}

static lm_status pool_form(const transfer_source *from, size_t n, const device *to, size_t form_at,
                           fitted *out, lm_error *err)
{
    bool any = false;

    for (size_t i = 0; i < n; i++)
        any |= from[i].cal->fitted[form_at].present;
    if (!any)
        return LM_OK;
    *out = (fitted){ .present       = true,
                     .condition     = NAN,
                     .errors        = { 0, NAN, NAN, NAN, NAN, NAN },
                     .held_out_mape = NAN };
    if (forms[form_at].n_features) {
        pool_features(from, n, form_at, out);
        return LM_OK;
    }
    out->term = malloc(N_TERMS * sizeof *out->term);
    if (!out->term)
        return no_memory(err);
    pool_terms(from, n, to, form_at, out);
    return LM_OK;
}

/* ---- intervals ---- */

/* Joins growth: the steepest one. */
static void join_growth(const interval *from, interval *to)
{
    if (from->per_octave > to->per_octave)
        to->octaves = from->octaves;
    else if (!(from->per_octave < to->per_octave))
        to->octaves = from->octaves > 0 && to->octaves > 0 ? fmax(from->octaves, to->octaves) : 0;
    to->per_octave = fmax(to->per_octave, from->per_octave);
}

/* The union of the machines' ranges. Seconds differ on the new device; batches and nodes do not. */
static void join_interval(const interval *from, interval *to)
{
    if (!interval_known(from))
        return;
    if (!interval_known(to)) {
        *to = *from;
    } else {
        to->groups = from->groups < to->groups ? from->groups : to->groups;
        to->low    = fmin(to->low, from->low);
        to->high   = fmax(to->high, from->high);
        join_growth(from, to);
        for (int s = 0; s < N_SCOPES; s++) {
            to->range[s].low  = fmin(to->range[s].low, from->range[s].low);
            to->range[s].high = fmax(to->range[s].high, from->range[s].high);
        }
    }
    to->range[SCOPE_SECONDS].low = to->range[SCOPE_SECONDS].high = NAN;
}

static void join_intervals(const transfer_source *from, size_t n, calibration *out)
{
    for (size_t s = 0; s < N_TIMES; s++) {
        out->intervals[0].of[s] = interval_unknown;
        for (size_t i = 0; i < n; i++)
            join_interval(&from[i].cal->intervals[0].of[s], &out->intervals[0].of[s]);
    }
}

/* Errors of kernels in steps under layouts: the widest bounds, for networks outside of the fits. No
 * host is known of them, and no messages. */
static void join_laid(const transfer_source *from, size_t n, calibration *out)
{
    laid_steps *to = &out->laid;

    for (size_t i = 0; i < n; i++) {
        const laid_steps *l = &from[i].cal->laid;
        double            low, high;

        if (!l->kernels || !l->groups) { /* no steps corrected the kernels of this one */
            *to = (laid_steps){ .rows = 0 };
            return;
        }
        laid_steps_bounds(l, NULL, &low, &high);
        *to = (laid_steps){ .rows = to->rows + l->rows,
                            .mape = NAN,
                            .low  = i ? fmin(to->low, low) : low,
                            .high = i ? fmax(to->high, high) : high,
                            .groups =
                                i ? (l->groups < to->groups ? l->groups : to->groups) : l->groups,
                            .kernels = true };
    }
}

/* Raises a factor until no product is faster than the device's peak. */
static void keep_below_peak(const calibration *cal, const term_bounds *bounds, laid_factors *f)
{

    for (size_t i = 0; i < n_forms; i++)
        for (size_t t = 0; cal->fitted[i].term && t < N_TERMS; t++) {
            const double      price = cal->fitted[i].term[t].value;
            const laid_kernel k     = laid_kernel_of(forms[i].part, t);

            if (k < N_LAID_KERNELS && price > 0)
                f->of[k] = fmax(f->of[k], term_bounds_keep(bounds, t, f->of[k] * price) / price);
        }
}

#define LEAST_FACTOR 1e-6 /* in a mean of logarithms */

/* Factors on the prices of kernels: means of logarithms over the machines, 1 for one without. */
static void pool_by_steps(const transfer_source *from, size_t n, const device *to, calibration *out)
{
    const term_bounds bounds = bounds_of(from, to);
    laid_factors     *f      = &out->by_steps;

    *f        = laid_factors_none;
    f->tokens = true;
    for (size_t i = 0; i < n; i++) {
        const laid_factors *own = &from[i].cal->by_steps;

        if (!own->known)
            continue;
        f->known = true;
        f->tokens &= own->tokens;
        f->start += from[i].weight * own->start; /* the host's, which no datasheet scales */
        for (int k = 0; k < N_LAID_KERNELS; k++)
            f->of[k] *= pow(fmax(own->of[k], LEAST_FACTOR), from[i].weight);
        for (int r = 0; r < N_RESOURCES; r++)
            f->others[r] *= pow(fmax(own->others[r], LEAST_FACTOR), from[i].weight);
    }
    if (f->known)
        keep_below_peak(out, &bounds, f);
}

/* Widens an interval about its middle, in logarithms. A range that begins at 0 has no middle. */
static void widen_about_middle(double *low, double *high, double doubt)
{
    const double mid  = sqrt(*low * *high),
                 half = stats_quadrature(log(*high / *low) / 2, log(doubt), 0);

    if (!(mid > 0)) {
        *high *= doubt;
        return;
    }
    *low  = mid / exp(half);
    *high = mid * exp(half);
}

bool transfer_widen(calibration *cal, double doubt, const char *why)
{
    char text[120];

    for (size_t s = 0; s < N_TIMES; s++)
        if (s != PHASE_SYNC)
            widen_about_middle(&cal->intervals[0].of[s].low, &cal->intervals[0].of[s].high, doubt);
    widen_about_middle(&cal->laid.low, &cal->laid.high, doubt);
    snprintf(text, sizeof text, "by %.3g, %s", doubt, why);
    return calibration_note(cal, "intervals_widened", text);
}

/* ---- all together ---- */

lm_status transfer_mean(const transfer_source *from, size_t n, const device *to, calibration **out,
                        lm_error *err)
{
    calibration *cal    = calloc(1, sizeof *cal);
    lm_status    status = cal ? LM_OK : no_memory(err);

    for (size_t f = 0; f < n_forms && !status; f++)
        if (form_carried(f))
            status = pool_form(from, n, to, f, &cal->fitted[f], err);
    if (!status)
        status = pool_collectives(from, n, cal, err);
    if (!status)
        status = transfer_layers_pool(from, n, to, false, &cal->layers, err);
    if (status) {
        calibration_free(cal);
        return status;
    }
    cal->transferred = true;
    cal->dtype       = from[0].cal->dtype;
    cal->settings    = from[0].cal->settings;
    cal->max_ranks = cal->max_hosts = 1;
    for (size_t i = 0; i < n; i++) {
        if (from[i].cal->max_ranks > cal->max_ranks)
            cal->max_ranks = from[i].cal->max_ranks;
        if (from[i].cal->max_hosts > cal->max_hosts)
            cal->max_hosts = from[i].cal->max_hosts;
    }
    for (size_t m = 1; m < MAX_MODELS; m++)
        for (size_t s = 0; s < N_TIMES; s++)
            cal->intervals[m].of[s] = interval_unknown;
    join_intervals(from, n, cal);
    join_laid(from, n, cal);
    pool_by_steps(from, n, to, cal);
    pool_host(from, n, cal);
    *out = cal;
    return LM_OK;
}
