/**
 * Rows: measured or wanted times, described by counts in columns.
 *
 * A row consists of a floor and parts. A part is a kernel. It has one or more alternatives:
 * algorithms that compute the same, each with its own columns. Libraries measure and choose the
 * fastest, so a part costs as much as its cheapest alternative under the present prices. Then
 *
 *   seconds = (floor^p + work^p)^(1/p),   work = sum over parts of min over alternatives of
 *             sum over columns of price x count
 *
 * The minimum is over alternatives whose prices rows determined or confirmed (column.rows), and
 * those that began with such a price, if there are any. A fit considers all: their initial prices
 * make the first choice.
 *
 * p = 1 if floor and work follow each other, and larger p if they overlap.
 */
#ifndef SOLVE_ROWS_H
#define SOLVE_ROWS_H

#include <stdint.h>

#include "solve/columns.h"

/** A count in a column. */
typedef struct row_item {
    uint32_t column;
    double   value;
} row_item;

typedef struct row_entry {
    size_t  first_part;
    double  seconds; /**< measured, > 0; NAN: wanted */
    double  weight;  /**< weight of its relative error; usually 1 */
    uint8_t stage;   /**< first stage of a fit that uses it: 0 or 1 */
} row_entry;

typedef struct row_part {
    size_t first_alternative;
} row_part;

/**
 * Zero-initialise. A row's floor is a separate part with one alternative, in columns that are
 * floors.
 */
typedef struct rows {
    row_item  *item;
    size_t    *alternative; /**< first item of each alternative */
    row_part  *part;
    row_entry *row;
    size_t     n_items, n_alternatives, n_parts, n;
    size_t     item_room, alternative_room, part_room, row_room;
    bool       failed; /**< out of memory: later items are missing */
} rows;

/*
 * Rows are built from front to back: a row, its parts, their alternatives, their items. Items
 * before a row's first rows_part() form a part with one alternative: work that is always done.
 */
void rows_begin(rows *r, double seconds, double weight, unsigned stage);
void rows_part(rows *r);
void rows_alternative(rows *r);
/** Counts of 0 are ignored. COLUMN_NONE as column means out of memory. */
void rows_item(rows *r, size_t column, double value);
/** Appends one row of `from`. */
void rows_copy(rows *r, const rows *from, size_t at);
/** LM_E_NOMEM if a call above ran out of memory. */
lm_status rows_check(const rows *r, lm_error *err);
/** Removes all rows, but keeps the memory. */
void rows_clear(rows *r);
void rows_free(rows *r);

/** Cost of a row under given prices. */
typedef struct row_cost {
    double floor, work; /**< seconds */
} row_cost;

/**
 * Chooses the cheapest alternative of each part (the first if equal), and adds up.
 *
 * @param price  seconds per unit, per column; NULL: the columns' own prices
 * @param vector receives the items of the chosen alternatives, at most rows_longest(); a column can
 *               appear twice. NULL: not wanted
 * @param n      number of these items; NULL: not wanted
 */
row_cost rows_cost(const rows *r, size_t at, const columns *c, const double *price,
                   row_item *vector, size_t *n);
/** One alternative of a part. */
typedef struct row_way {
    const row_item *item;
    size_t          n;
    bool            chosen;  /**< rows_cost() chooses it */
    bool            choice;  /**< the part has other alternatives */
    double          seconds; /**< its cost */
    double          least;   /**< cost of the cheapest alternative */
} row_way;

/** Calls `see` for all alternatives of all parts of a row, in order, with the columns' prices. */
void rows_ways(const rows *r, size_t at, const columns *c,
               void (*see)(void *context, const row_way *way), void *context);
/** Upper limit for the items of a row. */
size_t rows_longest(const rows *r);
/** (floor^p + work^p)^(1/p) */
double rows_seconds(row_cost cost, double p);
/** Seconds of a row with the columns' prices and p. */
double rows_priced(const rows *r, size_t at, const columns *c);
/**
 * Derivative of the seconds by a part, the floor or the work: (part/seconds)^(p-1). The parts times
 * their derivatives add up to the seconds. 1 if p is 1, or if the seconds are 0.
 */
double rows_slope(double part, double seconds, double p);

#endif
