/* Text to numbers. */
#include "base/text.h"
#include "base/arena.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/no_memory.h"

/* A list longer than this is a typing error, not a sweep. */
#define LIST_MAX 100000

static const char *skip_blanks(const char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    return s;
}

static lm_status expected(lm_error *err, const char *what, const char *text)
{
    return lm_error_set(err, LM_E_ARG, "expected %s, found '%.80s'", what, text);
}

lm_status text_int(const char *text, int64_t *out, lm_error *err)
{
    const char *start = skip_blanks(text);
    char       *end;
    long long   value;

    errno = 0;
    value = strtoll(start, &end, 10);
    if (end == start || *skip_blanks(end))
        return expected(err, "a whole number", text);
    if (errno == ERANGE)
        return expected(err, "a whole number below 2^63", text);
    *out = value;
    return LM_OK;
}

lm_status text_uint(const char *text, uint64_t *out, lm_error *err)
{
    const char        *start = skip_blanks(text);
    char              *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(start, &end, 10);
    if (!isdigit((unsigned char)*start) || *skip_blanks(end) || errno == ERANGE)
        return expected(err, "a whole number from 0 to 2^64-1", text);
    *out = value;
    return LM_OK;
}

/* Reads plain decimals of up to 15 digits, as in measurements. Digits and power of ten are exact
 * doubles, so one division rounds as strtod() does (Clinger 1990), in a tenth of its time. Returns
 * NULL for other numbers. */
