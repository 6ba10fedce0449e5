/* Methods by name; kinds of epochs and the steady epoch time. */
#include "epochs/epochs.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "epochs/methods.h"

/* Lengths are equal within this many median absolute deviations, or within this share. */
#define DEVIATIONS 5.0
#define LEAST      0.04
/* An end of a run may be a whole epoch, if it is as long as one within this part. */
#define WHOLE 0.1
/* Anything shorter than this part of an epoch, before the first or behind the last, is ignored. */
#define CRUMB 0.05

static size_t bin_of(const trace_grid *g, double time)
{
    const double bin = (time - g->start) / g->step;

    return bin <= 0 ? 0 : bin >= (double)g->n ? g->n : (size_t)bin;
}

static bool mostly_missing(const trace_grid *g, double from, double to)
{
    const size_t a = bin_of(g, from), b = bin_of(g, to);
    size_t       n = 0;

    for (size_t i = a; i < b; i++)
        n += isnan(g->x[i]) ? 1 : 0;
    return 2 * n > b - a;
}

static void put(epochs *out, double from, double to, double confidence, epoch_kind kind)
{
    out->epoch[out->n++] = (epoch){ from, to - from, confidence, kind };
}

/* If all intervals count, some are parts of epochs and some are several epochs. The bounds of one
 * epoch are then the prediction interval of one more interval on a log-normal scale. */
static void bounds_of_one(epochs *out, double resolution)
{
    const double n    = (double)out->n_steady;
    double       mean = 0, squares = 0, error;

    for (size_t i = 0; i < out->n; i++)
        if (out->epoch[i].kind == EPOCH_STEADY)
            mean += log(out->epoch[i].length) / n;
    for (size_t i = 0; i < out->n; i++)
        if (out->epoch[i].kind == EPOCH_STEADY)
            squares += pow(log(out->epoch[i].length) - mean, 2);
    error = stats_student90(out->n_steady - 1) *
            sqrt(squares / (n - 1) * (1 + 1 / n) + pow(resolution / out->steady, 2) / 6);
    out->low  = fmin(out->steady, exp(mean - error));
    out->high = fmax(out->steady, exp(mean + error));
}

static void steady_time(epochs *out, double resolution, double *value)
{
    double mean = 0, squares = 0, error;
    size_t n = 0;

    for (size_t i = 0; i < out->n; i++)
        if (out->epoch[i].kind == EPOCH_STEADY) {
            value[n++] = out->epoch[i].confidence;
            mean += out->epoch[i].length;
        }
    out->n_steady = n;
    mean /= (double)(n ? n : 1);
    for (size_t i = 0; i < out->n; i++)
        if (out->epoch[i].kind == EPOCH_STEADY)
            squares += (out->epoch[i].length - mean) * (out->epoch[i].length - mean);
    out->steady     = n ? mean : NAN;
    out->confidence = n ? stats_quantile(value, n, 0.5) : NAN;
    out->low = out->high = NAN;
    if (n < 3)
        return;
    if (out->all) {
        bounds_of_one(out, resolution);
        return;
    }
    /* the lengths add up to the distance of the first and the last place, each known to a fraction
     * of a bin */
    error     = sqrt(squares / (double)(n - 1) / (double)n +
                     2 * resolution * resolution / 12 / ((double)n * (double)n));
    out->low  = mean - stats_student90(n - 1) * error;
    out->high = mean + stats_student90(n - 1) * error;
}

/* Before the first place: start-up, and a part of an epoch or a whole one. */
static void before(epochs *out, const trace_grid *g, const found_places *f, double median,
                   double tolerance)
{
    const double begin  = g->start + 0.5 * g->step,
                 first  = f->place[0];               /* a sample is in its bin's middle */
    const bool   told   = f->from > begin + g->step; /* something was idle before */
    const double active = told && f->from < first ? f->from : begin;
    const double length = first - active;

    if (told && (active - begin > CRUMB * median || length < CRUMB * median))
        put(out, begin, length < CRUMB * median ? first : active, NAN, EPOCH_STARTUP);
    if (length < CRUMB * median)
        return;
    put(out, active, first, NAN,
        f->all                                                        ? EPOCH_PARTIAL
        : length > median * (1 + tolerance) && told                   ? EPOCH_WARMUP
        : told && fabs(length / median - 1) <= fmax(WHOLE, tolerance) ? EPOCH_IRREGULAR
                                                                      : EPOCH_PARTIAL);
}

