/** Which assumption an answer hangs on: each is changed alone, and the question asked again. */
#ifndef PLAN_ASSUMPTIONS_H
#define PLAN_ASSUMPTIONS_H

#include "plan/choose.h"

/** What may not be as it is taken to be. */
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
    const plan         *answer; /**< as expected; not NULL */
    plan_view           view;   /**< that it is the answer in */
} plan_asked;

/** What an assumption makes of an answer. */
typedef struct sensitivity {
    assumption  of;
    const plan *answer; /**< NULL: nothing keeps to the limits any more */
    double      seconds,
        cost; /**< of `answer`; where it is NULL, of the plan that was the answer; NAN: unknown */
    double
        moved; /**< |logarithm of the goal's value over what it was|; INFINITY without an answer */
    double stretched; /**< the same of the time of the plan that was the answer */
} sensitivity;

/**
 * Asks again under each assumption of which something is known (that has bounds, a price, a limit
 * of memory) into `out`, the one that moves the answer most first; of two that move it alike, the
 * one that changes the plan's time more.
 *
 * @return how many
 */
size_t assumptions_ask(const plan_asked *asked, sensitivity out[ASSUMPTIONS_MAX]);

/** The goal's own value of a plan: nodes, cost (device-hours without a price), or seconds. */
double plan_value(const plan *p, const plan_machine *machines, plan_goal goal, const plan_view *v);

#endif
