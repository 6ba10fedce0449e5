/* A training step: question and prediction. */
#include "models/step.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

step_setup step_setup_of(int64_t batch, int64_t nodes)
{
    return (step_setup){ .batch     = batch,
                         .nodes     = nodes,
                         .devices   = 1,
                         .sync      = { .rule = SYNC_ONCE, .accumulation = 1 },
                         .optimizer = OPTIMIZER_MOMENTUM };
}

int64_t step_setup_replicas(const step_setup *s)
{
    const int64_t ranks = step_setup_ranks(s), one = s->laid_out ? layout_replica(&s->layout) : 1;

    return ranks < one ? 1 : ranks / one;
}

void grounds_note(grounds *g, const char *what, double factor)
{
    for (size_t i = 0; i < g->n_beyond; i++)
        if (g->beyond[i].what == what ||
            (*g->beyond[i].what == *what && !strcmp(g->beyond[i].what, what)))
            return;
    if (g->n_beyond < GROUNDS_NOTES) {
        g->beyond[g->n_beyond].what   = what;
        g->beyond[g->n_beyond].layers = 0;
        g->beyond[g->n_beyond].by     = NULL;
        g->beyond[g->n_beyond].factor = factor;
        g->n_beyond++;
    }
}

void grounds_note_layers(grounds *g, const char *type, size_t layers, const char *by)
{
    const size_t n = g->n_beyond;

    grounds_note(g, type, 0);
    if (g->n_beyond > n) {
        g->beyond[n].layers = layers;
        g->beyond[n].by     = by;
    }
}

void grounds_join_notes(grounds *g, const grounds *other)
{
    if (!g->n_beyond) { /* no note twice */
        memcpy(g->beyond, other->beyond, other->n_beyond * sizeof *g->beyond);
        g->n_beyond = other->n_beyond;
        return;
    }
    for (size_t i = 0; i < other->n_beyond; i++) {
        const size_t n = g->n_beyond;

        grounds_note(g, other->beyond[i].what, other->beyond[i].factor);
        if (g->n_beyond > n)
            g->beyond[n] = other->beyond[i];
    }
}

const char *grounds_beyond(const grounds *g, char *buffer, size_t size)
{
    *buffer = '\0';
    for (size_t i = 0; i < g->n_beyond; i++) {
        const size_t layers = g->beyond[i].layers;

        text_add(buffer, size, "%s", i ? ", " : "");
        if (layers)
            text_add(buffer, size, "%zu %s", layers,
                     g->beyond[i].by ? ""
                     : layers == 1   ? "layer costs "
                                     : "layers cost ");
        text_add(buffer, size, "%s", g->beyond[i].what);
        if (g->beyond[i].by)
            text_add(buffer, size, " by %s", g->beyond[i].by);
        if (g->beyond[i].factor > 0)
            text_add(buffer, size, " x%.3g", g->beyond[i].factor);
    }
    return buffer;
}
