/* Features of runs and of pairs of devices. */
#include "crossgpu/space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/no_memory.h"
#include "base/text.h"

static const device_figure figures[N_FIGURES] = {
    [FIGURE_PEAK]            = DEVICE_F32,
    [FIGURE_BANDWIDTH]       = DEVICE_BANDWIDTH,
    [FIGURE_MEMORY]          = DEVICE_MEMORY,
    [FIGURE_MULTIPROCESSORS] = DEVICE_MULTIPROCESSORS,
    [FIGURE_CLOCK]           = DEVICE_CLOCK,
    [FIGURE_POWER]           = DEVICE_POWER,
    [FIGURE_F64]             = DEVICE_F64,
    [FIGURE_F16]             = DEVICE_F16,
    [FIGURE_L2]              = DEVICE_L2,
    [FIGURE_CORES]           = DEVICE_CORES,
    [FIGURE_TENSOR_CORES]    = DEVICE_TENSOR_CORES,
    [FIGURE_BUS]             = DEVICE_BUS,
    [FIGURE_L1]              = DEVICE_L1,
    [FIGURE_SHARED]          = DEVICE_SHARED,
    [FIGURE_THREADS]         = DEVICE_THREADS,
    [FIGURE_RT_CORES]        = DEVICE_RT_CORES,
    [FIGURE_BASE_CLOCK]      = DEVICE_BASE_CLOCK,
    [FIGURE_CAPABILITY]      = N_DEVICE_FIGURES,
    [FIGURE_MEMORY_CLOCK]    = N_DEVICE_FIGURES,
};

lm_status features_add(const char *name, unsigned *features, lm_error *err)
{
    if (strcmp(name, "static") && strcmp(name, "dynamic"))
        return lm_error_set(err, LM_E_ARG, "expected static, dynamic or both, found '%.40s'", name);
    *features |= !strcmp(name, "static") ? FEATURES_STATIC : FEATURES_DYNAMIC;
    return LM_OK;
}

const char *figure_name(size_t figure)
{
    return figure == FIGURE_CAPABILITY     ? "capability"
           : figure == FIGURE_MEMORY_CLOCK ? "bus"
                                           : device_keys[figures[figure]].key;
}

/* Can a device lack such units? */
static bool may_lack(size_t figure)
{
    return figures[figure] < N_DEVICE_FIGURES && device_keys[figures[figure]].may_lack;
}

bool figure_known(size_t figure, double value)
{
    return may_lack(figure) ? value >= 0 : value > 0;
}

/* CUDA's; other names of architectures are no numbers. */
static double capability_of(const device *d)
{
    char        *end   = NULL;
    const double value = d->capability ? strtod(d->capability, &end) : 0;

    return end && end != d->capability ? value : (double)NAN;
}

/* A device without such units has a logarithm, too. */
static double figure_log(size_t figure, double value)
{
    return may_lack(figure) ? log1p(value) : log(value);
}

static double figure_of_device(const device *d, size_t figure)
{
    if (figure == FIGURE_MEMORY_CLOCK)
        return device_memory_clock(d->figure);
    if (figure == FIGURE_CAPABILITY)
        return capability_of(d);
    return d->figure[figures[figure]];
}

lm_status gpu_find(const device_list *devices, const char *name, gpu *out, lm_error *err)
{
    const device *d;
    lm_status     status = devices_find(devices, name, &d, err);

    if (status)
        return status;
    snprintf(out->name, sizeof out->name, "%s", name);
    for (size_t f = 0; f < N_FIGURES; f++) {
        out->figure[f] = figure_of_device(d, f);
        if (f <= FIGURE_BANDWIDTH && !(out->figure[f] > 0))
            return lm_error_set(err, LM_E_NOTFOUND, "%s:%d: device '%.60s' has no %s", d->path,
                                d->line, d->name, figure_name(f));
    }
    return LM_OK;
}

/* ---- units ----------------------------------------------------------------------------------- */

