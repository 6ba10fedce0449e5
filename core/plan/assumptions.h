/** Sensitivity of an answer: asks the question again with one assumption changed at a time. */
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
    const plan         *answer; /**< at expected times; not NULL */
    plan_view           view;   /**< the view of the answer */
} plan_asked;

/** Effect of an assumption on an answer. */
typedef struct sensitivity {
    assumption  of;
    const plan *answer;        /**< NULL: no plan meets the limits any more */
    double      seconds, cost; /**< of `answer`, or of the former plan if NULL; NAN: unknown */
    double      moved; /**< |log of the goal's new value over the former|; INFINITY: no answer */
    double      stretched; /**< the same for the time of the former plan */
} sensitivity;

/**
 * Asks again under each assumption with known values (bounds, a price, a memory limit). `out` is in
 * order of the effect on the answer, then of the effect on the plan's time.
 *
 * @return how many
 */
size_t assumptions_ask(const plan_asked *asked, sensitivity out[ASSUMPTIONS_MAX]);

/** The goal's own value of a plan: nodes, cost (device-hours without a price), or seconds. */
double plan_value(const plan *p, const plan_machine *machines, plan_goal goal, const plan_view *v);

#endif
