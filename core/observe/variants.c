/* Element types and settings of networks. */
#include "observe/variants.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "network/autocast.h"

static bool has_time(const point *pt)
{
    for (phase f = 0; f < N_PHASES; f++)
        if (!isnan(pt->seconds[f]))
            return true;
    return false;
}

void variant_print(const observation *row, char out[VARIANT_TEXT])
{
    snprintf(out, VARIANT_TEXT, "dtype=%s", text_dtype_name(row->dtype));

    for (const char *word = row->settings; *(word += strspn(word, " "));) {
        const size_t length = strcspn(word, " ");

        if (strncmp(word, "progress=", 9) != 0)
            text_add(out, VARIANT_TEXT, " %.*s", (int)length, word);
        word += length;
    }
}

static void put_most_first(variants *v)
{
    for (size_t i = 1; i < v->n; i++)
        for (size_t k = i; k > 0 && v->of[k].n_points > v->of[k - 1].n_points; k--) {
            const struct variant less = v->of[k - 1];

            v->of[k - 1] = v->of[k];
            v->of[k]     = less;
        }
}

lm_status variants_of(const points *p, variants *out, lm_error *err)
{
    size_t room = 0;

    *out = (variants){ .n = 0 };
    for (size_t i = 0; i < p->n_points; i++) {
        char   text[VARIANT_TEXT];
        size_t at = 0;

        if (p->point[i].row->kind == OBS_COLLECTIVE || !has_time(&p->point[i]))
            continue;
        variant_print(p->point[i].row, text);
        while (at < out->n && strcmp(out->of[at].text, text) != 0)
            at++;
        if (at == out->n) {
            if (!array_grow(&out->of, at, &room, sizeof *out->of)) {
                variants_free(out);
                return no_memory(err);
            }
            out->of[out->n++] = (struct variant){ .n_points = 0 };
            memcpy(out->of[at].text, text, sizeof text);
        }
        out->of[at].n_points++;
    }
    put_most_first(out);
    return LM_OK;
}

void variants_free(variants *v)
{
    free(v->of);
    *v = (variants){ .n = 0 };
}

/* ---- where ----------------------------------------------------------------------------------- */

#define SEPARATORS " ,\t"
#define NONE       "none"

/* Is it a word as "mixed=none", and has the text no "mixed="? */
static bool lacks(const char *text, const char *word, size_t n)
{
    const size_t key = strcspn(word, "=") + 1;

    if (n != key + strlen(NONE) || strncmp(word + key, NONE, strlen(NONE)) != 0)
        return false;
    for (const char *t = text; *(t += strspn(t, SEPARATORS)); t += strcspn(t, SEPARATORS))
        if (!strncmp(t, word, key))
            return false;
    return true;
}

/* Has the text every word of `where`? mixed=none means no such word. */
static bool has_all(const char *text, const char *where)
{
    for (const char *w = where; *(w += strspn(w, SEPARATORS));) {
        const size_t n     = strcspn(w, SEPARATORS);
        bool         found = lacks(text, w, n);

        for (const char *t = text; !found && *(t += strspn(t, SEPARATORS));) {
            const size_t length = strcspn(t, SEPARATORS);

            found = length == n && !strncmp(t, w, n);
            t += length;
        }
        if (!found)
            return false;
        w += n;
    }
    return true;
}

/* Lists the variants: "dtype=f32 layout=nchw; dtype=bf16 layout=nhwc", as many as fit. */
static lm_status list(const points *p, char *text, size_t size, size_t *n_variants, lm_error *err)
{
    variants        all;
    const lm_status status = variants_of(p, &all, err);

    if (status)
        return status;
    text[0] = '\0';
    for (size_t i = 0; i < all.n; i++)
        text_add(text, size, "%s%s", i ? "; " : "", all.of[i].text);
    *n_variants = all.n;
    variants_free(&all);
    return LM_OK;
}

