/* What was learned, as text: a word a line, then numbers, then names. */
#include "crossgpu/crossgpu_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "base/text.h"

#define HEAD    "layermeter crossgpu"
#define VERSION 2

/* ---- writing ------------------------------------------------------------------------------------
 */

static void write_interval(FILE *out, const char *word, const interval *i)
{
    if (interval_known(i))
        fprintf(out, "%s %.17g %.17g %zu\n", word, i->low, i->high, i->groups);
    else
        fprintf(out, "%s\n", word);
}

static void write_gpu(FILE *out, const gpu *g)
{
    fprintf(out, "gpu");
    for (size_t f = 0; f < N_FIGURES; f++) /* 0: not given, as no datasheet says 0 */
        fprintf(out, " %.17g", g->figure[f] > 0 ? g->figure[f] : 0);
    fprintf(out, " %s\n", g->name);
}

static void write_medians(FILE *out, const crossgpu *c)
{
    for (size_t i = 0; i < c->n_gpus * c->n_gpus; i++)
        if (isnan(c->median[i]))
            fputs("median\n", out);
        else
            fprintf(out, "median %.17g\n", c->median[i]);
}

void crossgpu_write(FILE *out, const crossgpu *c)
{
    fprintf(out, "%s %d\nmethod %s\nseed %llu\nrows %zu %zu\n", HEAD, VERSION,
            crossgpu_method_name(c->method), (unsigned long long)c->seed, c->n_rows, c->n_groups);
    write_interval(out, "learned", &c->known);
    write_interval(out, "unknown_target", &c->unknown[UNKNOWN_TARGET]);
    write_interval(out, "unknown_source", &c->unknown[UNKNOWN_SOURCE]);
    fprintf(out, "gpus %zu\n", c->n_gpus);
    for (size_t i = 0; i < c->n_gpus; i++)
        write_gpu(out, &c->gpu[i]);
    fprintf(out, "metrics %zu\n", c->s.n_metrics);
    for (size_t i = 0; i < c->s.n_metrics; i++)
        fprintf(out, "metric %.17g %.17g %s\n", c->s.metric[i].low, c->s.metric[i].high,
                c->s.metric[i].name);
    if (c->method == CROSSGPU_PAIR_RATIO) {
        write_medians(out, c);
    } else if (c->method == CROSSGPU_STACKING) {
        stacking_write(out, &c->stack);
    } else {
        bounds_write(out, &c->bounds);
        nearest_write(out, &c->nearest);
        parts_write(out, &c->parts);
        fprintf(out, "shares %.17g %.17g %.17g\n", c->share[BY_NEAREST], c->share[BY_PARTS],
                c->share[BY_TREES]);
        if (c->trees)
            learner_write(out, c->trees);
    }
}

lm_status crossgpu_save(const crossgpu *c, const char *path, lm_error *err)
{
    file_draft draft;
    lm_status  status = file_draft_open(&draft, path, err);

    if (status)
        return status;
    crossgpu_write(draft.stream, c);
    return file_draft_commit(&draft, err);
}

/* ---- reading ------------------------------------------------------------------------------------
 */

static lm_status read_counts(lines *in, const char *word, size_t least, size_t most, size_t *out,
                             size_t n, lm_error *err)
{
    char     *rest;
    size_t    found;
    lm_status status = lines_expect(in, word, &rest, err);

    if (!status && !(status = lines_counts(in, rest, least, most, out, n, &found, err)) &&
        found != n)
        status = lines_fail(in, err, LM_E_SYNTAX, "%s: expected %zu numbers", word, n);
    return status;
}

