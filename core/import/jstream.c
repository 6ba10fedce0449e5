/* JSON, byte by byte. */
#include "import/jstream.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

lm_status jstream_open(const char *path, const char *what, jstream **out, lm_error *err)
{
    jstream *s = calloc(1, sizeof *s);

    if (!s)
        return no_memory(err);
    s->path = path;
    s->what = what;
    s->err  = err;
    s->file = fopen(path, "r");
    if (!s->file) {
        lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
        free(s);
        return err->code;
    }
    *out = s;
    return LM_OK;
}

void jstream_close(jstream *s)
{
    if (s)
        fclose(s->file);
    free(s);
}

/* The next byte; EOF. */
static int next(jstream *s)
{
    if (s->at == s->n) {
        s->before += s->n;
        s->at = 0;
        s->n  = fread(s->buffer, 1, JSTREAM_BYTES, s->file);
        if (!s->n)
            return EOF;
    }
    return s->buffer[s->at++];
}

int jstream_token(jstream *s)
{
    int c;

    do
        c = next(s);
    while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
    return c;
}

lm_status jstream_damaged(const jstream *s, const char *why)
{
    if (ferror(s->file))
        return lm_error_set(s->err, LM_E_IO, "%s: %s", s->path, strerror(errno));
    return lm_error_set(s->err, LM_E_SYNTAX, "%s: byte %llu: %s: %s", s->path,
                        (unsigned long long)(s->before + s->at), why, s->what);
}

/* Reads a text after its opening quote. Bytes beyond `room` are skipped; `room` 0: all of them. */
static lm_status read_text(jstream *s, char *out, size_t room)
{
    size_t n = 0;
    int    c;

    while ((c = next(s)) != '"') {
        if (c == '\\')
            c = next(s);
        if (c == EOF)
            return jstream_damaged(s, "a text without an end");
        if (n + 1 < room)
            out[n++] = (char)c;
    }
    if (room)
        out[n] = '\0';
    return LM_OK;
}

static bool ends_number(int c)
{
    return c == EOF || c == ',' || c == ']' || c == '}' || c == ' ' || c == '\t' || c == '\n' ||
           c == '\r';
}

/* Reads a number, true, false or null with the first byte c. NAN: no number. */
static void read_number(jstream *s, int c, double *out)
{
    char   text[48];
    size_t n = 0;
    char  *end;

    while (!ends_number(c)) {
        if (n + 1 < sizeof text)
            text[n++] = (char)c;
        c = next(s);
    }
    if (c != EOF)
        s->at--;
    text[n] = '\0';
    *out    = strtod(text, &end);
    if (*end || end == text || !isfinite(*out))
        *out = NAN;
}

lm_status jstream_skip(jstream *s, int c)
{
    uint64_t depth = 0;
    double   ignored;

    for (;; c = jstream_token(s)) {
        lm_status status = LM_OK;

        if (c == EOF)
            return jstream_damaged(s, "cut short");
        if (c == '"')
            status = read_text(s, NULL, 0);
        else if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--; /* one at depth 0 is no value: jstream_members() sees what follows */
        else if (c == ',' || c == ':')
            status = depth ? LM_OK : jstream_damaged(s, "expected a value");
        else
            read_number(s, c, &ignored);
        if (status || !depth || depth == UINT64_MAX)
            return status;
    }
}

lm_status jstream_members(jstream *s, jstream_member *take, void *context)
{
    char      key[128];
    int       c = jstream_token(s);
    lm_status status;

    while (c != '}') {
        if (c != '"')
            return jstream_damaged(s, c == EOF ? "cut short" : "expected a key");
        if ((status = read_text(s, key, sizeof key)))
            return status;
        if (jstream_token(s) != ':')
            return jstream_damaged(s, "expected a colon");
        if ((status = take(s, key, jstream_token(s), context)))
            return status;
        c = jstream_token(s);
        if (c == ',')
            c = jstream_token(s);
        else if (c != '}')
            return jstream_damaged(s, c == EOF ? "cut short" : "expected a comma");
    }
    return LM_OK;
}

lm_status jstream_text(jstream *s, int c, char *out, size_t room)
{
    return c == '"' ? read_text(s, out, room) : jstream_skip(s, c);
}

lm_status jstream_number(jstream *s, int c, double *out)
{
    if (c == '"' || c == '{' || c == '[')
        return jstream_skip(s, c);
    read_number(s, c, out);
    return LM_OK;
}
