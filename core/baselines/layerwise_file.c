/* Learned models of single layers as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "baselines/layerwise_model.h"

#define HEAD       "layermeter model"
#define VERSION    3 /* 2 has no intervals of phases, 1 none at all */
#define MOST_TASKS 1024
#define AGAIN      "fit the observations again"

static const char *const targets[N_LAYERWISE_TARGETS] = { "seconds", "watts" };
static const char *const sorts[]                      = { "count", "flag", "device", "over" };

static void write_interval(FILE *out, const char *what, const interval *i)
{
    char bounds[INTERVAL_TEXT];

    if (interval_known(i))
        fprintf(out, "%s %s\n", what, interval_print(i, bounds));
    else
        fprintf(out, "%s\n", what);
}

/* Those that are known, each by the name of its phase. */
static void write_phases(FILE *out, const layerwise_task *t)
{
    size_t n = 0;

    for (phase f = 0; f < N_PHASES; f++)
        n += interval_known(&t->of_phase[f]);
    fprintf(out, "phases %zu\n", n);
    for (phase f = 0; f < N_PHASES; f++)
        if (interval_known(&t->of_phase[f]))
            write_interval(out, phase_name(f), &t->of_phase[f]);
}

static void write_task(FILE *out, const layerwise_kind *kind, const layerwise_task *t)
{
    char real[40];

    fprintf(out, "task %s %s\nrows %zu %zu\n", t->name, targets[t->target], t->judged.seen,
            t->judged.held);
    if (isfinite(t->judged.mape))
        fprintf(out, "error %s\n", text_exact(t->judged.mape, real, sizeof real));
    else
        fputs("error\n", out);
    write_interval(out, "interval", &t->interval);
    write_phases(out, t);
    fprintf(out, "features %zu\n", t->n_features);
    for (size_t k = 0; k < t->n_features; k++)
        fprintf(out, "%s %s %.17g %.17g\n", sorts[t->feature[k].sort], t->feature[k].name,
                t->feature[k].low, t->feature[k].high);
    kind->learner->write(out, t->learned);
}

void layerwise_write(FILE *out, const layerwise_model *m)
{
    fprintf(out, HEAD " %s %d\ntasks %zu\n", m->kind->name, VERSION, m->n_tasks);
    for (size_t i = 0; i < m->n_tasks; i++)
        write_task(out, m->kind, &m->task[i]);
}

static lm_status read_counts(lines *in, const char *word, size_t most, size_t *out, size_t n,
                             lm_error *err)
{
    char     *rest;
    size_t    found;
    lm_status status = lines_expect(in, word, &rest, err);

    if (!status && !(status = lines_counts(in, rest, 0, most, out, n, &found, err)) && found != n)
        status = lines_fail(in, err, LM_E_SYNTAX, "%s: expected %zu numbers", word, n);
    return status;
}

/* "count batch 1 64" */
static lm_status read_feature(lines *in, layerwise_range *f, lm_error *err)
{
    char     *rest, *end;
    double    range[2];
    size_t    sort   = 0;
    lm_status status = LM_OK;

    while (sort < LAYERWISE_OVER && in->at &&
           strncmp(in->at, sorts[sort], strlen(sorts[sort])) != 0)
        sort++;
    if ((status = lines_expect(in, sorts[sort], &rest, err)))
        return status;
    rest += *rest == ' ';
    end = strchr(rest, ' ');
    if (!end || end == rest || end - rest >= LAYERWISE_NAME)
        return lines_fail(in, err, LM_E_SYNTAX, "expected a feature's name and range");
    *end = '\0';
    strcpy(f->name, rest);
    f->sort = (layerwise_sort)sort;
    if ((status = lines_numbers(in, end + 1, range, 2, err)))
        return status;
    if (range[0] > range[1])
        return lines_fail(in, err, LM_E_ARG, "a range from %g to %g", range[0], range[1]);
    f->low  = range[0];
    f->high = range[1];
    return LM_OK;
}

/* "task conv seconds" */
static lm_status read_name(lines *in, const layerwise_kind *kind, layerwise_task *t, lm_error *err)
{
    char     *rest, *end;
    lm_status status = lines_expect(in, "task", &rest, err);

    if (status)
        return status;
    rest += *rest == ' ';
    end = strchr(rest, ' ');
    if (!end || end == rest || end - rest >= LAYERWISE_NAME)
        return lines_fail(in, err, LM_E_SYNTAX, "expected a task's name and target");
    *end = '\0';
    strcpy(t->name, rest);
    for (layerwise_target g = 0; g < N_LAYERWISE_TARGETS; g++)
        if (kind->target[g] && !strcmp(end + 1, targets[g])) {
            t->target = g;
            return LM_OK;
        }
    return lines_fail(in, err, LM_E_NOTFOUND, "%s tells no '%.40s'", kind->name, end + 1);
}

