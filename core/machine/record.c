/* Reads and writes sections of machine files key by key. */
#include "machine/record.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"

#define AGAIN "fit the observations again"

void record_fail(record *r, const ini_pair *p, lm_status code, const char *fmt, ...)
{
    char    text[400];
    va_list args;

    if (r->status)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->status =
        lm_error_set(r->err, code, "%s:%d: %s", r->path, p ? p->line : r->section->line, text);
}

void record_failed(record *r, const ini_pair *p, lm_status status)
{
    if (r->status || !status)
        return;
    r->status = status;
    lm_error_prefix(r->err, "%s:%d: %s", r->path, p->line, p->key);
}

void record_begin(record *r, const char *star)
{
    const size_t before = strcspn(r->out ? r->name : "", "*");

    if (!r->out)
        return;
    r->sections++;
    fprintf(r->out, "\n[%.*s%s%s]\n", (int)before, r->name, star,
            r->name[before] ? r->name + before + 1 : "");
    if (r->doc)
        record_note(r, "%s", r->doc);
}

void record_note(record *r, const char *fmt, ...)
{
    va_list args;

    if (!r->out)
        return;
    va_start(args, fmt);
    fputs("; ", r->out);
    vfprintf(r->out, fmt, args);
    fputc('\n', r->out);
    va_end(args);
}

void record_put(record *r, const char *name, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fprintf(r->out, "%s = ", name);
    vfprintf(r->out, fmt, args);
    fputc('\n', r->out);
    va_end(args);
}

const ini_pair *record_take(record *r, const char *name)
{
    for (size_t i = 0; i < r->section->n_pairs; i++)
        if (*r->section->pair[i].key == *name && !strcmp(r->section->pair[i].key, name)) {
            r->taken[i] = true;
            return &r->section->pair[i];
        }
    return NULL;
}

const ini_pair *record_next(record *r)
{
    while (r->at < r->section->n_pairs && r->taken[r->at])
        r->at++;
    return r->status || r->at == r->section->n_pairs ? NULL : &r->section->pair[r->at++];
}

void record_close(record *r)
{
    const ini_pair *p = record_next(r);

    if (p)
        record_fail(r, p, LM_E_NOTFOUND,
                    "'%.60s' is not a key of [%s]: written by another version, or by hand? " AGAIN,
                    p->key, r->section->name);
    else if (*r->missing)
        record_fail(r, NULL, LM_E_NOTFOUND, "[%s]: '%s' is missing: cut short, or edited? " AGAIN,
                    r->section->name, r->missing);
}

/* ---- values ---- */

static bool is_bare(const key *k)
{
    return k->kind == KEY_SET || k->kind == KEY_UNSET;
}

static size_t numbers_of(const key *k)
{
    return k->kind == KEY_RANGE ? 2 : k->n > 1 ? k->n : 1;
}

/* Numbers of a value in the file's units. */
static void look(const key *k, const void *at, double x[KEY_NUMBERS])
{
    switch (k->kind) {
    case KEY_REAL:
    case KEY_RANGE:
        for (size_t i = 0; i < numbers_of(k); i++)
            x[i] = ((const double *)at)[i] * (k->scale != 0 ? k->scale : 1);
        return;
    case KEY_COUNT: x[0] = (double)*(const size_t *)at; return;
    case KEY_WHOLE: x[0] = (double)*(const int64_t *)at; return;
    case KEY_FLAG:
    case KEY_SET: x[0] = *(const bool *)at; return;
    case KEY_UNSET: x[0] = !*(const bool *)at; return;
    }
}

static bool is_written(const key *k, const double *x)
{
    return isfinite(x[0]) && (x[0] > 0 || !(k->above || is_bare(k)));
}

