/** A result as rows and columns: aligned text, CSV or JSON. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include <layermeter/error.h>

#include "base/lists.h"
#include "report/json.h"

/** As the words of --format. */
typedef enum { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON } format;

/** How rows are shown. */
typedef struct table_look {
    format    format;
    bool      wide;    /**< of text: every column, however wide; else those that fit */
    word_list columns; /**< keys of those that are shown, in this order; none: as the table says */
} table_look;

typedef struct table table;

/** Running out of memory is remembered and told by table_print(). */
table *table_new(void);
void   table_free(table *t);

/** Instead of decimals, of what is never 0 and no difference, whose last digits are the processor's
 * own: as many, or those that two significant digits take. */
#define TABLE_POSITIVE(decimals) (-2 - (decimals)) /* and back */
/** The same of milliseconds, which may be 0 and differences: less than a picosecond is a
 * difference's last digits, and 0. */
#define TABLE_MS(decimals) (-100 - (decimals)) /* and back */
/** The same of seconds, which become minutes and hours where they are long: "12.5 min". */
#define TABLE_DURATION (-1000)

/**
 * @param key      column name in CSV and JSON, with the unit: forward_ms
 * @param title    head of the printed table, with the unit: "forward [ms]"
 *              NULL: only in CSV and JSON; such columns stand behind all others
 * @param decimals of printed reals; -1: three significant digits; or
 *              TABLE_POSITIVE(), TABLE_MS() or TABLE_DURATION. CSV and JSON hold every digit.
 */
void table_column(table *t, const char *key, const char *title, int decimals);
/**
 * Of the column that was made last, in text.
 *
 * @param yields where the table is too wide, columns of the lowest number are taken first, all of one
 *               number together, as long as they fit; 0: is always there
 * @param once   where all rows agree, the column becomes a line below, "once: value", or none if
 *               that is empty; not copied. NULL: it stays a column
 */
void table_column_look(table *t, int yields, const char *once);
/** Text shows every column. */
void table_widen(table *t);
/** A column was asked for that this table has not: table_print() says so. */
void table_lacks(table *t, const char *key);

/** Cells fill the columns from left to right; a full row is followed by a new one. */
void table_text(table *t, const char *text);
void table_count(table *t, uint64_t value);
/** NAN is an empty cell, null in JSON. */
void table_real(table *t, double value);

/** "-" stands for empty cells in text, which is as wide as the terminal behind `out`, else
 * TABLE_WIDTH; what was left out is said below. LM_E_NOTFOUND: table_lacks(). */
#define TABLE_WIDTH 100
lm_status table_print(const table *t, format f, FILE *out, lm_error *err);
/** The columns that are printed, as a table of HTML. */
void table_html(const table *t, FILE *out);
/** An array of objects, as the value of `key` in an open JSON object. */
void table_json(const table *t, json *j, const char *key);

#endif
