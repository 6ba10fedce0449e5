/** Counted networks. Private to the files of workloads.h. */
#ifndef OBSERVE_WORKLOAD_ENTRIES_H
#define OBSERVE_WORKLOAD_ENTRIES_H

#include <limits.h>

#include "base/arena.h"
#include "base/names.h"
#include "network/network.h"
#include "observe/workloads.h"

/* One network with one input shape. */
typedef struct entry entry;
struct entry {
    struct loaded     *from;
    workload_name      of;                                        /* input: not NULL */
    char               in_use[sizeof((bound_network *)0)->input]; /* shape of one sample */
    net_counts         first, second;                             /* at batches 1 and 2 */
    bool               counted;                                   /* at batch 1 at least */
    bool               even;   /* the counts grow by equal steps */
    bool               tokens; /* its samples are rows of tokens */
    struct entry      *next;   /* of its network, while several are counted */
    struct terms_at   *terms;
    gradient_schedule *schedule; /* NULL: not asked for */
    term_settings      schedule_settings;
};

/* Terms of a pass that are not 0 at batches 1 and 2. */
typedef struct growing_pass {
    growing_term item[N_TERMS];
    size_t       n;
} growing_pass;

/* Terms at all batches, and their settings. */
typedef struct terms_at {
    bool          known; /* false: not asked for */
    int64_t       batch; /* the only batch, of counts that do not grow in equal steps; 0: all */
    term_settings settings;
    optimizer     o;
    growing_pass  forward, backward, update;
} terms_at;

/* A network file. */
typedef struct loaded {
    const char    *name;
    const network *net;
    network       *own;            /* the same network if it must be freed; NULL: it is lent */
    entry         *pending, *last; /* used while several networks are counted */
} loaded;

#define WORKLOADS_BOUND 3 /* at batches 1, 2, and one other */

struct workloads {
    const registry *reg;
    entry         **entry;
    size_t          n_entries, entry_room;
    loaded        **net;
    size_t          n_nets, net_room;
    names           by_key, by_name;
    /*
     * last requests, in training and in evaluation mode: files list the points of a network
     * together
     */
    entry *last[2];
    struct bound_entry {
        const entry   *of; /* NULL: empty */
        int64_t        batch;
        bound_network *bound;
    } bound[WORKLOADS_BOUND]; /* the most recent ones */
    arena *arena;
};

/* Finds the entry of a name; counts it on first use. */
lm_status entry_find(workloads *w, const workload_name *of, entry **out, lm_error *err);

/*
 * Binds the network of an entry.
 * @param like see bind_options; or NULL
 */
lm_status entry_bind(const workloads *w, const entry *e, int64_t batch, const bound_network *like,
                     bound_network **out, lm_error *err);
/*
 * entry_bind() with a cache of the most recent bindings. The caller calls bound_network_free() in
 * each case.
 */
lm_status entry_bind_again(workloads *w, const entry *e, int64_t batch, bound_network **out,
                           lm_error *err);
/* Terms of all batches, from those at batches 1 and 2. */
void entry_keep_terms(entry *e, const pass_terms *first, const pass_terms *second,
                      const term_settings *settings, optimizer o);

#endif
