/**
 * Rows: what was timed, or is to be predicted, as counts in columns.
 *
 * A row is a floor and parts. A part, a kernel, has one or more alternatives, the algorithms that
 * can do it, each with its own columns: libraries measure and take the fastest, so a part costs
 * what its cheapest alternative costs under the prices of the moment. Then
 *
 *   seconds = (floor^p + work^p)^(1/p),   work = sum over parts of min over alternatives of
 *             sum over columns of price x count
 *
 * with p = 1 where floor and work follow each other, larger where they overlap.
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
    double  seconds; /**< measured, > 0; NAN: to be predicted */
    double  weight;  /**< of its relative error; 1 but where rows are to count less */
    uint8_t stage;   /**< of a fit in which it takes part first: 0 or 1 */
} row_entry;

typedef struct row_part {
    size_t first_alternative;
} row_part;

/** Zero-initialise. A row's floor is a part by itself, of one alternative, in columns that are
 * floors. */
typedef struct rows {
    row_item  *item;
    size_t    *alternative; /**< first item of each */
    row_part  *part;
    row_entry *row;
    size_t     n_items, n_alternatives, n_parts, n;
    size_t     item_room, alternative_room, part_room, row_room;
    bool       failed; /**< memory ran out: what follows is left out */
} rows;

/* Built from front to back: a row, its parts, their alternatives, their items. Items before the
 * first rows_part() of a row belong to a part of one alternative: what it does anyway. */
void rows_begin(rows *r, double seconds, double weight, unsigned stage);
void rows_part(rows *r);
void rows_alternative(rows *r);
/** Counts of 0 are passed over. A column that is COLUMN_NONE: memory ran out. */
void rows_item(rows *r, size_t column, double value);
/** Appends a row of others. */
void rows_copy(rows *r, const rows *from, size_t at);
/** LM_E_NOMEM if any of the above failed. */
lm_status rows_check(const rows *r, lm_error *err);
/** Takes all rows away and keeps their room. */
void rows_clear(rows *r);
void rows_free(rows *r);

/** What a row costs under some prices. */
typedef struct row_cost {
    double floor, work; /**< seconds */
} row_cost;

/**
 * Chooses the cheapest alternative of each part (of equal ones the first) and adds up.
 *
 * @param price  of each column, seconds per unit; NULL: those that the columns have
 * @param vector room for the items of the alternatives that were chosen (rows_longest() of them),
 *               which are not joined: a column can be there twice; NULL: not wanted
 * @param n      number of them; NULL: not wanted
 */
row_cost rows_cost(const rows *r, size_t at, const columns *c, const double *price,
                   row_item *vector, size_t *n);
/** One way to do a part. */
typedef struct row_way {
    const row_item *item;
    size_t          n;
    bool            chosen;  /**< it is what rows_cost() takes */
    bool            choice;  /**< there are others */
    double          seconds; /**< what it costs */
    double          least;   /**< what the cheapest way costs */
} row_way;

/** Shows all ways to do all parts of a row, in their order, by the columns' prices. */
void rows_ways(const rows *r, size_t at, const columns *c,
               void (*see)(void *context, const row_way *way), void *context);
/** Most items that any row can have. */
size_t rows_longest(const rows *r);
/** (floor^p + work^p)^(1/p) */
double rows_seconds(row_cost cost, double p);
/** Seconds of a row by the columns' prices and their p. */
double rows_priced(const rows *r, size_t at, const columns *c);
/** By how much these seconds grow with those of a part, its floor or its work:
 * (part/seconds)^(p-1). The parts times their slopes add up to the seconds. 1 where p is 1, or
 * nothing takes time. */
double rows_slope(double part, double seconds, double p);

#endif
