/* The set of measured networks and their configurations. */
#include "fit/measured.h"

#include <stdlib.h>
#include <string.h>

/* Order within one network. */
static int compare_within(const measured_at *a, const measured_at *b)
{
    int order = strcmp(a->input, b->input);

    if (!order)
        order = (a->ranks > b->ranks) - (a->ranks < b->ranks);
    if (!order)
        order = (a->batch > b->batch) - (a->batch < b->batch);
    return order;
}

/* Neighbouring batches are adjacent, so that those of a network share a line. */
static int compare(const measured_at *a, const measured_at *b)
{
    const int order = strcmp(a->network, b->network);

    return order ? order : compare_within(a, b);
}

/* Place of a step, or the place where it belongs. A network's name is at one address in the set. */
static size_t place(const measured_set *set, const measured_at *at)
{
    const char *name = at->network;
    size_t      low = 0, high = set->n;

    while (low < high) {
        const size_t       middle = (low + high) / 2;
        const measured_at *here   = &set->at[middle];
        int                order  = here->network == name ? 0 : strcmp(here->network, name);

        if (!order) {
            name  = here->network;
            order = compare_within(here, at);
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool measured_has(const measured_set *set, const measured_at *at)
{
    const size_t i = place(set, at);

    return i < set->n && !compare(&set->at[i], at);
}

measured_batches measured_on(const measured_set *set, const measured_at *at)
{
    measured_at first = *at, last = *at;
    size_t      from;

    first.batch = 0;
    last.batch  = INT64_MAX;
    from        = place(set, &first);
    return (measured_batches){ set->at + from, place(set, &last) - from };
}

bool measured_batch(const measured_batches *of, int64_t batch)
{
    size_t low = 0, high = of->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (of->at[middle].batch == batch)
            return true;
        if (of->at[middle].batch < batch)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool make_room(measured_set *set)
{
    const size_t room = set->room ? 2 * set->room : 64;
    measured_at *more;

    if (!set->arena && !(set->arena = arena_new()))
        return false;
    if (set->n < set->room)
        return true;
    if (!(more = realloc(set->at, room * sizeof *more)))
        return false;
    set->at   = more;
    set->room = room;
    return true;
}

/* The name at its address in the set if a neighbour has it, else a copy; NULL when memory runs
 * out. */
static const char *name_at(const measured_set *set, size_t i, const char *name)
{
    if (i && !strcmp(set->at[i - 1].network, name))
        return set->at[i - 1].network;
    if (i < set->n && !strcmp(set->at[i].network, name))
        return set->at[i].network;
    return arena_text(set->arena, name, strlen(name));
}

bool measured_add(measured_set *set, const measured_at *at)
{
    const size_t i    = place(set, at);
    measured_at  mine = *at;

    if (i < set->n && !compare(&set->at[i], at))
        return true;
    if (!make_room(set))
        return false;
    mine.network = name_at(set, i, at->network);
    mine.input   = arena_text(set->arena, at->input, strlen(at->input));
    if (!mine.network || !mine.input)
        return false;
    memmove(set->at + i + 1, set->at + i, (set->n - i) * sizeof *set->at);
    set->at[i] = mine;
    set->n++;
    return true;
}

void measured_free(measured_set *set)
{
    arena_free(set->arena);
    free(set->at);
    *set = (measured_set){ .n = 0 };
}
