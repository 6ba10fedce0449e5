/* Extremely randomised trees. */
#include "learn/extra.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/random.h"

typedef struct growing {
    const learn_rows    *rows;
    const extra_options *o;
    size_t              *order; /* order of rows: those of a node lie side by side */
    uint64_t             random;
    trees               *t;
    size_t               room;
} growing;

/* A part of the order, and its mean. */
typedef struct part {
    size_t from, n;
    double mean;
} part;

typedef struct cut {
    size_t feature;
    float  at;
    double gain; /* of squares; 0: none */
} cut;

static float value_of(const growing *g, size_t place, size_t feature)
{
    return (float)g->rows->x[g->order[place] * g->rows->n_features + feature];
}

static double mean_of(const growing *g, size_t from, size_t n)
{
    double sum = 0;

    for (size_t i = from; i < from + n; i++)
        sum += g->rows->y[g->order[i]];
    return sum / (double)n;
}

/* A random threshold above the least value and up to the largest, and its gain. */
static cut draw_cut(growing *g, const part *p, size_t feature)
{
    float  low = HUGE_VALF, high = -HUGE_VALF;
    double below = 0, sum = 0;
    size_t n = 0;
    cut    c = { .feature = feature };

    for (size_t i = p->from; i < p->from + p->n; i++) {
        low  = fminf(low, value_of(g, i, feature));
        high = fmaxf(high, value_of(g, i, feature));
    }
    c.at = low + (high - low) * (float)((double)(random_next(&g->random) >> 11) * 0x1p-53);
    if (!(c.at > low)) /* so that something is below */
        c.at = high;
    for (size_t i = p->from; i < p->from + p->n; i++) {
        const double y = g->rows->y[g->order[i]] - p->mean;

        sum += y;
        if (value_of(g, i, feature) < c.at) {
            below += y;
            n++;
        }
    }
    if (low < high)
        c.gain = below * below / (double)n + (sum - below) * (sum - below) / (double)(p->n - n);
    return c;
}

/* Moves rows below the threshold to the front. Returns their number. */
static size_t part_rows(growing *g, const part *p, const cut *c)
{
    size_t front = p->from;

    for (size_t i = p->from; i < p->from + p->n; i++)
        if (value_of(g, i, c->feature) < c->at) {
            const size_t swap = g->order[front];

            g->order[front++] = g->order[i];
            g->order[i]       = swap;
        }
    return front - p->from;
}

static bool add_node(growing *g, tree_node node)
{
    if (g->t->n_nodes == g->room) {
        const size_t room = g->room ? 2 * g->room : 1024;
        tree_node   *more = realloc(g->t->node, room * sizeof *more);

        if (!more)
            return false;
        g->t->node = more;
        g->room    = room;
    }
    g->t->node[g->t->n_nodes++] = node;
    return true;
}

/* Grows a node and its descendants, parents first; false when memory runs out. */
static bool grow(growing *g, size_t from, size_t n, size_t depth)
{
    const size_t mine   = g->t->n_nodes;
    const part   p      = { from, n, mean_of(g, from, n) };
    const bool   splits = depth < g->o->depth && n >= g->o->split_rows;
    cut          best   = { .gain = 0 };
    size_t       below;

    for (size_t k = 0; splits && k < g->rows->n_features; k++) {
        const cut c = draw_cut(g, &p, k);

        if (c.gain > best.gain)
            best = c;
    }
    if (!add_node(g, (tree_node){ .feature = -1,
                                  .value   = (float)(p.mean / g->o->trees),
                                  .below   = (int32_t)n }))
        return false;
    if (!(best.gain > 0))
        return true;
    below                    = part_rows(g, &p, &best);
    g->t->node[mine].feature = (int32_t)best.feature;
    g->t->node[mine].value   = best.at;
    g->t->node[mine].below   = (int32_t)(g->t->n_nodes - mine);
    if (!grow(g, from, below, depth + 1))
        return false;
    g->t->node[mine].above = (int32_t)(g->t->n_nodes - mine);
    return grow(g, from + below, n - below, depth + 1);
}

lm_status extra_train(const learn_rows *rows, const extra_options *o, trees **out, lm_error *err)
{
    growing   g      = { .rows = rows, .o = o, .random = o->seed };
    lm_status status = learn_rows_check(rows, TREES_FEATURES, err);

    if (status)
        return status;
    g.t     = calloc(1, sizeof *g.t);
    g.order = malloc(rows->n * sizeof *g.order);
    if (!g.t || !g.order || !(g.t->begin = calloc(o->trees + 1, sizeof *g.t->begin)))
        status = no_memory(err);
    for (size_t i = 0; !status && i < rows->n; i++)
        g.order[i] = i;
    for (size_t k = 0; !status && k < o->trees; k++) {
        if (!grow(&g, 0, rows->n, 0))
            status = no_memory(err);
        g.t->begin[k + 1] = g.t->n_nodes;
    }
    free(g.order);
    if (status) {
        trees_free(g.t);
        return status;
    }
    g.t->n_features = rows->n_features;
    g.t->n_trees    = o->trees;
    *out            = g.t;
    return LM_OK;
}
