/* Places of a job's ranks, and the ranks that take part in a point. */
#include "ranks/placement.h"

void placement_number(const int *leader, int n, int *host, int *seat)
{
    int hosts = 0;

    for (int r = 0; r < n; r++) {
        const bool first = leader[r] == r;

        host[r] = first ? hosts++ : host[leader[r]];
        seat[r] = 0;
        for (int k = r - 1; !first && k >= leader[r]; k--)
            if (leader[k] == leader[r]) {
                seat[r] = seat[k] + 1;
                break;
            }
    }
}

int placement_hosts(const placement *p, int ranks)
{
    int hosts = 0;

    for (int r = 0; r < ranks; r++)
        hosts += p->seat[r] == 0;
    return hosts;
}

bool placement_has(const placement *p, int64_t nodes, int64_t devices)
{
    int64_t found = 0;

    for (int r = 0; r < p->n_ranks; r++)
        found += p->seat[r] == devices - 1;
    return found >= nodes;
}

bool placement_choose(const placement *p, int nodes, int devices, bool *member)
{
    int found = 0;

    for (int r = 0; r < p->n_ranks; r++)
        member[r] = false;
    for (int r = 0; r < p->n_ranks && found < nodes; r++) {
        if (p->seat[r] != devices - 1) /* the rank that completes its machine */
            continue;
        found++;
        for (int k = 0; k <= r; k++)
            if (p->host[k] == p->host[r])
                member[k] = true;
    }
    return found == nodes;
}
