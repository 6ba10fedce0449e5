/* Do the ranks fit together? */
#include "run/agreement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

/* "rank 2", "ranks 0-3,6": those of one group. */
static void print_ranks(const agreement *a, const int *group, int which, char *out, size_t size)
{
    int  n      = 0;
    bool behind = false;

    for (int r = 0; r < a->n_ranks; r++)
        n += group[r] == which;
    snprintf(out, size, n == 1 ? "rank " : "ranks ");
    for (int r = 0; r < a->n_ranks; r++) {
        int last = r;

        if (group[r] != which)
            continue;
        while (last + 1 < a->n_ranks && group[last + 1] == which)
            last++;
        text_add(out, size, "%s%d", behind ? "," : "", r);
        if (last > r)
            text_add(out, size, "-%d", last);
        behind = true;
        r      = last;
    }
}

/* ---- hardware ---- */

typedef struct fact {
    const char *name;
    /* writes the value as text; for a device, that of the i-th key of `like` */
    void (*print)(const rank_facts *of, const rank_facts *like, int i, char *out, size_t size);
} fact;

static void print_cpu(const rank_facts *of, const rank_facts *like, int i, char *out, size_t size)
{
    (void)like;
    (void)i;
    snprintf(out, size, "%s", of->cpu);
}

static void print_core_count(const rank_facts *of, const rank_facts *like, int i, char *out,
                             size_t size)
{
    (void)like;
    (void)i;
    snprintf(out, size, "%lld", (long long)of->cores);
}

/* Equal machines differ by the memory that their firmware keeps. */
static void print_memory(const rank_facts *of, const rank_facts *like, int i, char *out,
                         size_t size)
{
    const int64_t off = of->memory_kib - like->memory_kib;

    (void)i;
    if ((off < 0 ? -off : off) <= like->memory_kib / 33)
        of = like;
    snprintf(out, size, "%.1f GiB", (double)of->memory_kib / 1048576);
}

static const char *find_device(const rank_facts *of, const char *key)
{
    for (int i = 0; i < of->n_devices; i++)
        if (!strcmp(of->device[i].key, key))
            return of->device[i].value;
    return NULL;
}

/* A rank may lack what another has. */
static void print_device(const rank_facts *of, const rank_facts *like, int i, char *out,
                         size_t size)
{
    const char *value = find_device(of, like->device[i].key);

    snprintf(out, size, "%s", value ? value : "none");
}

/* Ranks with the same value are one group, named after its first rank. */
static bool group_ranks(const agreement *a, const fact *f, const rank_facts *like, int i,
                        char (*value)[96], int *group)
{
    bool differ = false;

    for (int r = 0; r < a->n_ranks; r++) {
        f->print(&a->rank[r], like, i, value[r], sizeof value[r]);
        group[r] = 0;
        while (group[r] < r && (group[group[r]] != group[r] || strcmp(value[group[r]], value[r])))
            group[r]++;
        differ |= group[r] != 0;
    }
    return differ;
}

/* "cpu: A (ranks 0-2), B (rank 3)" */
static void add_groups(agreement *a, const char *name, char (*value)[96], const int *group)
{
    char ranks[96];
    int  n = 0;

    text_add(a->mixed, sizeof a->mixed, "%s%s: ", a->mixed[0] ? "; " : "", name);
    for (int r = 0; r < a->n_ranks; r++) {
        if (group[r] != r || n++ > 3)
            continue;
        print_ranks(a, group, r, ranks, sizeof ranks);
        text_add(a->mixed, sizeof a->mixed, "%s%s (%s)", n > 1 ? ", " : "", value[r], ranks);
    }
    if (n > 4)
        text_add(a->mixed, sizeof a->mixed, " and %d more", n - 4);
}

/* Has an earlier rank reported it? */
static bool compared(const agreement *a, int rank, const char *key)
{
    for (int r = 0; r < rank; r++)
        if (find_device(&a->rank[r], key))
            return true;
    return false;
}

