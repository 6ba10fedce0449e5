/* Entries of workloads: networks, loaded once, with their counts for an input shape. */
#include "observe/workload_entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/parallel.h"

static loaded *loaded_new(workloads *w, const char *name)
{
    loaded *new = arena_alloc(w->arena, sizeof *new);

    if (!new || !(new->name = arena_text(w->arena, name, strlen(name))))
        return NULL;
    return new;
}

static lm_status loaded_keep(workloads *w, loaded *l, lm_error *err)
{
    if (!array_grow(&w->net, w->n_nets, &w->net_room, sizeof *w->net) ||
        !names_set(&w->by_name, l->name, w->n_nets)) {
        network_free(l->own);
        return no_memory(err);
    }
    w->net[w->n_nets++] = l;
    return LM_OK;
}

lm_status workloads_give(workloads *w, const char *name, network *net, lm_error *err)
{
    loaded *new = loaded_new(w, name);

    if (!new) {
        network_free(net);
        return no_memory(err);
    }
    new->net = new->own = net;
    return loaded_keep(w, new, err);
}

lm_status workloads_lend(workloads *w, const char *name, const network *net, lm_error *err)
{
    loaded *new = loaded_new(w, name);

    if (!new)
        return no_memory(err);
    new->net = net;
    return loaded_keep(w, new, err);
}

static lm_status load_network(workloads *w, const char *name, loaded **out, lm_error *err)
{
    size_t    at = names_find(&w->by_name, name);
    network  *net;
    lm_status status;

    if (at == NAMES_NONE) {
        if ((status = network_open(name, w->reg, NULL, &net, err)) ||
            (status = workloads_give(w, name, net, err)))
            return status;
        at = w->n_nets - 1;
    }
    *out = w->net[at];
    return LM_OK;
}

lm_status entry_bind(const workloads *w, const entry *e, int64_t batch, const bound_network *like,
                     bound_network **out, lm_error *err)
{
    const bind_options options = { .batch      = batch,
                                   .dtype      = e->of.dtype,
                                   .mixed      = e->of.mixed,
                                   .on         = e->of.on,
                                   .input      = *e->of.input ? e->of.input : NULL,
                                   .evaluation = e->of.evaluation,
                                   .shard      = e->of.shard,
                                   .like       = like,
                                   .checked    = e->counted };

    return bind_network(e->from->net, w->reg, &options, out, err);
}

/* Place of the entry of a batch. */
static struct bound_entry *place_of(workloads *w, int64_t batch)
{
    return &w->bound[batch > 0 && batch < WORKLOADS_BOUND ? batch - 1 : WORKLOADS_BOUND - 1];
}

static void keep_bound(workloads *w, const entry *e, int64_t batch, bound_network *bound)
{
    struct bound_entry *k = place_of(w, batch);

    bound_network_free(k->bound);
    *k = (struct bound_entry){ e, batch, bound };
}

lm_status entry_bind_again(workloads *w, const entry *e, int64_t batch, bound_network **out,
                           lm_error *err)
{
    const struct bound_entry *k = place_of(w, batch);
    lm_status                 status;

    if (k->of != e || k->batch != batch) {
        if ((status = entry_bind(w, e, batch, NULL, out, err)))
            return status;
        keep_bound(w, e, batch, *out);
    }
    *out = bound_network_share(k->bound);
    return LM_OK;
}

static lm_status entry_count_at(const workloads *w, entry *e, int64_t batch,
                                const bound_network *like, net_counts *out, bound_network **bound,
                                lm_error *err)
{
    lm_status status = entry_bind(w, e, batch, like, bound, err);

    if (status)
        return status;
    memcpy(e->in_use, (*bound)->input, sizeof e->in_use);
    e->counted = true;
    e->tokens  = metrics_tokens(*bound) > 0;
    if ((status = metrics_of_network(*bound, NULL, &out->metrics, err))) {
        bound_network_free(*bound);
        *bound = NULL;
    }
    return status;
}

static void grow(const double *first, const double *second, growing_pass *out)
{
    out->n = 0;
    for (size_t t = 0; t < N_TERMS; t++)
        if (first[t] != 0 || second[t] != 0)
            out->item[out->n++] = (growing_term){ (uint32_t)t, first[t], second[t] - first[t] };
}

void entry_keep_terms(entry *e, const pass_terms *first, const pass_terms *second,
                      const term_settings *settings, optimizer o)
{
    terms_at *t = e->terms;

    grow(first->forward, second->forward, &t->forward);
    grow(first->backward, second->backward, &t->backward);
    grow(first->update, second->update, &t->update);
    t->settings = *settings;
    t->o        = o;
    t->known    = true;
}

static const char *input_of(const workload_name *of)
{
    return of->input ? of->input : "";
}

