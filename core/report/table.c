/* A result as rows and columns. */
#include "report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "report/html.h"
#include "report/table_cells.h"

table *table_new(void)
{
    return calloc(1, sizeof(table));
}

void table_free(table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_cells; i++)
        if (t->cell[i].kind == CELL_TEXT)
            free(t->cell[i].u.text);
    for (size_t i = 0; i < t->n_columns; i++) {
        free(t->column[i].key);
        free(t->column[i].title);
    }
    free_all(t->column, t->cell, t);
}

void table_column(table *t, const char *key, const char *title, int decimals)
{
    if (!t || t->failed)
        return;
    if (t->n_columns == t->column_room) {
        const size_t room = t->column_room ? 2 * t->column_room : 16;
        table_col   *more = realloc(t->column, room * sizeof *more);

        t->failed = !more;
        if (!more)
            return;
        t->column      = more;
        t->column_room = room;
    }
    t->column[t->n_columns] = (table_col){ .key      = strdup(key),
                                           .title    = title ? strdup(title) : NULL,
                                           .decimals = decimals };
    t->failed = !t->column[t->n_columns].key || (title && !t->column[t->n_columns].title);
    t->n_columns++;
}

void table_column_look(table *t, int yields, const char *once)
{
    if (!t || t->failed)
        return;
    t->column[t->n_columns - 1].yields = yields;
    t->column[t->n_columns - 1].once   = once;
}

void table_widen(table *t)
{
    if (t)
        t->wide = true;
}

void table_lacks(table *t, const char *key)
{
    if (t)
        snprintf(t->lacks, sizeof t->lacks, "%s", key);
}

static void add(table *t, table_cell c)
{
    if (t && !t->failed && t->n_cells == t->cell_room) {
        const size_t room = t->cell_room ? 2 * t->cell_room : 256;
        table_cell  *more = realloc(t->cell, room * sizeof *more);

        t->failed = !more;
        if (more) {
            t->cell      = more;
            t->cell_room = room;
        }
    }
    if (t && !t->failed)
        t->cell[t->n_cells++] = c;
    else if (c.kind == CELL_TEXT)
        free(c.u.text);
}

void table_text(table *t, const char *text)
{
    char *copy = strdup(text);

    if (t && !copy)
        t->failed = true;
    add(t, (table_cell){ CELL_TEXT, { .text = copy } });
}

void table_count(table *t, uint64_t value)
{
    add(t, (table_cell){ CELL_COUNT, { .count = value } });
}

void table_real(table *t, double value)
{
    add(t, (table_cell){ CELL_REAL, { .real = value } });
}

/* Limits between which whole numbers replace exponents: 1850, not 1.85e+03. */
#define WHOLE_LEAST 999.5
#define WHOLE_END   1e9

/* Nothing shorter is measured. */
#define LEAST_MS 1e-9

#define DECIMALS_MOST 9

static size_t significant(const char *number)
{
    size_t n = 0;

    for (number += strspn(number, "-0."); *number; number++)
        n += *number != '.';
    return n;
}

static void print_positive(double value, int decimals, char *buffer, size_t size)
{
    snprintf(buffer, size, "%.*f", decimals < DECIMALS_MOST ? decimals : DECIMALS_MOST, value);
    if (value != 0 && significant(buffer) < 2)
        snprintf(buffer, size, "%.2g", value);
}

const char *table_cell_print(const table_cell *c, int decimals, char *buffer, size_t size)
{
    switch (c->kind) {
    case CELL_TEXT: return c->u.text;
    case CELL_COUNT: return text_grouped(c->u.count, buffer, size);
    case CELL_REAL: break;
    }
    if (isnan(c->u.real))
        return "-";
    if (decimals == TABLE_DURATION)
        return text_duration(c->u.real, buffer, size);
    if (decimals >= 0) {
        snprintf(buffer, size, "%.*f", decimals, c->u.real);
        /* a rounded 0 has no sign: the last digits of a sum depend on the processor */
        return *buffer == '-' && !significant(buffer) ? buffer + 1 : buffer;
    }
    if (decimals <= TABLE_MS(0)) {
        print_positive(fabs(c->u.real) < LEAST_MS ? 0 : c->u.real, TABLE_MS(decimals), buffer,
                       size);
        return buffer;
    }
    if (decimals <= TABLE_POSITIVE(0)) {
        print_positive(c->u.real, TABLE_POSITIVE(decimals), buffer, size);
        return buffer;
    }
    if (fabs(c->u.real) >= WHOLE_LEAST && fabs(c->u.real) < WHOLE_END)
        snprintf(buffer, size, "%.0f", c->u.real);
    else
        snprintf(buffer, size, "%.3g", c->u.real);
    return buffer;
}