static const char *read_short_real(const char *p, double *out)
{
    static const double power[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    uint64_t            digits  = 0;
    int                 n = 0, behind = 0;
    bool                point = false;

    for (;; p++) {
        if (*p >= '0' && *p <= '9') {
            digits = 10 * digits + (uint64_t)(*p - '0');
            n++;
            behind += point;
        } else if (*p == '.' && !point) {
            point = true;
        } else {
            break;
        }
        if (n > 15)
            return NULL;
    }
    if (n == 0 || *p == 'e' || *p == 'E' || *p == 'x' || *p == 'X')
        return NULL;
    *out = (double)digits / power[behind];
    return p;
}

/* strtod() without hexadecimal, infinities and NaN. */
static const char *read_real(const char *start, double *out)
{
    const char *p     = start + (*start == '-' || *start == '+');
    const char *quick = read_short_real(start, out);
    char       *end;

    if (quick)
        return quick;
    if (!isdigit((unsigned char)*p) && *p != '.')
        return NULL;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
        return NULL;
    *out = strtod(start, &end);
    return end == start || !isfinite(*out) ? NULL : end;
}

lm_status text_real(const char *text, double *out, lm_error *err)
{
    double      value;
    const char *end = read_real(skip_blanks(text), &value);

    if (!end || *skip_blanks(end))
        return expected(err, "a finite number", text);
    *out = value;
    return LM_OK;
}

lm_status text_bool(const char *text, bool *out, lm_error *err)
{
    static const char *const word[] = { "no", "yes", "false", "true", "off", "on", "0", "1" };

    for (size_t i = 0; i < sizeof word / sizeof word[0]; i++)
        if (!strcmp(text, word[i])) {
            *out = i % 2 != 0;
            return LM_OK;
        }
    return expected(err, "yes or no", text);
}

typedef struct unit {
    const char *name;
    double      factor;
} unit;

/* A number and one of `units`; a bare number has the first unit. */
static lm_status read_quantity(const char *text, const unit *units, double *out)
{
    double      value;
    const char *end = read_real(skip_blanks(text), &value);
    size_t      n;

    if (!end)
        return LM_E_ARG;
    end = skip_blanks(end);
    for (n = strlen(end); n > 0 && isspace((unsigned char)end[n - 1]); n--)
        ;
    if (n == 0) {
        *out = value * units[0].factor;
        return LM_OK;
    }
    for (const unit *u = units; u->name; u++)
        if (strlen(u->name) == n && !strncasecmp(u->name, end, n)) {
            *out = value * u->factor;
            return LM_OK;
        }
    return LM_E_ARG;
}

lm_status text_bytes(const char *text, int64_t *out, lm_error *err)
{
    static const unit units[] = {
        { "B", 1 },        { "KiB", 1024 }, { "MiB", 1048576 }, { "GiB", 1073741824 },
        { "TiB", 0x1p40 }, { "kB", 1e3 },   { "MB", 1e6 },      { "GB", 1e9 },
        { "TB", 1e12 },    { "k", 1e3 },    { "M", 1e6 },       { "G", 1e9 },
        { "T", 1e12 },     { NULL, 0 },
    };
    double value;

    if (read_quantity(text, units, &value) || value < 0 || value > 9e18 || value != floor(value))
        return expected(err, "a size such as 64KiB, 25 MiB or 1GB", text);
    *out = (int64_t)value;
    return LM_OK;
}

lm_status text_seconds(const char *text, double *out, lm_error *err)
{
    static const unit units[] = {
        { "s", 1 },
        { "ms", 1e-3 },
        { "us", 1e-6 },
        { "ns", 1e-9 },
        { "min", 60 },
        { "h", 3600 },
        { "d", 86400 },
        { "w", 604800 },
        /* informal names */
        { "sec", 1 },
        { "seconds", 1 },
        { "minute", 60 },
        { "minutes", 60 },
        { "hr", 3600 },
        { "hrs", 3600 },
        { "hour", 3600 },
        { "hours", 3600 },
        { "day", 86400 },
        { "days", 86400 },
        { "week", 604800 },
        { "weeks", 604800 },
        { NULL, 0 },
    };
    double value;

    if (read_quantity(text, units, &value) || value < 0 || !isfinite(value))
        return expected(err, "a time such as 200ms, 1.5 s or 5min", text);
    *out = value;
    return LM_OK;
}

/* Whole numbers from 1 up. */
static lm_status read_whole(const char *text, const unit *units, const char *such, int64_t *out,
                            lm_error *err)
{
    double value;

    if (read_quantity(text, units, &value) || !(value >= 1 && value <= 9e18) ||
        value != floor(value))
        return expected(err, such, text);
    *out = (int64_t)value;
    return LM_OK;
}

lm_status text_amount(const char *text, int64_t *out, lm_error *err)
{
    static const unit units[] = {
        { "", 1 },    { "k", 1e3 },  { "M", 1e6 }, { "B", 1e9 },
        { "G", 1e9 }, { "T", 1e12 }, { NULL, 0 },
    };

    return read_whole(text, units, "a number from 1 up such as 500M, 300B or 15T", out, err);
}

lm_status text_length(const char *text, int64_t *out, lm_error *err)
{
    static const unit units[] = { { "", 1 }, { "k", 1024 }, { "M", 1048576 }, { NULL, 0 } };

    return read_whole(text, units, "a number of tokens such as 512 or 4k (4096)", out, err);
}

lm_status text_batch(const char *text, batch_told *out, lm_error *err)
{
    static const char word[] = "tokens";
    const size_t      n = strlen(text), letters = sizeof word - 1;
    char              number[40];

    *out = (batch_told){ .n = 0 };
    if (n <= letters || n - letters >= sizeof number || strcmp(text + n - letters, word) != 0) {
        if (!text_int(text, &out->n, NULL) && out->n >= 1)
            return LM_OK;
        return lm_error_set(err, LM_E_ARG,
                            "expected a whole number from 1 up, or 4Mtokens (4 x 1024 x 1024), "
                            "found '%.40s'",
                            text);
    }
    snprintf(number, sizeof number, "%.*s", (int)(n - letters), text);
    out->tokens = true;
    return text_length(number, &out->n, err);
}

/* Factor of an SI prefix; 0: the letter is none. */
static double prefix_of(char letter)
{
    static const char   letters[] = "kMGTP";
    static const double factor[]  = { 1e3, 1e6, 1e9, 1e12, 1e15 };
    const char         *at        = letter ? strchr(letters, letter) : NULL;

    return at ? factor[at - letters] : 0;
}

/* NAN for any other text. */
static double quantity(const char *text, const char *of)
{
    const size_t n = strlen(of);
    double       value, prefix;
    const char  *end = read_real(skip_blanks(text), &value);

    if (!end)
        return NAN;
    end    = skip_blanks(end);
    prefix = strncmp(end, of, n) != 0 ? prefix_of(*end) : 0;
    end += prefix > 0;
    if (strncmp(end, of, n) != 0 || *skip_blanks(end + n))
        return NAN;
    return prefix > 0 ? value * prefix : value;
}

lm_status text_quantity(const char *text, const char *of, double *out, lm_error *err)
{
    const double value = quantity(text, of);

    if (!isfinite(value))
        return lm_error_set(err, LM_E_ARG, "expected a number of %s such as 1.5 G%s, found '%.80s'",
                            of, of, text);
    *out = value;
    return LM_OK;
}

/* Bytes per second of a unit of n characters; 0: no unit. Rates of networks are usually in bits: a
 * prefix alone means bits, and so does a small b. */
static double rate_unit(const char *name, size_t n)
{
    static const char *const bits[] = { "", "bit/s", "b/s", "bps", "bit" };

    if (n == 3 && (!strncmp(name, "B/s", n) || !strncmp(name, "Bps", n)))
        return 1;
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++)
        if (strlen(bits[i]) == n && !strncasecmp(name, bits[i], n))
            return 1. / 8;
    return 0;
}

