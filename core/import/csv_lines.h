/** CSV files of any size: one record per line, columns by name. */
#ifndef IMPORT_CSV_LINES_H
#define IMPORT_CSV_LINES_H

#include <stdio.h>

#include "base/csv.h"

typedef struct csv_lines {
    FILE       *file;
    const char *path;
    char       *text;                    /**< the line, CSV_LINE_BYTES */
    char       *field[CSV_MAX_COLUMNS];  /**< of the record */
    char       *column[CSV_MAX_COLUMNS]; /**< names of columns, after csv_lines_head() */
    size_t      n, n_columns;
    int         line;
} csv_lines;

/** Limit of a line. */
#define CSV_LINE_BYTES ((size_t)1 << 20)

/** LM_E_IO, LM_E_NOMEM; csv_lines_close() in either case. */
lm_status csv_lines_open(csv_lines *csv, const char *path, lm_error *err);
void      csv_lines_close(csv_lines *csv);
/** Reads the next record and skips empty lines; n is 0 at the end. LM_E_SYNTAX with path and
 * line. */
lm_status csv_lines_next(csv_lines *csv, lm_error *err);
/** Takes the present record as names of columns. LM_E_NOMEM. */
lm_status csv_lines_head(csv_lines *csv, lm_error *err);
/** Number of a column; CSV_MAX_COLUMNS: none. */
size_t csv_lines_column(const csv_lines *csv, const char *name);
/** A number of the record; NAN: an empty field, another text, or no such column. */
double csv_lines_real(const csv_lines *csv, size_t column);

#endif