/* "word a b ... name": n numbers, and the rest of the line. */
static lm_status read_named(lines *in, const char *word, double *out, size_t n, char *name,
                            size_t size, lm_error *err)
{
    char     *rest, *end;
    lm_status status = lines_expect(in, word, &rest, err);

    if (status)
        return status;
    for (size_t i = 0; i < n; i++, rest = end) {
        out[i] = strtod(rest, &end);
        if (end == rest || !isfinite(out[i]))
            return lines_fail(in, err, LM_E_SYNTAX, "%s: expected %zu numbers and a name", word, n);
    }
    if (*rest != ' ' || !rest[1] || strlen(rest + 1) >= size)
        return lines_fail(in, err, LM_E_SYNTAX, "%s: expected a name behind the numbers", word);
    strcpy(name, rest + 1);
    return LM_OK;
}

static lm_status read_interval(lines *in, const char *word, interval *out, lm_error *err)
{
    char     *rest;
    double    x[3];
    lm_status status = lines_expect(in, word, &rest, err);

    *out = interval_unknown;
    if (status || !rest[strspn(rest, " ")])
        return status;
    if ((status = lines_numbers(in, rest, x, 3, err)))
        return status;
    if (!(x[0] > 0 && x[0] <= 1 && x[1] >= 1 && x[2] >= 1 && x[2] <= RUNS_MAX))
        return lines_fail(in, err, LM_E_ARG, "%s: %g and %g are not around 1", word, x[0], x[1]);
    out->low    = x[0];
    out->high   = x[1];
    out->groups = (size_t)x[2];
    return LM_OK;
}

static lm_status read_gpus(lines *in, crossgpu *c, lm_error *err)
{
    lm_status status = read_counts(in, "gpus", 2, GPUS_MAX, &c->n_gpus, 1, err);

    if (status)
        return status;
    if (!(c->gpu = calloc(c->n_gpus, sizeof *c->gpu)))
        return no_memory(err);
    for (size_t f = 0; f < N_FIGURES; f++)
        c->s.uses[f] = true;
    for (size_t i = 0; i < c->n_gpus && !status; i++) {
        gpu *g = &c->gpu[i];

        status = read_named(in, "gpu", g->figure, N_FIGURES, g->name, sizeof g->name, err);
        for (size_t f = 0; f < N_FIGURES && !status; f++) {
            if (g->figure[f] < 0 || (f <= FIGURE_BANDWIDTH && !(g->figure[f] > 0)))
                status = lines_fail(in, err, LM_E_ARG, "%s of %g", figure_name(f), g->figure[f]);
            if (!(g->figure[f] > 0)) {
                g->figure[f] = NAN;
                c->s.uses[f] = false;
            }
        }
    }
    return status;
}

static lm_status read_metrics(lines *in, space *s, lm_error *err)
{
    size_t    n;
    lm_status status = read_counts(in, "metrics", 0, LEARNER_FEATURES / 2, &n, 1, err);

    if (status)
        return status;
    if (!(s->metric = calloc(n + 1, sizeof *s->metric)))
        return no_memory(err);
    for (; s->n_metrics < n && !status; s->n_metrics++) {
        space_metric *m = &s->metric[s->n_metrics];
        double        range[2];

        if ((status = read_named(in, "metric", range, 2, m->name, sizeof m->name, err)))
            return status;
        if (range[0] > range[1])
            return lines_fail(in, err, LM_E_ARG, "a range from %g to %g", range[0], range[1]);
        m->low  = range[0];
        m->high = range[1];
        space_metric_unit(s, m);
    }
    return status;
}

static lm_status read_medians(lines *in, crossgpu *c, lm_error *err)
{
    lm_status status = LM_OK;

    if (!(c->median = malloc(c->n_gpus * c->n_gpus * sizeof *c->median)))
        return no_memory(err);
    for (size_t i = 0; i < c->n_gpus * c->n_gpus && !status; i++) {
        char *rest;

        c->median[i] = NAN;
        if (!(status = lines_expect(in, "median", &rest, err)) && rest[strspn(rest, " ")])
            status = lines_numbers(in, rest, &c->median[i], 1, err);
    }
    return status;
}

