/* An answer, its bounds, and the assumptions that it depends on. */
#include "plan/answer.h"

#include <math.h>

/* The next smaller number of nodes in the question; 0: none. */
static int64_t next_fewer(const plan_asked *a)
{
    int64_t nodes = 0;

    for (size_t i = 0; i < a->set->n; i++) {
        const plan *p = &a->set->plan[i];

        if (p->machine == a->answer->machine && p->setup.nodes < a->answer->setup.nodes &&
            p->setup.nodes > nodes)
            nodes = p->setup.nodes;
    }
    return nodes;
}

static const plan *fastest_of(const plan_asked *a, int64_t nodes)
{
    const plan *best = NULL;

    for (size_t i = 0; i < a->set->n; i++) {
        const plan *p = &a->set->plan[i];

        if (p->machine == a->answer->machine && p->setup.nodes == nodes &&
            (!best || plan_seconds(p, &a->view) < plan_seconds(best, &a->view)))
            best = p;
    }
    return best;
}

bool plan_answer_find(const plan_set *set, const plan_machine *machines, plan_goal goal,
                      const plan_limits *limits, const plan_view *v, plan_answer *out)
{
    plan_answer a   = { .asked = { set, machines, goal, *limits, NULL, *v } };
    plan_view   low = *v, high = *v;

    a.asked.answer = plan_choose(set, machines, goal, limits, v);
    if (!a.asked.answer)
        return false;
    low.time  = TIME_LOW;
    high.time = TIME_HIGH;
    a.bounded =
        !isnan(plan_seconds(a.asked.answer, &low)) && !isnan(plan_seconds(a.asked.answer, &high));
    if (a.bounded) {
        a.low  = plan_choose(set, machines, goal, limits, &low);
        a.high = plan_choose(set, machines, goal, limits, &high);
    }
    if (goal == GOAL_NODES)
        a.fewer = fastest_of(&a.asked, next_fewer(&a.asked));
    a.n_hangs_on = assumptions_ask(&a.asked, a.hangs_on);
    *out         = a;
    return true;
}
