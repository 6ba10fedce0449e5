/* What planners ask for. */
#include "suggest/targets.h"

#include <stdlib.h>

#include "base/no_memory.h"
#include "network/network.h"

#define EVERY       5
#define MOST_PARAMS 500000000u

const int64_t targets_batches[TARGETS_N_BATCHES] = { 1, 8, 64 };

static lm_status add(targets *t, const net_metrics *counts, int64_t nodes, lm_error *err)
{
    if (t->n == t->room) {
        const size_t room = t->room ? 2 * t->room : 64;
        design_case *more = realloc(t->item, room * sizeof *more);

        if (!more)
            return no_memory(err);
        t->item = more;
        t->room = room;
    }
    t->item[t->n++] = (design_case){
        .load = { .counts = *counts, .nodes = (double)nodes, .bytes = (double)counts->param_bytes },
        .parts = 1u << PHASE_FORWARD | 1u << PHASE_BACKWARD | 1u << PHASE_UPDATE |
                 (nodes > 1 ? 1u << PHASE_SYNC : 0),
        .network = DESIGN_NONE,
    };
    return LM_OK;
}

lm_status targets_add_at(targets *t, workloads *loads, const char *name, lm_dtype dtype,
                         const int64_t *batch, size_t n_batch, const int64_t *nodes, size_t n_nodes,
                         lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t b = 0; b < n_batch && !status; b++) {
        net_metrics counts;

        if ((status = workloads_counts(loads, name, NULL, dtype, batch[b], &counts, err)))
            return b ? LM_OK : status;
        for (size_t k = 0; k < n_nodes && !status; k++)
            status = add(t, &counts, nodes[k], err);
    }
    return status;
}

lm_status targets_add(targets *t, workloads *loads, const char *name, lm_dtype dtype, int64_t most,
                      lm_error *err)
{
    const int64_t nodes[] = { 1, most };

    return targets_add_at(t, loads, name, dtype, targets_batches, TARGETS_N_BATCHES, nodes,
                          most > 1 ? 2 : 1, err);
}

lm_status targets_add_known(targets *t, workloads *loads, lm_dtype dtype, int64_t most,
                            lm_error *err)
{
    network_names names;
    lm_status     status = network_list(&names, err);

    if (status)
        return status;
    for (size_t i = 0; i < names.n && !status; i += EVERY) {
        net_metrics counts;
        lm_error    ignored;

        if (workloads_counts(loads, names.name[i], NULL, dtype, 1, &counts, &ignored) ||
            counts.params > MOST_PARAMS)
            continue;
        status = targets_add(t, loads, names.name[i], dtype, most, err);
    }
    network_names_free(&names);
    return status;
}

void targets_free(targets *t)
{
    free(t->item);
    *t = (targets){ .item = NULL };
}