/* Has `where` all words of the text? "dtype=f32" then selects only itself, not "dtype=f32
 * mixed=bf16". */
static bool is_all(const char *text, const char *where)
{
    return has_all(text, where) && has_all(where, text);
}

/* Keeps the groups of the points that remain. */
static lm_status drop_groups(points *p, lm_error *err)
{
    size_t *now = malloc((p->n_groups + 1) * sizeof *now);
    size_t  n   = 0;

    if (!now)
        return no_memory(err);
    for (size_t g = 0; g < p->n_groups; g++) {
        bool used = false;

        for (size_t i = 0; i < p->n_points && !used; i++)
            used = p->point[i].group == g;
        now[g] = used ? n : NAMES_NONE;
        if (used)
            p->group[n++] = p->group[g];
    }
    p->n_groups = n;
    for (size_t i = 0; i < p->n_points; i++)
        p->point[i].group = now[p->point[i].group];
    if (p->collectives != NAMES_NONE)
        p->collectives = now[p->collectives];
    free(now);
    return LM_OK;
}

static void drop_clock(char *text)
{
    char        *word = strstr(text, " " OBSERVATION_CLOCK);
    const size_t n    = word ? 1 + strcspn(word + 1, " ") : 0;

    if (word)
        memmove(word, word + n, strlen(word + n) + 1);
}

/* The words of a row; without its clock if rows of all clocks are wanted. */
static void print(const observation *row, bool every_clock, char text[VARIANT_TEXT])
{
    variant_print(row, text);
    if (every_clock)
        drop_clock(text);
}

static lm_status keep_where(points *p, const char *where, bool every_clock, lm_error *err)
{
    size_t n = 0, n_networks = 0;
    bool   exact = false;
    char   text[sizeof err->text - 120];

    for (size_t i = 0; i < p->n_points; i++)
        if (p->point[i].row->kind != OBS_COLLECTIVE) {
            print(p->point[i].row, every_clock, text);
            n_networks += has_all(text, where);
            exact |= is_all(text, where);
        }
    if (!n_networks) {
        const lm_status status = list(p, text, sizeof text, &n, err);

        return status
                   ? status
                   : lm_error_set(err, LM_E_ARG, "nothing was measured with '%.80s'; there is: %s",
                                  where, *text ? text : "nothing");
    }
    for (size_t i = 0; i < p->n_points; i++) {
        const observation *r = p->point[i].row;

        print(r, every_clock, text);
        if (r->kind == OBS_COLLECTIVE || (exact ? is_all : has_all)(text, where))
            p->point[n++] = p->point[i];
    }
    p->n_points = n;
    return drop_groups(p, err);
}

lm_status points_where(points *p, const char *where, lm_error *err)
{
    return keep_where(p, where, false, err);
}

lm_status points_where_but_clocks(points *p, const char *where, lm_error *err)
{
    return keep_where(p, where, true, err);
}

lm_status points_check_variants(const points *p, const char *path, lm_error *err)
{
    char            text[sizeof err->text - 160];
    size_t          n;
    const lm_status status = list(p, text, sizeof text, &n, err);

    if (status || n < 2)
        return status;
    return lm_error_set(err, LM_E_ARG,
                        "%s: of several element types or settings, each of which has its own "
                        "coefficients: choose with --where: %s",
                        path, text);
}

lm_status points_check_but_clocks(const points *p, const char *path, lm_error *err)
{
    char first[VARIANT_TEXT] = "", text[VARIANT_TEXT];

    for (size_t i = 0; i < p->n_points; i++) {
        if (p->point[i].row->kind == OBS_COLLECTIVE || !has_time(&p->point[i]))
            continue;
        print(p->point[i].row, true, text);
        if (*first && strcmp(first, text) != 0)
            return points_check_variants(p, path, err);
        memcpy(first, text, sizeof first);
    }
    return LM_OK;
}
