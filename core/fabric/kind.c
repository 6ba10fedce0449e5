/* The table of kinds of collectives. */
#include "fabric/kind.h"

#include <stdio.h>
#include <string.h>

/* Ring: Patarasuk & Yuan 2009; the others: Thakur, Rabenseifner & Gropp 2005. */
static const collective_algorithm_type allreduce_algorithms[] = {
    { .name = ALGORITHM_DEFAULT, .measured = true },
    { .name = ALGORITHM_NONBLOCKING, .beside = true, .measured = true },
    { .name = ALGORITHM_RING, .ring = true, .ring_bytes = true, .beside = true, .measured = true },
    { .name = "rabenseifner", .ring_bytes = true },
    { .name = "recursive_doubling", .all_bytes = true },
    { .name = NULL },
};

const collective_type collective_types[N_COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALLREDUCE] = { .name      = "allreduce",
                               .title     = "all-reduce",
                               .one       = "an all-reduce",
                               .spelled   = { "all-reduce", "all_reduce", "MPI_Allreduce",
                                              "ncclAllReduce" },
                               .osu_title = "Allreduce Latency Test",
                               .nccl_test = "all_reduce_perf",
                               .passes    = 2,
                               .sums      = true,
                               .algorithm = allreduce_algorithms },
};

lm_status collective_kind_parse(const char *name, collective_kind *out, lm_error *err)
{
    char   known[200] = "";
    size_t n          = 0;

    for (collective_kind k = 0; k < N_COLLECTIVE_KINDS; k++) {
        if (!strcmp(collective_types[k].name, name)) {
            *out = k;
            return LM_OK;
        }
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", k ? ", " : "",
                              collective_types[k].name);
    }
    return lm_error_set(err, LM_E_NOTFOUND, "'%.40s' is no collective that is known: %s", name,
                        known);
}

collective_kind collective_kind_spelled(const char *word)
{
    for (collective_kind k = 0; k < N_COLLECTIVE_KINDS; k++) {
        const char *const *other = collective_types[k].spelled;

        if (!strcmp(collective_types[k].name, word))
            return k;
        for (size_t s = 0; s < COLLECTIVE_SPELLINGS && other[s]; s++)
            if (!strcmp(other[s], word))
                return k;
    }
    return N_COLLECTIVE_KINDS;
}

const collective_algorithm_type *collective_algorithm_known(collective_kind kind, const char *name)
{
    const collective_algorithm_type *a = collective_types[kind].algorithm;

    while (a->name && strcmp(a->name, name) != 0)
        a++;
    return a;
}
