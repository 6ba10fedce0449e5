/* The table of kinds of collectives. */
#include "fabric/kind.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Ring: Patarasuk & Yuan 2009; the others: Thakur, Rabenseifner & Gropp 2005. */
static const collective_algorithm_type allreduce_algorithms[] = {
    { .name = ALGORITHM_DEFAULT, .measured = true },
    { .name = ALGORITHM_NONBLOCKING, .beside = true, .measured = true },
    { .name = ALGORITHM_RING, .ring = true, .ring_bytes = true, .beside = true, .measured = true },
    { .name = "rabenseifner", .ring_bytes = true },
    { .name = "recursive_doubling", .all_bytes = true },
    { .name = NULL },
};

/* Thakur, Rabenseifner & Gropp 2005: recursive doubling and halving take log2 n steps and send as
 * few bytes as a ring. Bruck sends half of all pieces in each of log2 n steps. */
static const collective_algorithm_type gathering_algorithms[] = {
    { .name = ALGORITHM_DEFAULT, .measured = true },
    { .name = ALGORITHM_RING, .ring = true, .ring_bytes = true, .beside = true },
    { .name = "recursive_doubling", .ring_bytes = true },
    { .name = "recursive_halving", .ring_bytes = true },
    { .name = NULL },
};

static const collective_algorithm_type alltoall_algorithms[] = {
    { .name = ALGORITHM_DEFAULT, .ring = true, .measured = true },
    { .name = "pairwise", .ring = true, .ring_bytes = true },
    { .name = "bruck", .all_bytes = true },
    { .name = NULL },
};

static const collective_algorithm_type sendrecv_algorithms[] = {
    { .name = ALGORITHM_DEFAULT, .ring_bytes = true, .measured = true },
    { .name = ALGORITHM_WINDOW, .ring_bytes = true, .beside = true },
    { .name = NULL },
};

/* The chain is NCCL's: chunks from rank to rank. Binomial trees send the whole message in each
 * step. The last one scatters along a tree and gathers along a ring (van de Geijn; Thakur,
 * Rabenseifner & Gropp 2005). */
static const collective_algorithm_type broadcast_algorithms[] = {
    { .name = ALGORITHM_DEFAULT, .measured = true },
    { .name = ALGORITHM_RING, .ring = true, .ring_bytes = true, .beside = true },
    { .name = "binomial", .all_bytes = true },
    { .name = "scatter_allgather", .ring_bytes = true },
    { .name = NULL },
};

const collective_type collective_types[N_COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALLREDUCE]     = { .name      = "allreduce",
                                   .title     = "all-reduce",
                                   .one       = "an all-reduce",
                                   .spelled   = { "all-reduce", "all_reduce", "MPI_Allreduce",
                                                  "ncclAllReduce" },
                                   .nccl_test = "all_reduce_perf",
                                   .passes    = 2,
                                   .reduces   = true,
                                   .sums      = true,
                                   .like      = COLLECTIVE_ALLREDUCE,
                                   .stands_in = "priced by all-reduces: not measured",
                                   .algorithm = allreduce_algorithms },
    [COLLECTIVE_ALLGATHER]     = { .name      = "allgather",
                                   .title     = "all-gather",
                                   .one       = "an all-gather",
                                   .spelled   = { "all-gather", "all_gather", "MPI_Allgather",
                                                  "ncclAllGather" },
                                   .nccl_test = "all_gather_perf",
                                   .passes    = 1,
                                   .like      = COLLECTIVE_REDUCESCATTER,
                                   .stands_in = "priced by all-gathers: not measured",
                                   .algorithm = gathering_algorithms },
    [COLLECTIVE_REDUCESCATTER] = { .name      = "reducescatter",
                                   .title     = "reduce-scatter",
                                   .one       = "a reduce-scatter",
                                   .spelled   = { "reduce-scatter", "reduce_scatter",
                                                  "MPI_Reduce_scatter_block", "MPI_Reduce_scatter",
                                                  "ncclReduceScatter" },
                                   .nccl_test = "reduce_scatter_perf",
                                   .passes    = 1,
                                   .reduces   = true,
                                   .like      = COLLECTIVE_ALLGATHER,
                                   .stands_in = "priced by reduce-scatters: not measured",
                                   .algorithm = gathering_algorithms },
    [COLLECTIVE_ALLTOALL]      = { .name      = "alltoall",
                                   .title     = "all-to-all",
                                   .one       = "an all-to-all",
                                   .spelled   = { "all-to-all", "all_to_all", "MPI_Alltoall",
                                                  "ncclAlltoAll" },
                                   .nccl_test = "alltoall_perf",
                                   .passes    = 1,
                                   .pieces    = true,
                                   .like      = COLLECTIVE_ALLTOALL,
                                   .algorithm = alltoall_algorithms },
    [COLLECTIVE_SENDRECV]      = { .name      = "sendrecv",
                                   .title     = "send-recv",
                                   .one       = "a send-recv",
                                   .spelled   = { "send-recv", "send_recv", "MPI_Sendrecv" },
                                   .nccl_test = "sendrecv_perf",
                                   .passes    = 1,
                                   .whole     = true,
                                   .hop       = true,
                                   .like      = COLLECTIVE_SENDRECV,
                                   .algorithm = sendrecv_algorithms },
    [COLLECTIVE_BROADCAST]     = { .name      = "broadcast",
                                   .title     = "broadcast",
                                   .one       = "a broadcast",
                                   .spelled   = { "bcast", "MPI_Bcast", "ncclBroadcast", "ncclBcast" },
                                   .nccl_test = "broadcast_perf",
                                   .passes    = 1,
                                   .whole     = true,
                                   .like      = COLLECTIVE_BROADCAST,
                                   .algorithm = broadcast_algorithms },
};

double collective_volume(collective_kind kind, double n)
{
    const collective_type *t = &collective_types[kind];

    return t->whole ? t->passes : t->passes * (n - 1) / n;
}

lm_status collective_kind_parse(const char *name, collective_kind *out, lm_error *err)
{
    char known[200] = "";

    for (collective_kind k = 0; k < N_COLLECTIVE_KINDS; k++) {
        if (!strcmp(collective_types[k].name, name)) {
            *out = k;
            return LM_OK;
        }
        text_add(known, sizeof known, "%s%s", k ? ", " : "", collective_types[k].name);
    }
    return lm_error_set(err, LM_E_NOTFOUND, "unknown collective '%.40s': expected %s", name, known);
}

lm_status collective_kind_find(const char *word, collective_kind *out, lm_error *err)
{
    const collective_kind found = collective_kind_spelled(word);

    if (found == N_COLLECTIVE_KINDS)
        return collective_kind_parse(word, out, err);
    *out = found;
    return LM_OK;
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

const char *collective_algorithm_meant(collective_kind kind, const char *name)
{
    const char *meant    = NULL;
    size_t      distance = TEXT_NEAR;

    if (!*name || collective_algorithm_known(kind, name)->name)
        return NULL;
    for (const collective_algorithm_type *a = collective_types[kind].algorithm; a->name; a++)
        if (text_nearer(name, a->name, &distance))
            meant = a->name;
    return meant;
}
