/** An answer, its bounds, and the assumptions that it depends on. */
#ifndef PLAN_ANSWER_H
#define PLAN_ANSWER_H

#include "plan/assumptions.h"

typedef struct plan_answer {
    plan_asked  asked;   /**< the question and its plan */
    bool        bounded; /**< intervals of the plan's time are known */
    const plan *low;     /**< the answer if all steps take their lower bound */
    const plan *high;    /**< the answer at the upper bound; NULL: no plan meets the limits then */
    const plan *fewer;   /**< for fewest nodes: the fastest plan with the next smaller number, which
                            misses the limits; NULL: none */
    sensitivity hangs_on[ASSUMPTIONS_MAX];
    size_t      n_hangs_on;
} plan_answer;

/** False: no plan meets the limits. `set` and `machines` must outlive the answer. */
bool plan_answer_find(const plan_set *set, const plan_machine *machines, plan_goal goal,
                      const plan_limits *limits, const plan_view *v, plan_answer *out);

#endif