static void find_mixed(agreement *a, char (*value)[96], int *group)
{
    static const fact machine[] = { { "cpu", print_cpu },
                                    { "cores", print_core_count },
                                    { "memory", print_memory } };
    const fact        device    = { NULL, print_device };

    for (size_t f = 0; f < sizeof machine / sizeof machine[0]; f++)
        if (group_ranks(a, &machine[f], &a->rank[0], 0, value, group))
            add_groups(a, machine[f].name, value, group);
    for (int r = 0; r < a->n_ranks; r++)
        for (int i = 0; i < a->rank[r].n_devices; i++)
            if (!compared(a, r, a->rank[r].device[i].key) &&
                group_ranks(a, &device, &a->rank[r], i, value, group))
                add_groups(a, a->rank[r].device[i].key, value, group);
}

/* ---- room ---- */

/* Threads of a host's ranks, and the cores that they may use together; 0: not known. */
static int64_t count_threads(const agreement *a, const char *host, int *cores)
{
    uint64_t all[FACTS_CORES / 64] = { 0 };
    int64_t  threads               = 0;

    for (int r = 0; r < a->n_ranks; r++) {
        if (strcmp(a->rank[r].host, host) != 0)
            continue;
        threads += a->rank[r].threads;
        for (int i = 0; i < FACTS_CORES / 64; i++)
            all[i] |= a->rank[r].allowed[i];
    }
    *cores = facts_count_cores(all);
    return threads;
}

static void find_crowded(agreement *a)
{
    for (int r = 0; r < a->n_ranks && !a->crowded[0]; r++) {
        int           cores;
        const int64_t threads = count_threads(a, a->rank[r].host, &cores);
        const int     own     = facts_count_cores(a->rank[r].allowed);

        if (cores && threads > cores)
            snprintf(a->crowded, sizeof a->crowded, "%lld threads of ranks share %d core%s of %s",
                     (long long)threads, cores, cores == 1 ? "" : "s", a->rank[r].host);
        else if (own && a->rank[r].threads > own)
            snprintf(a->crowded, sizeof a->crowded, "%lld threads of rank %d share %d core%s of %s",
                     (long long)a->rank[r].threads, r, own, own == 1 ? "" : "s", a->rank[r].host);
    }
}

/* A collective between GPUs: the thread that measures spins, and NCCL's proxy and service threads
 * move the data of a network (NCCL 2.28, src/proxy.cc). */
enum { CORES_OF_COLLECTIVE = 4 };

static void find_starved(agreement *a)
{
    for (int r = 0; r < a->n_ranks && a->n_ranks > 1 && a->rank[r].gpu_collective; r++) {
        const rank_facts *f   = &a->rank[r];
        const int         own = facts_count_cores(f->allowed);
        char              cores[160], near[160];

        if (a->crowded[0])
            return;
        facts_print_cores(f->allowed, cores, sizeof cores);
        facts_print_cores(f->near, near, sizeof near);
        if (own && near[0] && !facts_cores_meet(f->allowed, f->near))
            text_add(a->crowded, sizeof a->crowded,
                     "rank %d on %s runs on cores %s, away from its GPU, which is beside cores %s",
                     r, f->host, cores, near);
        else if (own && own < CORES_OF_COLLECTIVE)
            text_add(
                a->crowded, sizeof a->crowded,
                "NCCL's threads of rank %d on %s share %d core%s with the thread that measures: "
                "give each rank %d or more (mpirun --bind-to numa, srun --cpus-per-task)",
                r, f->host, own, own == 1 ? "" : "s", CORES_OF_COLLECTIVE);
    }
}

/* ---- all of it ---- */

lm_status agreement_open(agreement *a, const world *everyone, const bench *b, lm_error *err)
{
    const size_t n = (size_t)world_size(everyone);
    rank_facts   mine;
    char(*value)[96] = calloc(n, sizeof *value);
    int   *group     = calloc(n, sizeof *group);
    double failed;

    *a = (agreement){ .rank    = calloc(n, sizeof *a->rank),
                      .n_ranks = (int)n,
                      .virtual = b->compute->type->virtual != 0 };
    facts_find(b, &mine);
    failed = !a->rank || !value || !group;
    world_max(everyone, &failed, 1);
    if (failed <= 0) {
        world_gather(everyone, &mine, (int)sizeof mine, a->rank);
        if (!a->virtual) {
            find_mixed(a, value, group);
            find_crowded(a);
            find_starved(a);
        }
    }
    free(value);
    free(group);
    return failed > 0 ? no_memory(err) : LM_OK;
}

