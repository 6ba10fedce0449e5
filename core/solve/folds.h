/**
 * Leave-out engine: rows have folds; each fold is left out in turn, the rest is fitted, and the fit
 * predicts the fold.
 *
 * This is the only loop of this kind. A turn chooses how it handles the rows: copy those that stay
 * (folds_copy()), mark them (folds_mark()), or sum results that were computed fold by fold
 * (shrink_rows.h, lsq.h).
 */
#ifndef SOLVE_FOLDS_H
#define SOLVE_FOLDS_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

/** Fold of rows that stay in each fit and are never predicted. */
#define FOLD_ALWAYS ((size_t)-1)

typedef struct folds {
    const size_t *of; /**< fold of each row: 0 .. n - 1, or FOLD_ALWAYS */
    size_t        rows;
    size_t        n;
    bool          all; /**< nothing is left out: one turn fits all rows and predicts them */
    /** an LM_E_ARG of a turn means that too few rows remain: the fold gets no prediction */
    bool silent;
    bool parallel; /**< turns run on all cores: no turn may read what another writes */
} folds;

/** One turn. */
typedef struct fold_turn {
    const folds *by;
    size_t       fold; /**< the fold to leave out; FOLD_ALWAYS: none, as with folds.all */
} fold_turn;

/** Is the row in this turn's fit? */
static inline bool fold_in(const fold_turn *t, size_t row)
{
    return t->by->all || t->by->of[row] != t->fold;
}

/** Is the row predicted in this turn? */
static inline bool fold_out(const fold_turn *t, size_t row)
{
    return t->by->all || t->by->of[row] == t->fold;
}

/** Writes fold_in() of each row to in[]; returns how many are true. */
size_t folds_mark(const fold_turn *t, bool *in);

/**
 * Copies elements of `size` bytes from row[] to out[], in order: those of the rows in the fit, or
 * with `in` false of the rows to predict. Returns their number.
 */
size_t folds_copy(const fold_turn *t, bool in, const void *row, size_t size, void *out);

typedef lm_status (*fold_fit)(void *context, const fold_turn *t, lm_error *err);

/**
 * Calls fit() for each fold that has a row; in order, unless f->parallel. Returns the error of the
 * failed fold with the lowest number.
 */
lm_status folds_leave_out(const folds *f, fold_fit fit, void *context, lm_error *err);

#endif
