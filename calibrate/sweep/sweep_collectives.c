/* [collectives] of a sweep: single collectives. */
#include <stdio.h>

#include "sweep/sweep_spread.h"

static const ini_key keys[] = {
    SWEEP_KEY("bytes", bytes, &type_sizes, 4, 1e12),
    SWEEP_SPREAD_KEYS(2),
    SWEEP_KEY("kinds", kinds, &type_names),
    SWEEP_KEY("algorithms", algorithms, &type_names),
    SWEEP_END,
};

/* All sizes on all counts of ranks, with one algorithm. */
static lm_status add_algorithm(sweep_loading *l, const sweep_values *v, collective_kind kind,
                               const char *algorithm)
{
    sweep_point p      = { .row = sweep_row() };
    lm_status   status = LM_OK;

    p.row.kind      = OBS_COLLECTIVE;
    p.row.name      = collective_types[kind].name;
    p.row.phase     = PHASE_SYNC;
    p.row.dtype     = LM_F32;
    p.row.algorithm = algorithm;
    for (size_t i = 0; i < sweep_spreads(v); i++) {
        const bool fits = sweep_spread(l, v, i, 2, &p);

        for (size_t b = 0; b < v->bytes.n && !status; b++) {
            p.row.bytes = v->bytes.at[b];
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

/* "default, nonblocking, ring": the algorithms that can be measured. */
static void print_known(collective_kind kind, char *out, size_t size)
{
    size_t n = 0;

    for (const collective_algorithm_type *a = collective_types[kind].algorithm; a->name; a++)
        if (a->measured && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", a->name);
}

static lm_status add_kind(sweep_loading *l, const ini_section *s, const sweep_values *v,
                          collective_kind kind)
{
    char      known[120] = "";
    lm_status status     = LM_OK;

    if (!v->algorithms.n)
        return add_algorithm(l, v, kind, ALGORITHM_DEFAULT);
    for (size_t a = 0; a < v->algorithms.n && !status; a++) {
        const char *name = v->algorithms.at[a];

        if (!collective_algorithm_known(kind, name)->measured) {
            print_known(kind, known, sizeof known);
            status = lm_error_set(l->err, LM_E_ARG, "'%.40s' is none of %s", name, known);
            return sweep_fail_at(l, ini_get(s, "algorithms")->line, status, "algorithms");
        }
        status = add_algorithm(l, v, kind, name);
    }
    return status;
}

lm_status sweep_take_collectives(sweep_loading *l, const ini_section *s, sweep_values *v)
{
    collective_kind kind;
    lm_status       status = sweep_read(l, s, keys, v);

    if (status)
        return status;
    if (!v->bytes.n) {
        status = lm_error_set(l->err, LM_E_SYNTAX, "'bytes =' is missing");
        return sweep_fail_at(l, s->line, status, s->name);
    }
    if (!v->kinds.n)
        return add_kind(l, s, v, COLLECTIVE_ALLREDUCE);
    for (size_t k = 0; k < v->kinds.n && !status; k++) {
        if ((status = collective_kind_find(v->kinds.at[k], &kind, l->err)))
            return sweep_fail_at(l, ini_get(s, "kinds")->line, status, "kinds");
        status = add_kind(l, s, v, kind);
    }
    return status;
}
