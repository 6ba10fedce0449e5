/** A result as rows and columns: aligned text, CSV or JSON. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include <layermeter/error.h>

#include "base/lists.h"
#include "report/json.h"

/** Values of --format. */
typedef enum { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON } format;

/** How rows are shown. */
typedef struct table_look {
    format    format;
    bool      wide;    /**< text: all columns; else those that fit */
    word_list columns; /**< keys of the shown columns, in order; none: the table's default */
} table_look;

typedef struct table table;

/** A new table. table_print() reports if memory ran out. */
table *table_new(void);
void   table_free(table *t);

/** In place of decimals, for positive values that are not differences: so many decimals, or more,
 * to show two significant digits. (The last digits of a difference depend on the processor.) */
#define TABLE_POSITIVE(decimals) (-2 - (decimals)) /* and back */
/** The same for milliseconds, which may be 0 or differences: less than a picosecond counts as 0. */
#define TABLE_MS(decimals) (-100 - (decimals)) /* and back */
/** The same for seconds; long times become minutes or hours: "12.5 min". */
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
 * Sets the appearance in text of the last added column.
 *
 * @param yields priority if the table is too wide: lower numbers first, all columns of a number
 *               together, while they fit; 0: always shown; below 0: the same without the sign, in
 *               terminals only, for commands without --wide
 * @param once   if all rows have the same value, a line "once: value" below replaces the column
 *               (none for an empty text); not copied. "": only a column without any value is left
 *               away, without a line. NULL: never
 */
void table_column_look(table *t, int yields, const char *once);
/** Shows all columns in text. */
void table_widen(table *t);
/** Notes a wanted column that the table lacks; table_print() reports it. */
void table_lacks(table *t, const char *key);

/** Cells fill the columns from left to right; a full row is followed by a new one. */
void table_text(table *t, const char *text);
void table_count(table *t, uint64_t value);
/** Adds a number. NAN is an empty cell, null in JSON. */
void table_real(table *t, double value);

/** Prints the table. Text uses "-" for empty cells and the width of the terminal behind `out`, else
 * TABLE_WIDTH; a line below names omitted columns. If no column yields, all are shown outside a
 * terminal; in one, those to the right yield first, and long texts in the last column are folded.
 * LM_E_NOTFOUND: see table_lacks(). */
#define TABLE_WIDTH 100
lm_status table_print(const table *t, format f, FILE *out, lm_error *err);
/** Writes the shown columns as an HTML table. */
void table_html(const table *t, FILE *out);
/** Writes an array of objects as the value of `key` in an open JSON object. */
void table_json(const table *t, json *j, const char *key);

#endif
