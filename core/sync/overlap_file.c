/* Section [overlap] of machine files. */
#include "sync/overlap_file.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define SECTION "overlap"

static const struct {
    const char *name, *unit;
    size_t      at;
    bool        optional; /* written where it is above 0 */
    bool        share;    /* of a whole: 1 at most */
} keys[] = {
    { "slowdown", "s/s", offsetof(overlap_constants, slowdown), false, false },
    { "stretch", "s/s", offsetof(overlap_constants, stretch), false, false },
    { "surcharge", "s/s", offsetof(overlap_constants, surcharge), true, false },
    { "cold", "byte/byte", offsetof(overlap_constants, cold), true, true },
    { "latency", "s", offsetof(overlap_constants, latency), true, false },
    { "lag", "s/s", offsetof(overlap_constants, lag), true, false },
    { "copy", "s/byte", offsetof(overlap_constants, copy), false, false },
    { "straggler", "s/s", offsetof(overlap_constants, straggler), false, false },
};

#define N_KEYS (sizeof keys / sizeof keys[0])

void overlap_file_write(FILE *out, const overlap_constants *c)
{
    char text[40];

    if (!c->rows && !c->spreads)
        return;
    fprintf(out, "\n[" SECTION "]\n"
                 "; what a backward pass and messages beside it do to each other: from steps in "
                 "buckets, non-negative\n; least squares; stragglers from the spread of steps\n");
    fprintf(out, "rows = %zu\nspreads = %zu\n", c->rows, c->spreads);
    for (size_t k = 0; k < N_KEYS; k++) {
        const double value = *(const double *)(const void *)((const char *)c + keys[k].at);

        if (value > 0 || !keys[k].optional)
            fprintf(out, "%s = %s %s\n", keys[k].name, text_exact(value, text, sizeof text),
                    keys[k].unit);
    }
}

bool overlap_file_owns(const ini_section *s)
{
    return !strcmp(s->name, SECTION);
}

/* "0.31 s/s" */
static lm_status read_value(const ini_pair *p, const char *unit, bool share, double *out,
                            lm_error *err)
{
    char      copy[120];
    char     *space;
    double    value;
    lm_status status;

    snprintf(copy, sizeof copy, "%s", p->value);
    space = strchr(copy, ' ');
    if (!space || strcmp(text_trim(space), unit) != 0)
        return lm_error_set(err, LM_E_SYNTAX, "%s: expected a number and '%s', found '%.60s'",
                            p->key, unit, p->value);
    *space = '\0';
    if ((status = text_real(copy, &value, err)))
        return status;
    if (value < 0)
        return lm_error_set(err, LM_E_ARG, "%s: must be 0 or more", p->key);
    if (share && value > 1)
        return lm_error_set(err, LM_E_ARG, "%s: a share, must be 1 or less", p->key);
    *out = value;
    return LM_OK;
}

static lm_status read_pair(const ini_pair *p, overlap_constants *to, bool seen[N_KEYS],
                           lm_error *err)
{
    uint64_t  n;
    lm_status status;

    if (!strcmp(p->key, "rows") || !strcmp(p->key, "spreads")) {
        if ((status = text_uint(p->value, &n, err)))
            return status;
        *(*p->key == 'r' ? &to->rows : &to->spreads) = (size_t)n;
        return LM_OK;
    }
    for (size_t k = 0; k < N_KEYS; k++)
        if (!strcmp(p->key, keys[k].name)) {
            seen[k] = true;
            return read_value(p, keys[k].unit, keys[k].share,
                              (double *)(void *)((char *)to + keys[k].at), err);
        }
    return lm_error_set(err, LM_E_NOTFOUND, "[" SECTION "] has no key '%.40s'", p->key);
}

lm_status overlap_file_read(const ini_document *doc, const ini_section *s, overlap_constants *out,
                            lm_error *err)
{
    overlap_constants c            = { .rows = 0 };
    bool              seen[N_KEYS] = { false };

    for (size_t i = 0; i < s->n_pairs; i++) {
        const lm_status status = read_pair(&s->pair[i], &c, seen, err);

        if (status) {
            lm_error_prefix(err, "%s:%d", doc->path, s->pair[i].line);
            return status;
        }
    }
    for (size_t k = 0; k < N_KEYS; k++)
        if (!seen[k] && !keys[k].optional)
            return ini_fail(doc, err, s->line, LM_E_NOTFOUND, "[" SECTION "] lacks the key '%s'",
                            keys[k].name);
    *out = c;
    return LM_OK;
}
