/* Choice of plans. */
#include "plan/choose.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"

static const char *const goals[] = {
    [GOAL_NODES] = "fewest nodes", [GOAL_COST] = "cheapest", [GOAL_TIME] = "fastest"
};

const char *plan_goal_name(plan_goal g)
{
    return goals[g];
}

double plan_seconds(const plan *p, const plan_view *v)
{
    return p->run.seconds[v->time];
}

double plan_device_hours(const plan *p, const plan_view *v)
{
    return plan_seconds(p, v) / 3600 * (double)step_setup_ranks(&p->setup);
}

double plan_cost(const plan *p, const plan_machine *machines, const plan_view *v)
{
    return money_of_run(&machines[p->machine].hour[v->tier], p->setup.nodes, plan_seconds(p, v))
        .amount;
}

/* Sort keys of a goal, the most important first. */
typedef struct keys {
    double key[3];
} keys;

static keys keys_of(const plan *p, const plan_machine *machines, plan_goal goal, const plan_view *v)
{
    const double nodes = (double)p->setup.nodes, seconds = plan_seconds(p, v),
                 cost = plan_cost(p, machines, v),
                 paid = isnan(cost) ? plan_device_hours(p, v) : cost;

    switch (goal) {
    case GOAL_NODES: return (keys){ { nodes, seconds, paid } };
    case GOAL_COST: return (keys){ { paid, nodes, seconds } };
    case GOAL_TIME: break;
    }
    return (keys){ { seconds, paid, nodes } };
}

static bool before(const keys *a, const keys *b)
{
    for (int i = 0; i < 3; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i];
    return false;
}

static bool keeps_to(const plan *p, const plan_machine *machines, const plan_limits *limits,
                     const plan_view *v)
{
    if (limits->machine != ANY_MACHINE && p->machine != limits->machine)
        return false;
    if (v->less_memory && !p->fits_less)
        return false;
    if (!(plan_seconds(p, v) <= limits->seconds)) /* an unknown value meets no limit */
        return false;
    return isinf(limits->cost) || plan_cost(p, machines, v) <= limits->cost;
}

const plan *plan_choose(const plan_set *set, const plan_machine *machines, plan_goal goal,
                        const plan_limits *limits, const plan_view *v)
{
    const plan *best   = NULL;
    keys        least  = { { 0 } };
    bool        priced = false;

    for (size_t i = 0; i < set->n && goal == GOAL_COST; i++)
        priced |= !isnan(plan_cost(&set->plan[i], machines, v));

    for (size_t i = 0; i < set->n; i++) {
        const plan *p = &set->plan[i];
        const keys  k = keys_of(p, machines, goal, v);

        if ((priced && isnan(plan_cost(p, machines, v))) || !keeps_to(p, machines, limits, v) ||
            (best && !before(&k, &least)))
            continue;
        best  = p;
        least = k;
    }
    return best;
}

/* One plan in the order of the sweep. */
typedef struct mark {
    plan  *of;
    size_t group;
    double seconds, paid;
} mark;

static int by_group_and_time(const void *a, const void *b)
{
    const mark *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    if (x->paid != y->paid)
        return x->paid < y->paid ? -1 : 1;
    return (x->of > y->of) - (x->of < y->of);
}

lm_status plan_mark_dominated(plan_set *set, const plan_machine *machines, const plan_view *v,
                              lm_error *err)
{
    mark *all = calloc(set->n + 1, sizeof *all);

    if (!all)
        return no_memory(err);
    for (size_t i = 0; i < set->n; i++) {
        plan      *p      = &set->plan[i];
        const bool priced = !isnan(machines[p->machine].hour[v->tier].amount);

        all[i] = (mark){ .of      = p,
                         .group   = priced ? 0 : p->machine + 1,
                         .seconds = plan_seconds(p, v),
                         .paid    = priced ? plan_cost(p, machines, v) : plan_device_hours(p, v) };
    }
    qsort(all, set->n, sizeof *all, by_group_and_time);
    /* by ascending time: a plan that is not cheaper than all before it is dominated */
    for (size_t i = 0, least = 0; i < set->n; i++) {
        const bool front =
            i == 0 || all[i].group != all[least].group || all[i].paid < all[least].paid;

        all[i].of->dominated = !front;
        if (front)
            least = i;
    }
    free(all);
    return LM_OK;
}