void agreement_close(agreement *a)
{
    free(a->rank);
    a->rank = NULL;
}

/* Facts that every rank must share with rank 0. */
static lm_status check_run(const rank_facts *first, const rank_facts *other, int r, lm_error *err)
{
    char who[200];

    snprintf(who, sizeof who, "rank %d on %s", r, other->host);
    if (first->program != other->program)
        return strcmp(first->build, other->build)
                   ? lm_error_set(err, LM_E_ARG, "%s runs another build than rank 0 on %s: %s; %s",
                                  who, first->host, other->build, first->build)
                   : lm_error_set(err, LM_E_ARG,
                                  "%s runs another build than rank 0 on %s, although both are %s",
                                  who, first->host, first->build);
    if (first->plugins != other->plugins)
        return lm_error_set(err, LM_E_ARG,
                            "%s has other plugins than rank 0 on %s: layer types would differ", who,
                            first->host);
    if (first->sweep != other->sweep)
        return lm_error_set(err, LM_E_ARG,
                            "%s finds other points in the sweep than rank 0 on %s: the sweep and "
                            "its networks must be the same on all hosts",
                            who, first->host);
    return LM_OK;
}

lm_status agreement_check(const agreement *a, bool allow_mixed, lm_error *err)
{
    for (int r = 1; r < a->n_ranks; r++) {
        const lm_status status = check_run(&a->rank[0], &a->rank[r], r, err);

        if (status)
            return status;
    }
    if (a->mixed[0] && !allow_mixed)
        return lm_error_set(err, LM_E_ARG,
                            "ranks run on different hardware (--allow-mixed measures it "
                            "nevertheless): %s",
                            a->mixed);
    return LM_OK;
}

/* ---- provenance ---- */

static bool same_place(const rank_facts *x, const rank_facts *y)
{
    return !strcmp(x->host, y->host) && !memcmp(x->allowed, y->allowed, sizeof x->allowed);
}

static void put_hosts(const agreement *a, char *text, size_t size, int *group,
                      void (*put)(void *context, const char *key, const char *value), void *context)
{
    char ranks[200];

    text[0] = '\0';
    for (int r = 0; r < a->n_ranks; r++)
        for (group[r] = 0; strcmp(a->rank[group[r]].host, a->rank[r].host) != 0;)
            group[r]++;
    for (int r = 0; r < a->n_ranks; r++) {
        if (group[r] != r)
            continue;
        print_ranks(a, group, r, ranks, sizeof ranks);
        text_add(text, size, "%s%s (%s)", text[0] ? ", " : "", a->rank[r].host, ranks);
    }
    put(context, "hosts", text);
}

static void put_binding(const agreement *a, char *text, size_t size,
                        void (*put)(void *context, const char *key, const char *value),
                        void *context)
{
    char cores[160];

    text[0] = '\0';
    for (int r = 0; r < a->n_ranks; r++) {
        const rank_facts *f    = &a->rank[r];
        const int         from = r;

        while (r + 1 < a->n_ranks && same_place(f, &a->rank[r + 1]))
            r++;
        facts_print_cores(f->allowed, cores, sizeof cores);
        text_add(text, size, "%s%s %d", text[0] ? "; " : "", r > from ? "ranks" : "rank", from);
        if (r > from)
            text_add(text, size, "-%d", r);
        text_add(text, size, ": cores %s of %lld", cores[0] ? cores : "not known",
                 (long long)f->cores);
        if (f->numa[0])
            text_add(text, size, ", NUMA %s", f->numa);
    }
    put(context, "binding", text);
}

void agreement_describe(const agreement *a,
                        void (*put)(void *context, const char *key, const char *value),
                        void *context)
{
    const size_t size  = 320 * ((size_t)a->n_ranks + 1);
    char        *text  = malloc(size);
    int         *group = calloc((size_t)a->n_ranks, sizeof *group);

    if (text && group) {
        put_hosts(a, text, size, group, put, context);
        put_binding(a, text, size, put, context);
    }
    if (a->mixed[0])
        put(context, "mixed", a->mixed);
    if (a->crowded[0])
        put(context, "crowded", a->crowded);
    free(text);
    free(group);
}
