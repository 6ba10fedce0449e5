/* Kinds of typed values. */
#include "base/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/order.h"
#include "base/text.h"

static const double unknown = NAN;

/* The functions behind value_type.read. */
#define READER const value_form *how, const char *text, struct arena *room, void *out, lm_error *err

/* ---- texts ---- */

static lm_status read_text(READER)
{
    (void)how, (void)room, (void)err;
    *(const char **)out = text;
    return LM_OK;
}

static lm_status read_word(READER)
{
    return *text ? read_text(how, text, room, out, err)
                 : lm_error_set(err, LM_E_SYNTAX, "has no value");
}

static lm_status read_yes(READER)
{
    (void)how, (void)room;
    return text_bool(text, out, err);
}

static lm_status read_pair(READER)
{
    const char *equal = strchr(text, '=');

    (void)room;
    if (!equal || equal == text || !equal[1])
        return lm_error_set(err, LM_E_ARG, "expected %s, found '%.60s'", how->argument, text);
    *(const char **)out = text;
    return LM_OK;
}

static lm_status read_names(READER)
{
    const size_t n    = strlen(text) + 1;
    char        *copy = arena_text(room, text, n - 1), **name = arena_array(room, n, sizeof *name);
    word_list   *to = out;

    (void)how;
    if (!copy || !name)
        return no_memory(err);
    *to = (word_list){ (const char *const *)name, text_split(copy, ',', name, n) };
    for (size_t i = 0; i < to->n; i++)
        if (!*name[i])
            return lm_error_set(err, LM_E_ARG, "expected names separated by commas, found '%.40s'",
                                text);
    return LM_OK;
}

const value_type type_text  = { .size = sizeof(char *), .read = read_text };
const value_type type_word  = { .size = sizeof(char *), .read = read_word };
const value_type type_yes   = { .size = sizeof(bool), .read = read_yes };
const value_type type_pair  = { .size = sizeof(char *), .read = read_pair };
const value_type type_names = { .size = sizeof(word_list), .read = read_names };

/* ---- numbers ---- */

static lm_status within(const value_form *how, const char *text, double value, lm_error *err)
{
    const char  *said = how->outside ? how->outside : "must be 0 or more";
    const size_t n    = strlen(said);

    if (value >= how->least && (!(how->most > 0) || value <= how->most))
        return LM_OK;
    if (!how->outside && how->most > 0)
        return lm_error_set(err, LM_E_ARG, "%g is outside %g .. %g", value, how->least, how->most);
    if (n > 5 && !strcmp(said + n - 5, "found"))
        return lm_error_set(err, LM_E_ARG, "%s '%.40s'", said, text);
    return lm_error_set(err, LM_E_ARG, "%s", said);
}

/* Numbers that need a unit, except for 0. */

static lm_status time_of(const char *text, double *out, lm_error *err)
{
    const lm_status status = text_seconds(text, out, err);

    if (status || !(*out > 0) || text_real(text, &(double){ 0 }, NULL))
        return status;
    return lm_error_set(err, LM_E_ARG,
                        "expected a time with its unit, such as 5us, 5min or 7d, found '%.40s'",
                        text);
}

static lm_status size_of(const char *text, int64_t *out, lm_error *err)
{
    const lm_status status = text_bytes(text, out, err);

    if (status || *out == 0 || text_real(text, &(double){ 0 }, NULL))
        return status;
    return lm_error_set(
        err, LM_E_ARG, "expected a size with its unit, such as %.20sGB, found '%.40s'", text, text);
}

/* Defines a type of numbers within bounds, by a parser of text.h. */
#define NUMBER(name, T, parse, not_given)                                 \
    static lm_status read_##name(READER)                                  \
    {                                                                     \
        T         value;                                                  \
        lm_status status = parse(text, &value, err);                      \
                                                                          \
        (void)room;                                                       \
        if (!status && !(status = within(how, text, (double)value, err))) \
            *(T *)out = value;                                            \
        return status;                                                    \
    }                                                                     \
    const value_type type_##name = { .size = sizeof(T), .read = read_##name, .blank = not_given }

