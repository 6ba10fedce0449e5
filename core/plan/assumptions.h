/** Sensitivity of answers: the question is asked again with one assumption changed. */
#ifndef PLAN_ASSUMPTIONS_H
#define PLAN_ASSUMPTIONS_H

#include "plan/choose.h"

/** An assumption that may be wrong. */
typedef struct assumption {
    const char *name; /**< "all-reduces" */
    const char *what; /**< "all-reduces take the upper bound" */
    plan_view   view;
} assumption;

#define ASSUMPTIONS_MAX 16

/** One question and its answer. */
typedef struct plan_asked {
    const plan_set     *set;
    const plan_machine *machines;
    plan_goal           goal;
    plan_limits         limits;
    const plan         *answer; /**< the plan at expected times; not NULL */
    plan_view           view;   /**< the view of the answer */
} plan_asked;

/** Effect of an assumption on an answer. */
typedef struct sensitivity {
    assumption  of;
    const plan *answer;        /**< NULL: no plan meets the limits now */
    double      seconds, cost; /**< of `answer`; of the former plan if NULL. NAN: unknown */
    /** |log of the new value of the goal divided by the former|; INFINITY: no answer */
    double moved;
    double stretched; /**< the same for the time of the former plan */
} sensitivity;

/** The value of a plan for the goal: nodes, cost (device-hours without a price), or seconds. */
double plan_value(const plan *p, const plan_machine *machines, plan_goal goal, const plan_view *v);

typedef struct plan_answer {
    plan_asked  asked;   /**< the question and its plan */
    bool        bounded; /**< intervals of the plan's time are known */
    const plan *low;     /**< the answer if all steps take their lower bound */
    const plan *high;    /**< the answer at the upper bound; NULL: no plan meets the limits then */
    /**
     * goal fewest nodes: the fastest plan with the next smaller number of nodes, which misses the
     * limits; NULL: none
     */
    const plan *fewer;
    sensitivity hangs_on[ASSUMPTIONS_MAX];
    size_t      n_hangs_on;
} plan_answer;

/** False: no plan meets the limits. `set` and `machines` must outlive the answer. */
bool plan_answer_find(const plan_set *set, const plan_machine *machines, plan_goal goal,
                      const plan_limits *limits, const plan_view *v, plan_answer *out);

#endif
