/* Keys of a sweep's sections. */
#include "sweep/sweep_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

number_list number_list_or(number_list l, int64_t *one)
{
    return l.n ? l : (number_list){ one, 1 };
}

void sweep_values_free(sweep_values *v)
{
    free(v->batch.value);
    free(v->image.value);
    free(v->ranks.value);
    free(v->nodes.value);
    free(v->devices.value);
    free(v->bytes.value);
}

static lm_status check_range(const sweep_key *k, double value, lm_error *err)
{
    if (value >= k->min && value <= k->max)
        return LM_OK;
    return lm_error_set(err, LM_E_ARG, "%g is outside %g .. %g", value, k->min, k->max);
}

static lm_status read_word(const char *value, arena *text, char *to, lm_error *err)
{
    char *word = arena_text(text, value, strlen(value));

    if (!word)
        return no_memory(err);
    if (!*word)
        return lm_error_set(err, LM_E_SYNTAX, "has no value");
    memcpy(to, &word, sizeof word);
    return LM_OK;
}

static lm_status read_number(const sweep_key *k, const char *value, char *to, lm_error *err)
{
    int64_t   number;
    lm_status status =
        k->kind == KEY_BYTES ? text_bytes(value, &number, err) : text_int(value, &number, err);

    if (!status)
        status = check_range(k, (double)number, err);
    if (!status)
        memcpy(to, &number, sizeof number);
    return status;
}

static lm_status read_real(const sweep_key *k, const char *value, char *to, lm_error *err)
{
    double    real;
    lm_status status =
        k->kind == KEY_REAL ? text_real(value, &real, err) : text_seconds(value, &real, err);

    if (!status)
        status = check_range(k, real, err);
    if (!status)
        memcpy(to, &real, sizeof real);
    return status;
}

static lm_status read_list(const sweep_key *k, const char *value, char *to, lm_error *err)
{
    number_list numbers;
    lm_status status = text_list(value, k->kind == KEY_LIST ? text_int : text_bytes, &numbers.value,
                                 &numbers.n, err);

    if (status)
        return status;
    memcpy(to, &numbers, sizeof numbers); /* freed with the values, whatever follows */
    for (size_t i = 0; i < numbers.n && !status; i++)
        status = check_range(k, (double)numbers.value[i], err);
    return status;
}

static lm_status read_value(const sweep_key *k, const char *value, arena *text, sweep_values *v,
                            lm_error *err)
{
    char *to = (char *)v + k->offset;

    switch (k->kind) {
    case KEY_WORD: return read_word(value, text, to, err);
    case KEY_NUMBER:
    case KEY_BYTES: return read_number(k, value, to, err);
    case KEY_REAL:
    case KEY_TIME: return read_real(k, value, to, err);
    case KEY_LIST:
    case KEY_BYTE_LIST: return read_list(k, value, to, err);
    }
    return LM_OK;
}

const sweep_key *sweep_key_find(const sweep_key *keys, const char *name)
{
    for (; keys->name; keys++)
        if (!strcmp(keys->name, name))
            return keys;
    return NULL;
}

static lm_status unknown_key(const ini_section *s, const sweep_key *keys, lm_error *err)
{
    char known[300] = "";

    for (; keys->name; keys++) {
        const size_t n = strlen(known);

        snprintf(known + n, sizeof known - n, " %s", keys->name);
    }
    return lm_error_set(err, LM_E_NOTFOUND, "[%s] has no such key (it has:%s)", s->name, known);
}

lm_status sweep_read_pair(const char *path, const ini_section *s, const ini_pair *p,
                          const sweep_key *keys, arena *text, sweep_values *out, lm_error *err)
{
    const sweep_key *k = sweep_key_find(keys, p->key);
    const lm_status  status =
        k ? read_value(k, p->value, text, out, err) : unknown_key(s, keys, err);

    if (status)
        lm_error_prefix(err, "%s:%d: %s", path, p->line, p->key);
    return status;
}

lm_status sweep_read_section(const char *path, const ini_section *s, const sweep_key *keys,
                             arena *text, sweep_values *out, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < s->n_pairs && !status; i++)
        status = sweep_read_pair(path, s, &s->pair[i], keys, text, out, err);
    return status;
}