/* By the last word of a metric's name; *scale: in base units (W, Hz, B, s). */
static metric_unit metric_unit_of(const char *name, double *scale)
{
    static const struct {
        const char *word;
        metric_unit unit;
        double      scale;
    } units[]        = { { "percent", UNIT_PERCENT, 0.01 },
                         { "pct", UNIT_PERCENT, 0.01 },
                         { "w", UNIT_WATTS, 1 },
                         { "mw", UNIT_WATTS, 1e-3 },
                         { "mhz", UNIT_MHZ, 1e6 },
                         { "b", UNIT_BYTES, 1 },
                         { "bytes", UNIT_BYTES, 1 },
                         { "mb", UNIT_BYTES, 1e6 },
                         { "mib", UNIT_BYTES, 1048576 },
                         { "gib", UNIT_BYTES, 1073741824 },
                         { "us", UNIT_SECONDS, 1e-6 },
                         { "ms", UNIT_SECONDS, 1e-3 },
                         { "s", UNIT_SECONDS, 1 } };
    const char *word = strrchr(name, '_');

    for (size_t i = 0; word && i < sizeof units / sizeof units[0]; i++)
        if (!strcasecmp(word + 1, units[i].word)) {
            *scale = units[i].scale;
            return units[i].unit;
        }
    *scale = 1;
    return UNIT_NONE;
}

/* The datasheet's figure that divides values of this unit; N_FIGURES: none. */
static size_t figure_of(metric_unit u)
{
    return u == UNIT_WATTS   ? FIGURE_POWER
           : u == UNIT_MHZ   ? FIGURE_CLOCK
           : u == UNIT_BYTES ? FIGURE_MEMORY
                             : N_FIGURES;
}

static double feature_of(const space_metric *m, double value, const gpu_run *of, const gpu *on)
{
    const size_t f = figure_of(m->unit);

    value *= m->scale;
    if (f < N_FIGURES)
        value /= on->figure[f];
    if (m->unit == UNIT_SECONDS)
        return copysign(sqrt(fabs(value / of->seconds)), value);
    return m->unit == UNIT_NONE ? asinh(value) : value;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static bool varies(const runs *r, size_t column, bool *missing)
{
    bool any = false;

    *missing = false;
    for (size_t i = 0; i < r->n; i++) {
        *missing |= isnan(r->run[i].value[column]);
        any |= r->run[i].value[column] != r->run[0].value[column];
    }
    return any;
}

static void tell(char *left_out, size_t size, const char *name, const char *why)
{
    const size_t n = strlen(left_out);

    if (n + 4 < size)
        snprintf(left_out + n, size - n, "%s%s (%s)", n ? ", " : "", name, why);
}

static void choose_figures(space *s, const gpu *devices, size_t n)
{
    for (size_t f = 0; f < N_FIGURES; f++) {
        s->uses[f] = true;
        for (size_t i = 0; i < n; i++)
            s->uses[f] &= figure_known(f, devices[i].figure[f]);
    }
}

void space_metric_unit(const space *s, space_metric *m)
{
    m->unit = metric_unit_of(m->name, &m->scale);
    if (figure_of(m->unit) == N_FIGURES || s->uses[figure_of(m->unit)])
        return;
    m->unit  = UNIT_NONE; /* in its own unit, then */
    m->scale = 1;
}

static void add_metric(space *s, const runs *r, size_t column, const gpu *devices, const size_t *of)
{
    space_metric *m = &s->metric[s->n_metrics++];

    snprintf(m->name, sizeof m->name, "%s", r->column[column]);
    space_metric_unit(s, m);
    m->low  = HUGE_VAL;
    m->high = -HUGE_VAL;
    for (size_t i = 0; i < r->n; i++) {
        const double x = feature_of(m, r->run[i].value[column], &r->run[i], &devices[of[i]]);

        m->low  = fmin(m->low, x);
        m->high = fmax(m->high, x);
    }
}

lm_status space_of(const runs *r, const gpu *devices, const size_t *of, size_t n_devices,
                   unsigned features, space *out, char *left_out, size_t size, lm_error *err)
{
    *out = (space){ .metric = calloc(r->n_columns + 1, sizeof *out->metric), .features = features };
    if (!out->metric)
        return no_memory(err);
    choose_figures(out, devices, n_devices);
    for (size_t c = 0; c < r->n_columns && (features & FEATURES_DYNAMIC); c++) {
        bool missing;

        if (strlen(r->column[c]) >= sizeof out->metric->name)
            return lm_error_set(err, LM_E_ARG, "%s: column '%.60s...': name too long", r->path,
                                r->column[c]);
        if (strpbrk(r->column[c], " \t"))
            return lm_error_set(err, LM_E_ARG, "%s: column '%.60s': names have no blanks", r->path,
                                r->column[c]);
        if (!varies(r, c, &missing) || missing)
            tell(left_out, size, r->column[c], missing ? "missing in some runs" : "constant");
        else
            add_metric(out, r, c, devices, of);
    }
    if (features == FEATURES_DYNAMIC && !out->n_metrics)
        return lm_error_set(err, LM_E_ARG, "%s: no dynamic features%s%s", r->path,
                            *left_out ? ": left out: " : ": there are no metrics", left_out);
    return LM_OK;
}

void space_free(space *s)
{
    free(s->metric);
    *s = (space){ .metric = NULL };
}

/* ---- features -------------------------------------------------------------------------------- */

size_t space_n_run(const space *s)
{
    return s->n_metrics + 1;
}

size_t space_n_pair(const space *s)
{
    size_t n = 0;

    for (size_t f = 0; f < N_FIGURES && (s->features & FEATURES_STATIC); f++)
        n += s->uses[f] ? 2 : 0;
    return n;
}

static lm_status missing(const space *s, size_t i, const runs *r, lm_error *err)
{
    const char *name = s->metric[i].name, *near = NULL;
    size_t      best = 1 + strlen(name) / 3, n = 0;

    for (size_t c = 0; c < r->n_columns; c++) {
        const size_t d = text_distance(name, r->column[c], best);

        if (d < best) {
            best = d;
            near = r->column[c];
        }
    }
    for (size_t k = 0; k < s->n_metrics; k++)
        n += runs_column(r, s->metric[k].name) == r->n_columns;
    if (near)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: no column '%s', which was learned from (%zu of %zu are missing): "
                            "is '%.60s' meant?",
                            r->path, name, n, s->n_metrics, near);
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "%s: no column '%s', which was learned from (%zu of %zu are missing): measure it, or learn again without it",
        r->path, name, n, s->n_metrics);
}