/* Shares, and trees where they have one. */
static lm_status read_trees(lines *in, crossgpu *c, lm_error *err)
{
    const size_t n = space_n_run(&c->s) + space_n_pair(&c->s);
    char        *rest;
    lm_status    status = lines_expect(in, "shares", &rest, err);

    if (status || (status = lines_numbers(in, rest, c->share, N_BY, err)))
        return status;
    for (size_t k = 0; k < N_BY; k++)
        if (c->share[k] < 0 || c->share[k] > 1)
            return lines_fail(in, err, LM_E_ARG, "a share of %g", c->share[k]);
    if (!(c->share[BY_TREES] > 0))
        return LM_OK;
    status = learner_read(in, &c->trees, err);
    if (!status && learner_n_features(c->trees) != n)
        status = lines_fail(in, err, LM_E_ARG, "trees of %zu features where there are %zu",
                            learner_n_features(c->trees), n);
    return status;
}

static lm_status read_learned(lines *in, crossgpu *c, lm_error *err)
{
    lm_status status;

    if (c->method == CROSSGPU_PAIR_RATIO)
        return read_medians(in, c, err);
    if (c->method == CROSSGPU_STACKING)
        return stacking_read(in, space_n_run(&c->s) + space_n_pair(&c->s), &c->stack, err);
    if ((status = bounds_read(in, &c->s, &c->bounds, err)) ||
        (status = nearest_read(in, space_n_run(&c->s), c->n_gpus, &c->nearest, err)) ||
        (status = parts_read(in, &c->s, c->n_gpus, &c->parts, err)))
        return status;
    return read_trees(in, c, err);
}

static lm_status read_head(lines *in, crossgpu *c, lm_error *err)
{
    char     *rest;
    uint64_t  version;
    size_t    number, rows[2];
    lm_status status = lines_expect(in, HEAD, &rest, err);

    if (status)
        return status;
    if (text_uint(rest + (*rest == ' '), &version, err) || version != VERSION)
        return lines_fail(in, err, LM_E_UNSUPPORTED, "version%.20s; this program reads %d", rest,
                          VERSION);
    if ((status = lines_expect(in, "method", &rest, err)))
        return status;
    if (crossgpu_method_parse(rest + (*rest == ' '), &c->method, err)) {
        lm_error_prefix(err, "%s:%d", in->path, in->line);
        return LM_E_NOTFOUND;
    }
    if ((status = read_counts(in, "seed", 0, SIZE_MAX, &number, 1, err)) ||
        (status = read_counts(in, "rows", 0, SIZE_MAX, rows, 2, err)) ||
        (status = read_interval(in, "learned", &c->known, err)))
        return status;
    c->seed     = number;
    c->n_rows   = rows[0];
    c->n_groups = rows[1];
    if ((status = read_interval(in, "unknown_target", &c->unknown[UNKNOWN_TARGET], err)))
        return status;
    return read_interval(in, "unknown_source", &c->unknown[UNKNOWN_SOURCE], err);
}

lm_status crossgpu_read(const char *path, char *text, crossgpu **out, lm_error *err)
{
    lines     in     = { .path = path, .at = text };
    crossgpu *c      = calloc(1, sizeof *c);
    lm_status status = c ? read_head(&in, c, err) : no_memory(err);

    if (!status && !(status = read_gpus(&in, c, err)) &&
        !(status = read_metrics(&in, &c->s, err)) && !(status = read_learned(&in, c, err)) &&
        *in.at)
        status = lm_error_set(err, LM_E_SYNTAX, "%s:%d: more lines than were written", path,
                              in.line + 1);
    if (status)
        crossgpu_free(c);
    else
        *out = c;
    return status;
}

lm_status crossgpu_load(const char *path, crossgpu **out, lm_error *err)
{
    char     *text = NULL;
    size_t    n;
    lm_status status = file_read_text(path, &text, &n, err);

    if (!status)
        status = crossgpu_read(path, text, out, err);
    free(text);
    return status;
}
