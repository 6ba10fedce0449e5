/**
 * Fields of a record: each is one row of a table, which says its name, unit, heads, digits, when it
 * is shown, what it means and where its value lies. Printed tables, CSV, JSON, pages of HTML and
 * the data of pictures all take their columns from such rows.
 */
#ifndef REPORT_FIELDS_H
#define REPORT_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/table.h"

/** Where fields are shown. */
typedef enum field_place {
    IN_TABLE = 1 << FORMAT_TABLE,
    IN_CSV   = 1 << FORMAT_CSV,
    IN_JSON  = 1 << FORMAT_JSON,
    IN_PAGE  = 1 << (FORMAT_JSON + 1),
    IN_DATA  = 1 << (FORMAT_JSON + 2), /**< of pictures */
    IN_FILES = IN_CSV | IN_JSON
} field_place;

/** The place of a --format. */
field_place field_place_of(format f);

typedef enum field_kind {
    FIELD_NONE,  /**< an unknown value; a row of this kind is described elsewhere */
    FIELD_REAL,  /**< double; NAN: unknown */
    FIELD_COUNT, /**< uint64_t */
    FIELD_WHOLE, /**< int64_t; below 0: unknown */
    FIELD_TEXT,  /**< const char *; NULL: unknown */
    FIELD_CHARS, /**< char[] within the record */
    FIELD_FLAG   /**< bool: "yes" or "no", in JSON true or false */
} field_kind;

/** A function's text fits this. */
#define FIELD_TEXT_MAX 320

typedef struct field {
    const char *key; /**< in CSV and JSON, with its unit: forward_ms; NULL: the end of the table */
    const char *title; /**< head in a printed table; NULL: not shown there */
    const char *page;  /**< head on a page of HTML; NULL: not shown there */

    /* Where the value lies: a member, by FIELD_AT(); else one of the functions. `i` counts the
     * columns that `each` makes. A text may be written to `room`, of FIELD_TEXT_MAX bytes. With a
     * member or a number beside `text`, the text goes first unless it is NULL. */
    field_kind kind;
    size_t     at;
    double (*real)(const void *record, size_t i);
    uint64_t (*count)(const void *record, size_t i);
    const char *(*text)(const void *record, size_t i, char *room);

    const char *unit;       /**< of what is shown: "ms", "W"; NULL: none */
    double      times, per; /**< shown is value * times / per; 0: as 1 */
    double for_people; /**< where people read it, instead: value / for_people; 0: as elsewhere */
    int    digits;     /**< as table_column() takes them */

    unsigned when;   /**< facts that must hold wherever it is shown */
    unsigned worth;  /**< facts that must hold, too, where people read it: in tables, on pages */
    unsigned not_in; /**< places that leave it out */

    /* In printed tables, as table_column_look() takes them. */
    int         yields;
    const char *once;

    /** A column for each name, until NULL; the name takes the place of %s in key and heads.
     * `whole` NULL: of all that there may be. */
    const char *(*each)(const void *whole, size_t i);
    const char *help; /**< a sentence */
} field;

/** The value is a member of the record, of a type that tells the kind. */
/* clang-format off */
#define FIELD_AT(T, member)                            \
    .at   = offsetof(T, member),                       \
    .kind = _Generic(((T *)0)->member,                 \
        double: FIELD_REAL, uint64_t: FIELD_COUNT, int64_t: FIELD_WHOLE, \
        const char *: FIELD_TEXT, char *: FIELD_CHARS, bool: FIELD_FLAG)
/* clang-format on */
/** The value is an expression of the record `r`, and of `i`: a function for `.real` and so on. */
#define FIELD_FUNCTION(type, name, T, value)       \
    static type name(const void *record, size_t i) \
    {                                              \
        const T *r = record;                       \
                                                   \
        (void)i;                                   \
        return value;                              \
    }
#define REAL_OF(name, T, value)  FIELD_FUNCTION(double, name, T, value)
#define COUNT_OF(name, T, value) FIELD_FUNCTION(uint64_t, name, T, (uint64_t)(value))
#define TEXT_OF(name, T, value)                                       \
    static const char *name(const void *record, size_t i, char *room) \
    {                                                                 \
        const T *r = record;                                          \
                                                                      \
        (void)i;                                                      \
        (void)room;                                                   \
        return value;                                                 \
    }

/** Seconds shown as milliseconds, others as they are. */
#define IN_MS          .unit = "ms", .times = 1e3, .digits = TABLE_MS(2)
#define IN_UNIT(u, d)  .unit = u, .digits = d
#define WITH_DIGITS(d) .digits = d
/** Shares shown as percent. */
#define IN_PERCENT .unit = "%", .times = 100, .digits = 1
/** Bytes, which people read in MB or GB. */
#define IN_MB .unit = "B", .for_people = 1e6, .digits = 1
#define IN_GB .unit = "B", .for_people = 1e9, .digits = 3

/** For `each`: one column, whose name is the text behind `whole`. */
const char *field_named(const void *whole, size_t i);

/** Which fields of a table are shown, and how. */
typedef struct field_view {
    const field *fields;
    /** Rows of `fields` without a value take kind, value, unit, digits, `each` and help of the row
     * with their key in this table; NULL: there are none. */
    const field *from;
    field_place  in;
    unsigned     facts; /**< that hold: bits to which the table gives a meaning */
    const void  *whole; /**< what `each` looks at */
    int          ms;    /**< digits of milliseconds on a page */

    const table_look *look; /**< of tables and CSV; NULL: nothing is asked for */
} field_view;

/** Rows and columns of a view. */
#define FIELD_COLUMNS_MAX 96
typedef struct field_rows {
    table *t; /**< the caller frees it */
    bool   for_people;
    size_t n;
    struct {
        const field *of;
        size_t       i;
    } column[FIELD_COLUMNS_MAX];
} field_rows;

/** The columns of a view, without rows. Running out of memory is told by table_print(). */
field_rows field_rows_of(const field_view *v);
/** The columns of a view behind those of a table, which the caller owns: rows are then made of
 * several records, a field_row() each, in the order of their columns. */
field_rows field_rows_in(table *t, const field_view *v);
void       field_row(field_rows *rows, const void *record);
/** Prints them unless `status` is a failure, which it then returns; frees them. */
lm_status field_rows_print(const field_rows *rows, format f, FILE *out, lm_status status,
                           lm_error *err);

/** The fields of one record as keys of an open JSON object; what is unknown becomes null. */
void fields_json(const field_view *v, const void *record, json *j);

/** The fields of one record with a head on pages, a line each: head, value and unit. What is unknown
 * or an empty text has no line. */
void fields_lines(const field_view *v, const void *record, FILE *out);

/** Values of one record on a line, for gnuplot: what is unknown or a text is NaN. */
void fields_data(const field_view *v, const void *record, FILE *out);
/** Where a key stands on that line, from 1; it must be there. Of tables without `each`. */
int fields_column(const field *fields, const char *key);
/** The keys of that line, behind a #. */
void fields_data_head(const field_view *v, FILE *out);

/** Are these the keys of columns? LM_E_NOTFOUND: the text names one that is none. */
lm_status fields_check(const field *fields, const field *from, const word_list *keys,
                       lm_error *err);

/** A line on each column: its key, its unit and what it means. `from` as of a view. */
lm_status fields_help(const field *fields, const field *from, FILE *out, lm_error *err);

#endif
