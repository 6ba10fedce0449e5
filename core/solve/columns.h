/** Columns: the named regressors of one class of kernels or layers, each with its price. */
#ifndef SOLVE_COLUMNS_H
#define SOLVE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

#include "base/arena.h"
#include "base/names.h"
#include "solve/resource.h"

#define COLUMN_NONE ((size_t)-1)

typedef struct column {
    const char *name; /**< "forward.winograd4.flops" */
    const char *unit; /**< unit of the count: FLOP, element, row ... */
    resource    resource;
    bool        floor; /**< a cost in addition to the work: see rows.h */
    double      price; /**< seconds per unit: initial value of a fit, then its result */
    /** initial price for the second stage of a fit: that of this column, times `share` */
    size_t from;
    /** factor on that price. COLUMN_NONE in `from`: `price` is the initial value */
    double share;
    size_t parent; /**< the family whose price it is held near; COLUMN_NONE: none */
    /** rows that determined the price, or confirmed it; 0: only its initial value or its family did */
    size_t rows;
} column;

/** Zero-initialise. */
typedef struct columns {
    column *column;
    size_t  n, room;
    names   index;
    arena  *arena; /**< owns the names */
    /** exponent p of rows.h, which joins floor and work; 0 before a fit counts as 1 */
    double join;
} columns;

/** Exponent p of rows.h, which joins floor and work of these columns. */
double columns_join(const columns *c);

/**
 * Number of the column of that name. A missing column is added: no floor, price 0, no initial
 * column, no family. COLUMN_NONE: out of memory.
 */
size_t columns_need(columns *c, const char *name, const char *unit, resource r);
/** COLUMN_NONE: no such column. */
size_t columns_find(const columns *c, const char *name);
void   columns_free(columns *c);

#endif
