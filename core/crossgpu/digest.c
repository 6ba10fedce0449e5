/* Distributions of the metrics of a trace. */
#include "crossgpu/digest.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "trace/metrics.h"

/* Known metrics, with units for traces without any. DCGM's columns of `dcgmi dmon` stand for all
 * their names. */
static const struct known {
    const char *name, *unit;
} known[] = {
    { "GRACT", "" },
    { "SMACT", "" },
    { "SMOCC", "" },
    { "TENSO", "" },
    { "DRAMA", "" },
    { "FP64A", "" },
    { "FP32A", "" },
    { "FP16A", "" },
    { "PCITX", "" },
    { "PCIRX", "" },
    { "GPUTL", "percent" },
    { "MCUTL", "percent" },
    { "POWER", "w" },
    { "SMCLK", "mhz" },
    { "MMCLK", "mhz" },
    { "TMPTR", "c" },
    { "FBUSD", "mib" },
    { "FBFRE", "mib" },
    { "utilization.gpu", "percent" },
    { "utilization.memory", "percent" },
    { "power.draw", "w" },
    { "clocks.sm", "mhz" },
    { "clocks.current.sm", "mhz" },
    { "clocks.gr", "mhz" },
    { "clocks.current.graphics", "mhz" },
    { "clocks.mem", "mhz" },
    { "clocks.current.memory", "mhz" },
    { "memory.used", "mib" },
    { "memory.free", "mib" },
    { "temperature.gpu", "c" },
    { "sm", "percent" },
    { "mem", "percent" },
    { "pwr", "w" },
    { "gtemp", "c" },
    { "pclk", "mhz" },
    { "mclk", "mhz" },
    { "fb", "mib" },
};

#define N_KNOWN (sizeof known / sizeof known[0])

static const char *const statistics[DIGEST_STATISTICS] = { "mean", "std", "min", "q25",
                                                           "q50",  "q75", "max" };

void digest_free(digest *d)
{
    free(d->column);
    *d = (digest){ .n = 0 };
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Lower case, of letters, digits and underscores. */
static void plain(const char *text, char *out, size_t size)
{
    size_t n = 0;

    for (; *text && n + 1 < size; text++)
        out[n++] = isalnum((unsigned char)*text) ? (char)tolower((unsigned char)*text) : '_';
    out[n] = '\0';
}

static const char *unit_of(const trace *t, char *buffer, size_t size)
{
    if (!strcmp(t->unit, "%"))
        return "percent";
    plain(t->unit, buffer, size);
    for (size_t i = 0; i < N_KNOWN && !*buffer; i++)
        if (metric_same(known[i].name, t->metric))
            return known[i].unit;
    return buffer;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* In the order of the statistics' names; sorts the values. */
static void distribution(double *value, size_t n, double out[DIGEST_STATISTICS])
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++)
        sum += value[i];
    out[0] = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (value[i] - out[0]) * (value[i] - out[0]);
    out[1] = sqrt(squares / (double)n);
    for (size_t k = 0; k < 5; k++)
        out[2 + k] = stats_quantile(value, n, 0.25 * (double)k);
}

/* Values of the samples that count; returns their number. */
static size_t values_within(const trace_gpu_series *g, const digest_times *when, double *value)
{
    const epochs *e = when->within;
    size_t        n = 0, k = 0;

    for (size_t i = 0; i < g->n; i++) {
        const double time = g->time[i] - g->time[0] + when->first;

        while (e && k < e->n && time >= e->epoch[k].start + e->epoch[k].length)
            k++;
        if (!isnan(g->value[i]) &&
            (!e || (k < e->n && time >= e->epoch[k].start && e->epoch[k].kind == EPOCH_STEADY)))
            value[n++] = (double)g->value[i];
    }
    return n;
}

