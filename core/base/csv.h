/** CSV as in RFC 4180, with `#` comment lines before the header. */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <layermeter/error.h>

#define CSV_MAX_COLUMNS 256

/** Reads records out of a text in memory, in place: fields point into it. */
typedef struct csv_reader {
    const char *path; /**< for messages */
    char       *next;
    int         line;      /**< line of the record read last */
    int         next_line; /**< line of the next record */
    bool        unended;   /**< the last record has no newline at its end */
} csv_reader;

void csv_open(csv_reader *csv, const char *path, char *text);

/** The next comment line without its '#' and newline; NULL if the next line is none. */
char *csv_comment(csv_reader *csv);

/**
 * Reads the next record and skips empty lines. *n is 0 at the end. LM_E_SYNTAX ("path:line: ...")
 * for stray or open quotes and for too many fields.
 */
lm_status csv_record(csv_reader *csv, char *field[CSV_MAX_COLUMNS], size_t *n, lm_error *err);

/** Writes a field, in quotes where CSV requires them. */
void csv_put(FILE *out, const char *field);

#endif
