/* Counts of the networks that observations name, at any batch. */
#include "observe/workloads.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"
#include "base/parallel.h"
#include "network/network.h"

#define N_COUNTS (sizeof(net_metrics) / sizeof(uint64_t))

typedef union counts {
    net_metrics metrics;
    uint64_t    value[N_COUNTS];
} counts;

/* One network with one input shape. */
typedef struct entry entry;
struct entry {
    struct loaded     *from;
    const char        *name, *input;
    char               in_use[sizeof((bound_network *)0)->input]; /* shape of one sample */
    lm_dtype           dtype;
    counts             first, second; /* at batches 1 and 2 */
    bool               even;          /* the counts grow by equal steps */
    struct entry      *next;          /* of several to be counted, the next of its network */
    struct terms_at   *terms;         /* NULL: nobody has asked */
    gradient_schedule *schedule;      /* the same */
    term_settings      schedule_settings;
};

/* A term at batch 1, and by how much it grows with each sample more. */
typedef struct growing {
    uint32_t term;
    double   first, step;
} growing;

/* Those of a pass that are not 0 at batches 1 and 2. */
typedef struct growing_pass {
    growing item[N_TERMS];
    size_t  n;
} growing_pass;

/* Terms at all batches, and what they were computed with. */
typedef struct terms_at {
    term_settings settings;
    optimizer     o;
    growing_pass  forward, backward, update;
} terms_at;

/* A network file. Whether its counts grow by equal steps is a matter of its layers, not of the
 * input's size: the first input that is asked for decides. */
typedef struct loaded {
    const char *name;
    network    *net;
    bool        judged, even;
    entry      *pending, *last; /* of several, those to be counted */
} loaded;

struct workloads {
    const registry *reg;
    entry         **entry;
    size_t          n_entries, entry_room;
    loaded        **net;
    size_t          n_nets, net_room;
    names           by_key, by_name;
    entry          *last; /* asked for: files list the points of a network together */
    arena          *arena;
};

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
    for (size_t i = 0; i < w->n_nets; i++)
        network_free(w->net[i]->net);
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

static bool make_room(void **array, size_t n, size_t *room)
{
    void *more;

    if (n < *room)
        return true;
    more = realloc(*array, (*room ? 2 * *room : 16) * sizeof(void *));
    if (!more)
        return false;
    *room  = *room ? 2 * *room : 16;
    *array = more;
    return true;
}

static loaded *new_loaded(workloads *w, const char *name)
{
    loaded *new = arena_alloc(w->arena, sizeof *new);

    if (!new || !(new->name = arena_text(w->arena, name, strlen(name))))
        return NULL;
    return new;
}

static lm_status keep_loaded(workloads *w, loaded *l, lm_error *err)
{
    if (!make_room((void **)&w->net, w->n_nets, &w->net_room) ||
        !names_set(&w->by_name, l->name, w->n_nets)) {
        network_free(l->net);
        return no_memory(err);
    }
    w->net[w->n_nets++] = l;
    return LM_OK;
}

