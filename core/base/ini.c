/* INI files, read by inih. Losses that inih does not report become errors. */
#include "base/ini.h"

#include <ini.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "base/text.h"

#define LINE_MAX_BYTES  197 /* limits of inih with its default build, as in Debian */
#define NAME_MAX_BYTES  191 /* limit of section names: ours, because inih never sees them */
#define VALUE_MAX_BYTES ((size_t)64 * 1024) /* of all lines of a value together */

#define TEXT(number)   TEXT_OF(number)
#define TEXT_OF(token) #token

typedef struct reader {
    ini_document *doc;
    const char   *next;   /* text not yet handed to inih */
    int           line;   /* number of the last line that inih got; inih calls the handler for it */
    bool          joined; /* the line continues the value before it */
    bool          continues; /* the line ends in a backslash: the next one continues it */
    names         by_name;   /* sections */
    names         keys;      /* of the open section */
    size_t        section_room;
    size_t        pair_room;  /* of the open section */
    size_t        value_room; /* of the value that is continued */
    lm_status     status;
    lm_error     *err;
} reader;

/* Returns false. */
static bool fail(reader *r, lm_status code, const char *text)
{
    if (!r->status)
        r->status = lm_error_set(r->err, code, "%s:%d: %s", r->doc->path, r->line, text);
    return false;
}

static bool open_section(reader *r, const char *name, size_t n)
{
    ini_document *doc = r->doc;
    ini_section  *more;
    char         *kept;
    size_t        twin;

    if (n > NAME_MAX_BYTES)
        return fail(r, LM_E_SYNTAX, "section name longer than " TEXT(NAME_MAX_BYTES) " bytes");
    kept = arena_text(doc->arena, name, n);
    more = arena_grow(doc->arena, doc->section, doc->n_sections, &r->section_room, sizeof *more);
    if (!kept || !more)
        return fail(r, LM_E_NOMEM, "out of memory");
    twin = names_find(&r->by_name, kept);
    if (twin != NAMES_NONE) {
        r->status = lm_error_set(r->err, LM_E_SYNTAX,
                                 "%s:%d: section [%s] is already at line %d: give it "
                                 "another name or remove one",
                                 doc->path, r->line, kept, doc->section[twin].line);
        return false;
    }
    doc->section                    = more;
    doc->section[doc->n_sections++] = (ini_section){ .name = kept, .line = r->line };
    r->pair_room                    = 0;
    names_free(&r->keys);
    return names_add(&r->by_name, kept, doc->n_sections - 1) ||
           fail(r, LM_E_NOMEM, "out of memory");
}

static bool printable(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' && s[i] != '\t' && s[i] != '\r')
            return false;
    return true;
}

/* Opens a section at its line, so that inih need not see its name. */
static bool read_section(reader *r, const char *start, size_t n)
{
    const char *close = memchr(start, ']', n);

    if (!close)
        return fail(r, LM_E_SYNTAX, "section without closing ']'");
    for (const char *p = close + 1; p < start + n && *p != ';' && *p != '#'; p++)
        if (*p != ' ' && *p != '\t')
            return fail(r, LM_E_SYNTAX, "text after the closing ']': put it on a line of its own");
    return open_section(r, start + 1, (size_t)(close - start - 1));
}

/* fgets() for inih: one whole line at a time, without indentation. */
static char *read_line(char *buffer, int size, void *context)
{
    static const char section[] = "[s]", joint[] = "=";
    reader           *r = context;
    const char       *start, *end;
    size_t            n, head = 0;

    if (!*r->next || r->status)
        return NULL;
    r->line++;
    start   = r->next;
    end     = strchr(start, '\n');
    r->next = end ? end + 1 : start + strlen(start);
    if (!end)
        end = r->next;
    if (r->line == 1 && !strncmp(start, "\xEF\xBB\xBF", 3))
        start += 3;
    while (start < end && (*start == ' ' || *start == '\t'))
        start++;
    n = (size_t)(end - start);
    if (n && start[n - 1] == '\r')
        n--;
    if (n > LINE_MAX_BYTES || n + 3 > (size_t)size /* "=" before it, and its end */) {
        fail(r, LM_E_SYNTAX,
             "line longer than " TEXT(
                 LINE_MAX_BYTES) " bytes: "
                                 "shorten it, or end it in a backslash and go on in the next");
        return NULL;
    }
    if (!printable(start, n)) {
        fail(r, LM_E_SYNTAX, "control characters: not a text file");
        return NULL;
    }
    r->joined    = r->continues;
    r->continues = n && start[n - 1] == '\\' && *start != ';' && *start != '#';
    n -= r->continues;
    if (r->joined) {
        head = sizeof joint - 1;
        memcpy(buffer, joint, head);
    } else if (n && *start == '[') {
        if (!read_section(r, start, n))
            return NULL;
        start = section;
        n     = sizeof section - 1;
    }
    memcpy(buffer + head, start, n);
    buffer[head + n]     = '\n';
    buffer[head + n + 1] = '\0';
    return buffer;
}

