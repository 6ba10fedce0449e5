/* Answers, and their sensitivity to assumptions. */
#include "plan/assumptions.h"

#include <math.h>
#include <stdlib.h>

static const assumption all[] = {
    { "compute", "compute takes its upper bound", { .time = TIME_COMPUTE_HIGH } },
    { "compute", "compute takes its lower bound", { .time = TIME_COMPUTE_LOW } },
    { "all-reduces", "all-reduces take their upper bound", { .time = TIME_SYNC_HIGH } },
    { "all-reduces", "all-reduces take their lower bound", { .time = TIME_SYNC_LOW } },
    { "beyond calibration",
      "times grow as far as the intervals do beyond what was measured",
      { .time = TIME_BEYOND_HIGH } },
    { "beyond calibration",
      "times shrink as far as the intervals do beyond what was measured",
      { .time = TIME_BEYOND_LOW } },
    { "bandwidth",
      "half of the bandwidth assumed between nodes is there",
      { .time = TIME_HALF_LINK } },
    { "price", "nodes cost their spot price", { .tier = PRICE_SPOT } },
    { "price", "nodes cost their list price", { .tier = PRICE_LIST } },
    { "memory", "a tenth of the memory is not free", { .less_memory = true } },
};

#define N_ALL (sizeof all / sizeof all[0])

_Static_assert(N_ALL <= ASSUMPTIONS_MAX, "each has a place");

double plan_value(const plan *p, const plan_machine *machines, plan_goal goal, const plan_view *v)
{
    const double cost = plan_cost(p, machines, v);

    switch (goal) {
    case GOAL_NODES: return (double)p->setup.nodes;
    case GOAL_TIME: return plan_seconds(p, v);
    case GOAL_COST: break;
    }
    return isnan(cost) ? plan_device_hours(p, v) : cost;
}

/* The view with one assumption changed; false: it changes no known value. */
static bool changed(const plan_asked *asked, const assumption *a, plan_view *out)
{
    const plan  *p       = asked->answer;
    const money *hour    = asked->machines[p->machine].hour;
    const bool   a_price = a->view.time == TIME_EXPECTED && !a->view.less_memory;

    *out = asked->view;
    if (a_price) {
        out->tier = a->view.tier;
        return a->view.tier != asked->view.tier && !isnan(hour[a->view.tier].amount);
    }
    if (a->view.less_memory) {
        out->less_memory = true;
        return asked->machines[p->machine].fits[0].largest[0][0] < MEMORY_BATCH_MAX;
    }
    out->time = a->view.time;
    return !isnan(p->run.seconds[a->view.time]) &&
           p->run.seconds[a->view.time] != p->run.seconds[TIME_EXPECTED];
}

static double ratio(double now, double then)
{
    return now == then ? 0 : fabs(log(now / then));
}

static sensitivity ask(const plan_asked *asked, const assumption *a, const plan_view *v)
{
    const plan *p     = plan_choose(asked->set, asked->machines, asked->goal, &asked->limits, v);
    const plan *shown = p ? p : asked->answer;

    return (sensitivity){
        .of      = *a,
        .answer  = p,
        .seconds = plan_seconds(shown, v),
        .cost    = plan_cost(shown, asked->machines, v),
        .moved   = p ? ratio(plan_value(p, asked->machines, asked->goal, v),
                             plan_value(asked->answer, asked->machines, asked->goal, &asked->view))
                     : INFINITY,
        .stretched =
            ratio(plan_seconds(asked->answer, v), plan_seconds(asked->answer, &asked->view)),
    };
}

static int by_effect(const void *a, const void *b)
{
    const sensitivity *x = a, *y = b;

    if (x->moved != y->moved)
        return x->moved > y->moved ? -1 : 1;
    return (x->stretched < y->stretched) - (x->stretched > y->stretched);
}

/* Answers again under each assumption with known values, and sorts the results by effect. Returns
 * their number. */
static size_t assumptions_ask(const plan_asked *asked, sensitivity out[ASSUMPTIONS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < N_ALL; i++) {
        plan_view v;

        if (changed(asked, &all[i], &v))
            out[n++] = ask(asked, &all[i], &v);
    }
    qsort(out, n, sizeof *out, by_effect);
    return n;
}

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
