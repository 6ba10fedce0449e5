/** Chooses plans by a goal within limits, and marks dominated plans. */
#ifndef PLAN_CHOOSE_H
#define PLAN_CHOOSE_H

#include "plan/search.h"

typedef enum plan_goal {
    GOAL_NODES, /**< fewest nodes; of these the fastest */
    GOAL_COST,  /**< cheapest; of these fewest nodes */
    GOAL_TIME   /**< fastest; of these the cheapest */
} plan_goal;

/** "fewest nodes", "cheapest", "fastest". */
const char *plan_goal_name(plan_goal g);

/** View of plans. Zeroed: expected times, list prices. */
typedef struct plan_view {
    time_case  time;
    price_tier tier;
    bool       less_memory; /**< only plans that fit what MEMORY_LESS leaves */
} plan_view;

/** Limits of a plan. */
typedef struct plan_limits {
    double seconds; /**< INFINITY: no limit */
    double cost;    /**< in the machines' currency; INFINITY: no limit */
    size_t machine; /**< this machine only; ANY_MACHINE */
} plan_limits;

#define ANY_MACHINE ((size_t)-1)

/** Seconds of the run; NAN: unknown. */
double plan_seconds(const plan *p, const plan_view *v);
/** Device-hours of the run, over all devices. */
double plan_device_hours(const plan *p, const plan_view *v);
/** Cost of the run by the price of nodes; NAN without a price. It includes all nodes from start-up
 * to end. */
double plan_cost(const plan *p, const plan_machine *machines, const plan_view *v);

/** The best plan for a goal within limits; NULL: none. */
const plan *plan_choose(const plan_set *set, const plan_machine *machines, plan_goal goal,
                        const plan_limits *limits, const plan_view *v);

/**
 * Marks dominated plans (Pareto): another plan is no slower and no dearer, and better in one of the
 * two. The first of equal plans stays. Device-hours replace the cost of a machine without a
 * price, whose plans compete among themselves only.
 */
lm_status plan_mark_dominated(plan_set *set, const plan_machine *machines, const plan_view *v,
                              lm_error *err);

#endif
