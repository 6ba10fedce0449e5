/* [collectives] of a sweep: all-reduces by themselves. */
#include <string.h>

#include "base/text.h"
#include "sweep/sweep_spread.h"
#include "sync/collective.h"

static const sweep_key keys[] = {
    { "bytes", KEY_BYTE_LIST, SWEEP_AT(bytes), 4, 1e12 },
    SWEEP_SPREAD_KEYS(2),
    { "algorithms", KEY_WORD, SWEEP_AT(algorithms), 0, 0 },
    { NULL, KEY_WORD, 0, 0, 0 },
};

/* All sizes on all counts of ranks, by one algorithm. */
static lm_status add_algorithm(sweep_loading *l, const sweep_values *v, const char *algorithm)
{
    sweep_point p      = { .row = sweep_row() };
    lm_status   status = LM_OK;

    p.row.kind      = OBS_COLLECTIVE;
    p.row.name      = "allreduce";
    p.row.phase     = PHASE_SYNC;
    p.row.dtype     = LM_F32;
    p.row.algorithm = algorithm;
    for (size_t i = 0; i < sweep_spreads(v); i++) {
        const bool fits = sweep_spread(l, v, i, 2, &p);

        for (size_t b = 0; b < v->bytes.n && !status; b++) {
            p.row.bytes = v->bytes.value[b];
            if (p.row.ranks < 2)
                continue; /* one device on one node has nothing to reduce */
            if (fits)
                status = sweep_add(l, &p);
            else
                l->s->n_filtered++;
        }
    }
    return status;
}

lm_status sweep_take_collectives(sweep_loading *l, const ini_section *s, sweep_values *v)
{
    char     *name[8], *copy;
    size_t    n;
    lm_status status = sweep_read(l, s, keys, v);

    if (status)
        return status;
    if (!v->bytes.n) {
        status = lm_error_set(l->err, LM_E_SYNTAX, "'bytes =' is missing");
        return sweep_fail_at(l, s->line, status, s->name);
    }
    if (!v->algorithms)
        return add_algorithm(l, v, ALGORITHM_DEFAULT);
    copy = arena_text(l->s->arena, v->algorithms, strlen(v->algorithms));
    if (!copy)
        return sweep_no_memory(l);
    n = text_split(copy, ',', name, 8);
    for (size_t a = 0; a < n && !status; a++) {
        if (strcmp(name[a], ALGORITHM_DEFAULT) && !algorithm_beside(name[a])) {
            status = lm_error_set(l->err, LM_E_ARG, "'%.40s' is none of default, nonblocking, ring",
                                  name[a]);
            return sweep_fail_at(l, ini_get(s, "algorithms")->line, status, "algorithms");
        }
        status = add_algorithm(l, v, name[a]);
    }
    return status;
}
