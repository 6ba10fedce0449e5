/** Columns: the named regressors of one class of kernels or layers, each with its price. */
#ifndef SOLVE_COLUMNS_H
#define SOLVE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

#include "base/arena.h"
#include "base/names.h"

/** What of a device a price falls with: how it is carried over to another one. */
typedef enum resource {
    RESOURCE_HOST,      /**< the program that feeds the device: not of the device */
    RESOURCE_FLOPS,     /**< peak arithmetic */
    RESOURCE_BANDWIDTH, /**< memory */
    RESOURCE_DEPTH,     /**< time steps of one multiprocessor: its share of the peak */
    N_RESOURCES
} resource;

/** "host", "flops", "bandwidth", "depth" */
const char *resource_name(resource r);
/** N_RESOURCES if there is none of that name. */
resource resource_parse(const char *name);

#define COLUMN_NONE ((size_t)-1)

typedef struct column {
    const char *name; /**< "forward.winograd4.flops" */
    const char *unit; /**< what one of it is: FLOP, element, row ... */
    resource    resource;
    bool        floor; /**< beside the work, not part of it: see rows.h */
    double      price; /**< seconds per unit: the start of a fit, then its result */
    size_t      from; /**< its price as the second stage of a fit begins: that of this column ... */
    double      share;  /**< ... times this; COLUMN_NONE: its own start */
    size_t      parent; /**< the family it is held near to; COLUMN_NONE: none */
    size_t      rows; /**< that determined the price; 0: nothing did but its start or its family */
} column;

/** Zero-initialise. */
typedef struct columns {
    column *column;
    size_t  n, room;
    names   index;
    arena  *arena; /**< owns the names */
    double  join;  /**< p of rows.h, by which floors and work join; 0, as before a fit: 1 */
} columns;

/** p of rows.h, by which floors and work of these columns join. */
double columns_join(const columns *c);

/** Number of the column of that name, which is made if it is not there: no floor, price 0, none to
 * begin with and no family. COLUMN_NONE when memory runs out. */
size_t columns_need(columns *c, const char *name, const char *unit, resource r);
/** COLUMN_NONE: there is none. */
size_t columns_find(const columns *c, const char *name);
void   columns_free(columns *c);

#endif
