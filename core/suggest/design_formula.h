/** Formulas of a design, and rows of their design matrix. */
#ifndef SUGGEST_DESIGN_FORMULA_H
#define SUGGEST_DESIGN_FORMULA_H

#include "suggest/design.h"

/** Size classes: half decades of seconds, from 1e-7 to 1e3. */
#define DESIGN_SIZES 21

/** The model that a design fits: its few coefficients need few points, because each point depends
 * on all of them. */
#define DESIGN_MODEL "counts"

/** Its parts of a step. */
#define DESIGN_PARTS 4
extern const phase design_parts[DESIGN_PARTS];

/** One measured time. */
typedef struct row {
    double x[FORM_MAX_FEATURES];
    double seconds;
    size_t network;
} row;

/** One formula. Its unknowns are p coefficients, DESIGN_SIZES sizes, then one for each network. */
typedef struct formula {
    phase       part;
    const form *f;
    double      guess[FORM_MAX_FEATURES], guess_sd[FORM_MAX_FEATURES]; /**< seconds per unit */
    double      c[FORM_MAX_FEATURES];                                  /**< fitted */
    row        *row;
    size_t      n_rows, room;
    double      noise, network, size; /**< standard deviations, relative */
    double     *p;                    /**< inverse of the information, d x d */
    double     *t;                    /**< targets: mean of share^2 v v', q x q */
} formula;

struct design {
    formula      formula[DESIGN_PARTS];
    double      *scratch; /**< memory for the longest side of any P */
    design_case *target;
    size_t       n_targets, n_networks;
};

/** A row of the design matrix: its entries that are not zero. */
typedef struct sparse {
    size_t at[FORM_MAX_FEATURES + 3];
    double value[FORM_MAX_FEATURES + 3];
    size_t n;
} sparse;

/** Coefficients and sizes, which targets and measurements share. */
size_t formula_known(const formula *m);
/** All unknowns: a side of P. */
size_t formula_unknowns(const design *d, const formula *m);

/** Seconds of its part of a case, by the fitted coefficients. */
double formula_seconds(const formula *m, const workload *load);

/**
 * A row of the design matrix, relative to `seconds`, measured or expected. False if the part takes
 * no time.
 *
 * @param x     values of the formula's features
 * @param group number of the network; DESIGN_NONE: none
 */
bool formula_row(const formula *m, const double *x, double seconds, size_t group, sparse *out);
/** The same of a case, by its expected seconds; false also if it has no such part. */
bool formula_case_row(const formula *m, const design_case *what, bool with_network, sparse *out);

#endif
