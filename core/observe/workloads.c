/* Counts of the networks that observations name, at any batch. */
#include "observe/workloads.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "network/autocast.h"
#include "network/single.h"
#include "observe/workload_entries.h"

lm_status workloads_new(const registry *reg, workloads **out, lm_error *err)
{
    workloads *w = calloc(1, sizeof *w);

    if (w && !(w->arena = arena_new())) {
        free(w);
        w = NULL;
    }
    if (!w)
        return no_memory(err);
    w->reg = reg;
    *out   = w;
    return LM_OK;
}

void workloads_free(workloads *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < WORKLOADS_BOUND; i++)
        bound_network_free(w->bound[i].bound);
    for (size_t i = 0; i < w->n_nets; i++)
        network_free(w->net[i]->own);
    for (size_t i = 0; i < w->n_entries; i++)
        gradient_schedule_free(w->entry[i]->schedule);
    free(w->net);
    free(w->entry);
    names_free(&w->by_key);
    names_free(&w->by_name);
    arena_free(w->arena);
    free(w);
}

const registry *workloads_registry(const workloads *w)
{
    return w->reg;
}

lm_status workloads_counts(workloads *w, const workload_name *of, int64_t batch, net_metrics *out,
                           lm_error *err)
{
    entry         *e;
    bound_network *bound;
    net_counts     result;
    lm_status      status;

    if (batch < 1)
        return lm_error_set(err, LM_E_ARG, "batch %lld: must be 1 or more", (long long)batch);
    if ((status = entry_find(w, of, &e, err)))
        return status;
    if (!e->even) {
        if ((status = entry_bind_again(w, e, batch, &bound, err)))
            return status;
        status = metrics_of_network(bound, NULL, out, err);
        bound_network_free(bound);
        return status;
    }
    for (size_t i = 0; i < NET_COUNTS; i++) {
        const uint64_t step = e->second.value[i] - e->first.value[i];

        result.value[i] = lm_add(e->first.value[i], lm_mul((uint64_t)(batch - 1), step));
        if (result.value[i] == UINT64_MAX)
            return lm_error_set(
                err, LM_E_OVERFLOW,
                "%s: a count at batch %lld does not fit 64 bits: give a smaller batch", of->name,
                (long long)batch);
    }
    *out = result.metrics;
    return LM_OK;
}

lm_status workloads_input(workloads *w, const workload_name *of, const char **out, lm_error *err)
{
    entry          *e;
    const lm_status status = entry_find(w, of, &e, err);

    if (!status)
        *out = e->in_use;
    return status;
}

lm_status workloads_even(workloads *w, const workload_name *of, bool *out, lm_error *err)
{
    entry          *e;
    const lm_status status = entry_find(w, of, &e, err);

    if (!status)
        *out = e->even;
    return status;
}

static lm_status terms_of(workloads *w, const entry *e, int64_t batch,
                          const term_settings *settings, optimizer o, pass_terms *out,
                          lm_error *err)
{
    bound_network *bound;
    lm_status      status = entry_bind_again(w, e, batch, &bound, err);

    if (status)
        return status;
    status = terms_of_network(bound, settings, o, out, err);
    bound_network_free(bound);
    return status;
}

/* Terms that grow with the batch by equal steps; of other networks, the terms of this batch. */
static lm_status prepare_terms(workloads *w, entry *e, int64_t batch, const term_settings *settings,
                               optimizer o, lm_error *err)
{
    terms_at     *t    = e->terms;
    const int64_t only = e->even ? 0 : batch;
    pass_terms    first, second;
    lm_status     status;

    if (t->known && t->batch == only && t->o == o &&
        !memcmp(&t->settings, settings, sizeof *settings))
        return LM_OK;
    t->known = false; /* until it is complete */
    if ((status = terms_of(w, e, e->even ? 1 : batch, settings, o, &first, err)) ||
        (e->even && (status = terms_of(w, e, 2, settings, o, &second, err))))
        return status;
    entry_keep_terms(e, &first, e->even ? &second : &first, settings, o);
    t->batch = only;
    return LM_OK;
}