/* ---- CSV, JSON, HTML ---- */

/* All digits; `none` if it is not finite. */
static const char *exact(table_col *c, double value, const char *none)
{
    if (!isfinite(value))
        return none;
    if (!*c->digits || memcmp(&c->said, &value, sizeof value) != 0)
        text_exact(value, c->digits, sizeof c->digits);
    c->said = value;
    return c->digits;
}

/* Spreadsheets take what begins with one of these for a formula: names do, numbers may. */
static bool is_formula(const char *text)
{
    return *text && strchr("=+-@", *text) && text[1] && !strchr("0123456789. ", text[1]);
}

static void put_csv_text(const char *text, FILE *out)
{
    const size_t n      = strlen(text) + 2;
    char        *quoted = is_formula(text) ? malloc(n) : NULL;

    if (quoted)
        snprintf(quoted, n, "'%s", text);
    csv_put(out, quoted ? quoted : text);
    free(quoted);
}

static void print_csv(const table *t, FILE *out)
{
    for (size_t j = 0; j < t->n_columns; j++) {
        csv_put(out, t->column[j].key);
        putc(j + 1 < t->n_columns ? ',' : '\n', out);
    }
    for (size_t i = 0; i < t->n_cells; i++) {
        const table_cell *c = &t->cell[i];

        if (c->kind == CELL_TEXT)
            put_csv_text(c->u.text, out);
        else if (c->kind == CELL_COUNT)
            fprintf(out, "%" PRIu64, c->u.count);
        else
            fputs(exact(&t->column[i % t->n_columns], c->u.real, ""), out);
        putc((i + 1) % t->n_columns ? ',' : '\n', out);
    }
}

void table_json(const table *t, json *j, const char *key)
{
    json_open(j, key, '[');
    for (size_t i = 0; t && i < t->n_cells; i++) {
        const table_cell *c  = &t->cell[i];
        table_col        *co = &t->column[i % t->n_columns];

        if (i % t->n_columns == 0)
            json_open(j, NULL, '{');
        if (c->kind == CELL_TEXT)
            json_text(j, co->key, c->u.text);
        else if (c->kind == CELL_COUNT)
            json_count(j, co->key, c->u.count);
        else
            json_number(j, co->key, exact(co, c->u.real, "null"));
        if ((i + 1) % t->n_columns == 0)
            json_close(j, '}');
    }
    json_close(j, ']');
}

/* Text to the left, numbers to the right; the first cell of a row is its head. */
static void html_cell(const table *t, size_t i, FILE *out)
{
    const size_t j    = i % t->n_columns;
    const char  *kind = t->cell[i].kind == CELL_TEXT ? "" : " class=\"n\"";
    char         buffer[64];

    fputs(j ? "" : "<tr>", out);
    fprintf(out, j ? "<td%s" : "<th scope=\"row\"%s", kind);
    if (j && t->column[j].title) {
        fputs(" data-of=\"", out);
        html_text(out, t->column[j].title);
        fputs("\"", out);
    }
    putc('>', out);
    html_text(out, table_cell_print(&t->cell[i], t->column[j].decimals, buffer, sizeof buffer));
    fputs(j ? "</td>" : "</th>", out);
}

/* Tables of more columns are lists on narrow screens. */
#define HTML_NARROW 3

void table_html(const table *t, FILE *out)
{
    size_t shown = 0;

    while (t && shown < t->n_columns && t->column[shown].title)
        shown++;
    fprintf(out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"table\"><table%s>\n"
            "<thead><tr>",
            shown > HTML_NARROW ? " class=\"wide\"" : "");
    for (size_t j = 0; j < shown; j++) {
        const bool left = j < t->n_cells && t->cell[j].kind == CELL_TEXT;

        fprintf(out, "<th scope=\"col\"%s>", left ? "" : " class=\"n\"");
        html_text(out, t->column[j].title);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t i = 0; t && i < t->n_cells; i++) {
        if (i % t->n_columns < shown)
            html_cell(t, i, out);
        if ((i + 1) % t->n_columns == 0)
            fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

lm_status table_print(const table *t, format f, FILE *out, lm_error *err)
{
    if (!t || t->failed)
        return no_memory(err);
    if (*t->lacks)
        return lm_error_set(err, LM_E_NOTFOUND, "--columns: '%s' has no values here", t->lacks);
    if (f == FORMAT_CSV) {
        print_csv(t, out);
    } else if (f == FORMAT_JSON) {
        json j = { .out = out };

        json_open(&j, NULL, '{');
        table_json(t, &j, "rows");
        json_close(&j, '}');
    } else {
        return table_print_aligned(t, out, err);
    }
    return LM_OK;
}
