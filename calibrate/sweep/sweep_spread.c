/* Numbers of ranks and hosts that a section of a sweep asks for. */
#include "sweep/sweep_spread.h"

static bool asks_for_nodes(const sweep_values *v)
{
    return v->nodes.n || v->devices.n;
}

static size_t or_one(size_t n)
{
    return n ? n : 1;
}

size_t sweep_spreads(const sweep_values *v)
{
    if (!asks_for_nodes(v))
        return or_one(v->ranks.n);
    return v->ranks.n + or_one(v->nodes.n) * or_one(v->devices.n);
}

bool sweep_spread(const sweep_loading *l, const sweep_values *v, size_t i, int64_t usual,
                  sweep_point *p)
{
    if (i < v->ranks.n || !asks_for_nodes(v)) {
        p->devices   = 0;
        p->row.ranks = v->ranks.n ? v->ranks.at[i] : usual;
        if (l->limits.job && p->row.ranks > l->limits.job->n_ranks)
            return false;
        p->row.hosts = l->limits.job ? placement_hosts(l->limits.job, (int)p->row.ranks) : 1;
        return true;
    }
    i -= v->ranks.n;
    p->row.hosts = v->nodes.n ? v->nodes.at[i / or_one(v->devices.n)] : 1;
    p->devices   = v->devices.n ? v->devices.at[i % v->devices.n] : 1;
    p->row.ranks = p->row.hosts * p->devices;
    return !l->limits.job || placement_has(l->limits.job, p->row.hosts, p->devices);
}
