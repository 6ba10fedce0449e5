/* Text of learned models: reads and writes lines. */
#include "learn/lines.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

lines lines_of(const char *name, const char *path, char *text, lm_error *err)
{
    return (lines){
        .path = path, .name = name, .at = text, .item = text, .end = text + strlen(text), .err = err
    };
}

static void fail(lines *l, lm_status code, const char *fmt, va_list args)
{
    char text[200];

    if (l->status)
        return;
    vsnprintf(text, sizeof text, fmt, args);
    l->status = lm_error_set(l->err, code, "%s:%d: %s", l->path, l->line, text);
}

void lines_fail(lines *l, lm_status code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fail(l, code, fmt, args);
    va_end(args);
}

void lines_check(lines *l, bool holds, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    if (!holds)
        fail(l, LM_E_ARG, fmt, args);
    va_end(args);
}

void *lines_array(lines *l, size_t n, size_t size)
{
    void *room = NULL;

    if (!l->out && n > (size_t)(l->end - l->item))
        lines_fail(l, LM_E_SYNTAX, "the file ends before as many as this takes");
    if (!l->status && !(room = calloc(n + 1, size)))
        l->status = no_memory(l->err);
    return room;
}

void *lines_made(lines *l, void *what, size_t size)
{
    if (l->out)
        return what;
    if (!l->status && !(what = calloc(1, size)))
        l->status = no_memory(l->err);
    return l->status ? NULL : what;
}

/* ---- one line ---- */

bool lines_begin(lines *l, const char *word)
{
    const size_t n = strlen(word);
    char        *begin, *end;

    if (l->out)
        fputs(word, l->out);
    if (l->out || l->status)
        return !l->status;
    l->line++;
    l->number = 0;
    begin     = l->at;
    if (!*begin) {
        lines_fail(l, LM_E_SYNTAX, "the file ends here; expected '%s ...'", word);
        return false;
    }
    if (!(end = strchr(begin, '\n')))
        lines_fail(l, LM_E_SYNTAX, "the file ends within this line");
    else
        *end = '\0';
    if (strncmp(begin, word, n) != 0 || (begin[n] && begin[n] != ' '))
        lines_fail(l, LM_E_SYNTAX, "expected '%s ...', found '%.40s'", word, begin);
    l->at   = end ? end + 1 : begin + strlen(begin);
    l->item = l->status ? begin + strlen(begin) : begin + n;
    return !l->status;
}

size_t lines_which(const lines *l, const char *const *word, size_t n, size_t at)
{
    const size_t size = l->out ? 0 : strcspn(l->at, " \n");

    if (l->out)
        return at;
    for (at = 0; at < n; at++)
        if (strlen(word[at]) == size && !strncmp(l->at, word[at], size))
            return at;
    return 0;
}

void lines_end(lines *l)
{
    if (l->out)
        fputc('\n', l->out);
    else if (!l->status && l->item[strspn(l->item, " ")])
        lines_fail(l, LM_E_SYNTAX, "more than this line has: '%.20s'", l->item);
}

char *lines_item(lines *l)
{
    char *begin = l->item + strspn(l->item, " "), *end = begin + strcspn(begin, " ");

    l->item = *end ? end + 1 : end;
    *end    = '\0';
    return *begin ? begin : NULL;
}

/* ---- items ---- */

static void write_item(FILE *out, const line_item *i)
{
    const size_t n = i->found ? *i->found : i->known && isnan(*i->real) ? 0 : i->n;

    if (i->kind == LINE_WORD || i->kind == LINE_REST)
        fprintf(out, " %s", i->text);
    else if (i->kind == LINE_CHOICE)
        fprintf(out, " %s", i->word[*i->count]);
    else
        for (size_t k = 0; k < n; k++)
            if (i->kind == LINE_REAL)
                fprintf(out, " %.17g", i->real[k]);
            else if (i->kind == LINE_SINGLE)
                fprintf(out, " %.9g", (double)i->single[k]);
            else
                fprintf(out, " %zu", i->count[k]);
}