static void behind(epochs *out, const trace_grid *g, const found_places *f, double median)
{
    const double last = f->place[f->n], end = g->start + g->step * ((double)g->n - 0.5);
    const bool   told = f->to < end - g->step;
    const double idle = told && f->to > last ? f->to : told ? last : end;

    if (idle - last > CRUMB * median)
        put(out, last, idle, NAN, EPOCH_PARTIAL);
    else if (out->n && !told)
        return;
    if (end - idle > CRUMB * median)
        put(out, idle - last > CRUMB * median ? idle : last, end, NAN, EPOCH_IDLE);
}

static void classify(epochs *out, const trace_grid *g, const found_places *f, double median,
                     double tolerance)
{
    bool warming = true;

    for (size_t i = 0; i < f->n; i++) {
        const double from = f->place[i], to = f->place[i + 1], ratio = (to - from) / median;
        epoch_kind   kind = EPOCH_STEADY;

        if (f->all)
            kind = EPOCH_STEADY;
        else if (mostly_missing(g, from, to))
            kind = EPOCH_MISSING;
        else if (warming && ratio > 1 + tolerance)
            kind = EPOCH_WARMUP;
        else if (fabs(ratio - 1) > tolerance)
            kind = EPOCH_IRREGULAR;
        warming &= kind == EPOCH_WARMUP;
        put(out, from, to, f->alike ? f->alike[i] : NAN, kind);
    }
}

/* Median of the second half of the lengths, which warm-ups do not touch. Returns the tolerance of
 * equal lengths. */
static double usual_length(const found_places *f, double *value, double *median)
{
    const size_t from = f->n / 2, n = f->n - from;
    double       spread;

    for (size_t i = 0; i < n; i++)
        value[i] = f->place[from + i + 1] - f->place[from + i];
    *median = stats_quantile(value, n, 0.5);
    spread  = stats_mad(value, value + n, n) * (1 + 2 / (double)n) /
             *median; /* uncertain for few values */
    return fmax(fmax(LEAST, DEVIATIONS * spread), 2 * f->resolution / *median);
}

lm_status label_epochs(const trace_grid *g, const found_places *f, epochs *out, lm_error *err)
{
    double *value = malloc(2 * f->n * sizeof *value);
    double  median, tolerance;

    out->epoch = malloc((f->n + 5) * sizeof *out->epoch);
    out->n     = 0;
    if (!value || !out->epoch) {
        free(value);
        return no_memory(err);
    }
    out->all  = f->all;
    tolerance = usual_length(f, value, &median);
    before(out, g, f, median, tolerance);
    classify(out, g, f, median, tolerance);
    behind(out, g, f, median);
    steady_time(out, f->resolution, value);
    free(value);
    return LM_OK;
}

const char *const epochs_method_names[N_EPOCHS_METHODS] = { "layermeter",  "hurlee",
                                                            "hurlee-code", "changepoints",
                                                            "ruptures",    "jenks" };
const char *const epoch_kind_names[N_EPOCH_KINDS] = { "startup", "warmup",  "epoch", "irregular",
                                                      "missing", "partial", "idle" };

lm_status epochs_method_parse(const char *text, epochs_method *out, lm_error *err)
{
    const size_t at = text_place(text, epochs_method_names, N_EPOCHS_METHODS);

    if (at == N_EPOCHS_METHODS)
        return lm_error_set(err, LM_E_ARG, "expected " EPOCHS_METHODS ", found '%.40s'", text);
    *out = (epochs_method)at;
    return LM_OK;
}

lm_status epochs_find(epochs_method m, const trace_grid *g, epochs **out, lm_error *err)
{
    static epochs_finder *const find[N_EPOCHS_METHODS] = {
        [EPOCHS_LAYERMETER]   = epochs_by_tracking,
        [EPOCHS_HURLEE]       = epochs_by_hurlee,
        [EPOCHS_HURLEE_CODE]  = epochs_by_hurlee_code,
        [EPOCHS_CHANGEPOINTS] = epochs_by_changepoints,
        [EPOCHS_RUPTURES]     = epochs_by_ruptures,
        [EPOCHS_JENKS]        = epochs_by_jenks,
    };
    epochs   *e      = calloc(1, sizeof *e);
    series    s      = { .memory = NULL };
    lm_status status = e ? series_of(g, &s, err) : no_memory(err);

    if (!status) {
        e->steady = e->low = e->high = e->confidence = e->evaluation = NAN;
        status                                                       = find[m](g, &s, e, err);
    }
    series_free(&s);
    if (status)
        epochs_free(e);
    else
        *out = e;
    return status;
}

void epochs_free(epochs *e)
{
    if (!e)
        return;
    free(e->epoch);
    free(e);
}
