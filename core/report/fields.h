/**
 * Fields of a record. Each field is one row of a table with name, unit, headings, digits,
 * conditions for showing it, help, and the place of its value. Tables, CSV, JSON, HTML pages and
 * the data of plots take their columns from such rows.
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
    IN_DATA  = 1 << (FORMAT_JSON + 2), /**< data of pictures */
    IN_FILES = IN_CSV | IN_JSON
} field_place;

/** The place for a --format. */
field_place field_place_of(format f);

typedef enum field_kind {
    FIELD_NONE,  /**< an unknown value; a row of this kind is described in another table */
    FIELD_REAL,  /**< double; NAN: unknown */
    FIELD_COUNT, /**< uint64_t */
    FIELD_WHOLE, /**< int64_t; below 0: unknown */
    FIELD_TEXT,  /**< const char *; NULL: unknown */
    FIELD_CHARS, /**< char[] within the record */
    FIELD_FLAG   /**< bool: "yes" or "no", in JSON true or false */
} field_kind;

/** Size of a text that a function writes. */
#define FIELD_TEXT_MAX 320

typedef struct field {
    /** name in CSV and JSON, with its unit: forward_ms; NULL: end of the table */
    const char *key;
    const char *title; /**< heading in a printed table; NULL: not shown there */
    const char *page;  /**< heading on an HTML page; NULL: not shown there */

    /*
     * Place of the value: a member, by FIELD_AT(); else one of the functions. `i` is the index of a
     * column that `each` makes. A text may be written to `room`, of FIELD_TEXT_MAX bytes. If there
     * are both `text` and a number, the text is used unless it is NULL.
     */
    field_kind kind;
    size_t     at;
    double (*real)(const void *record, size_t i);
    uint64_t (*count)(const void *record, size_t i);
    const char *(*text)(const void *record, size_t i, char *room);

    const char *unit;       /**< unit of the shown value: "ms", "W"; NULL: none */
    double      times, per; /**< shown value: value * times / per; 0 counts as 1 */
    double      for_people; /**< in tables and on pages: value / for_people; 0: as elsewhere */
    int         digits;     /**< as for table_column() */

    unsigned when;   /**< facts that must hold for showing the field at all */
    unsigned worth;  /**< further facts that must hold in tables and on pages */
    unsigned not_in; /**< places without this field */

    /* For printed tables, as for table_column_look(). */
    int         yields;
    const char *once;

    /**
     * Makes a column for each name, until NULL; the name replaces %s in key and headings. `whole`
     * NULL: all possible names.
     */
    const char *(*each)(const void *whole, size_t i);
    const char *help; /**< one sentence */
} field;

/** The value is a member of the record; its type gives the kind. */
/* clang-format off */
#define FIELD_AT(T, member)                            \
    .at   = offsetof(T, member),                       \
    .kind = _Generic(((T *)0)->member,                 \
        double: FIELD_REAL, uint64_t: FIELD_COUNT, int64_t: FIELD_WHOLE, \
        const char *: FIELD_TEXT, char *: FIELD_CHARS, bool: FIELD_FLAG)
/* clang-format on */
/**
 * The value is an expression of the record `r` and of `i`: makes a function for `.real` and so on.
 */
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

/** Seconds shown in milliseconds; others without conversion. */
#define IN_MS          .unit = "ms", .times = 1e3, .digits = TABLE_MS(2)
#define IN_UNIT(u, d)  .unit = u, .digits = d
#define WITH_DIGITS(d) .digits = d
/** Shares shown in percent. */
#define IN_PERCENT .unit = "%", .times = 100, .digits = 1
/** Bytes, shown in MB or GB in tables and on pages. */
#define IN_MB .unit = "B", .for_people = 1e6, .digits = 1
#define IN_GB .unit = "B", .for_people = 1e9, .digits = 3

/** For `each`: one column, whose name is the text behind `whole`. */
const char *field_named(const void *whole, size_t i);

/** Selects the fields of a table and how they are shown. */
typedef struct field_view {
    const field *fields;
    /**
     * Rows of `fields` without a value take kind, value, unit, digits, `each` and help from the row
     * with the same key in this table; NULL: none.
     */
    const field *from;
    field_place  in;
    unsigned     facts; /**< facts that hold: bits, which the table defines */
    const void  *whole; /**< argument of `each` */
    int          ms;    /**< digits of milliseconds on a page */

    const table_look *look; /**< user's choices for tables and CSV; NULL: none */
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

/** The columns of a view, without rows. Out of memory is reported by table_print(). */
field_rows field_rows_of(const field_view *v);
/**
 * Adds the columns of a view to a table that the caller owns. Rows then consist of several records:
 * one field_row() each, in the order of their columns.
 */
field_rows field_rows_in(table *t, const field_view *v);
void       field_row(field_rows *rows, const void *record);
/**
 * Prints the rows and frees them. If `status` is a failure, it only frees them and returns
 * `status`.
 */
lm_status field_rows_print(const field_rows *rows, format f, FILE *out, lm_status status,
                           lm_error *err);

/** Writes the fields of one record as keys of an open JSON object; unknown values become null. */
void fields_json(const field_view *v, const void *record, json *j);

/**
 * Writes the fields of one record that have a heading on pages, one line each: heading, value and
 * unit. Unknown values and empty texts are left out.
 */
void fields_lines(const field_view *v, const void *record, FILE *out);

/** Writes the values of one record on a line, for gnuplot; unknown values and texts become NaN. */
void fields_data(const field_view *v, const void *record, FILE *out);
/** Column of a key on that line, counted from 1; the key must exist. For tables without `each`. */
int fields_column(const field *fields, const char *key);
/** Writes the keys of that line, after a #. */
void fields_data_head(const field_view *v, FILE *out);

/** Checks keys of columns. LM_E_NOTFOUND names an unknown key. */
lm_status fields_check(const field *fields, const field *from, const word_list *keys,
                       lm_error *err);

/** Writes one line per column: key, unit and help. `from` as for a view. */
lm_status fields_help(const field *fields, const field *from, FILE *out, lm_error *err);

#endif