static bool same_name(const workload_name *a, const workload_name *b)
{
    return a->dtype == b->dtype && a->mixed == b->mixed && a->on == b->on &&
           a->evaluation == b->evaluation && !strcmp(a->name, b->name) &&
           shard_equals(&a->shard, &b->shard) && !strcmp(input_of(a), input_of(b));
}

/* Key of an entry; false: too long. */
static bool entry_key(const workload_name *of, char key[PATH_MAX])
{
    char shard[SHARD_TEXT];

    return snprintf(key, PATH_MAX, "%s %s %d %d %d %d %s", of->name, input_of(of), of->dtype,
                    of->mixed, of->on, of->evaluation, shard_print(&of->shard, shard)) < PATH_MAX;
}

/* Begins an entry, which cannot be found until it is kept. The caller sets `from`. */
static lm_status entry_begin(workloads *w, const workload_name *of, entry **out, lm_error *err)
{
    entry *e = arena_alloc(w->arena, sizeof *e);

    if (!e || !(e->terms = arena_alloc(w->arena, sizeof *e->terms)))
        return no_memory(err);
    e->of       = *of;
    e->of.name  = arena_text(w->arena, of->name, strlen(of->name));
    e->of.input = arena_text(w->arena, input_of(of), strlen(input_of(of)));
    *out        = e;
    return e->of.name && e->of.input ? LM_OK : no_memory(err);
}

/* Far from batches 1 and 2: a layer of experts reads more of them with each sample, until it reads all. */
#define FAR_BATCH 1000

/* Do the counts from batches 1 and 2 on reach those of a far batch? Of counts beyond 64 bits there: of
 * batch 3. */
static lm_status judge(const workloads *w, entry *e, const bound_network *like, lm_error *err)
{
    int64_t        batch = FAR_BATCH;
    bound_network *bound = NULL;
    net_counts     far;
    lm_status      status = entry_count_at(w, e, batch, like, &far, &bound, err);

    if (status == LM_E_OVERFLOW) {
        batch  = 3;
        status = entry_count_at(w, e, batch, like, &far, &bound, err);
    }
    bound_network_free(bound);
    e->even = !status;
    for (size_t i = 0; i < NET_COUNTS && e->even; i++) {
        const uint64_t first = e->first.value[i], second = e->second.value[i];

        e->even = second >= first &&
                  far.value[i] == lm_add(first, lm_mul((uint64_t)(batch - 1), second - first));
    }
    return status;
}

/* `bound`: the network at batches 1 and 2, for the caller to free; NULL on failure. */
static lm_status entry_count(const workloads *w, entry *e, const bound_network *like,
                             bound_network *bound[2], lm_error *err)
{
    lm_status status;

    bound[0] = bound[1] = NULL;
    if ((status = entry_count_at(w, e, 1, like, &e->first, &bound[0], err)) ||
        (status = entry_count_at(w, e, 2, bound[0], &e->second, &bound[1], err)) ||
        (status = judge(w, e, bound[0], err))) {
        bound_network_free(bound[0]);
        bound_network_free(bound[1]);
        bound[0] = bound[1] = NULL;
        return status;
    }
    return LM_OK;
}

static lm_status entry_keep(workloads *w, entry *e, lm_error *err)
{
    char  key[PATH_MAX];
    char *kept = entry_key(&e->of, key) ? arena_text(w->arena, key, strlen(key)) : NULL;

    if (!kept || !array_grow(&w->entry, w->n_entries, &w->entry_room, sizeof *w->entry) ||
        !names_add(&w->by_key, kept, w->n_entries))
        return no_memory(err);
    w->entry[w->n_entries++] = e;
    return LM_OK;
}

static lm_status new_entry(workloads *w, const workload_name *of, entry **out, lm_error *err)
{
    bound_network *bound[2];
    lm_status      status;

    if ((status = entry_begin(w, of, out, err)) ||
        (status = load_network(w, of->name, &(*out)->from, err)) ||
        (status = entry_count(w, *out, NULL, bound, err)))
        return status;
    if ((status = entry_keep(w, *out, err))) {
        bound_network_free(bound[0]);
        bound_network_free(bound[1]);
        return status;
    }
    keep_bound(w, *out, 1, bound[0]);
    keep_bound(w, *out, 2, bound[1]);
    return LM_OK;
}

lm_status entry_find(workloads *w, const workload_name *of, entry **out, lm_error *err)
{
    char      key[PATH_MAX];
    size_t    at;
    entry    *e = NULL;
    lm_status status;

    *out = w->last[of->evaluation];
    if (*out && same_name(of, &(*out)->of))
        return LM_OK;
    if (!entry_key(of, key))
        return lm_error_set(err, LM_E_ARG, "%s: name is too long", of->name);
    at = names_find(&w->by_key, key);
    if (at != NAMES_NONE)
        e = w->entry[at];
    else if ((status = new_entry(w, of, &e, err)))
        return status;
    *out = w->last[of->evaluation] = e;
    return LM_OK;
}

