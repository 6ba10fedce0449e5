/* Candidates of measurements, and targets. */
#include "suggest/candidates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "network/network.h"

const stopping stopping_usual = { 1, 3, 20, 2, 0.02, 0 };

double stopping_seconds(const stopping *stop, double once)
{
    return (double)stop->warmup * once +
           fmax((double)stop->min_repeats * once,
                fmin((double)stop->max_repeats * once, stop->max_seconds));
}

/* A step of a network on so many ranks. */
static design_case step_of(const net_metrics *counts, int64_t ranks, size_t number)
{
    return (design_case){
        .load = { .counts = *counts, .nodes = (double)ranks, .bytes = (double)counts->param_bytes },
        .parts   = ranks > 1 ? DESIGN_STEP : DESIGN_STEP & ~(1u << PHASE_SYNC),
        .network = number,
    };
}

/* ---- targets --------------------------------------------------------------------------------- */

#define EVERY 5

/* Default batches. */
static const int64_t usual_batches[] = { 1, 8, 64 };

static lm_status add_target(targets *t, const net_metrics *counts, int64_t nodes, lm_error *err)
{
    if (!array_grow(&t->item, t->n, &t->room, sizeof *t->item))
        return no_memory(err);
    t->item[t->n++] = step_of(counts, nodes, DESIGN_NONE);
    return LM_OK;
}

lm_status targets_add_at(targets *t, workloads *loads, const char *name, lm_dtype dtype,
                         const int64_t *batch, size_t n_batch, const int64_t *nodes, size_t n_nodes,
                         lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t b = 0; b < n_batch && !status; b++) {
        net_metrics counts;

        if ((status = workloads_counts(loads, &(workload_name){ .name = name, .dtype = dtype },
                                       batch[b], &counts, err)))
            return b ? LM_OK : status;
        for (size_t k = 0; k < n_nodes && !status; k++)
            status = add_target(t, &counts, nodes[k], err);
    }
    return status;
}

lm_status targets_add(targets *t, workloads *loads, const char *name, lm_dtype dtype, int64_t most,
                      lm_error *err)
{
    const int64_t nodes[] = { 1, most };

    return targets_add_at(t, loads, name, dtype, usual_batches,
                          sizeof usual_batches / sizeof usual_batches[0], nodes, most > 1 ? 2 : 1,
                          err);
}

lm_status targets_add_known(targets *t, workloads *loads, lm_dtype dtype, int64_t most,
                            lm_error *err)
{
    network_names all;
    lm_status     status = network_list(&all, err);

    if (status)
        return status;
    for (size_t i = 0; i < all.n && !status; i += EVERY) {
        net_metrics counts;
        lm_error    ignored;

        if (workloads_counts(loads, &(workload_name){ .name = all.name[i], .dtype = dtype }, 1,
                             &counts, &ignored) ||
            counts.params > CANDIDATES_MOST_PARAMS)
            continue;
        status = targets_add(t, loads, all.name[i], dtype, most, err);
    }
    network_names_free(&all);
    return status;
}

void targets_free(targets *t)
{
    free(t->item);
    *t = (targets){ .item = NULL };
}

/* ---- candidates ------------------------------------------------------------------------------ */

#define KEY_BYTES 1200

enum { MEASURED, CANDIDATE };

lm_status candidates_new(candidates *c, lm_error *err)
{
    *c = (candidates){ .arena = arena_new() };
    return c->arena ? LM_OK : no_memory(err);
}

void candidates_free(candidates *c)
{
    free(c->item);
    free(c->what);
    names_free(&c->by_name);
    names_free(&c->seen);
    arena_free(c->arena);
    *c = (candidates){ .item = NULL };
}

/* Number of a network, as a design knows it. DESIGN_NONE: none of that name. */
static size_t candidates_network(const candidates *c, const char *name)
{
    const size_t at = names_find(&c->by_name, name);

    return at == NAMES_NONE ? DESIGN_NONE : at;
}

static bool number_network(candidates *c, const char *name)
{
    return names_find(&c->by_name, name) != NAMES_NONE ||
           names_add(&c->by_name, name, c->n_networks++);
}

/* Key of a point beside the common element type and settings. */
static void print_key(const char *name, const char *input, int64_t batch, int64_t ranks,
                      char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "%s|%s|%lld|%lld", name, input, (long long)batch, (long long)ranks);
}

lm_status candidates_measured(candidates *c, const points *p, lm_error *err)
{
    for (size_t i = 0; i < p->n_points; i++) {
        const point *pt = &p->point[i];
        char         key[KEY_BYTES], *kept;

        if (!observation_of_network(pt->row))
            continue;
        print_key(pt->row->name, pt->input, pt->row->batch, pt->row->ranks, key);
        kept = arena_text(c->arena, key, strlen(key));
        if (!kept || !number_network(c, pt->row->name) || !names_set(&c->seen, kept, MEASURED))
            return no_memory(err);
    }
    return LM_OK;
}

