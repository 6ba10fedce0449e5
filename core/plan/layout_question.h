/** What is asked of a search for layouts, checked; and a layout that is told whole. */
#ifndef PLAN_LAYOUT_QUESTION_H
#define PLAN_LAYOUT_QUESTION_H

#include "plan/layouts.h"

struct layout_asked;

/** LM_E_ARG for counts below 1, for a property that is told and no search varies, and for one that does
 * not fit the ranks or the network: with the numbers that do not fit. */
lm_status layout_question_check(const layout_question *q, lm_error *err);

/** Why no layout was looked at: LM_E_ARG. */
lm_status layout_question_unmet(const layout_question *q, lm_error *err);

/**
 * The layout that is told, as it stands: what it does not tell is as in layout_plain(). Its micro-batch,
 * where none is told, is that of the shortest step of those that fit, up to the question's largest.
 *
 * @param out its one layout, as predicted, with its bytes; to be freed by layouts_free()
 * @return LM_E_ARG for numbers that do not fit; LM_E_NOTFOUND where the memory does not hold it, with both;
 *         what layout_predict() and layout_memory() return
 */
lm_status layout_question_whole(const layout_question *q, const struct layout_asked *a,
                                layout_search *out, lm_error *err);

#endif
