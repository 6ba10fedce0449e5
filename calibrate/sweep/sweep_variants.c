/* Element types and settings of a section: all combinations are measured. */
#include <stdio.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "sweep/sweep_points.h"

/* Fails at a key of the section, or of [sweep]. The line of a key in [sweep] is not known here. */
static lm_status fail_key(sweep_loading *l, const ini_section *s, const char *key, lm_status status)
{
    const ini_pair *p = ini_get(s, key);

    if (p)
        return sweep_fail_at(l, p->line, status, key);
    lm_error_prefix(l->err, "%s: [sweep]: %s", l->s->path, key);
    return status;
}

static lm_status read_dtypes(const value_form *how, const char *text, struct arena *room, void *out,
                             lm_error *err)
{
    sweep_dtypes found = { .n = 0 };
    word_list    words;
    lm_status    status = type_names.read(how, text, room, &words, err);

    if (!status && words.n > sizeof found.at / sizeof found.at[0])
        return lm_error_set(err, LM_E_SYNTAX, "more than %zu",
                            sizeof found.at / sizeof found.at[0]);
    for (; !status && found.n < words.n; found.n++)
        status = text_dtype(words.at[found.n], &found.at[found.n], err);
    if (!status)
        *(sweep_dtypes *)out = found;
    return status;
}

const value_type type_dtypes = { .size = sizeof(sweep_dtypes), .read = read_dtypes };

static lm_status read_setting(sweep_loading *l, setting at, const word_list *words,
                              sweep_variants *out)
{
    lm_status status = LM_OK;

    out->choice[at][0] = 0;
    out->n_choices[at] = words->n ? words->n : 1;
    if (words->n && !(l->limits.settings >> at & 1))
        return lm_error_set(l->err, LM_E_ARG, "backend '%s' has no such choice: leave it out",
                            l->s->compute);
    if (words->n > SETTING_WORDS)
        return lm_error_set(l->err, LM_E_SYNTAX, "more than %d", SETTING_WORDS);
    for (size_t i = 0; i < words->n && !status; i++)
        status = setting_parse(at, words->at[i], &out->choice[at][i], l->err);
    return status;
}

/* Checks that autocast is used with f32 alone, and FP8 on GPUs alone. */
static lm_status check_mixed(sweep_loading *l, const sweep_variants *v)
{
    bool    any = false;
    uint8_t f8  = 0;

    if (setting_parse(SETTING_MIXED, "f8", &f8, l->err))
        return l->err->code;
    for (size_t i = 0; i < v->n_choices[SETTING_MIXED]; i++) {
        any |= v->choice[SETTING_MIXED][i] != 0;
        if (v->choice[SETTING_MIXED][i] == f8 && l->limits.on == AUTOCAST_CPU)
            return lm_error_set(l->err, LM_E_ARG,
                                "backend '%s' runs on a CPU, which has no products of f8",
                                l->s->compute);
    }
    for (size_t i = 0; i < v->dtypes.n && any; i++)
        if (v->dtypes.at[i] != LM_F32)
            return lm_error_set(l->err, LM_E_ARG,
                                "has f32 weights: put dtype = %s into a section of its own",
                                text_dtype_name(v->dtypes.at[i]));
    return LM_OK;
}

lm_status sweep_variants_read(sweep_loading *l, const ini_section *s, const sweep_values *v,
                              sweep_variants *out)
{
    static const sweep_dtypes usual  = { { LM_F32 }, 1 };
    lm_status                 status = LM_OK;

    out->dtypes = v->dtypes.n ? v->dtypes : l->common.dtypes.n ? l->common.dtypes : usual;
    out->n      = out->dtypes.n;
    for (setting at = 0; at < N_SETTINGS; at++) {
        status =
            read_setting(l, at, v->setting[at].n ? &v->setting[at] : &l->common.setting[at], out);
        if (status)
            return fail_key(l, s, setting_name(at), status);
        out->n *= out->n_choices[at];
    }
    status = check_mixed(l, out);
    return status ? fail_key(l, s, setting_name(SETTING_MIXED), status) : LM_OK;
}

/* Settings in alphabetical order, without the clock, which backends do not set. A CPU's warm cache
 * is not told: its rows had no such word before there was a choice. */
static void print_settings(const sweep_loading *l, const settings *s, uint32_t obeyed, char *text,
                           size_t size)
{
    const uint32_t cache  = 1u << SETTING_CACHE;
    const uint32_t before = 1u << SETTING_ALGORITHMS | cache;
    const bool     silent = l->limits.on == AUTOCAST_CPU && !s->value[SETTING_CACHE];
    char           behind[120];
    size_t         n;

    settings_print(s, obeyed & before & (silent ? ~cache : before), text, size);
    n = strlen(text);
    if (l->s->clock_mhz)
        n += (size_t)snprintf(text + n, size - n, "%sclock=%lld", n ? " " : "",
                              (long long)l->s->clock_mhz);
    settings_print(s, obeyed & ~before, behind, sizeof behind);
    if (*behind)
        snprintf(text + n, size - n, "%s%s", n ? " " : "", behind);
}

lm_status sweep_settings_write(sweep_loading *l, const settings *how, uint32_t also,
                               const char **out)
{
    char text[200];

    print_settings(l, how, l->limits.settings | also, text, sizeof text);
    *out = arena_text(l->s->arena, text, strlen(text));
    return *out ? LM_OK : no_memory(l->err);
}

lm_status sweep_variant_of_kernel(sweep_loading *l, sweep_point *p)
{
    settings alone = p->how;

    alone.value[SETTING_MIXED] = 0;
    return sweep_settings_write(l, &alone, 0, &p->row.settings);
}

lm_status sweep_variant(sweep_loading *l, const sweep_variants *all, size_t i, sweep_point *p)
{
    p->row.dtype = all->dtypes.at[i % all->dtypes.n];
    i /= all->dtypes.n;
    for (setting at = 0; at < N_SETTINGS; at++) {
        p->how.value[at] = all->choice[at][i % all->n_choices[at]];
        i /= all->n_choices[at];
    }
    return sweep_settings_write(l, &p->how, 0, &p->row.settings);
}
