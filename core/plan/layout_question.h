/** Checks of the question to a search for layouts, and the answer for one given layout. */
#ifndef PLAN_LAYOUT_QUESTION_H
#define PLAN_LAYOUT_QUESTION_H

#include "plan/layouts.h"

struct layout_asked;

/** Checks a question. LM_E_ARG for counts below 1, for a given property that no search varies, and for
 * one that does not fit the ranks or the network; the message has the numbers. */
lm_status layout_question_check(const layout_question *q, lm_error *err);

/** Has `l` the given values of these properties (bits)? */
bool layout_question_told(const layout_question *q, const layout *l, unsigned properties);

/** Sets what follows from tp, cp, pp and the micro-batch. False: something does not divide. */
bool layout_question_divides(const layout_question *q, layout *l);

/** Do heads and tokens divide among the ranks that share them? */
bool layout_question_splits(const layout_question *q, const layout *l);

/** Sets the reason why the search found no layout to try. Returns LM_E_ARG. */
lm_status layout_question_unmet(const layout_question *q, lm_error *err);

/**
 * Predicts the given layout. Properties that it leaves open are those of layout_plain(). If it has no
 * micro-batch, the fastest one that fits the memory is taken, up to the question's largest.
 *
 * @param out the predicted layout with its bytes; free it with layouts_free()
 * @return LM_E_ARG for numbers that do not fit; LM_E_NOTFOUND if it does not fit the memory, with both sizes;
 *         errors of layout_predict() and layout_memory()
 */
lm_status layout_question_whole(const layout_question *q, const struct layout_asked *a,
                                layout_search *out, lm_error *err);

#endif
