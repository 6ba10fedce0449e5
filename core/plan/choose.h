/** Which plan: fewest nodes, cheapest, fastest; which are dominated; and what if. */
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

/** How plans are looked at. Zeroed: as expected, at list prices. */
typedef struct plan_view {
    time_case  time;
    price_tier tier;
    bool       less_memory; /**< only plans that fit what MEMORY_LESS leaves */
} plan_view;

/** What a plan has to keep to. */
typedef struct plan_limits {
    double seconds; /**< INFINITY: as long as it takes */
    double cost;    /**< INFINITY: whatever it costs; in the machines' currency */
    size_t machine; /**< of this one only; ANY_MACHINE */
} plan_limits;

#define ANY_MACHINE ((size_t)-1)

/** Seconds of the run; NAN: unknown. */
double plan_seconds(const plan *p, const plan_view *v);
/** Hours of devices, all of them together. */
double plan_device_hours(const plan *p, const plan_view *v);
/** Cost of the run by the price of nodes; NAN without one. All nodes are paid for from start-up to
 * end. */
double plan_cost(const plan *p, const plan_machine *machines, const plan_view *v);

/** The best plan by a goal within limits, by a scan; NULL: there is none. */
const plan *plan_choose(const plan_set *set, const plan_machine *machines, plan_goal goal,
                        const plan_limits *limits, const plan_view *v);

/**
 * Marks dominated plans (Pareto): another one is no slower and no dearer, and better in one of the
 * two; of plans that are equal in both the first stays. Where any machine has no price, plans are
 * compared with those of their own machine only, by device-hours, as devices of different machines
 * are worth different money.
 */
lm_status plan_mark_dominated(plan_set *set, const plan_machine *machines, size_t n_machines,
                              const plan_view *v, lm_error *err);

#endif