NUMBER(whole, int64_t, text_int, NULL);
NUMBER(bytes, int64_t, text_bytes, NULL);
NUMBER(seed, uint64_t, text_uint, NULL);
NUMBER(real, double, text_real, &unknown);
NUMBER(seconds, double, text_seconds, &unknown);
NUMBER(amount, int64_t, text_amount, NULL);
NUMBER(length, int64_t, text_length, NULL);
NUMBER(time, double, time_of, &unknown);
NUMBER(size, int64_t, size_of, NULL);

static lm_status read_count(READER)
{
    int64_t value;

    (void)how, (void)room;
    if (text_int(text, &value, err) || value < 1)
        return lm_error_set(err, LM_E_ARG, "expected a whole number from 1 up, found '%.40s'",
                            text);
    *(int64_t *)out = value;
    return LM_OK;
}

static lm_status read_fraction(READER)
{
    double value;

    (void)how, (void)room;
    if (text_real(text, &value, err) || !(value > 0 && value <= 1))
        return lm_error_set(err, LM_E_ARG, "expected a fraction above 0, at most 1, found '%.40s'",
                            text);
    *(double *)out = value;
    return LM_OK;
}

static lm_status read_rate(READER)
{
    double    value;
    lm_status status = text_rate(text, &value, err);

    (void)how, (void)room;
    if (!status && !(value > 0))
        status = lm_error_set(err, LM_E_ARG, "must be above 0");
    if (!status)
        *(double *)out = value;
    return status;
}

ORDER_BY_VALUE(by_number, int64_t)

/* Sorts numbers, each once. Returns their number. */
static size_t tidy(int64_t *list, size_t n)
{
    size_t kept = 0;

    qsort(list, n, sizeof *list, by_number);
    for (size_t i = 0; i < n; i++)
        if (!kept || list[kept - 1] != list[i])
            list[kept++] = list[i];
    return kept;
}

static lm_status read_list(READER)
{
    const bool sizes = how->type == &type_sizes, ascending = how->type == &type_ascending;
    int64_t   *list   = NULL;
    count_list made   = { .automatic = how->or_auto && !strcmp(text, "auto") };
    lm_status  status = made.automatic
                            ? LM_OK
                            : text_list(text, sizes ? text_bytes : text_int, &list, &made.n, err);

    if (!status && !made.automatic) {
        made.n  = ascending ? tidy(list, made.n) : made.n;
        made.at = arena_copy(room, list, made.n, sizeof *list);
        status  = made.at ? LM_OK : no_memory(err);
    }
    free(list);
    for (size_t i = 0; i < made.n && !status; i++)
        status = within(how, text, (double)made.at[i], err);
    if (!status)
        *(count_list *)out = made;
    return status;
}

const value_type type_count     = { .size = sizeof(int64_t), .read = read_count };
const value_type type_fraction  = { .size = sizeof(double), .read = read_fraction };
const value_type type_rate      = { .size = sizeof(double), .read = read_rate, .blank = &unknown };
const value_type type_counts    = { .size = sizeof(count_list), .read = read_list };
const value_type type_ascending = { .size = sizeof(count_list), .read = read_list };
const value_type type_sizes     = { .size = sizeof(count_list), .read = read_list };

/* ---- words ---- */

/* The position of a word in "table, csv or json". */
static lm_status read_choice(READER)
{
    const char  *word = how->choices;
    const size_t size = strlen(text);

    (void)room;
    for (int place = 0; *word; place++) {
        const size_t n = strcspn(word, ", ");

        if (n == size && !strncmp(word, text, n)) {
            memcpy(out, &place, sizeof place);
            return LM_OK;
        }
        word += n;
        word += !strncmp(word, " or ", 4) ? 4 : strspn(word, ", ");
    }
    return lm_error_set(err, LM_E_ARG, "expected %s, found '%.40s'", how->choices, text);
}

static lm_status read_dtype(READER)
{
    (void)how, (void)room;
    return text_dtype(text, out, err);
}

const value_type type_choice = { .size = sizeof(int), .read = read_choice };
const value_type type_dtype  = { .size = sizeof(lm_dtype), .read = read_dtype };