static lm_status add_metric(const trace *t, const digest_times *when, digest *d, lm_error *err)
{
    const trace_gpu_series *g = NULL;
    char                    name[64], buffer[16];
    const char             *unit = unit_of(t, buffer, sizeof buffer);
    double                  x[DIGEST_STATISTICS], *value;
    digest_column          *more;
    size_t                  n = 0;

    for (size_t i = 0; i < t->n_gpus; i++)
        if (t->gpu[i].n)
            g = &t->gpu[i];
    value = malloc(((g ? g->n : 0) + 1) * sizeof *value);
    more  = realloc(d->column, (d->n + DIGEST_STATISTICS) * sizeof *more);
    if (more)
        d->column = more;
    if (!value || !more) {
        free(value);
        return no_memory(err);
    }
    if (g && (n = values_within(g, when, value)))
        distribution(value, n, x);
    free(value);
    if (!n)
        return lm_error_set(err, LM_E_ARG, "%s: %s: no values%s", t->path, t->metric,
                            when->within ? " within the steady epochs" : "");
    plain(t->metric, name, sizeof name);
    for (size_t k = 0; k < DIGEST_STATISTICS; k++) {
        digest_column *c = &d->column[d->n++];

        snprintf(c->name, sizeof c->name, "%s_%s%s%s", name, statistics[k], *unit ? "_" : "", unit);
        c->value = x[k];
    }
    return LM_OK;
}

static lm_status take(const char *path, const trace_question *q, const digest_times *when,
                      const char *metric, digest *d, lm_error *err)
{
    trace_question own = *q;
    trace         *t   = NULL;
    lm_status      status;

    own.metric = metric;
    if (!(status = trace_load(path, &own, &t, err)))
        status = add_metric(t, when, d, err);
    trace_free(t);
    return status;
}

/* Takes all known metrics of the trace. A metric without any value counts as missing. */
static lm_status take_known(const char *path, const trace_question *q, const digest_times *when,
                            digest *d, lm_error *err)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        const lm_status status = take(path, q, when, known[i].name, d, err);

        if (status && status != LM_E_NOTFOUND && status != LM_E_ARG)
            return status;
    }
    if (!d->n)
        return lm_error_set(err, LM_E_NOTFOUND, "%s: no known metric: name some with --metric",
                            path);
    return LM_OK;
}

lm_status digest_trace(const char *path, const trace_question *q, const digest_times *when,
                       const char *const *metrics, size_t n, digest *out, lm_error *err)
{
    lm_status status = LM_OK;

    *out = (digest){ .n = 0 };
    if (!strcmp(path, "-"))
        return lm_error_set(
            err, LM_E_UNSUPPORTED,
            "stdin can be read only once, and each metric needs a reading: name a file");
    for (size_t i = 0; i < n && metrics && !status; i++)
        status = take(path, q, when, metrics[i], out, err);
    if (!metrics)
        status = take_known(path, q, when, out, err);
    if (status)
        digest_free(out);
    return status;
}

static lm_status find_epochs(const trace_chosen *t, trace_say say, double *seconds, epochs **e,
                             lm_error *err)
{
    lm_error        why, said;
    const lm_status status = epochs_find(EPOCHS_LAYERMETER, &t->grid, e, &why);

    if (!status) {
        *seconds = isnan(*seconds) ? (*e)->steady : *seconds;
        return LM_OK;
    }
    if (status != LM_E_NOTFOUND || isnan(*seconds))
        return lm_error_set(err, status,
                            "%s: no epochs in %s of GPU %s: %s (with --seconds all samples count)",
                            t->path, t->metric, t->gpu, why.text);
    lm_error_set(&said, status, "%s: no epochs in %s of GPU %s: %s: metrics are of all samples",
                 t->path, t->metric, t->gpu, why.text);
    say(said.text);
    return LM_OK;
}

lm_status digest_job(const char *path, const trace_question *q, const char *const *metrics,
                     size_t n, trace_say say, double *seconds, digest *out, lm_error *err)
{
    trace_question own = *q;
    trace_chosen   t;
    epochs        *e      = NULL;
    lm_status      status = trace_load_chosen(path, q, say, &t, err);

    *out = (digest){ .n = 0 };
    if (status)
        return status;
    own.gpu = t.gpu;
    if (!(status = find_epochs(&t, say, seconds, &e, err)))
        status = digest_trace(path, &own, &(digest_times){ e, t.first }, metrics, n, out, err);
    epochs_free(e);
    trace_grid_free(&t.grid);
    return status;
}
