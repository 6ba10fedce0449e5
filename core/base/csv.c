/* CSV as in RFC 4180. Our own reader, since libcsv gives no line numbers and copies every field. */
#include "base/csv.h"

#include <string.h>

#define TEXT(number)   TEXT_OF(number)
#define TEXT_OF(token) #token

void csv_open(csv_reader *csv, const char *path, char *text)
{
    if (!strncmp(text, "\xEF\xBB\xBF", 3))
        text += 3;
    *csv = (csv_reader){ .path = path, .next = text, .next_line = 1 };
}

char *csv_comment(csv_reader *csv)
{
    char *start = csv->next, *end;

    if (*start != '#')
        return NULL;
    end       = strchr(start, '\n');
    csv->line = csv->next_line++;
    csv->next = end ? end + 1 : start + strlen(start);
    if (end)
        *end = '\0';
    if (end && end > start + 1 && end[-1] == '\r')
        end[-1] = '\0';
    return start + 1;
}

static lm_status bad(const csv_reader *csv, const char *text, lm_error *err)
{
    return lm_error_set(err, LM_E_SYNTAX, "%s:%d: %s", csv->path, csv->line, text);
}

/* Moves the text of a quoted field to its front, without the quotes. Returns the character after
 * it. */
static char *unquote(csv_reader *csv, char *p)
{
    char *to = p;

    for (;; p++) {
        if (*p == '\0')
            return NULL;
        if (*p == '\n')
            csv->next_line++;
        if (*p == '"') {
            if (p[1] != '"')
                break;
            p++;
        }
        *to++ = *p;
    }
    *p++ = '\0';
    *to  = '\0';
    return p;
}

lm_status csv_record(csv_reader *csv, char *field[CSV_MAX_COLUMNS], size_t *n, lm_error *err)
{
    char *p = csv->next;

    while (*p == '\n' || (*p == '\r' && p[1] == '\n')) {
        p += *p == '\r' ? 2 : 1;
        csv->next_line++;
    }
    *n        = 0;
    csv->line = csv->next_line;
    if (!*p) {
        csv->next = p;
        return LM_OK;
    }
    for (;;) {
        char ending;

        if (*n == CSV_MAX_COLUMNS)
            return bad(csv, "more than " TEXT(CSV_MAX_COLUMNS) " columns", err);
        if (*p == '"') {
            field[(*n)++] = p + 1;
            p             = unquote(csv, p + 1);
            if (!p) {
                csv->unended = csv->next_line == csv->line;
                return bad(csv, "a quoted field does not end", err);
            }
            if (*p && *p != ',' && *p != '\n' && *p != '\r')
                return bad(csv, "text behind a quoted field", err);
        } else {
            field[(*n)++] = p;
            while (*p && *p != ',' && *p != '"' && *p != '\r' && *p != '\n')
                p++; /* strcspn() would build a table for each call of a few bytes */
            if (*p == '"')
                return bad(csv, "a quote inside an unquoted field", err);
        }
        if (*p == '\r') {
            if (p[1] != '\n')
                return bad(csv, "a carriage return inside a line", err);
            *p++ = '\0';
        }
        ending = *p;
        if (ending)
            *p++ = '\0';
        if (ending == ',')
            continue;
        csv->unended = ending == '\0';
        csv->next    = p;
        csv->next_line++;
        return LM_OK;
    }
}

void csv_put(FILE *out, const char *field)
{
    if (!strpbrk(field, ",\"\r\n")) {
        fputs(field, out);
        return;
    }
    putc('"', out);
    for (; *field; field++) {
        if (*field == '"')
            putc('"', out);
        putc(*field, out);
    }
    putc('"', out);
}
