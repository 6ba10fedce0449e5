/* Networks that are counted side by side, before anybody asks for them. */
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/parallel.h"
#include "observe/workload_entries.h"

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

    if (!l->net && !network_open(l->name, p->w->reg, NULL, &l->own, err))
        l->net = l->own;
    while (*e)
        if (l->net && !entry_count(p->w, *e, &first, err))
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
           entry_key(of, key) && names_find(&w->by_key, key) == NAMES_NONE &&
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

/* What was counted, of one network. */
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
