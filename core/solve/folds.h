/**
 * Leaving out: of rows that are parted into folds each fold is left out in turn, the rest is fitted,
 * and the fit says what it makes of the fold.
 *
 * The one loop of this kind. What a turn does with the rows is its own: it may copy those that stay
 * (folds_copy()), mark them (folds_mark()), or add up what was summed fold by fold before
 * (shrink_rows.h, lsq.h).
 */
#ifndef SOLVE_FOLDS_H
#define SOLVE_FOLDS_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

/** The fold of rows that stay in every fit and are never told. */
#define FOLD_ALWAYS ((size_t)-1)

typedef struct folds {
    const size_t *of; /**< fold of each row: 0 .. n - 1, or FOLD_ALWAYS */
    size_t        rows;
    size_t        n;
    bool          all; /**< nothing is left out: one turn, whose fit sees all rows and tells them */
    bool silent;       /**< LM_E_ARG of a turn says that too few rows are left: nothing is told */
    bool parallel;     /**< turns on all cores: what one writes no other one reads */
} folds;

/** One fit. */
typedef struct fold_turn {
    const folds *by;
    size_t       fold; /**< that is left out; FOLD_ALWAYS: none, as of folds.all */
} fold_turn;

/** Is the row fitted to? */
static inline bool fold_in(const fold_turn *t, size_t row)
{
    return t->by->all || t->by->of[row] != t->fold;
}

/** Is it told? */
static inline bool fold_out(const fold_turn *t, size_t row)
{
    return t->by->all || t->by->of[row] == t->fold;
}

/** fold_in() of all rows into in[]. How many are. */
size_t folds_mark(const fold_turn *t, bool *in);

/** Copies the elements, of `size` bytes each, of the rows that are fitted to (or, `in` false, that are
 * told) from row[] to out[], in their order. How many they are. */
size_t folds_copy(const fold_turn *t, bool in, const void *row, size_t size, void *out);

typedef lm_status (*fold_fit)(void *context, const fold_turn *t, lm_error *err);

/** Calls fit() for each fold that has a row, in their order unless f->parallel. The status of the
 * first, by number, that failed. */
lm_status folds_leave_out(const folds *f, fold_fit fit, void *context, lm_error *err);

#endif
