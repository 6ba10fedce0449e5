/* Shares of a step, put together by layer, block, class or term. */
#include "predict/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"

static const char *const keys[N_EXPLAIN_KEYS] = {
    [EXPLAIN_LAYER] = "layer",
    [EXPLAIN_BLOCK] = "block",
    [EXPLAIN_CLASS] = "class",
    [EXPLAIN_TERM]  = "term",
};

const char *explain_key_name(explain_key k)
{
    return keys[k];
}

lm_status explain_key_parse(const char *text, explain_key *out, lm_error *err)
{
    for (explain_key k = 0; k < N_EXPLAIN_KEYS; k++)
        if (!strcmp(text, keys[k])) {
            *out = k;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_ARG, "expected layer, block, class or term, found '%.40s'", text);
}

void explain_block(const char *layer, char *out, size_t size)
{
    const char *end = strrchr(layer, '.');

    for (const char *word = layer, *dot; (dot = strchr(word, '.')); word = dot + 1)
        if (strspn(word, "0123456789") == (size_t)(dot - word)) {
            end = dot;
            break;
        }
    snprintf(out, size, "%.*s", end ? (int)(end - layer) : (int)strlen(layer), layer);
}

/* Key under which shares are added up. */
static void key_of(const explanation *e, const share *s, explain_key key, char *out, size_t size)
{
    char        whole[80];
    const char *layer = s->layer == NO_LAYER ? whole : e->layer[s->layer].name;

    snprintf(whole, sizeof whole, "(%s)", s->kernels);
    switch (key) {
    case EXPLAIN_BLOCK: explain_block(layer, out, size); break;
    case EXPLAIN_CLASS: snprintf(out, size, "%s", s->kernels); break;
    case EXPLAIN_TERM: snprintf(out, size, "%s %s", phase_formula(s->part), s->regressor); break;
    case EXPLAIN_LAYER:
    case N_EXPLAIN_KEYS: snprintf(out, size, "%s", layer); break;
    }
}

static explained of_share(const share *s)
{
    explained x = { .seconds     = s->seconds,
                    .shares      = 1,
                    .unit        = s->unit,
                    .count       = s->count,
                    .coefficient = s->coefficient };

    x.part[s->part] = s->seconds;
    if (s->bound < N_TERM_BOUNDS)
        x.bound[s->bound] = s->seconds;
    ledger_add(&x.ledger, s->standing, s->seconds);
    return x;
}

void explained_add(explained *a, const explained *b)
{
    a->seconds += b->seconds;
    a->shares += b->shares;
    a->count += b->count;
    for (phase p = 0; p < N_TIMES; p++)
        a->part[p] += b->part[p];
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        a->bound[k] += b->bound[k];
    for (certainty c = 0; c < N_CERTAINTIES; c++)
        a->ledger.seconds[c] += b->ledger.seconds[c];
}

const char *explained_bound(const explained *x)
{
    term_bound most = N_TERM_BOUNDS;
    double     seconds = 0;

    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        if (fabs(x->bound[k]) > seconds) {
            seconds = fabs(x->bound[k]);
            most    = k;
        }
    return most < N_TERM_BOUNDS ? term_bound_name(most) : "waiting";
}

static int longest_first(const void *a, const void *b)
{
    const explained *x = a, *y = b;

    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* The row of a share; the first share of a row makes it. */
static explained *row_of(explanation *e, const share *s, explain_key key, names *known,
                         explained *row, size_t *n)
{
    char        text[512];
    size_t      at;
    const char *name;

    key_of(e, s, key, text, sizeof text);
    at = names_find(known, text);
    if (at != NAMES_NONE)
        return &row[at];
    name = arena_text(e->arena, text, strlen(text));
    if (!name || !names_add(known, name, *n))
        return NULL;
    row[*n] = (explained){ .name        = name,
                           .type        = key != EXPLAIN_LAYER   ? NULL
                                          : s->layer == NO_LAYER ? ""
                                                                 : e->layer[s->layer].type,
                           .unit        = key == EXPLAIN_TERM ? s->unit : NULL,
                           .coefficient = key == EXPLAIN_TERM ? s->coefficient : NAN };
    return &row[(*n)++];
}

lm_status explain_by(explanation *e, explain_key key, explained **out, size_t *n, lm_error *err)
{
    explained *row    = calloc(e->n_shares + 1, sizeof *row);
    names      known  = { 0 };
    lm_status  status = row ? LM_OK : no_memory(err);

    *n = 0;
    for (size_t i = 0; i < e->n_shares && !status; i++) {
        const explained x  = of_share(&e->share[i]);
        explained      *to = row_of(e, &e->share[i], key, &known, row, n);

        if (to)
            explained_add(to, &x);
        else
            status = no_memory(err);
    }
    names_free(&known);
    if (status) {
        free(row);
        return status;
    }
    qsort(row, *n, sizeof *row, longest_first);
    *out = row;
    return LM_OK;
}
