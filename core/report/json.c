/* JSON written as it comes. Writing only: a library would bring a document tree for it. */
#include "report/json.h"

#include <inttypes.h>
#include <math.h>

#include "base/text.h"

static void put_string(FILE *out, const char *s)
{
    putc('"', out);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            fprintf(out, "\\u%04x", (unsigned)*s);
        else
            putc(*s, out);
    }
    putc('"', out);
}

static void begin(json *j, const char *key)
{
    if (j->started)
        putc(',', j->out);
    if (j->one_line && j->started)
        putc(' ', j->out);
    else if (j->depth && !j->one_line)
        fprintf(j->out, "\n%*s", (int)(2 * j->depth), "");
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
        fprintf(j->out, "\n%*s", (int)(2 * j->depth), "");
    putc(bracket, j->out);
    if (!j->depth)
        putc('\n', j->out);
    j->started = j->depth || !j->one_line; /* each line is a text of its own */
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

void json_real(json *j, const char *key, double value)
{
    char text[40];

    begin(j, key);
    fputs(isfinite(value) ? text_exact(value, text, sizeof text) : "null", j->out);
}

void json_bool(json *j, const char *key, bool value)
{
    begin(j, key);
    fputs(value ? "true" : "false", j->out);
}
