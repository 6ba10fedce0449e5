/* What similar runs did, as text. */
#include <stdlib.h>

#include "base/no_memory.h"
#include "crossgpu/nearest.h"

static void write_numbers(FILE *out, const char *word, const double *x, size_t n)
{
    fputs(word, out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %.17g", x[i]);
    putc('\n', out);
}

void nearest_write(FILE *out, const nearest *k)
{
    fprintf(out, "nearest %zu\nscale %.17g %.17g\n", k->n_runs, k->g, k->l);
    write_numbers(out, "mean", k->mean, k->n_features);
    write_numbers(out, "deviation", k->deviation, k->n_features);
    for (size_t i = 0; i < k->n_runs; i++)
        write_numbers(out, "run", k->z + i * k->n_features, k->n_features);
    for (size_t i = 0; i < k->n_gpus * k->n_gpus; i++) {
        const nearest_pair *p = &k->pair[i];

        fprintf(out, "pair %zu", p->n);
        for (size_t j = 0; j < p->n; j++)
            fprintf(out, " %zu", p->run[j]);
        fprintf(out, "\nmedian %.17g\n", p->median);
        write_numbers(out, "alpha", p->alpha, p->n);
    }
}

static lm_status read_numbers(lines *in, const char *word, double *out, size_t n, lm_error *err)
{
    char     *rest;
    lm_status status = lines_expect(in, word, &rest, err);

    return status ? status : lines_numbers(in, rest, out, n, err);
}

/* "pair N run ...", its median, its alphas. */
static lm_status read_pair(lines *in, const nearest *k, size_t *count, nearest_pair *p,
                           lm_error *err)
{
    char     *rest;
    size_t    n;
    lm_status status = lines_expect(in, "pair", &rest, err);

    if (status || (status = lines_counts(in, rest, 0, RUNS_MAX, count, k->n_runs + 1, &n, err)))
        return status;
    if (!n || count[0] != n - 1)
        return lines_fail(in, err, LM_E_SYNTAX, "expected 'pair N' and N runs");
    p->run   = malloc(n * sizeof *p->run);
    p->alpha = malloc(n * sizeof *p->alpha);
    if (!p->run || !p->alpha)
        return no_memory(err);
    for (size_t i = 0; i + 1 < n; i++)
        if ((p->run[i] = count[i + 1]) >= k->n_runs)
            return lines_fail(in, err, LM_E_ARG, "run %zu of %zu", p->run[i], k->n_runs);
    if ((status = read_numbers(in, "median", &p->median, 1, err)) ||
        (status = read_numbers(in, "alpha", p->alpha, n - 1, err)))
        return status;
    p->n = n - 1;
    return LM_OK;
}

static lm_status read_body(lines *in, nearest *k, lm_error *err)
{
    double    scale[2] = { 0, 0 };
    size_t   *count    = malloc((k->n_runs + 1) * sizeof *count);
    lm_status status   = count ? LM_OK : no_memory(err);

    if (!status && !(status = read_numbers(in, "scale", scale, 2, err)) &&
        !(status = read_numbers(in, "mean", k->mean, k->n_features, err)))
        status = read_numbers(in, "deviation", k->deviation, k->n_features, err);
    if (!status && !(scale[0] > 0 && scale[1] > 0))
        status = lines_fail(in, err, LM_E_ARG, "scales %g and %g: above 0", scale[0], scale[1]);
    k->g = scale[0];
    k->l = scale[1];
    for (size_t i = 0; i < k->n_runs && !status; i++)
        status = read_numbers(in, "run", k->z + i * k->n_features, k->n_features, err);
    for (size_t i = 0; i < k->n_gpus * k->n_gpus && !status; i++)
        status = read_pair(in, k, count, &k->pair[i], err);
    free(count);
    return status;
}

lm_status nearest_read(lines *in, size_t n_features, size_t n_gpus, nearest *out, lm_error *err)
{
    char     *rest;
    size_t    n_runs, n;
    lm_status status = lines_expect(in, "nearest", &rest, err);

    if (status || (status = lines_counts(in, rest, 1, RUNS_MAX, &n_runs, 1, &n, err)))
        return status;
    if (n != 1)
        return lines_fail(in, err, LM_E_SYNTAX, "expected 'nearest RUNS'");
    *out   = (nearest){ .n_features = n_features,
                        .n_runs     = n_runs,
                        .n_gpus     = n_gpus,
                        .mean       = calloc(n_features, sizeof *out->mean),
                        .deviation  = calloc(n_features, sizeof *out->deviation),
                        .z          = calloc(n_runs * n_features, sizeof *out->z),
                        .pair       = calloc(n_gpus * n_gpus, sizeof *out->pair) };
    status = out->mean && out->deviation && out->z && out->pair ? read_body(in, out, err)
                                                                : no_memory(err);
    if (status)
        nearest_free(out);
    return status;
}
