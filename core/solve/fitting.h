/**
 * The state of solve_prices() and its rounds, for solve.c alone: each adds the rows to normal equations under the prices so far, and solves
 * those for the next ones.
 */
#ifndef SOLVE_FITTING_H
#define SOLVE_FITTING_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

#include "solve/columns.h"
#include "solve/rows.h"
#include "solve/solve.h"

/** Rows that take part. */
typedef struct lot {
    const rows   *r;
    const size_t *at; /* which of them; NULL: the first n */
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
    double               p;       /* by which floors and work join */
    unsigned             stage;   /* rows of later ones wait */
    bool                 tied;    /* columns count as their families */
    double               damping; /* what holds prices where they are, as Marquardt has it */
    double               middle;  /* geometric mean of the times */
    /* Of each column: its price, that of the next round, the most a floor's may be, ... */
    double *price, *next, *most;
    size_t *count; /* ... and how many rows took it in the last round. */
    /* Normal equations, lower triangle; and those of the columns that have an unknown now. */
    double   *gram, *h, *used_gram, *used_h, *solution;
    size_t   *used;
    row_item *vector; /* what a row took */
    /* Of the row that is added: its counts by column, and the columns it has. */
    double *dense, *value;
    size_t *touched;
} fitting;

/** The unknown that a column's counts go to. */
static inline size_t fitting_unknown(const fitting *f, size_t column_at)
{
    const size_t parent = f->c->column[column_at].parent;

    return f->tied && parent != COLUMN_NONE ? parent : column_at;
}

/** Is a column held near its family? */
static inline bool fitting_held(const fitting *f, size_t column_at)
{
    return !f->tied && f->o->ridge > 0 && f->c->column[column_at].parent != COLUMN_NONE;
}

/** Takes all rows out of the normal equations. */
void fitting_clear(fitting *f);

/** Adds the first n_items of f->vector to them, with how much of the row's time goes with that of
 * its floor and its work. */
void fitting_add(fitting *f, size_t n_items, double floor_factor, double work_factor,
                 double seconds, double weight);

/** Normal equations of rows under f->price; `robust`: outliers count less. */
void fitting_accumulate(fitting *f, const lot *l, bool robust);

/** f->next from the normal equations of n_rows, of the columns that enough rows have; the others
 * keep their price. */
lm_status fitting_solve(fitting *f, size_t n_rows, lm_error *err);

/** Rounds on these rows, until the robust loss no longer falls; p 1: all of them, of which
 * the first takes no row for an outlier yet, unless `robust_at_once`. */
lm_status fitting_rounds(fitting *f, int n_rounds, const lot *l, bool robust_at_once,
                         lm_error *err);

/** While families are fitted, their columns cost what they do. */
void fitting_spread(const fitting *f, double *price);

#endif