lm_status workloads_give(workloads *w, const char *name, network *net, lm_error *err)
{
    loaded *new = new_loaded(w, name);

    if (!new) {
        network_free(net);
        return no_memory(err);
    }
    new->net = net;
    return keep_loaded(w, new, err);
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

/* @param like see bind_options; or NULL */
static lm_status bind_entry(const workloads *w, const entry *e, int64_t batch,
                            const bound_network *like, bound_network **out, lm_error *err)
{
    const bind_options options = {
        .batch = batch, .dtype = e->dtype, .input = *e->input ? e->input : NULL, .like = like
    };

    return bind_network(e->from->net, w->reg, &options, out, err);
}

/* @param first of the network's binds, once there is one: the caller's. NULL: none is kept
 * @param terms those that fits begin with; NULL: not wanted */
static lm_status count(const workloads *w, entry *e, int64_t batch, bound_network **first,
                       counts *out, pass_terms *terms, lm_error *err)
{
    bound_network *bound;
    lm_status      status = bind_entry(w, e, batch, first ? *first : NULL, &bound, err);

    if (status)
        return status;
    status = metrics_of_network(bound, NULL, &out->metrics, err);
    if (!status && terms)
        status = terms_of_network(bound, &term_settings_default, OPTIMIZER_MOMENTUM, terms, err);
    memcpy(e->in_use, bound->input, sizeof e->in_use);
    if (first && !*first)
        *first = bound;
    else
        bound_network_free(bound);
    return status;
}

static void grow(const double *first, const double *second, growing_pass *out)
{
    out->n = 0;
    for (size_t t = 0; t < N_TERMS; t++)
        if (first[t] != 0 || second[t] != 0)
            out->item[out->n++] = (growing){ (uint32_t)t, first[t], second[t] - first[t] };
}

static void keep_terms(entry *e, const pass_terms *first, const pass_terms *second,
                       const term_settings *settings, optimizer o, terms_at *t)
{
    grow(first->forward, second->forward, &t->forward);
    grow(first->backward, second->backward, &t->backward);
    grow(first->update, second->update, &t->update);
    t->settings = *settings;
    t->o        = o;
    e->terms    = t;
}

/* ---- entries ------------------------------------------------------------------------------------
 */

static bool key_of(const workload_name *of, char key[PATH_MAX])
{
    return snprintf(key, PATH_MAX, "%s %s %d", of->name, of->input, of->dtype) < PATH_MAX;
}

/* One that nobody finds before it is kept. */
static lm_status begin_entry(workloads *w, const workload_name *of, entry **out, lm_error *err)
{
    entry *e = arena_alloc(w->arena, sizeof *e);

    if (!e || !(e->terms = arena_alloc(w->arena, sizeof *e->terms)) ||
        !(e->name = arena_text(w->arena, of->name, strlen(of->name))) ||
        !(e->input = arena_text(w->arena, of->input, strlen(of->input))))
        return no_memory(err);
    e->dtype = of->dtype;
    *out     = e;
    return LM_OK;
}

/* Changes nothing but the entry and its network's judgement. */
static lm_status count_entry(const workloads *w, entry *e, bound_network **first, lm_error *err)
{
    loaded    *l = e->from;
    counts     third;
    pass_terms one, two;
    lm_status  status;

    if ((status = count(w, e, 1, first, &e->first, &one, err)) ||
        (status = count(w, e, 2, first, &e->second, &two, err)) ||
        (!l->judged && (status = count(w, e, 3, first, &third, NULL, err))))
        return status;
    keep_terms(e, &one, &two, &term_settings_default, OPTIMIZER_MOMENTUM, e->terms);
    if (!l->judged) {
        l->judged = l->even = true;
        for (size_t i = 0; i < N_COUNTS; i++)
            l->even &=
                third.value[i] - e->second.value[i] == e->second.value[i] - e->first.value[i];
    }
    e->even = l->even;
    for (size_t i = 0; i < N_COUNTS; i++)
        e->even &= e->second.value[i] >= e->first.value[i];
    return LM_OK;
}

static lm_status keep_entry(workloads *w, entry *e, lm_error *err)
{
    const workload_name of = { e->name, e->input, e->dtype };
    char                key[PATH_MAX];
    char               *kept = key_of(&of, key) ? arena_text(w->arena, key, strlen(key)) : NULL;

    if (!kept || !make_room((void **)&w->entry, w->n_entries, &w->entry_room) ||
        !names_add(&w->by_key, kept, w->n_entries))
        return no_memory(err);
    w->entry[w->n_entries++] = e;
    return LM_OK;
}

static lm_status new_entry(workloads *w, const workload_name *of, entry **out, lm_error *err)
{
    bound_network *first = NULL;
    lm_status      status;

    if ((status = begin_entry(w, of, out, err)) ||
        (status = load_network(w, of->name, &(*out)->from, err)))
        return status;
    status = count_entry(w, *out, &first, err);
    bound_network_free(first);
    return status ? status : keep_entry(w, *out, err);
}

static lm_status find_entry(workloads *w, const char *name, const char *input, lm_dtype dtype,
                            entry **out, lm_error *err)
{
    const workload_name of = { name, input, dtype };
    char                key[PATH_MAX];
    size_t              at;
    entry              *e = NULL;
    lm_status           status;

    *out = w->last;
    if (w->last && w->last->dtype == dtype && !strcmp(w->last->name, name) &&
        !strcmp(w->last->input, input))
        return LM_OK;
    if (!key_of(&of, key))
        return lm_error_set(err, LM_E_ARG, "%s: name is too long", name);
    at = names_find(&w->by_key, key);
    if (at != NAMES_NONE)
        e = w->entry[at];
    else if ((status = new_entry(w, &of, &e, err)))
        return status;
    *out = w->last = e;
    return LM_OK;
}

/* ---- several at once ----------------------------------------------------------------------------
 */

/* Networks with entries that are to be counted. */
typedef struct pending {
    const workloads *w;
    loaded         **net;
    size_t           n;
} pending;

/* Who asks for what cannot be loaded or counted is told what is wrong. */
static lm_status count_pending(void *context, size_t i, lm_error *err)
{
    const pending *p     = context;
    loaded        *l     = p->net[i];
    bound_network *first = NULL;
    entry        **e     = &l->pending;

    if (!l->net && network_open(l->name, p->w->reg, NULL, &l->net, err))
        l->net = NULL;
    while (*e)
        if (l->net && !count_entry(p->w, *e, &first, err))
            e = &(*e)->next;
        else
            *e = (*e)->next;
    bound_network_free(first);
    return LM_OK;
}

/* Is one of the names to be counted, and has nobody done so? */
static bool is_new(const workloads *w, const workload_name *of, const workload_name *before,
                   const names *seen, char key[PATH_MAX])
{
    return !(before && before->dtype == of->dtype && !strcmp(before->name, of->name) &&
             !strcmp(before->input, of->input)) &&
           key_of(of, key) && names_find(&w->by_key, key) == NAMES_NONE &&
           names_find(seen, key) == NAMES_NONE;
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
        to->net[at] = known == NAMES_NONE ? new_loaded(w, name) : w->net[known];
        if (!to->net[at] || !names_add(seen, to->net[at]->name, at))
            return NULL;
        to->n++;
    }
    return to->net[at];
}

