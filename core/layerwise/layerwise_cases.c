/* Networks as a learned model of single layers sees them: cases, one by one. */
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "counts/shape.h"
#include "layerwise/layerwise_network.h"

#define NOBODY  SIZE_MAX
#define SEVERAL (SIZE_MAX - 1)

/* The one reader of each layer. */
static size_t *readers(const bound_network *net)
{
    size_t *by = malloc((net->n_layers + 1) * sizeof *by);

    for (size_t i = 0; by && i < net->n_layers; i++)
        by[i] = NOBODY;
    for (size_t i = 0; by && i < net->n_layers; i++)
        for (size_t k = 0; k < net->layer[i].decl->n_inputs; k++) {
            const size_t from = net->layer[i].decl->input[k].layer;

            if (from < net->n_layers)
                by[from] = by[from] == NOBODY ? i : SEVERAL;
        }
    return by;
}

static bool is_product(const bound_layer *l)
{
    layer_shape s;

    shape_of_layer(l, &s);
    return s.kind != SHAPE_OTHER;
}

/* Joins layers into cases: of[i] is the first layer of the case of layer i. */
static void join_chains(const bound_network *net, const size_t *reader, size_t *of)
{
    for (size_t i = 0; i < net->n_layers; i++) {
        const bound_layer *l      = &net->layer[i];
        const size_t       before = l->decl->n_inputs ? l->decl->input[0].layer : NOBODY;

        if (!is_product(l))
            continue;
        if (before < net->n_layers && reader[before] == i &&
            !strcmp(net->layer[before].decl->type, "pad"))
            of[i] = before;
        if (reader[i] < net->n_layers && layerwise_is_function(&net->layer[reader[i]]))
            of[reader[i]] = of[i];
    }
}

static bool does_something(const bound_layer *l)
{
    return !l->idle && !l->passes && (l->n_kernels[LM_FORWARD] > 0 || (l->counted && !l->lowered));
}

/* Every layer with the function that alone reads it. */
static void join_functions(const bound_network *net, const size_t *reader, size_t *of)
{
    for (size_t i = 0; i < net->n_layers; i++)
        if (does_something(&net->layer[i]) && reader[i] < net->n_layers && of[i] == i &&
            layerwise_is_function(&net->layer[reader[i]]))
            of[reader[i]] = i;
}

/* ---- attention ---- */

static bool is_dense(const bound_layer *l)
{
    layer_shape s;

    shape_of_layer(l, &s);
    return s.kind == SHAPE_DENSE;
}

/* Layers between a product and attention: cuts, transpositions, added positions. */
static bool lies_between(const bound_layer *l)
{
    return l->n_inputs > 0 && !l->n_weights && !layerwise_is_attention(l) && !is_product(l);
}

typedef enum place { OUTSIDE, INSIDE, END } place;

/* How often a layer is read, and how often from inside. */
typedef struct reads {
    size_t all, inside;
} reads;

static void count_reads(const bound_network *net, size_t i, reads *r, bool inside)
{
    for (size_t k = 0; k < net->layer[i].decl->n_inputs; k++) {
        const size_t from = net->layer[i].decl->input[k].layer;

        if (from < net->n_layers)
            *(inside ? &r[from].inside : &r[from].all) += 1;
    }
}

/* From attention back to the products that nobody else reads; how many of these. */
static size_t go_back(const bound_network *net, size_t attention, reads *r, place *at)
{
    size_t ends = 0;

    at[attention] = INSIDE;
    count_reads(net, attention, r, true);
    for (size_t i = attention; i-- > 0;) {
        if (!r[i].inside || r[i].inside != r[i].all)
            continue;
        at[i] = is_dense(&net->layer[i]) ? END : lies_between(&net->layer[i]) ? INSIDE : OUTSIDE;
        ends += at[i] == END;
        if (at[i] == INSIDE)
            count_reads(net, i, r, true);
    }
    return ends;
}

/* From attention on to the product that reads it. */
static bool go_on(const bound_network *net, size_t attention, const size_t *reader, place *at)
{
    size_t i = reader[attention];

    while (i < net->n_layers && lies_between(&net->layer[i]) && !does_something(&net->layer[i])) {
        at[i] = INSIDE;
        i     = reader[i];
    }
    if (i >= net->n_layers || !is_dense(&net->layer[i]))
        return false;
    at[i] = END;
    return true;
}