design_case candidates_case(const candidates *c, const point *p, design_times *times)
{
    const bool  whole = observation_of_network(p->row);
    design_case out   = { .load    = p->load,
                          .network = whole ? candidates_network(c, p->row->name) : DESIGN_NONE };

    for (phase w = 0; w < N_TIMES; w++) {
        /* formulas describe whole networks with known counts */
        times->seconds[w] =
            p->row->kind == OBS_LAYER || p->load.unknown ? NAN : point_seconds(p, w);
        out.parts |= isnan(times->seconds[w]) ? 0 : 1u << w;
    }
    return out;
}

/* Shape of one sample at an image size; "" for a network of several inputs, which keep the file's
 * shapes. */
static lm_status input_at(candidates *c, const network *net, const registry *reg, int64_t image,
                          lm_dtype dtype, const char **out, lm_error *err)
{
    const bind_options o     = { .batch = 1, .dtype = dtype, .image = image };
    bound_network     *bound = NULL;
    lm_status          status;

    if ((status = bind_network(net, reg, &o, &bound, err)))
        return status;
    if (image && bound->n_data != 1)
        status = lm_error_set(err, LM_E_SHAPE, "has several inputs");
    else if (!(*out = arena_text(c->arena, bound->input, strlen(bound->input))))
        status = no_memory(err);
    bound_network_free(bound);
    return status;
}

static lm_status add(candidates *c, const candidate *one, const net_metrics *counts, lm_error *err)
{
    char   key[KEY_BYTES], *kept;
    size_t seen;

    print_key(one->name, one->input, one->batch, one->ranks, key);
    seen = names_find(&c->seen, key);
    c->n_measured += seen == MEASURED;
    if (seen != NAMES_NONE)
        return LM_OK;
    kept = arena_text(c->arena, key, strlen(key));
    if (!kept || !names_add(&c->seen, kept, CANDIDATE))
        return no_memory(err);
    if (!array_grow(&c->what, c->n, &(size_t){ c->room }, sizeof *c->what) ||
        !array_grow(&c->item, c->n, &c->room, sizeof *c->item))
        return no_memory(err);
    c->item[c->n]   = *one;
    c->what[c->n++] = step_of(counts, one->ranks, one->number);
    return LM_OK;
}

/* One input of a network at all batches and ranks. */
static lm_status add_input(candidates *c, workloads *loads, candidate *one,
                           const candidate_ranges *r, lm_error *err)
{
    for (size_t b = 0; b < r->n_batch; b++) {
        net_metrics counts;
        lm_error    ignored;
        lm_status   status;

        one->batch = r->batch[b];
        status     = workloads_counts(loads,
                                      &(workload_name){ .name  = one->name,
                                                        .input = one->image ? one->input : NULL,
                                                        .dtype = r->dtype },
                                      one->batch, &counts, &ignored);
        if (status == LM_E_NOMEM)
            return no_memory(err);
        if (status) {
            c->n_refused += r->n_ranks;
            continue;
        }
        if (r->most_params && counts.params > r->most_params)
            return LM_OK;
        for (size_t k = 0; k < r->n_ranks; k++) {
            one->ranks = r->ranks[k];
            if ((status = add(c, one, &counts, err)))
                return status;
        }
    }
    return LM_OK;
}

/* Was this input among the first n already? */
static bool tried(const char *const *input, size_t n, const char *now)
{
    for (size_t i = 0; i < n; i++)
        if (input[i] && !strcmp(input[i], now))
            return true;
    return false;
}

lm_status candidates_add(candidates *c, workloads *loads, const char *name,
                         const candidate_ranges *r, lm_error *err)
{
    const registry *reg   = workloads_registry(loads);
    const char     *kept  = arena_text(c->arena, name, strlen(name));
    const char    **input = arena_array(c->arena, r->n_image + 1, sizeof *input);
    network        *net;
    candidate       one = { .name = kept };
    lm_status       status;

    if (!kept || !input)
        return no_memory(err);
    if ((status = network_open(name, reg, NULL, &net, err)) ||
        (status = workloads_give(loads, name, net, err)))
        return status;
    if (!number_network(c, kept))
        return no_memory(err);
    one.net    = net;
    one.number = candidates_network(c, kept);
    for (size_t i = 0; i < r->n_image; i++) {
        lm_error ignored;

        one.image = r->image[i];
        status    = input_at(c, net, reg, one.image, r->dtype, &input[i], &ignored);
        if (status == LM_E_NOMEM)
            return no_memory(err);
        if (status) {
            c->n_refused += r->n_batch * r->n_ranks;
            continue;
        }
        one.input = input[i];
        if (!tried(input, i, one.input) && (status = add_input(c, loads, &one, r, err)))
            return status;
    }
    return LM_OK;
}

lm_status candidate_fits(const candidate *c, const registry *reg, lm_dtype dtype, optimizer o,
                         uint64_t room, bool *fits, lm_error *err)
{
    const bind_options   b = { .batch = c->batch, .dtype = dtype, .image = c->image };
    const memory_options m = { .optimizer = o, .nodes = c->ranks };
    memory_use           use;
    const lm_status      status = memory_of_step(c->net, reg, &b, &m, &use, NULL, err);

    *fits = !status && use.peak <= room;
    return status;
}

double candidate_cost(const stopping *stop, double step)
{
    return STOPPING_NETWORK_SECONDS + stopping_seconds(stop, step);
}
