/* Learners as text. */
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "learn/learner_body.h"

void learner_write(FILE *out, const learner *l)
{
    fprintf(out, "learner %s %s %zu\nrange %.17g %.17g %.17g\nlogged", learner_name(l->kind),
            l->log ? "log" : "plain", l->n_features, l->low, l->high, l->unit);
    for (size_t k = 0; k < l->n_features; k++)
        fprintf(out, " %d", l->logged[k]);
    fputc('\n', out);
    if (l->linear)
        linear_write(out, l->linear);
    else if (l->trees)
        trees_write(out, l->trees);
    else
        mlp_write(out, l->mlp);
}

/* The next word of a line, cut off; *rest is what stands behind it. */
static const char *next_word(char **rest)
{
    char *begin = *rest + strspn(*rest, " "), *end = begin + strcspn(begin, " ");

    *rest = *end ? end + 1 : end;
    *end  = '\0';
    return begin;
}

/* "learner forest log 12" */
static lm_status read_head(lines *in, learner *l, lm_error *err)
{
    const char *word;
    char       *rest;
    size_t      n;
    lm_error    why;
    lm_status   status = lines_expect(in, "learner", &rest, err);

    if (status)
        return status;
    if (learner_parse(next_word(&rest), &l->kind, &why))
        return lines_fail(in, err, LM_E_NOTFOUND, "%s", why.text);
    word   = next_word(&rest);
    l->log = !strcmp(word, "log");
    if (!l->log && strcmp(word, "plain") != 0)
        return lines_fail(in, err, LM_E_SYNTAX, "expected log or plain, found '%.40s'", word);
    status = lines_counts(in, rest, 1, LEARNER_FEATURES, &l->n_features, 1, &n, err);
    return status || n ? status : lines_fail(in, err, LM_E_SYNTAX, "features are not counted");
}

static lm_status read_range(lines *in, learner *l, lm_error *err)
{
    double    range[3];
    char     *rest;
    lm_status status = lines_expect(in, "range", &rest, err);

    if (status || (status = lines_numbers(in, rest, range, 3, err)))
        return status;
    if (!(range[0] > 0 && range[0] <= range[1] && range[2] > 0))
        return lines_fail(in, err, LM_E_ARG, "a range from %g to %g around %g", range[0], range[1],
                          range[2]);
    l->low  = range[0];
    l->high = range[1];
    l->unit = range[2];
    return LM_OK;
}

static lm_status read_logged(lines *in, learner *l, lm_error *err)
{
    size_t   *flag = malloc(l->n_features * sizeof *flag), n;
    char     *rest;
    lm_status status = flag ? lines_expect(in, "logged", &rest, err) : no_memory(err);

    if (!status && !(l->logged = calloc(l->n_features, sizeof *l->logged)))
        status = no_memory(err);
    if (!status && !(status = lines_counts(in, rest, 0, 1, flag, l->n_features, &n, err)) &&
        n != l->n_features)
        status =
            lines_fail(in, err, LM_E_SYNTAX, "expected %zu flags, found %zu", l->n_features, n);
    for (size_t k = 0; k < l->n_features && !status; k++)
        l->logged[k] = flag[k];
    free(flag);
    return status;
}

static lm_status read_body(lines *in, learner *l, lm_error *err)
{
    size_t    width  = 0;
    lm_status status = LM_OK;

    switch (learner_body_of(l->kind)) {
    case BODY_LINEAR:
        if (!(status = linear_read(in, &l->linear, err)))
            width = l->linear->n_features;
        break;
    case BODY_TREES:
        if (!(status = trees_read(in, &l->trees, err)))
            width = l->trees->n_features;
        break;
    case BODY_MLP:
        if (!(status = mlp_read(in, &l->mlp, err)))
            width = mlp_n_features(l->mlp);
        break;
    }
    if (!status && width != l->n_features)
        status = lines_fail(in, err, LM_E_ARG, "%s of %zu features, a learner of %zu",
                            learner_name(l->kind), width, l->n_features);
    return status;
}

lm_status learner_read(lines *in, learner **out, lm_error *err)
{
    learner  *l      = calloc(1, sizeof *l);
    lm_status status = l ? LM_OK : no_memory(err);

    if (status || (status = read_head(in, l, err)) || (status = read_range(in, l, err)) ||
        (status = read_logged(in, l, err)) || (status = read_body(in, l, err)))
        learner_free(l);
    else
        *out = l;
    return status;
}
