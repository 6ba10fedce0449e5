/* Element types and settings of a section: all combinations are measured. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "sweep/sweep_points.h"

/* Place of a key: in the section, or in [sweep], whose line is no longer known. */
static lm_status fail_key(sweep_loading *l, const ini_section *s, const char *key, lm_status status)
{
    const ini_pair *p = ini_get(s, key);

    if (p)
        return sweep_fail_at(l, p->line, status, key);
    lm_error_prefix(l->err, "%s: [sweep]: %s", l->s->path, key);
    return status;
}

/* The words of a list, which lie in `copy`. */
static lm_status split(sweep_loading *l, const char *text, char *copy, size_t size, char **word,
                       size_t max, size_t *n)
{
    if (strlen(text) >= size)
        return lm_error_set(l->err, LM_E_SYNTAX, "is longer than %zu bytes", size - 1);
    strcpy(copy, text);
    *n = text_split(copy, ',', word, max + 1);
    if (*n > max)
        return lm_error_set(l->err, LM_E_SYNTAX, "more than %zu", max);
    return LM_OK;
}

static lm_status read_dtypes(sweep_loading *l, const char *text, sweep_variants *out)
{
    char      copy[80], *word[9];
    lm_status status;

    out->dtype[0] = LM_F32;
    out->n_dtypes = 1;
    if (!text)
        return LM_OK;
    status = split(l, text, copy, sizeof copy, word, 8, &out->n_dtypes);
    for (size_t i = 0; i < out->n_dtypes && !status; i++)
        status = text_dtype(word[i], &out->dtype[i], l->err);
    return status;
}

static lm_status read_setting(sweep_loading *l, setting at, const char *text, sweep_variants *out)
{
    char      copy[80], *word[SETTING_WORDS + 1];
    lm_status status;

    out->choice[at][0] = 0;
    out->n_choices[at] = 1;
    if (!text)
        return LM_OK;
    if (!(l->limits.settings >> at & 1))
        return lm_error_set(l->err, LM_E_ARG, "backend '%s' has no such choice: leave it out",
                            l->s->compute);
    status = split(l, text, copy, sizeof copy, word, SETTING_WORDS, &out->n_choices[at]);
    for (size_t i = 0; i < out->n_choices[at] && !status; i++)
        status = setting_parse(at, word[i], &out->choice[at][i], l->err);
    return status;
}

/* Autocast is of f32. */
static lm_status check_mixed(sweep_loading *l, const sweep_variants *v)
{
    bool any = false;

    for (size_t i = 0; i < v->n_choices[SETTING_MIXED]; i++)
        any |= v->choice[SETTING_MIXED][i] != 0;
    for (size_t i = 0; i < v->n_dtypes && any; i++)
        if (v->dtype[i] != LM_F32)
            return lm_error_set(l->err, LM_E_ARG,
                                "has f32 weights: put dtype = %s into a section of its own",
                                text_dtype_name(v->dtype[i]));
    return LM_OK;
}

lm_status sweep_variants_read(sweep_loading *l, const ini_section *s, const sweep_values *v,
                              sweep_variants *out)
{
    lm_status status = read_dtypes(l, v->dtype ? v->dtype : l->common.dtype, out);

    if (status)
        return fail_key(l, s, "dtype", status);
    out->n = out->n_dtypes;
    for (setting at = 0; at < N_SETTINGS; at++) {
        status = read_setting(l, at, v->setting[at] ? v->setting[at] : l->common.setting[at], out);
        if (status)
            return fail_key(l, s, setting_name(at), status);
        out->n *= out->n_choices[at];
    }
    status = check_mixed(l, out);
    return status ? fail_key(l, s, setting_name(SETTING_MIXED), status) : LM_OK;
}

/* Settings in alphabetical order, without the clock, which backends do not set. */
static void print_settings(const sweep_loading *l, const settings *s, char *text, size_t size)
{
    const uint32_t before = 1u << SETTING_ALGORITHMS | 1u << SETTING_CACHE;
    char           behind[120];
    size_t         n;

    settings_print(s, l->limits.settings & before, text, size);
    n = strlen(text);
    if (l->s->clock_mhz)
        n += (size_t)snprintf(text + n, size - n, "%sclock=%lld", n ? " " : "",
                              (long long)l->s->clock_mhz);
    settings_print(s, l->limits.settings & ~before, behind, sizeof behind);
    if (*behind)
        snprintf(text + n, size - n, "%s%s", n ? " " : "", behind);
}

lm_status sweep_variant(sweep_loading *l, const sweep_variants *all, size_t i, sweep_point *p)
{
    char text[200];

    p->row.dtype = all->dtype[i % all->n_dtypes];
    i /= all->n_dtypes;
    for (setting at = 0; at < N_SETTINGS; at++) {
        p->how.value[at] = all->choice[at][i % all->n_choices[at]];
        i /= all->n_choices[at];
    }
    print_settings(l, &p->how, text, sizeof text);
    p->row.settings = arena_text(l->s->arena, text, strlen(text));
    return p->row.settings ? LM_OK : sweep_no_memory(l);
}