lm_status text_rate(const char *text, double *out, lm_error *err)
{
    double      value, prefix = 0, bytes = 0;
    const char *end = read_real(skip_blanks(text), &value);

    if (end) {
        const char *last = end + strlen(end);

        end = skip_blanks(end);
        while (last > end && isspace((unsigned char)last[-1]))
            last--;
        prefix = tolower((unsigned char)*end) == 'k'
                     ? 1e3
                     : prefix_of((char)toupper((unsigned char)*end));
        end += prefix > 0;
        bytes = end < last || prefix > 0 ? rate_unit(end, (size_t)(last - end)) : 0;
    }
    if (bytes > 0)
        value *= (prefix > 0 ? prefix : 1) * bytes;
    if (!(bytes > 0) || !isfinite(value))
        return expected(err, "a rate such as 10Gbit/s or 1.25 GB/s", text);
    *out = value;
    return LM_OK;
}

lm_status text_shape(const char *text, int64_t *out, size_t max, size_t *n, lm_error *err)
{
    int64_t     dim[LM_MAX_RANK];
    size_t      count = 0;
    const char *p     = skip_blanks(text);

    for (;;) {
        char     *end;
        long long value;

        errno = 0;
        value = strtoll(p, &end, 10);
        if (end > p && (*end == 'k' || *end == 'K')) { /* of tokens: as text_length() */
            value = value < 1 || value > INT64_MAX / 1024 ? 0 : value * 1024;
            end++;
        }
        if (end == p || !isdigit((unsigned char)*p) || errno == ERANGE || value < 1)
            return expected(err, "a shape such as 3x224x224", text);
        if (count == max || count == LM_MAX_RANK)
            return lm_error_set(err, LM_E_ARG, "at most %zu dimensions here, found '%.80s'", max,
                                text);
        dim[count++] = value;
        p            = end;
        if (*p != 'x')
            break;
        p++;
    }
    if (*skip_blanks(p))
        return expected(err, "a shape such as 3x224x224", text);
    memcpy(out, dim, count * sizeof dim[0]);
    *n = count;
    return LM_OK;
}

static const struct {
    lm_dtype    dtype;
    const char *name;
} dtypes[] = {
    { LM_F32, "f32" }, { LM_F16, "f16" }, { LM_BF16, "bf16" }, { LM_F64, "f64" }, { LM_I32, "i32" },
    { LM_I8, "i8" },   { LM_F8, "f8" },   { LM_I64, "i64" },   { LM_U8, "u8" },
};

