/* Writes JSON as it comes. A library would need a whole document tree. */
#include "report/json.h"

#include <inttypes.h>
#include <math.h>

#include "base/text.h"

/* Length of the text up to the next byte that must be escaped. */
static size_t plain(const char *s)
{
    size_t n = 0;

    while ((unsigned char)s[n] >= 0x20 && s[n] != '"' && s[n] != '\\')
        n++;
    return n;
}

static void put_string(FILE *out, const char *s)
{
    putc('"', out);
    for (;; s++) {
        const size_t n = plain(s);

        fwrite(s, 1, n, out);
        s += n;
        if (!*s)
            break;
        if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else
            fprintf(out, "\\u%04x", (unsigned)*s);
    }
    putc('"', out);
}

static void new_line(const json *j)
{
    static const char blanks[] = "\n                ";
    size_t            n        = 2 * (size_t)j->depth + 1;

    for (const char *from = blanks; n; from = blanks + 1) {
        const size_t most = sizeof blanks - 1 - (size_t)(from - blanks), now = n < most ? n : most;

        fwrite(from, 1, now, j->out);
        n -= now;
    }
}

static void begin(json *j, const char *key)
{
    if (j->started)
        putc(',', j->out);
    if (j->one_line && j->started)
        putc(' ', j->out);
    else if (j->depth && !j->one_line)
        new_line(j);
    if (key) {
        put_string(j->out, key);
        fputs(": ", j->out);
    }
    j->started = true;
}

void json_open(json *j, const char *key, char bracket)
{
    begin(j, key);
    putc(bracket, j->out);
    j->depth++;
    j->started = false;
}

void json_close(json *j, char bracket)
{
    j->depth--;
    if (j->started && !j->one_line)
        new_line(j);
    putc(bracket, j->out);
    if (!j->depth)
        putc('\n', j->out);
    j->started = j->depth || !j->one_line; /* each line is a document of its own */
}

void json_text(json *j, const char *key, const char *value)
{
    begin(j, key);
    if (value)
        put_string(j->out, value);
    else
        fputs("null", j->out);
}

void json_count(json *j, const char *key, uint64_t value)
{
    begin(j, key);
    fprintf(j->out, "%" PRIu64, value);
}

void json_number(json *j, const char *key, const char *value)
{
    begin(j, key);
    fputs(value, j->out);
}

void json_real(json *j, const char *key, double value)
{
    char text[40];

    json_number(j, key, isfinite(value) ? text_exact(value, text, sizeof text) : "null");
}

void json_bool(json *j, const char *key, bool value)
{
    begin(j, key);
    fputs(value ? "true" : "false", j->out);
}