lm_status space_place(const space *s, const runs *r, size_t *place, lm_error *err)
{
    for (size_t i = 0; i < s->n_metrics; i++)
        if ((place[i] = runs_column(r, s->metric[i].name)) == r->n_columns)
            return missing(s, i, r, err);
    return LM_OK;
}

lm_status space_run(const space *s, const runs *r, const gpu_run *of, const size_t *place,
                    const gpu *on, double *out, lm_error *err)
{
    for (size_t i = 0; i < s->n_metrics; i++) {
        const size_t f = figure_of(s->metric[i].unit);

        if (f < N_FIGURES && !(on->figure[f] > 0))
            return lm_error_set(err, LM_E_NOTFOUND, "device '%s' has no %s, which %s needs",
                                on->name, figure_name(f), s->metric[i].name);
        out[i] = feature_of(&s->metric[i], of->value[place[i]], of, on);
        if (!isfinite(out[i]))
            return lm_error_set(err, LM_E_ARG, "%s:%d: %s is missing", r->path, of->line,
                                s->metric[i].name);
    }
    out[s->n_metrics] = log(of->seconds);
    return LM_OK;
}

lm_status space_pair(const space *s, const gpu *from, const gpu *to, double *out, lm_error *err)
{
    for (size_t f = 0; f < N_FIGURES && (s->features & FEATURES_STATIC); f++) {
        if (!s->uses[f])
            continue;
        if (!figure_known(f, from->figure[f]) || !figure_known(f, to->figure[f]))
            return lm_error_set(
                err, LM_E_NOTFOUND,
                "device '%s' has no %s, which was learned from: give it (--devices)",
                figure_known(f, from->figure[f]) ? to->name : from->name, figure_name(f));
        *out++ = figure_log(f, from->figure[f]) - figure_log(f, to->figure[f]);
        *out++ = figure_log(f, from->figure[f]);
    }
    return LM_OK;
}
