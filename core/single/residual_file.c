/* Residuals as text. */
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "single/residual_file.h"

#define HEAD "layermeter residual"

static void write_class(FILE *out, const char *name, const residual_trees *r)
{
    fprintf(out, "class %s\nrows %zu %zu\nerrors %.17g %.17g\nclamp %.17g %.17g\nfeatures %zu\n",
            name, r->rows, r->judged, r->mape_priced, r->mape, r->low, r->high, r->space.n);
    for (size_t i = 0; i < r->space.n; i++)
        fprintf(out, "feature %s %.17g %.17g\n", r->space.feature[i].name, r->space.feature[i].low,
                r->space.feature[i].high);
    trees_write(out, r->trees);
}

void residual_file_write(FILE *out, const residual_class *class, residual_trees *const *of,
                         size_t n)
{
    fputs(HEAD " 1\n", out);
    for (size_t c = 0; c < n; c++)
        if (of[c])
            write_class(out, class[c].name, of[c]);
}

/* "feature batch 0 5.5" */
static lm_status read_feature(lines *in, const residual_class *class, residual_space *s,
                              lm_error *err)
{
    char     *rest, *end;
    double    range[2];
    lm_status status = lines_expect(in, "feature", &rest, err);

    if (status)
        return status;
    rest += *rest == ' ';
    end = strchr(rest, ' ');
    if (end)
        *end = '\0';
    if (!end || !residual_space_append(s, class->fixed, class->n_fixed, rest))
        return lines_fail(in, err, LM_E_NOTFOUND,
                          "'%.40s' is no feature that comes next: written by another version? fit "
                          "the observations again",
                          rest);
    if ((status = lines_numbers(in, end + 1, range, 2, err)))
        return status;
    if (range[0] > range[1])
        return lines_fail(in, err, LM_E_ARG, "a range from %g to %g", range[0], range[1]);
    s->feature[s->n - 1].low  = range[0];
    s->feature[s->n - 1].high = range[1];
    return LM_OK;
}

static lm_status read_pair(lines *in, const char *word, double least, double *a, double *b,
                           lm_error *err)
{
    char     *rest;
    double    pair[2];
    lm_status status = lines_expect(in, word, &rest, err);

    if (status || (status = lines_numbers(in, rest, pair, 2, err)))
        return status;
    if (pair[0] < least || pair[1] < least)
        return lines_fail(in, err, LM_E_ARG, "%s: %g and %g: below %g", word, pair[0], pair[1],
                          least);
    *a = pair[0];
    *b = pair[1];
    return LM_OK;
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

static lm_status read_body(lines *in, const residual_class *class, residual_trees *r, lm_error *err)
{
    size_t    count[2], n;
    lm_status status = read_counts(in, "rows", 1000000000, count, 2, err);

    if (status || (status = read_pair(in, "errors", 0, &r->mape_priced, &r->mape, err)) ||
        (status = read_pair(in, "clamp", -100, &r->low, &r->high, err)))
        return status;
    if (r->low > r->high || r->high > 100)
        return lines_fail(in, err, LM_E_ARG, "clamp: from %g to %g", r->low, r->high);
    if ((status = read_counts(in, "features", RESIDUAL_FEATURES, &n, 1, err)))
        return status;
    r->rows   = count[0];
    r->judged = count[1];
    for (size_t i = 0; i < n && !status; i++)
        status = read_feature(in, class, &r->space, err);
    if (!status && r->space.n < class->n_fixed)
        status = lines_fail(in, err, LM_E_NOTFOUND,
                            "features are missing: written by another version? fit the "
                            "observations again");
    if (!status)
        status = trees_read(in, &r->trees, err);
    if (!status && r->trees->n_features != n)
        status = lines_fail(in, err, LM_E_ARG, "trees of %zu features, of which %zu are named",
                            r->trees->n_features, n);
    return status;
}

static lm_status read_class(lines *in, const residual_class *class, size_t n, residual_trees **of,
                            lm_error *err)
{
    size_t    at = 0;
    char     *rest;
    lm_status status = lines_expect(in, "class", &rest, err);

    if (status)
        return status;
    rest += *rest == ' ';
    while (at < n && strcmp(class[at].name, rest) != 0)
        at++;
    if (at == n || !class[at].fixed || of[at])
        return lines_fail(in, err, LM_E_NOTFOUND, "'%.40s' is no class, or there twice", rest);
    if (!(of[at] = calloc(1, sizeof **of)))
        return no_memory(err);
    return read_body(in, &class[at], of[at], err);
}

lm_status residual_file_read(const char *path, char *text, const residual_class *class, size_t n,
                             residual_trees **of, lm_error *err)
{
    lines     in = { .path = path, .at = text };
    char     *rest;
    lm_status status = lines_expect(&in, HEAD, &rest, err);

    if (status)
        return status;
    if (strcmp(rest, " 1") != 0)
        return lines_fail(&in, err, LM_E_UNSUPPORTED,
                          "residuals of version '%.20s', this program reads 1: fit the "
                          "observations again",
                          rest + (*rest == ' '));
    do
        status = read_class(&in, class, n, of, err);
    while (!status && in.at && *in.at);
    return status;
}