static lm_status read_error(lines *in, layerwise_task *t, lm_error *err)
{
    char     *rest;
    lm_status status = lines_expect(in, "error", &rest, err);

    t->judged.mape = NAN;
    if (status || !*rest)
        return status;
    if (!(status = lines_numbers(in, rest, &t->judged.mape, 1, err)) && t->judged.mape < 0)
        status = lines_fail(in, err, LM_E_ARG, "error: %g: below 0", t->judged.mape);
    return status;
}

static lm_status read_interval(lines *in, const char *what, interval *out, lm_error *err)
{
    char     *rest;
    lm_error  why    = { 0 };
    lm_status status = lines_expect(in, what, &rest, err);

    if (status || !*rest)
        return status;
    status = interval_parse(rest, out, &why);
    return status ? lines_fail(in, err, status, "%s: %s", what, why.text) : LM_OK;
}

/* Of which phase the next line is; N_PHASES: of none. */
static phase next_phase(const lines *in)
{
    phase f = 0;

    for (; f < N_PHASES; f++) {
        const size_t n = strlen(phase_name(f));

        if (in->at && !strncmp(in->at, phase_name(f), n) && in->at[n] == ' ')
            break;
    }
    return f;
}

/* "forward 0.8 .. 1.3, groups 40, per_octave 1.1" */
static lm_status read_phases(lines *in, layerwise_task *t, lm_error *err)
{
    size_t    n      = 0;
    lm_status status = read_counts(in, "phases", N_PHASES, &n, 1, err);

    for (size_t i = 0; i < n && !status; i++) {
        const phase f = next_phase(in);

        status = f == N_PHASES
                     ? lines_fail(in, err, LM_E_SYNTAX, "expected intervals of %zu phases", n)
                     : read_interval(in, phase_name(f), &t->of_phase[f], err);
    }
    return status;
}

static lm_status read_task(lines *in, const layerwise_kind *kind, int version, layerwise_task *t,
                           lm_error *err)
{
    size_t    rows[2], n;
    lm_status status = read_name(in, kind, t, err);

    t->interval = interval_unknown;
    for (phase f = 0; f < N_PHASES; f++)
        t->of_phase[f] = interval_unknown;
    if (status || (status = read_counts(in, "rows", 1000000000, rows, 2, err)) ||
        (status = read_error(in, t, err)) ||
        (version > 1 && (status = read_interval(in, "interval", &t->interval, err))) ||
        (version > 2 && (status = read_phases(in, t, err))) ||
        (status = read_counts(in, "features", LAYERWISE_FEATURES, &t->n_features, 1, err)))
        return status;
    t->judged.seen = rows[0];
    t->judged.held = rows[1];
    for (size_t k = 0; k < t->n_features && !status; k++)
        status = read_feature(in, &t->feature[k], err);
    if (!status)
        status = kind->learner->read(in, &t->learned, &n, err);
    if (!status && n != t->n_features)
        status = lines_fail(in, err, LM_E_ARG, "learned of %zu features, of which %zu are named", n,
                            t->n_features);
    return status;
}

/* "layermeter model justus 3" */
static lm_status read_head(lines *in, const layerwise_kind *kind, int *out, lm_error *err)
{
    char     *rest, *version;
    int64_t   n      = 0;
    lm_status status = lines_expect(in, HEAD, &rest, err);

    if (status)
        return status;
    rest += *rest == ' ';
    version = strchr(rest, ' ');
    if (version)
        *version++ = '\0';
    if (strcmp(rest, kind->name) != 0)
        return lines_fail(in, err, LM_E_NOTFOUND, "a model '%.40s', not '%s'", rest, kind->name);
    if (!version || text_int(version, &n, err) || n < 1 || n > VERSION)
        return lines_fail(in, err, LM_E_UNSUPPORTED,
                          "a model of version '%.20s', this program reads 1 to %d: " AGAIN,
                          version ? version : "", VERSION);
    *out = (int)n;
    return LM_OK;
}

lm_status layerwise_read(const char *path, char *text, const layerwise_kind *kind,
                         layerwise_model **out, lm_error *err)
{
    lines            in = { .path = path, .at = text };
    layerwise_model *m;
    size_t           n;
    int              version = 0;
    lm_status        status  = read_head(&in, kind, &version, err);

    if (status || (status = read_counts(&in, "tasks", MOST_TASKS, &n, 1, err)))
        return status;
    m = calloc(1, sizeof *m);
    if (!m || !(m->task = calloc(n + 1, sizeof *m->task))) {
        free(m);
        return no_memory(err);
    }
    m->kind = kind;
    while (m->n_tasks < n && !status)
        status = read_task(&in, kind, version, &m->task[m->n_tasks++], err);
    if (!status && in.at && *in.at)
        status = lines_fail(&in, err, LM_E_SYNTAX, "more behind the last task");
    if (status)
        layerwise_free(m);
    else
        *out = m;
    return status;
}