lm_status text_dtype(const char *text, int32_t *out, lm_error *err)
{
    static const struct {
        const char *said, *name;
    } also[] = { { "fp32", "f32" },    { "float32", "f32" }, { "fp16", "f16" },
                 { "float16", "f16" }, { "half", "f16" },    { "bfloat16", "bf16" },
                 { "fp64", "f64" },    { "float64", "f64" }, { "fp8", "f8" },
                 { "int8", "i8" },     { "int32", "i32" },   { "int64", "i64" },
                 { "uint8", "u8" } };

    for (size_t i = 0; i < sizeof also / sizeof also[0]; i++)
        text = strcmp(text, also[i].said) ? text : also[i].name;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (!strcmp(text, dtypes[i].name)) {
            *out = dtypes[i].dtype;
            return LM_OK;
        }
    if (!strcmp(text, "tf32"))
        return lm_error_set(err, LM_E_ARG,
                            "tf32 is how f32 is multiplied: a machine file measured with math=tf32 "
                            "has it; without one it lies between f32 and f16");
    if (!strcmp(text, "amp"))
        return lm_error_set(err, LM_E_ARG,
                            "amp is mixed precision: give --mixed f16 or --mixed bf16");
    return expected(err, "an element type (f32 f16 bf16 f64 i32 i8 f8 i64 u8)", text);
}

size_t text_place(const char *word, const char *const *name, size_t n)
{
    size_t i = 0;

    while (i < n && strcmp(word, name[i]))
        i++;
    return i;
}

const char *text_dtype_name(int32_t dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].name;
    return dtype == DTYPE_TF32 ? "tf32" : "unknown";
}

typedef struct int_list {
    int64_t *value;
    size_t   n, room;
} int_list;

static lm_status push(int_list *list, int64_t value, lm_error *err)
{
    if (list->n == LIST_MAX)
        return lm_error_set(err, LM_E_ARG, "more than %d values", LIST_MAX);
    if (!array_grow(&list->value, list->n, &list->room, sizeof *list->value))
        return no_memory(err);
    list->value[list->n++] = value;
    return LM_OK;
}

/* "A..B", "A..B*F" or "A..B+S"; A is already cut off at the dots. */
static lm_status push_range(int_list *list, const char *from, char *rest, text_int_parser parse,
                            lm_error *err)
{
    char      *step_text = strpbrk(rest, "*+");
    const bool times     = step_text && *step_text == '*';
    int64_t    a, b, step = 1;
    lm_status  status;

    if (step_text) {
        *step_text++ = '\0';
        status       = times ? text_int(step_text, &step, err) : parse(step_text, &step, err);
        if (status)
            return status;
    }
    if ((status = parse(from, &a, err)) || (status = parse(rest, &b, err)))
        return status;
    if (a < 1 || b < a || step < 1 + (times ? 1 : 0))
        return lm_error_set(err, LM_E_ARG,
                            "a range runs upwards from 1 or more, such as 1..64*2 or 32..224+32");
    while (a < b) {
        if ((status = push(list, a, err)))
            return status;
        if (times)
            a = a > INT64_MAX / step ? INT64_MAX : a * step;
        else
            a = a > INT64_MAX - step ? INT64_MAX : a + step;
    }
    return push(list, b, err);
}

lm_status text_list(const char *text, text_int_parser parse, int64_t **out, size_t *n,
                    lm_error *err)
{
    char     *copy   = strdup(text);
    int_list  list   = { NULL, 0, 0 };
    lm_status status = LM_OK;
    char     *save   = NULL;

    if (!copy)
        return no_memory(err);
    if (!*skip_blanks(text) || strstr(text, ",,") || text[strlen(text) - 1] == ',') {
        status = expected(err, "a list such as 1,2,4 or 1..64*2", text);
        goto out;
    }
    for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
        char   *dots = strstr(item, "..");
        int64_t value;

        if (dots) {
            *dots  = '\0';
            status = push_range(&list, item, dots + 2, parse, err);
        } else if (!(status = parse(item, &value, err))) {
            status = value < 1 ? expected(err, "numbers from 1 up", text) : push(&list, value, err);
        }
        if (status)
            goto out;
    }
    *out       = list.value;
    *n         = list.n;
    list.value = NULL;
out:
    free(list.value);
    free(copy);
    return status;
}

char *text_trim(char *text)
{
    size_t n;

    while (isspace((unsigned char)*text))
        text++;
    for (n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]); n--)
        ;
    text[n] = '\0';
    return text;
}

size_t text_split(char *text, char separator, char **part, size_t max)
{
    size_t n = 0;

    while (n < max) {
        char *end = strchr(text, separator);

        if (end && n + 1 < max)
            *end = '\0';
        part[n++] = text_trim(text);
        if (!end || n == max)
            break;
        text = end + 1;
    }
    return n;
}
