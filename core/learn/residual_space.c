/* Features of residuals: names and ranges. */
#include "learn/residual_space.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

#define BEYOND 1.25 /* factor by which counts may leave the learned range */
#define SHARE  "share."
#define OTHER  "other."

/* ---- names ---- */

static bool begins(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

static size_t find(const residual_space *s, size_t from, const char *name)
{
    while (from < s->n && strcmp(s->feature[from].name, name) != 0)
        from++;
    return from;
}

bool residual_space_append(residual_space *s, const named_feature *fixed, size_t n_fixed,
                           const char *name)
{
    const bool   share = begins(name, SHARE), other = begins(name, OTHER);
    const bool   word   = begins(name, RESIDUAL_OPTIMIZER) || begins(name, RESIDUAL_TAG);
    const bool   figure = begins(name, RESIDUAL_DEVICE);
    feature_kind kind   = FEATURE_FREE;

    if (s->n == RESIDUAL_FEATURES || strlen(name) >= RESIDUAL_NAME || find(s, 0, name) < s->n)
        return false;
    if (s->n < n_fixed) {
        if (strcmp(fixed[s->n].name, name) != 0)
            return false;
        kind = fixed[s->n].kind;
    } else if (figure && s->words == s->n) {
        kind = FEATURE_COUNT;
    } else if (word && s->shares == s->n) {
        kind = FEATURE_FLAG;
    } else if (!(share && s->others == s->n) && !other) {
        return false;
    }
    s->feature[s->n] = (residual_feature){ .kind = kind, .low = HUGE_VAL, .high = -HUGE_VAL };
    strcpy(s->feature[s->n++].name, name);
    /* each begins behind the words that may precede it */
    if (s->n <= n_fixed)
        s->figures = s->n;
    if (s->n <= n_fixed || figure)
        s->words = s->n;
    if (!share && !other)
        s->shares = s->n;
    if (!other)
        s->others = s->n;
    return true;
}

void residual_space_begin(residual_space *s, const named_feature *fixed, size_t n_fixed)
{
    *s = (residual_space){ .n = 0 };
    for (size_t i = 0; i < n_fixed; i++)
        residual_space_append(s, fixed, n_fixed, fixed[i].name);
}

static lm_status need(residual_space *s, const char *name, lm_error *err)
{
    if (find(s, 0, name) < s->n || residual_space_append(s, NULL, 0, name))
        return LM_OK;
    return lm_error_set(err, LM_E_ARG, "more than %d features to learn a residual from",
                        RESIDUAL_FEATURES);
}

/* A name that is too long is cut, here and where it is looked up. */
static void word_name(const char *prefix, const char *word, char out[RESIDUAL_NAME])
{
    snprintf(out, RESIDUAL_NAME, "%s%.36s", prefix, word);
}

lm_status residual_space_word(residual_space *s, const char *prefix, const char *word,
                              lm_error *err)
{
    char name[RESIDUAL_NAME];

    word_name(prefix, word, name);
    return need(s, name, err);
}

/* "share.forward.direct" of column forward.direct.flops: the common part of the columns of one
 * way. */
static void group_name(const char *prefix, const char *of, char out[RESIDUAL_NAME])
{
    const char  *dot  = strchr(of, '.');
    const char  *end  = dot ? strchr(dot + 1, '.') : NULL;
    const size_t size = end ? (size_t)(end - of) : strlen(of);

    snprintf(out, RESIDUAL_NAME, "%s%.*s", prefix, size > 38 ? 38 : (int)size, of);
}

lm_status residual_space_share(residual_space *s, const char *of, lm_error *err)
{
    char name[RESIDUAL_NAME];

    group_name(SHARE, of, name);
    return need(s, name, err);
}

lm_status residual_space_other(residual_space *s, const char *of, lm_error *err)
{
    char name[RESIDUAL_NAME];

    group_name(OTHER, of, name);
    return need(s, name, err);
}

void residual_space_free(residual_space *s)
{
    free(s->share_of);
    free(s->other_of);
    s->share_of = s->other_of = NULL;
    s->n_columns              = 0;
}

/* Columns of optimizers stand in the order in which rows name them. */
lm_status residual_space_columns(residual_space *s, const columns *c, lm_error *err)
{
    uint16_t *share, *other;

    if (c->n <= s->n_columns)
        return LM_OK;
    share = realloc(s->share_of, c->n * sizeof *share);
    if (share)
        s->share_of = share;
    other = realloc(s->other_of, c->n * sizeof *other);
    if (other)
        s->other_of = other;
    if (!share || !other)
        return no_memory(err);
    for (; s->n_columns < c->n; s->n_columns++) {
        char name[RESIDUAL_NAME];

        group_name(SHARE, c->column[s->n_columns].name, name);
        share[s->n_columns] = (uint16_t)find(s, s->shares, name);
        group_name(OTHER, c->column[s->n_columns].name, name);
        other[s->n_columns] = (uint16_t)find(s, s->others, name);
    }
    return LM_OK;
}

void residual_space_say(const residual_space *s, const char *prefix, const char *word, double *x)
{
    char name[RESIDUAL_NAME];

    word_name(prefix, word ? word : "", name);
    for (size_t i = s->words; i < s->shares; i++)
        x[i] = word && !strcmp(s->feature[i].name, name);
}

/* ---- ranges ---- */

void residual_space_narrow(residual_space *s)
{
    for (size_t i = 0; i < s->n; i++) {
        s->feature[i].low  = HUGE_VAL;
        s->feature[i].high = -HUGE_VAL;
    }
}

void residual_space_widen(residual_space *s, const double *x)
{
    for (size_t i = 0; i < s->n; i++) {
        s->feature[i].low  = fmin(s->feature[i].low, x[i]);
        s->feature[i].high = fmax(s->feature[i].high, x[i]);
    }
}

bool residual_space_holds(const residual_space *s, bool word, const double *x)
{
    bool known = !word;

    for (size_t i = 0; i < s->n; i++) {
        const residual_feature *f      = &s->feature[i];
        const double            beyond = f->kind == FEATURE_COUNT ? log(BEYOND) : 0;

        if (f->kind != FEATURE_FREE && !(x[i] >= f->low - beyond && x[i] <= f->high + beyond))
            return false;
        known |= i >= s->words && i < s->shares && x[i] > 0;
    }
    return known;
}
