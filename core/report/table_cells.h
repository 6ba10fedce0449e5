/** Inside of a table, for the files that print it. */
#ifndef REPORT_TABLE_CELLS_H
#define REPORT_TABLE_CELLS_H

#include "report/table.h"

typedef enum { CELL_TEXT, CELL_COUNT, CELL_REAL } table_cell_kind;

typedef struct table_cell {
    table_cell_kind kind;
    union {
        char    *text;
        uint64_t count;
        double   real;
    } u;
} table_cell;

typedef struct table_col {
    char       *key, *title;
    const char *once;
    int         decimals, yields;
    double      said; /* the last real and its digits: values often repeat */
    char        digits[26];
} table_col;

struct table {
    table_col  *column;
    table_cell *cell;
    size_t      n_columns, n_cells, column_room, cell_room;
    bool        wide, failed; /* failed: memory ran out */
    char        lacks[64];    /* a column that was asked for; "": none */
};

/** The cell as text and pages show it, in `buffer` unless it is a text. */
const char *table_cell_print(const table_cell *c, int decimals, char *buffer, size_t size);

/** table_print() as aligned text. */
lm_status table_print_aligned(const table *t, FILE *out, lm_error *err);

#endif
