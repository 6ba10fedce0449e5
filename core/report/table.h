/** A result as rows and columns: aligned text, CSV or JSON. */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include <layermeter/error.h>

#include "report/json.h"

/** As the words of --format. */
typedef enum { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON } format;

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

/**
 * @param key      column name in CSV and JSON, with the unit: forward_ms
 * @param title    head of the printed table, with the unit: "forward [ms]"
 *              NULL: only in CSV and JSON; such columns stand behind all others
 * @param decimals of printed reals; -1: three significant digits; or
 *              TABLE_POSITIVE() or TABLE_MS(). CSV and JSON hold every digit.
 */
void table_column(table *t, const char *key, const char *title, int decimals);

/** Cells fill the columns from left to right; a full row is followed by a new one. */
void table_text(table *t, const char *text);
void table_count(table *t, uint64_t value);
/** NAN is an empty cell, null in JSON. */
void table_real(table *t, double value);

/** Text and CSV; "-" stands for empty cells in text. */
lm_status table_print(const table *t, format f, FILE *out, lm_error *err);
/** The columns that are printed, as a table of HTML. */
void table_html(const table *t, FILE *out);
/** An array of objects, as the value of `key` in an open JSON object. */
void table_json(const table *t, json *j, const char *key);

#endif
