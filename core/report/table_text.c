/* A table as aligned text, for terminals and files. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "report/table_cells.h"

/* Counts characters, not bytes: names may hold UTF-8. */
static int width_of(const char *s)
{
    int n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

static void pad(FILE *out, int n)
{
    while (n-- > 0)
        putc(' ', out);
}

/* Which columns are printed, and how wide. */
typedef struct widths {
    int   *width, *yields;
    bool  *shown, *once;
    size_t folded; /* column of long texts, the last one; SIZE_MAX: none */
} widths;

/* Of folded texts at least so much stands in a line. */
#define FOLDED_LEAST 30

static const char *text_at(const table *t, size_t i, char *buffer, size_t size)
{
    return table_cell_print(&t->cell[i], t->column[i % t->n_columns].decimals, buffer, size);
}

/* Do all rows have the same in this column? */
static bool agree(const table *t, size_t j)
{
    char first[64], other[64];

    if (j >= t->n_cells)
        return false;
    for (size_t i = j + t->n_columns; i < t->n_cells; i += t->n_columns)
        if (strcmp(text_at(t, j, first, sizeof first), text_at(t, i, other, sizeof other)) != 0)
            return false;
    return true;
}

/* Has this column no value in any row? */
static bool is_empty(const table *t, size_t j)
{
    size_t i = j;

    while (i < t->n_cells && t->cell[i].kind == CELL_REAL && isnan(t->cell[i].u.real))
        i += t->n_columns;
    return j < t->n_cells && i >= t->n_cells;
}

/* Does the command have --wide? */
static bool can_widen(const table *t)
{
    size_t j = 0;

    while (j < t->n_columns && t->column[j].yields <= 0)
        j++;
    return j < t->n_columns;
}

/* Sets which columns yield. Without any word on it those to the right do first: true. */
static bool rank(const table *t, bool terminal, widths *l)
{
    const bool widens = can_widen(t);
    bool       silent = !widens;

    for (size_t j = 0; j < t->n_columns; j++)
        silent &= !t->column[j].yields;
    for (size_t j = 0; j < t->n_columns; j++)
        l->yields[j] = t->wide || (!widens && !terminal) ? 0
                       : silent                          ? (int)j
                       : widens                          ? t->column[j].yields
                                                         : -t->column[j].yields;
    return silent;
}

/* The columns that always stand in the table, and the width of all. */
static void measure(const table *t, bool terminal, widths *l)
{
    const bool silent = rank(t, terminal, l);
    size_t     last   = 0;
    char       buffer[64];

    for (size_t j = 0; j < t->n_columns && t->column[j].title; j++) {
        l->once[j]  = t->column[j].once && (*t->column[j].once ? agree(t, j) : is_empty(t, j));
        l->width[j] = width_of(t->column[j].title);
        l->shown[j] = !l->once[j] && !l->yields[j];
        last        = l->shown[j] || silent ? j : last;
    }
    for (size_t i = 0; i < t->n_cells; i++) {
        const size_t j = i % t->n_columns;
        const int    w = t->column[j].title ? width_of(text_at(t, i, buffer, sizeof buffer)) : 0;

        if (w > l->width[j])
            l->width[j] = w;
    }
    l->folded = terminal && !can_widen(t) && last && last < t->n_cells &&
                        t->cell[last].kind == CELL_TEXT && l->width[last] > FOLDED_LEAST
                    ? last
                    : SIZE_MAX;
}

/* Is the column left out because the table is too narrow? */
static bool left_out(const table *t, const widths *l, size_t j)
{
    return t->column[j].title && !l->shown[j] && !l->once[j];
}

/* Adds columns to the left of the n-th while they fit, lowest number first; returns what is left. */
static int fill(const table *t, widths *l, size_t n, int room)
{
    int least = 0;

    for (;;) {
        int next = 0, needs = 0;

        for (size_t j = 0; j < n; j++)
            if (left_out(t, l, j) && l->yields[j] > least && (!next || l->yields[j] < next))
                next = l->yields[j];
        if (!next)
            return room;
        for (size_t j = 0; j < n; j++)
            needs += left_out(t, l, j) && l->yields[j] == next ? l->width[j] + 2 : 0;
        for (size_t j = 0; j < n && needs <= room + 2; j++)
            l->shown[j] |= left_out(t, l, j) && l->yields[j] == next;
        room -= needs <= room + 2 ? needs : 0;
        least = next;
    }
}

/* Chooses the columns. Where the folded one does not fit it is the last, and takes what others leave. */
static void choose(const table *t, widths *l, int room)
{
    const int full = l->folded < t->n_columns ? l->width[l->folded] : 0;

    if (full)
        l->shown[l->folded] = true;
    for (size_t j = 0; j < t->n_columns; j++)
        room -= l->shown[j] ? l->width[j] + 2 : 0;
    if (!full ||
        (room + 2 >= 0 && l->folded + 1 < t->n_columns && t->column[l->folded + 1].title)) {
        l->folded = SIZE_MAX;
        fill(t, l, t->n_columns, room);
        return;
    }
    room                = fill(t, l, l->folded, room + full - FOLDED_LEAST);
    l->width[l->folded] = FOLDED_LEAST + (room + 2 > 0 ? room + 2 : 0);
    if (l->width[l->folded] > full)
        l->width[l->folded] = full;
}

/* Names are parts of files: a control character would be a command to the terminal. */
static void put_visible(const char *text, FILE *out)
{
    for (size_t n; *text; text += n ? n : 1) {
        n = text_control(text);
        putc(n ? '?' : *text, out);
    }
}

/* One cell or head; the last of a row ends the line. */
static void print_padded(const char *text, bool left, int width, bool last, FILE *out)
{
    const int gap = width - width_of(text);

    pad(out, left ? 0 : gap);
    put_visible(text, out);
    if (last)
        putc('\n', out);
    else
        pad(out, (left ? gap : 0) + 2);
}

/* How many bytes of a text stand in a line of so many characters: up to a blank, if there is one. */
static size_t line_of(const char *text, int width)
{
    size_t n = 0, blank = 0;

    for (int i = 0; text[n]; n++) {
        i += ((unsigned char)text[n] & 0xC0) != 0x80;
        if (i > width)
            break;
        blank = text[n + 1] == ' ' || !text[n + 1] ? n + 1 : blank;
    }
    return text[n] && text[n] != ' ' && blank ? blank : n;
}

/* The last cell of a row, in lines of the column's width that begin under its head. */
static void print_folded(const char *text, int indent, int width, FILE *out)
{
    char line[400];

    for (size_t n; *text; text += n + strspn(text + n, " ")) {
        n = line_of(text, width);
        n = n < sizeof line ? n : sizeof line - 1;
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        put_visible(line, out);
        putc('\n', out);
        pad(out, text[n] ? indent : 0);
    }
}

static void print_rows(const table *t, const widths *l, FILE *out)
{
    size_t last   = 0;
    int    indent = 0;
    char   buffer[64];

    for (size_t j = 0; j < t->n_columns; j++) {
        last = l->shown[j] ? j : last;
        indent += l->shown[j] && j < l->folded ? l->width[j] + 2 : 0;
    }
    for (size_t j = 0; j < t->n_columns; j++) /* text to the left, numbers to the right */
        if (l->shown[j])
            print_padded(t->column[j].title, j < t->n_cells && t->cell[j].kind == CELL_TEXT,
                         l->width[j], j == last, out);
    for (size_t i = 0; i < t->n_cells; i++) {
        const size_t j = i % t->n_columns;

        if (l->shown[j] && j == l->folded && *t->cell[i].u.text)
            print_folded(t->cell[i].u.text, indent, l->width[j], out);
        else if (l->shown[j])
            print_padded(text_at(t, i, buffer, sizeof buffer), t->cell[i].kind == CELL_TEXT,
                         l->width[j], j == last, out);
    }
}

/* Values that all rows share, and columns that are left out. */
static void print_below(const table *t, const widths *l, FILE *out)
{
    const char *between = "left out: ";
    char        buffer[64];

    for (size_t j = 0; j < t->n_columns; j++) {
        const char *text = l->once[j] ? text_at(t, j, buffer, sizeof buffer) : "";

        if (*text && strcmp(text, "-") != 0)
            fprintf(out, "%s: %s\n", t->column[j].once, text);
    }
    for (size_t j = 0; j < t->n_columns; j++)
        if (left_out(t, l, j)) {
            fprintf(out, "%s%s", between, t->column[j].key);
            between = ", ";
        }
    if (*between == ',')
        fputs(can_widen(t) ? " (--wide)\n" : " (--format csv)\n", out);
}

/* Of the terminal that `out` writes to; 0: it is none. */
static int terminal_width(FILE *out)
{
    struct winsize size;

    return isatty(fileno(out)) && !ioctl(fileno(out), TIOCGWINSZ, &size) ? size.ws_col : 0;
}

lm_status table_print_aligned(const table *t, FILE *out, lm_error *err)
{
    const int    room  = terminal_width(out);
    const size_t n     = t->n_columns + 1;
    widths       l     = { .width  = calloc(n, sizeof *l.width),
                           .yields = calloc(n, sizeof *l.yields),
                           .shown  = calloc(n, sizeof *l.shown),
                           .once   = calloc(n, sizeof *l.once) };
    const bool   found = l.width && l.yields && l.shown && l.once;

    if (found) {
        measure(t, room > 0, &l);
        choose(t, &l, room > 0 ? room : TABLE_WIDTH);
        print_rows(t, &l, out);
        print_below(t, &l, out);
    }
    free_all(l.width, l.yields, l.shown, l.once);
    return found ? LM_OK : no_memory(err);
}