static lm_status find_pending(workloads *w, const workload_name *of, size_t n, pending *to,
                              lm_error *err)
{
    names     keys = { .n = 0 }, nets = { .n = 0 };
    lm_status status = LM_OK;

    for (size_t i = 0; i < n && !status; i++) {
        char   key[PATH_MAX];
        char  *kept;
        entry *e;

        if (!is_new(w, &of[i], i ? &of[i - 1] : NULL, &keys, key))
            continue;
        kept = arena_text(w->arena, key, strlen(key));
        if (!kept || !names_add(&keys, kept, i)) {
            status = no_memory(err);
        } else if (!(status = begin_entry(w, &of[i], &e, err))) {
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

/* What was counted, of one network. */
static lm_status keep_pending(workloads *w, loaded *l, lm_error *err)
{
    lm_status status = LM_OK;

    if (l->net && !is_kept(w, l))
        status = keep_loaded(w, l, err);
    for (entry *e = l->pending; e && !status; e = e->next)
        status = keep_entry(w, e, err);
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
            network_free(l->net);
        l->pending = NULL;
    }
    free(p.net);
    return status;
}

lm_status workloads_counts(workloads *w, const char *name, const char *input, lm_dtype dtype,
                           int64_t batch, net_metrics *out, lm_error *err)
{
    entry    *e;
    counts    result;
    lm_status status;

    if (!input)
        input = "";
    if (batch < 1)
        return lm_error_set(err, LM_E_ARG, "batch %lld: must be 1 or more", (long long)batch);
    if ((status = find_entry(w, name, input, dtype, &e, err)))
        return status;
    if (!e->even) {
        if ((status = count(w, e, batch, NULL, &result, NULL, err)))
            return status;
        *out = result.metrics;
        return LM_OK;
    }
    for (size_t i = 0; i < N_COUNTS; i++) {
        const uint64_t step = e->second.value[i] - e->first.value[i];

        result.value[i] = lm_add(e->first.value[i], lm_mul((uint64_t)(batch - 1), step));
        if (result.value[i] == UINT64_MAX)
            return lm_error_set(err, LM_E_OVERFLOW,
                                "%s: a count at batch %lld does not fit 64 bits", name,
                                (long long)batch);
    }
    *out = result.metrics;
    return LM_OK;
}

lm_status workloads_input(workloads *w, const char *name, const char *input, lm_dtype dtype,
                          const char **out, lm_error *err)
{
    entry          *e;
    const lm_status status = find_entry(w, name, input ? input : "", dtype, &e, err);

    if (!status)
        *out = e->in_use;
    return status;
}

lm_status workloads_even(workloads *w, const char *name, const char *input, lm_dtype dtype,
                         bool *out, lm_error *err)
{
    entry          *e;
    const lm_status status = find_entry(w, name, input ? input : "", dtype, &e, err);

    if (!status)
        *out = e->even;
    return status;
}

static lm_status terms_of(const workloads *w, const entry *e, int64_t batch,
                          const term_settings *settings, optimizer o, pass_terms *out,
                          lm_error *err)
{
    bound_network *bound;
    lm_status      status = bind_entry(w, e, batch, NULL, &bound, err);

    if (status)
        return status;
    status = terms_of_network(bound, settings, o, out, err);
    bound_network_free(bound);
    return status;
}

static lm_status prepare_terms(const workloads *w, entry *e, const term_settings *settings,
                               optimizer o, lm_error *err)
{
    terms_at  *t = e->terms;
    pass_terms first, second;
    lm_status  status;

    if (t && t->o == o && !memcmp(&t->settings, settings, sizeof *settings))
        return LM_OK;
    if (!t && !(t = arena_alloc(w->arena, sizeof *t)))
        return no_memory(err);
    e->terms = NULL; /* until it is whole */
    if ((status = terms_of(w, e, 1, settings, o, &first, err)) ||
        (status = terms_of(w, e, 2, settings, o, &second, err)))
        return status;
    keep_terms(e, &first, &second, settings, o, t);
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
    workload  *load = &out->load;
    pass_terms sum;
    lm_status  status;

    if (!e->even) {
        if ((status = terms_of(w, e, batch, settings, o, &sum, err)))
            return status;
        load->forward  = terms_pack(sum.forward, out->room[0]);
        load->backward = terms_pack(sum.backward, out->room[1]);
        load->update   = terms_pack(sum.update, out->room[2]);
        return LM_OK;
    }
    if ((status = prepare_terms(w, e, settings, o, err)))
        return status;
    load->forward  = extend(&e->terms->forward, batch, out->room[0]);
    load->backward = extend(&e->terms->backward, batch, out->room[1]);
    load->update   = extend(&e->terms->update, batch, out->room[2]);
    return LM_OK;
}

lm_status workloads_full(workloads *w, const char *name, const char *input, lm_dtype dtype,
                         int64_t batch, const term_settings *settings, optimizer o,
                         full_workload *out, lm_error *err)
{
    entry    *e;
    lm_status status;

    out->load = (workload){ .nodes = 1 };
    if ((status = workloads_counts(w, name, input, dtype, batch, &out->load.counts, err)) ||
        (status = find_entry(w, name, input ? input : "", dtype, &e, err)) ||
        (status = terms_at_batch(w, e, batch, settings, o, out, err)))
        return status;
    out->load.bytes = (double)out->load.counts.param_bytes;
    return LM_OK;
}

lm_status workloads_bind(workloads *w, const char *name, const char *input, lm_dtype dtype,
                         int64_t batch, bound_network *out[2], lm_error *err)
{
    entry    *e;
    lm_status status;

    out[0] = out[1] = NULL;
    if ((status = find_entry(w, name, input ? input : "", dtype, &e, err)) ||
        (status = bind_entry(w, e, e->even ? 1 : batch, NULL, &out[0], err)) || !e->even)
        return status;
    if ((status = bind_entry(w, e, 2, NULL, &out[1], err))) {
        bound_network_free(out[0]);
        out[0] = NULL;
    }
    return status;
}

lm_status workloads_bind_at(workloads *w, const char *name, const char *input, lm_dtype dtype,
                            int64_t batch, bound_network **out, lm_error *err)
{
    entry          *e;
    const lm_status status = find_entry(w, name, input ? input : "", dtype, &e, err);

    return status ? status : bind_entry(w, e, batch, NULL, out, err);
}

lm_status workloads_gradients(workloads *w, const char *name, const char *input, lm_dtype dtype,
                              int64_t batch, const term_settings *settings,
                              const gradient_schedule **out, lm_error *err)
{
    bound_network     *bound[2];
    gradient_schedule *made;
    entry             *e;
    lm_status          status;

    if ((status = find_entry(w, name, input ? input : "", dtype, &e, err)))
        return status;
    if (!e->schedule || (e->schedule->batch && e->schedule->batch != batch) ||
        memcmp(&e->schedule_settings, settings, sizeof *settings)) {
        if ((status = workloads_bind(w, name, input, dtype, batch, bound, err)))
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
