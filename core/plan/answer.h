/** An answer, how sure it is, and what it hangs on. */
#ifndef PLAN_ANSWER_H
#define PLAN_ANSWER_H

#include "plan/assumptions.h"

typedef struct plan_answer {
    plan_asked  asked;   /**< and the plan that answers */
    bool        bounded; /**< do intervals say what the plan's time lies between? */
    const plan *low;     /**< the answer where all steps take their lower bound */
    const plan *high;    /**< their upper bound; NULL: nothing keeps to the limits then */
    const plan *fewer;   /**< of fewest nodes: the fastest with the next smaller number, which does
                            not keep to the limits; NULL: there is none */
    sensitivity hangs_on[ASSUMPTIONS_MAX];
    size_t      n_hangs_on;
} plan_answer;

/** False where no plan keeps to the limits. `set` and `machines` must outlive the answer. */
bool plan_answer_find(const plan_set *set, const plan_machine *machines, plan_goal goal,
                      const plan_limits *limits, const plan_view *v, plan_answer *out);

#endif