/* Attention with the products around it: of[i] is the first layer of all these. */
static lm_status join_attention(const bound_network *net, const size_t *reader, size_t *of,
                                lm_error *err)
{
    reads    *r      = malloc((net->n_layers + 1) * sizeof *r);
    place    *at     = malloc((net->n_layers + 1) * sizeof *at);
    lm_status status = r && at ? LM_OK : no_memory(err);

    for (size_t a = 0; a < net->n_layers && !status; a++) {
        size_t first = NOBODY;

        if (!layerwise_is_attention(&net->layer[a]))
            continue;
        memset(r, 0, net->n_layers * sizeof *r);
        for (size_t i = 0; i < net->n_layers; i++) {
            at[i] = OUTSIDE;
            count_reads(net, i, r, false);
        }
        if (!go_back(net, a, r, at) || !go_on(net, a, reader, at))
            continue;
        for (size_t i = 0; i < net->n_layers; i++) {
            first = at[i] != OUTSIDE && first == NOBODY ? i : first;
            of[i] = at[i] != OUTSIDE ? first : of[i];
        }
    }
    free(r);
    free(at);
    return status;
}

/* ---- walking ---- */

#define CASE_LAYERS 16 /* of attention: three products, positions of two, itself, its output */

/* The layers of a case that do something; false: none does, or too many. */
static bool take_case(const bound_network *net, const size_t *of, size_t first,
                      const bound_layer *layer[CASE_LAYERS], layerwise_case *c)
{
    size_t n = 0;

    for (size_t k = first; k < net->n_layers; k++) {
        if (of[k] != first || !does_something(&net->layer[k]))
            continue;
        if (n == CASE_LAYERS)
            return false;
        layer[n++] = &net->layer[k];
    }
    c->layer    = layer;
    c->n_layers = n;
    return n > 0;
}

static void dissolve(size_t *around, size_t first, size_t n)
{
    for (size_t k = n; k-- > first;)
        if (around[k] == first)
            around[k] = NOBODY;
}

/* For each layer its case, and the attention around which it stands. */
typedef struct parts {
    size_t *of, *around;
} parts;

static lm_status see_from(const bound_network *net, const parts *p, size_t i,
                          const layerwise_case *like,
                          lm_status (*see)(void *context, layerwise_case *c, bool *parted),
                          void *context)
{
    const bound_layer *layer[CASE_LAYERS];
    layerwise_case     c      = *like;
    bool               parted = true;
    lm_status          status = LM_OK;

    if (p->around[i] == i) {
        if (take_case(net, p->around, i, layer, &c)) {
            parted = false;
            status = see(context, &c, &parted);
        }
        if (parted)
            dissolve(p->around, i, net->n_layers);
    }
    if (status || p->around[i] != NOBODY)
        return status;
    if (p->around[p->of[i]] != NOBODY) /* behind attention that was shown as a whole */
        p->of[i] = i;
    if (p->of[i] != i || !take_case(net, p->of, i, layer, &c))
        return LM_OK;
    parted = false;
    status = see(context, &c, &parted);
    for (size_t k = i + 1; k < net->n_layers && parted; k++)
        if (p->of[k] == i)
            p->of[k] = k;
    if (status || !parted || c.n_layers < 2)
        return status;
    c = *like;
    return take_case(net, p->of, i, layer, &c) ? see(context, &c, &parted) : LM_OK;
}

lm_status layerwise_each(const bound_network *net, layerwise_joined joined,
                         const layerwise_setup *s,
                         lm_status (*see)(void *context, layerwise_case *c, bool *parted),
                         void *context, lm_error *err)
{
    const layerwise_case like   = { .phase     = PHASE_FORWARD,
                                    .batch     = net->options.batch,
                                    .dtype     = net->options.dtype,
                                    .optimizer = "",
                                    .settings  = s->settings,
                                    .on        = s->on,
                                    .clock_mhz = s->clock_mhz };
    const size_t         n      = net->n_layers;
    size_t              *reader = readers(net);
    size_t              *room   = malloc((2 * n + 1) * sizeof *room);
    const parts          p      = { room, room ? room + n : NULL };
    lm_status            status = reader && room ? LM_OK : no_memory(err);

    for (size_t i = 0; !status && i < n; i++) {
        p.of[i]     = i;
        p.around[i] = NOBODY;
    }
    if (!status && joined == LAYERWISE_FUNCTIONS)
        join_functions(net, reader, p.of);
    if (!status && joined == LAYERWISE_CHAINS) {
        join_chains(net, reader, p.of);
        status = join_attention(net, reader, p.around, err);
    }
    for (size_t i = 0; i < n && !status; i++)
        status = see_from(net, &p, i, &like, see, context);
    free(reader);
    free(room);
    return status;
}