static void put_value(FILE *out, const key *k, const double *x)
{
    char text[40];

    if (k->kind == KEY_FLAG)
        fputs(x[0] > 0 ? "yes" : "no", out);
    for (size_t i = 0; i < numbers_of(k) && k->kind != KEY_FLAG && !is_bare(k); i++) {
        fputs(!i ? "" : k->kind == KEY_RANGE ? " .. " : ", ", out);
        if (k->kind == KEY_COUNT || k->kind == KEY_WHOLE)
            fprintf(out, "%.0f", x[i]);
        else if (k->digits)
            fprintf(out, "%.*g", k->digits, x[i]);
        else
            fputs(text_exact(x[i], text, sizeof text), out);
    }
    if (k->unit)
        fprintf(out, " %s", k->unit);
}

/* Cuts the unit off a number. */
static void cut_unit(record *r, const ini_pair *p, char *text, const char *unit)
{
    char *blank = strrchr(text, ' '); /* a list has blanks before its last number */

    if (!blank || strcmp(text_trim(blank), unit) != 0)
        record_fail(r, p, LM_E_SYNTAX, "%s: expected a number and '%s', found '%.60s'", p->key,
                    unit, text);
    else
        *blank = '\0';
}

/* A whole number that a double holds exactly. */
static lm_status is_exact(double x, const char *text, lm_error *err)
{
    return fabs(x) < 0x1p53
               ? LM_OK
               : lm_error_set(err, LM_E_ARG, "expected a whole number below 2^53, found '%.40s'",
                              text);
}

/* Parses a value; changes the text. */
static lm_status parse(const key *k, char *text, double x[KEY_NUMBERS], lm_error *err)
{
    const size_t n       = numbers_of(k);
    char        *part[2] = { text, k->kind == KEY_RANGE ? strstr(text, "..") : NULL };
    char        *word[KEY_NUMBERS + 1];
    uint64_t     count;
    int64_t      whole;
    bool         flag   = false;
    lm_status    status = LM_OK;

    switch (k->kind) {
    case KEY_COUNT:
        if ((status = text_uint(text, &count, err)))
            return status;
        x[0] = (double)count;
        return is_exact(x[0], text, err);
    case KEY_WHOLE:
        if ((status = text_int(text, &whole, err)))
            return status;
        x[0] = (double)whole;
        return is_exact(x[0], text, err);
    case KEY_FLAG:
        status = text_bool(text, &flag, err);
        x[0]   = flag;
        return status;
    case KEY_SET:
    case KEY_UNSET: x[0] = 1; return LM_OK;
    case KEY_RANGE:
        if (!part[1])
            return lm_error_set(err, LM_E_SYNTAX,
                                "expected two numbers with .. between, found '%.40s'", text);
        *part[1] = '\0';
        status   = text_real(part[0], &x[0], err);
        return status ? status : text_real(part[1] + 2, &x[1], err);
    case KEY_REAL: break;
    }
    if (n > 1 && text_split(text, ',', word, n + 1) != n)
        return lm_error_set(err, LM_E_SYNTAX, "expected %zu numbers", n);
    for (size_t i = 0; i < n && !status; i++)
        status = text_real(n > 1 ? word[i] : text, &x[i], err);
    return status;
}

static void check_range(record *r, const ini_pair *p, const key *k, double x)
{
    if (x >= k->least && (x <= k->most || !(k->most > 0)))
        return;
    if (k->range)
        record_fail(r, p, LM_E_ARG, "%s: expected %s, found '%.40s'", p->key, k->range, p->value);
    else if (k->most > 0)
        record_fail(r, p, LM_E_ARG, "%s: expected %g to %g, found '%.40s'", p->key, k->least,
                    k->most, p->value);
    else
        record_fail(r, p, LM_E_ARG, "%s: expected %g or more, found '%.40s'", p->key, k->least,
                    p->value);
}