static term_vector extend(const growing_pass *p, int64_t batch, term_item *room)
{
    term_vector v = { room, 0 };

    for (size_t i = 0; i < p->n; i++) {
        const double value = p->item[i].first + (double)(batch - 1) * p->item[i].step;

        if (value != 0)
            room[v.n++] = (term_item){ p->item[i].term, value };
    }
    return v;
}

static lm_status terms_at_batch(workloads *w, entry *e, int64_t batch,
                                const term_settings *settings, optimizer o, full_workload *out,
                                lm_error *err)
{
    workload       *load   = &out->load;
    const lm_status status = prepare_terms(w, e, batch, settings, o, err);

    if (status)
        return status;
    load->forward  = extend(&e->terms->forward, batch, out->room[0]);
    load->backward = extend(&e->terms->backward, batch, out->room[1]);
    load->update   = extend(&e->terms->update, batch, out->room[2]);
    return LM_OK;
}

lm_status workloads_full(workloads *w, const workload_name *of, int64_t batch,
                         const term_settings *settings, optimizer o, full_workload *out,
                         lm_error *err)
{
    entry    *e;
    lm_status status;

    out->load = (workload){ .nodes = 1 };
    if ((status = workloads_counts(w, of, batch, &out->load.counts, err)) ||
        (status = entry_find(w, of, &e, err)) ||
        (status = terms_at_batch(w, e, batch, settings, o, out, err)))
        return status;
    out->load.tokens = e->tokens;
    out->load.bytes  = (double)out->load.counts.param_bytes;
    if (of->on == AUTOCAST_CPU && terms_hold(&out->load.counts, o))
        for (size_t i = 0; i < out->load.update.n; i++)
            out->room[2][i].term = (uint32_t)term_update_held(out->room[2][i].term);
    return LM_OK;
}

lm_status workloads_bind(workloads *w, const workload_name *of, int64_t batch,
                         bound_network *out[2], lm_error *err)
{
    entry    *e;
    lm_status status;

    out[0] = out[1] = NULL;
    if ((status = entry_find(w, of, &e, err)) ||
        (status = entry_bind_again(w, e, e->even ? 1 : batch, &out[0], err)) || !e->even)
        return status;
    if ((status = entry_bind_again(w, e, 2, &out[1], err))) {
        bound_network_free(out[0]);
        out[0] = NULL;
    }
    return status;
}

lm_status workloads_bind_at(workloads *w, const workload_name *of, int64_t batch,
                            bound_network **out, lm_error *err)
{
    entry          *e;
    const lm_status status = entry_find(w, of, &e, err);

    return status ? status : entry_bind_again(w, e, batch, out, err);
}

lm_status workloads_gradients(workloads *w, const workload_name *of, int64_t batch,
                              const term_settings *settings, const gradient_schedule **out,
                              lm_error *err)
{
    bound_network     *bound[2];
    gradient_schedule *made;
    entry             *e;
    lm_status          status;

    if ((status = entry_find(w, of, &e, err)))
        return status;
    if (!e->schedule || (e->schedule->batch && e->schedule->batch != batch) ||
        memcmp(&e->schedule_settings, settings, sizeof *settings)) {
        if ((status = workloads_bind(w, of, batch, bound, err)))
            return status;
        status = gradient_schedule_of(bound, settings, &made, err);
        bound_network_free(bound[0]);
        bound_network_free(bound[1]);
        if (status)
            return status;
        gradient_schedule_free(e->schedule);
        e->schedule          = made;
        e->schedule_settings = *settings;
    }
    *out = e->schedule;
    return LM_OK;
}

lm_status row_bind_layer(const observation *row, const registry *reg, network **net,
                         bound_network **out, lm_error *err)
{
    const bind_options as = { .batch = row->batch,
                              .dtype = row->dtype,
                              .mixed = autocast_of_settings(row->settings),
                              .on    = row->on };

    return single_bind_as(row->name, row->geometry, row->input, &as, reg, net, out, err);
}