/* Appends a line to the value that ended in a backslash, with a blank between. */
static int join_value(reader *r, const char *more)
{
    ini_section *s = r->doc->n_sections ? &r->doc->section[r->doc->n_sections - 1] : NULL;
    ini_pair    *p = s && s->n_pairs ? &s->pair[s->n_pairs - 1] : NULL;
    const size_t n = p ? strlen(p->value) : 0, added = strlen(more);
    char        *text;

    if (!p)
        return fail(r, LM_E_SYNTAX, "nothing that a backslash could continue");
    if (n + added + 2 > VALUE_MAX_BYTES)
        return fail(r, LM_E_SYNTAX, "value longer than 64 KiB");
    text = (char *)(uintptr_t)p->value;
    if (n + added + 2 > r->value_room) {
        r->value_room = 2 * (n + added + 2);
        text          = arena_alloc(r->doc->arena, r->value_room);
        if (!text)
            return fail(r, LM_E_NOMEM, "out of memory");
        memcpy(text, p->value, n);
    }
    if (n && added)
        text[n] = ' ';
    memcpy(text + n + (n && added), more, added + 1);
    p->value = text;
    return 1;
}

static int take_pair(void *context, const char *section, const char *key, const char *value)
{
    reader      *r = context;
    ini_section *s;
    ini_pair    *more;
    size_t       twin;

    (void)section;
    if (r->status)
        return 0;
    if (r->joined)
        return join_value(r, value);
    if (!r->doc->n_sections)
        return fail(r, LM_E_SYNTAX, "a key before the first [section]");
    s = &r->doc->section[r->doc->n_sections - 1];
    if (!*key)
        return fail(r, LM_E_SYNTAX, "expected 'key = value'");
    twin = names_find(&r->keys, key);
    if (twin != NAMES_NONE) {
        r->status = lm_error_set(r->err, LM_E_SYNTAX, "%s:%d: '%s' is already set at line %d",
                                 r->doc->path, r->line, key, s->pair[twin].line);
        return 0;
    }
    more = arena_grow(r->doc->arena, s->pair, s->n_pairs, &r->pair_room, sizeof *more);
    if (!more)
        return fail(r, LM_E_NOMEM, "out of memory");
    s->pair            = more;
    r->value_room      = 0;
    more[s->n_pairs++] = (ini_pair){ arena_text(r->doc->arena, key, strlen(key)),
                                     arena_text(r->doc->arena, value, strlen(value)), r->line };
    if (!more[s->n_pairs - 1].key || !more[s->n_pairs - 1].value ||
        !names_add(&r->keys, more[s->n_pairs - 1].key, s->n_pairs - 1))
        fail(r, LM_E_NOMEM, "out of memory");
    return r->status == LM_OK;
}

lm_status ini_load_text(const char *path, const char *text, ini_document **out, lm_error *err)
{
    arena        *a   = arena_new();
    ini_document *doc = a ? arena_alloc(a, sizeof *doc) : NULL;
    reader        r   = { .doc = doc, .next = text, .err = err };
    int           bad;

    if (!doc || !(doc->path = arena_text(a, path, strlen(path)))) {
        arena_free(a);
        return no_memory(err);
    }
    doc->arena = a;
    bad        = ini_parse_stream(read_line, &r, take_pair, &r);
    names_free(&r.by_name);
    names_free(&r.keys);
    if (bad > 0 && bad < r.line)
        r.status = LM_OK; /* inih continues after a line that it cannot parse: the first such
                             line is reported */
    if (bad && !r.status) {
        r.line = bad > 0 ? bad : r.line;
        fail(&r, bad > 0 ? LM_E_SYNTAX : LM_E_NOMEM,
             bad > 0 ? "expected 'key = value' or '[section]'" : "out of memory");
    }
    if (r.status) {
        arena_free(a);
        return r.status;
    }
    doc->open_ended = *text && text[strlen(text) - 1] != '\n';
    *out            = doc;
    return LM_OK;
}

lm_status ini_load(const char *path, ini_document **out, lm_error *err)
{
    char     *text;
    size_t    size;
    lm_status status = file_read_text(path, &text, &size, err);

    if (status)
        return status;
    status = ini_load_text(path, text, out, err);
    free(text);
    return status;
}

void ini_free(ini_document *doc)
{
    if (doc)
        arena_free(doc->arena);
}

const ini_section *ini_find(const ini_document *doc, const char *section)
{
    for (size_t i = 0; i < doc->n_sections; i++)
        if (!strcmp(doc->section[i].name, section))
            return &doc->section[i];
    return NULL;
}

const ini_pair *ini_get(const ini_section *section, const char *key)
{
    for (size_t i = 0; section && i < section->n_pairs; i++)
        if (!strcmp(section->pair[i].key, key))
            return &section->pair[i];
    return NULL;
}

lm_status ini_fail(const ini_document *doc, lm_error *err, int line, lm_status code,
                   const char *fmt, ...)
{
    char    text[400];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return lm_error_set(err, code, "%s:%d: %s", doc->path, line, text);
}