/* Reads a value; changes the text. */
static void read_value(record *r, const ini_pair *p, const key *k, char *text, void *at)
{
    double    x[KEY_NUMBERS] = { 0 };
    lm_status status         = LM_OK;

    if (k->unit)
        cut_unit(r, p, text, k->unit);
    if (r->status)
        return;
    status = parse(k, text, x, r->err);
    if (status && k->kind == KEY_WHOLE) /* the line is clear enough */
        record_fail(r, p, status, "%s", r->err ? r->err->text : "");
    record_failed(r, p, status);
    for (size_t i = 0; i < numbers_of(k) && !r->status; i++)
        check_range(r, p, k, x[i]);
    if (r->status)
        return;
    switch (k->kind) {
    case KEY_REAL:
    case KEY_RANGE:
        for (size_t i = 0; i < numbers_of(k); i++)
            ((double *)at)[i] = x[i] / (k->scale != 0 ? k->scale : 1);
        return;
    case KEY_COUNT: *(size_t *)at = (size_t)x[0]; return;
    case KEY_WHOLE: *(int64_t *)at = (int64_t)x[0]; return;
    case KEY_FLAG:
    case KEY_SET: *(bool *)at = x[0] > 0; return;
    case KEY_UNSET: *(bool *)at = false; return;
    }
}

/* ---- keys ---- */

void record_key(record *r, key k, void *at)
{
    static const record_line no_words       = { NULL, 0, 0 };
    const ini_pair          *p              = r->out || r->status ? NULL : record_take(r, k.name);
    double                   x[KEY_NUMBERS] = { 0 };
    char                     text[200];

    if (r->out) {
        look(&k, at, x);
        if (is_written(&k, x))
            record_value(r, &no_words, NULL, &k, at, NULL);
    } else if (p) {
        snprintf(text, sizeof text, "%s", p->value);
        read_value(r, p, &k, text, at);
    } else if (k.needed && !*r->missing) {
        snprintf(r->missing, sizeof r->missing, "%s", k.name);
    }
}

void record_keys(record *r, const key *k, size_t n, void *of)
{
    for (size_t i = 0; i < n; i++)
        record_key(r, k[i], of ? (char *)of + k[i].at : NULL);
}

static void put_words(FILE *out, const record_line *l, const void *of)
{
    for (size_t i = 0; i < l->n; i++) { /* some lines have no words */
        const key *k              = &l->word[i];
        double     x[KEY_NUMBERS] = { 0 };

        look(k, of ? (const char *)of + k->at : NULL, x);
        if (!is_written(k, x))
            continue;
        fprintf(out, ", %s%s", k->name, is_bare(k) ? "" : " ");
        put_value(out, k, x);
    }
}

static void read_word(record *r, const record_line *l, const ini_pair *p, char *word, void *of)
{
    for (size_t i = 0; i < l->n; i++) {
        const key   *k    = &l->word[i];
        const size_t size = strlen(k->name);

        if (strncmp(word, k->name, size) != 0 || word[size] != (is_bare(k) ? '\0' : ' ') ||
            (k->kind == KEY_RANGE && !strstr(word, "..")))
            continue;
        read_value(r, p, k, word + size + !is_bare(k), (char *)of + k->at);
        return;
    }
    record_fail(r, p, LM_E_SYNTAX, "%s: unknown word '%.60s'", p->key, word);
}

void record_value(record *r, const record_line *l, const ini_pair *p, const key *value, void *at,
                  void *of)
{
    double x[KEY_NUMBERS] = { 0 };
    char   text[200], *word[KEY_NUMBERS];
    size_t n;

    if (r->out) {
        look(value, at, x);
        fprintf(r->out, "%-*s = ", l->width, value->name);
        put_value(r->out, value, x);
        put_words(r->out, l, of);
        fputc('\n', r->out);
        return;
    }
    snprintf(text, sizeof text, "%s", p->value);
    n = text_split(text, ',', word, KEY_NUMBERS);
    read_value(r, p, value, word[0], at);
    for (size_t i = 1; i < n && !r->status; i++)
        read_word(r, l, p, word[i], of);
}

void record_price(record *r, const record_line *l, const ini_pair *p, const char *name,
                  const char *unit, double *price, void *of)
{
    char per[64];

    snprintf(per, sizeof per, "s/%s", unit);
    record_value(r, l, p, &(key){ .name = name, .kind = KEY_REAL, .unit = per, KEY_ANY }, price,
                 of);
}
