/* Random values of a sweep. */
#include "sweep/draw.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expr.h"
#include "base/random.h"
#include "base/text.h"

enum { ALTERNATIVES_MAX = 64 };

#define NUMBER_MAX INT64_C(1000000000000000)

draw draw_begin(uint64_t seed, const char *name)
{
    return (draw){ .state = seed + text_hash(name) };
}

uint64_t draw_next(draw *d)
{
    return random_next(&d->state);
}

uint64_t draw_below(draw *d, uint64_t n)
{
    return random_below(&d->state, n);
}

int64_t draw_log(draw *d, int64_t low, int64_t high)
{
    uint64_t octaves = 1;

    while (low <= high >> octaves) /* low * 2^octaves <= high */
        octaves++;
    for (;;) {
        const uint64_t bottom = (uint64_t)low << draw_below(d, octaves);
        const uint64_t x      = bottom + draw_below(d, bottom);

        if (x <= (uint64_t)high && draw_below(d, x) < bottom)
            return (int64_t)x;
    }
}

void draw_forget(draw *d)
{
    d->n = 0;
}

const char *draw_get(const draw *d, const char *name)
{
    for (size_t i = 0; i < d->n; i++)
        if (!strcmp(d->value[i].name, name))
            return d->value[i].text;
    return NULL;
}

/* ---- numbers by what was drawn before -------------------------------------------------------- */

static lm_status look_up(void *context, const char *name, size_t n, int64_t *out, lm_error *err)
{
    const draw *d = context;
    char        key[DRAW_NAME];
    const char *text;

    snprintf(key, sizeof key, "%.*s", (int)n, name);
    text = n < sizeof key ? draw_get(d, key) : NULL;
    if (!text)
        return lm_error_set(err, LM_E_NOTFOUND, "'%s' is not a key of an earlier line", key);
    return text_int(text, out, err);
}

/* "$kernel" or "${kernel / 2}" at `text`: its value, and its length. */
static lm_status evaluate(draw *d, const char *text, int64_t *out, size_t *n, lm_error *err)
{
    char inside[DRAW_TEXT];

    if (text[1] == '{') {
        const char *end = strchr(text, '}');

        if (!end)
            return lm_error_set(err, LM_E_SYNTAX, "'${' without '}'");
        snprintf(inside, sizeof inside, "%.*s", (int)(end - text - 2), text + 2);
        *n = (size_t)(end - text) + 1;
    } else {
        size_t length = 1;

        while (isalnum((unsigned char)text[length]) || text[length] == '_')
            length++;
        snprintf(inside, sizeof inside, "%.*s", (int)length - 1, text + 1);
        *n = length;
    }
    return expr_eval(inside, look_up, d, out, err);
}

static lm_status replace_all(draw *d, const char *text, char *out, size_t size, lm_error *err)
{
    size_t used = 0;

    while (*text && used < size) {
        int64_t   value;
        size_t    n = 0;
        lm_status status;

        if (*text != '$') {
            out[used++] = *text++;
            continue;
        }
        if ((status = evaluate(d, text, &value, &n, err)))
            return status;
        used += (size_t)snprintf(out + used, size - used, "%" PRId64, value);
        text += n;
    }
    if (used >= size)
        return lm_error_set(err, LM_E_SYNTAX, "is longer than %zu bytes", size - 1);
    out[used] = '\0';
    return LM_OK;
}

/* ---- alternatives ---------------------------------------------------------------------------- */

/* One of the elements of 1..64*2. */
static lm_status draw_element(draw *d, const char *text, char *out, size_t size, lm_error *err)
{
    int64_t  *value;
    size_t    n;
    lm_status status = text_list(text, text_int, &value, &n, err);

    if (status)
        return status;
    snprintf(out, size, "%" PRId64, value[draw_below(d, n)]);
    free(value);
    return LM_OK;
}

/* "1..64" or "1..64 log"; `dots` is where the dots are. */
static lm_status draw_range(draw *d, char *text, char *dots, char *out, size_t size, lm_error *err)
{
    char     *last = text_trim(dots + 2);
    size_t    n    = strlen(last);
    bool      log;
    int64_t   low, high;
    lm_status status;

    if (strpbrk(last, "*+"))
        return draw_element(d, text, out, size, err);
    log = n > 4 && isblank((unsigned char)last[n - 4]) && !strcmp(last + n - 3, "log");
    if (log)
        last[n - 4] = '\0';
    *dots = '\0';
    if ((status = text_int(text, &low, err)) || (status = text_int(last, &high, err)))
        return status;
    if (low > high || low < -NUMBER_MAX || high > NUMBER_MAX || (log && low < 1))
        return lm_error_set(err, LM_E_ARG, "%" PRId64 "..%" PRId64 "%s holds no number", low, high,
                            log ? " log" : "");
    snprintf(out, size, "%" PRId64,
             log ? draw_log(d, low, high)
                 : low + (int64_t)draw_below(d, (uint64_t)(high - low) + 1));
    return LM_OK;
}

static lm_status draw_alternative(draw *d, const char *text, char *out, size_t size, lm_error *err)
{
    char      copy[2 * DRAW_TEXT], *word, *dots;
    lm_status status = replace_all(d, text, copy, sizeof copy, err);

    if (status)
        return status;
    word = text_trim(copy);
    dots = strstr(word, "..");
    if (dots)
        return draw_range(d, word, dots, out, size, err);
    if (strlen(word) >= size)
        return lm_error_set(err, LM_E_SYNTAX, "is longer than %zu bytes", size - 1);
    strcpy(out, word);
    return *word ? LM_OK : lm_error_set(err, LM_E_SYNTAX, "has no value");
}

lm_status draw_value(draw *d, const char *name, const char *text, int whole, lm_error *err)
{
    char      copy[256], *part[ALTERNATIVES_MAX + 1];
    size_t    n = 1;
    lm_status status;

    if (d->n == DRAW_VALUES || strlen(name) >= DRAW_NAME)
        return lm_error_set(err, LM_E_SYNTAX, "more than %d keys, or a name over %d bytes",
                            DRAW_VALUES, DRAW_NAME - 1);
    if (strlen(text) >= sizeof copy)
        return lm_error_set(err, LM_E_SYNTAX, "is longer than %zu bytes", sizeof copy - 1);
    strcpy(copy, text);
    part[0] = copy;
    if (!whole)
        n = text_split(copy, ',', part, ALTERNATIVES_MAX + 1);
    if (n > ALTERNATIVES_MAX)
        return lm_error_set(err, LM_E_SYNTAX, "more than %d alternatives", ALTERNATIVES_MAX);
    status = draw_alternative(d, part[n > 1 ? draw_below(d, n) : 0], d->value[d->n].text, DRAW_TEXT,
                              err);
    if (status)
        return status;
    strcpy(d->value[d->n].name, name);
    d->n++;
    return LM_OK;
}
