/**
 * State of solve_prices(), private to solve.c. Each round adds the rows to normal equations under
 * the present prices, and solves these for the next prices.
 */
#ifndef SOLVE_FITTING_H
#define SOLVE_FITTING_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

#include "solve/columns.h"
#include "solve/rows.h"
#include "solve/solve.h"

/** The rows in use. */
typedef struct lot {
    const rows   *r;
    const size_t *at; /* their numbers; NULL: the first n rows */
    size_t        n;
} lot;

static inline size_t lot_row(const lot *l, size_t i)
{
    return l->at ? l->at[i] : i;
}

typedef struct fitting {
    const solve_options *o;
    columns             *c;
    lot                  all, sample;
    double               p;       /* exponent that joins floor and work */
    unsigned             stage;   /* rows of later stages are not used yet */
    bool                 tied;    /* columns are replaced by their families */
    double               damping; /* holds prices near their values, as Marquardt's method does */
    double               middle;  /* geometric mean of the times */
    /* Per column: its price, its price in the next round, the largest price for a floor, ... */
    double *price, *next, *most;
    size_t *count; /* ... and the number of rows that used it in the last round. */
    /* Normal equations, lower triangle; and those of the columns with an unknown in this round. */
    double   *gram, *h, *used_gram, *used_h, *solution;
    size_t   *used;
    row_item *vector; /* items of a row */
    /* For the row that is added: its counts by column, and its columns. */
    double *dense, *value;
    size_t *touched;
} fitting;

/** The unknown for a column's counts. */
static inline size_t fitting_unknown(const fitting *f, size_t column_at)
{
    const size_t parent = f->c->column[column_at].parent;

    return f->tied && parent != COLUMN_NONE ? parent : column_at;
}

/** Is the column held near its family? */
static inline bool fitting_held(const fitting *f, size_t column_at)
{
    return !f->tied && f->o->ridge > 0 && f->c->column[column_at].parent != COLUMN_NONE;
}

/** Do the rows in the normal equations determine its price? */
bool fitting_determines(const fitting *f, size_t column_at);

/** Empties the normal equations. */
void fitting_clear(fitting *f);

/**
 * Adds the first n_items of f->vector to the normal equations. The factors are the derivatives of
 * the row's time by its floor and by its work.
 */
void fitting_add(fitting *f, size_t n_items, double floor_factor, double work_factor,
                 double seconds, double weight);

/** Normal equations of rows under f->price. `robust`: outliers have less weight. */
void fitting_accumulate(fitting *f, const lot *l, bool robust);

/**
 * Solves for f->next over the columns that enough of the n_rows have; other columns keep their
 * price.
 */
lm_status fitting_solve(fitting *f, size_t n_rows, lm_error *err);

/**
 * Repeats rounds on these rows until the robust loss no longer falls; for p = 1 all rounds are
 * done. The first round treats no row as an outlier, unless `robust_at_once`.
 */
lm_status fitting_rounds(fitting *f, int n_rounds, const lot *l, bool robust_at_once,
                         lm_error *err);

/** While families are fitted: gives their columns the families' prices. */
void fitting_spread(const fitting *f, double *price);

#endif