static void refuse(lines *l, const line_item *i, double x)
{
    if (!isfinite(x))
        lines_fail(l, LM_E_ARG, "number %zu is %g", l->number, x);
    else if (x > i->most)
        lines_fail(l, LM_E_ARG, "number %zu is %g: expected %g or less", l->number, x, i->most);
    else if (i->least == DBL_TRUE_MIN)
        lines_fail(l, LM_E_ARG, "number %zu is %g: expected more than 0", l->number, x);
    else
        lines_fail(l, LM_E_ARG, "number %zu is %g: expected %g or more", l->number, x, i->least);
}

/* Doubles and floats, with as many digits as they need. */
static void read_numbers(lines *l, const line_item *i)
{
    const bool none = i->known && !l->item[strspn(l->item, " ")];

    for (size_t k = 0; k < i->n; k++) {
        char  *end = l->item;
        double x   = none ? (double)NAN : strtod(l->item, &end);

        if (!none && end == l->item) {
            lines_fail(l, LM_E_SYNTAX, "expected %zu numbers, found %zu", i->n, k);
            return;
        }
        l->number++;
        if (!none && !(x >= i->least && x <= i->most)) {
            refuse(l, i, x);
            return;
        }
        if (i->kind == LINE_SINGLE)
            i->single[k] = (float)x;
        else
            i->real[k] = x;
        l->item = end;
    }
}

static void read_counts(lines *l, const line_item *i)
{
    size_t      k = 0;
    const char *word;

    while ((i->found || k < i->n) && (word = lines_item(l))) {
        uint64_t count;
        lm_error ignored;

        if (text_uint(word, &count, &ignored) || !((double)count >= i->least) ||
            !((double)count <= i->most)) {
            lines_fail(l, LM_E_SYNTAX, "expected whole numbers from %.0f to %.0f, found '%.40s'",
                       i->least, i->most, word);
            return;
        }
        if (k == i->n) {
            lines_fail(l, LM_E_SYNTAX, "more than %zu numbers", i->n);
            return;
        }
        i->count[k++] = (size_t)count;
    }
    if (i->found)
        *i->found = k;
    else if (k < i->n)
        lines_fail(l, LM_E_SYNTAX, "expected %zu numbers, found %zu", i->n, k);
}

static void read_text(lines *l, const line_item *i)
{
    const char *text = i->kind == LINE_WORD ? lines_item(l) : l->item + strspn(l->item, " ");

    if (!text || !*text || strlen(text) >= i->n) {
        lines_fail(l, LM_E_SYNTAX, "expected a name of 1 to %zu letters", i->n - 1);
        return;
    }
    strcpy(i->text, text);
    if (i->kind == LINE_REST)
        l->item += strlen(l->item);
}

static void read_choice(lines *l, const line_item *i)
{
    const char *word     = lines_item(l);
    size_t      k        = 0;
    char        all[120] = "";

    while (k < i->n && (!word || strcmp(i->word[k], word) != 0))
        k++;
    if (k < i->n) {
        *i->count = k;
        return;
    }
    for (k = 0; k < i->n; k++)
        text_add(all, sizeof all, "%s%s", k ? ", " : "", i->word[k]);
    lines_fail(l, LM_E_NOTFOUND, "'%.40s' is none of %s", word ? word : "", all);
}

void lines_items(lines *l, const line_item *items)
{
    for (const line_item *i = items; i->kind != LINE_END && !l->status; i++)
        if (l->out)
            write_item(l->out, i);
        else if (i->kind == LINE_REAL || i->kind == LINE_SINGLE)
            read_numbers(l, i);
        else if (i->kind == LINE_COUNT)
            read_counts(l, i);
        else if (i->kind == LINE_CHOICE)
            read_choice(l, i);
        else
            read_text(l, i);
}

bool lines_line(lines *l, const char *word, const line_item *items)
{
    if (lines_begin(l, word))
        lines_items(l, items);
    lines_end(l);
    return !l->status;
}