/* ---- counted side by side -------------------------------------------------------------------- */

/* Networks with entries to count. */
typedef struct pending {
    const workloads *w;
    loaded         **net;
    size_t           n;
} pending;

static lm_status count_terms(entry *e, bound_network *const bound[2], lm_error *err)
{
    const term_settings *settings = &term_settings_default;
    const optimizer      o        = OPTIMIZER_MOMENTUM;
    pass_terms           first, second;
    lm_status            status;

    if (!(status = terms_of_network(bound[0], settings, o, &first, err)) &&
        !(status = terms_of_network(bound[1], settings, o, &second, err)))
        entry_keep_terms(e, &first, &second, settings, o);
    return status;
}

/* Errors of loading and counting are reported when the network is asked for. */
static lm_status count_pending(void *context, size_t i, lm_error *err)
{
    const pending *p     = context;
    loaded        *l     = p->net[i];
    bound_network *first = NULL;
    entry        **e     = &l->pending;

    if (!l->net && !network_open(l->name, p->w->reg, NULL, &l->own, err))
        l->net = l->own;
    while (*e) {
        bound_network *bound[2] = { NULL, NULL };

        if (l->net && !entry_count(p->w, *e, first, bound, err) && !count_terms(*e, bound, err))
            e = &(*e)->next;
        else
            *e = (*e)->next;
        bound_network_free(bound[1]);
        if (first)
            bound_network_free(bound[0]);
        else
            first = bound[0];
    }
    bound_network_free(first);
    return LM_OK;
}

/* Is the name neither counted nor pending? */
static bool is_new(const workloads *w, const workload_name *of, const workload_name *before,
                   const names *seen, char key[PATH_MAX])
{
    return !(before && same_name(of, before)) && entry_key(of, key) &&
           names_find(&w->by_key, key) == NAMES_NONE && names_find(seen, key) == NAMES_NONE;
}

static void add_pending(entry *e)
{
    loaded *l = e->from;

    if (l->pending)
        l->last->next = e;
    else
        l->pending = e;
    l->last = e;
}

/* The network of a name, loaded before or not yet. */
static loaded *find_loaded(workloads *w, const char *name, names *seen, pending *to)
{
    const size_t known = names_find(&w->by_name, name);
    size_t       at    = names_find(seen, name);

    if (at == NAMES_NONE) {
        at          = to->n;
        to->net[at] = known == NAMES_NONE ? loaded_new(w, name) : w->net[known];
        if (!to->net[at] || !names_add(seen, to->net[at]->name, at))
            return NULL;
        to->n++;
    }
    return to->net[at];
}

static lm_status find_pending(workloads *w, const workload_name *of, size_t n, pending *to,
                              lm_error *err)
{
    names                keys = { .n = 0 }, nets = { .n = 0 };
    const workload_name *before[2] = { NULL, NULL }; /* in training, in evaluation */
    lm_status            status    = LM_OK;
    char                 key[PATH_MAX];

    for (size_t i = 0; i < n && !status; i++) {
        const bool new = is_new(w, &of[i], before[of[i].evaluation], &keys, key);
        char  *kept;
        entry *e;

        before[of[i].evaluation] = &of[i];
        if (!new)
            continue;
        kept = arena_text(w->arena, key, strlen(key));
        if (!kept || !names_add(&keys, kept, i)) {
            status = no_memory(err);
        } else if (!(status = entry_begin(w, &of[i], &e, err))) {
            if (!(e->from = find_loaded(w, of[i].name, &nets, to)))
                status = no_memory(err);
            else
                add_pending(e);
        }
    }
    names_free(&keys);
    names_free(&nets);
    return status;
}

static bool is_kept(const workloads *w, const loaded *l)
{
    return names_find(&w->by_name, l->name) != NAMES_NONE;
}

/* Keeps the counts of one network. */
static lm_status keep_pending(workloads *w, loaded *l, lm_error *err)
{
    lm_status status = LM_OK;

    if (l->net && !is_kept(w, l))
        status = loaded_keep(w, l, err);
    for (entry *e = l->pending; e && !status; e = e->next)
        status = entry_keep(w, e, err);
    return status;
}

lm_status workloads_prepare(workloads *w, const workload_name *of, size_t n, lm_error *err)
{
    pending   p      = { w, malloc((n + 1) * sizeof(loaded *)), 0 };
    lm_status status = p.net ? find_pending(w, of, n, &p, err) : no_memory(err);

    if (!status)
        status = parallel_for(p.n, count_pending, &p, err);
    for (size_t i = 0; i < p.n; i++) {
        loaded *l = p.net[i];

        if (!status)
            status = keep_pending(w, l, err);
        else if (!is_kept(w, l))
            network_free(l->own);
        l->pending = NULL;
    }
    free(p.net);
    return status;
}
