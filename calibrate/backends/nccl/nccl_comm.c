/* Communicators of NCCL. */
#include "nccl_comm.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "nccl_network.h"
#include "ranks/pulse.h"

typedef struct kept {
    struct kept *next;
    double      *member; /* by rank of the job: 1 if it is a member */
    bool         ring;
    ncclComm_t   comm;
} kept;

struct nccl_comms {
    const world *everyone;
    kept        *first;
};

/* ---- failures -------------------------------------------------------------------------------- */

/* Was device memory exhausted? NCCL has no code for it: the runtime's last error or the text shows
 * it. */
static bool no_device_memory(const char *text)
{
    return cudaPeekAtLastError() == cudaErrorMemoryAllocation ||
           (text && strstr(text, "out of memory"));
}

lm_status nccl_failed(lm_error *err, ncclComm_t comm, const char *what, ncclResult_t cause)
{
    const char     *more = ncclGetLastError(comm);
    const lm_status code =
        cause != ncclRemoteError && no_device_memory(more) ? LM_E_NOMEM : LM_E_IO;

    (void)cudaGetLastError(); /* reported here */
    return lm_error_set(err, code, "%s: NCCL: %s%s%.300s", what, ncclGetErrorString(cause),
                        more && *more ? ": " : "", more ? more : "");
}

lm_status nccl_cuda_failed(lm_error *err, const char *what, cudaError_t cause)
{
    return lm_error_set(err, cause == cudaErrorMemoryAllocation ? LM_E_NOMEM : LM_E_IO, "%s: %s",
                        what, cudaGetErrorString(cause));
}

lm_status nccl_wait(ncclComm_t comm, cudaEvent_t event, lm_error *err)
{
    cudaError_t  status;
    ncclResult_t found = ncclSuccess, asked;

    while ((status = cudaEventQuery(event)) == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* the runtime keeps it for the next call */
        asked = ncclCommGetAsyncError(comm, &found);
        if (asked != ncclSuccess)
            found = asked;
        if (found != ncclSuccess && found != ncclInProgress)
            return nccl_failed(err, comm, "all-reduce", found);
    }
    return status == cudaSuccess ? LM_OK : nccl_cuda_failed(err, "all-reduce", status);
}

/* ---- making ---------------------------------------------------------------------------------- */

nccl_comms *nccl_comms_new(const world *everyone)
{
    nccl_comms *all = calloc(1, sizeof *all);

    if (all)
        all->everyone = everyone;
    return all;
}

/* Unlike ncclCommDestroy(), does not wait for other ranks. */
static void kept_free(kept *k)
{
    if (k->comm)
        ncclCommAbort(k->comm);
    free(k->member);
    free(k);
}

void nccl_comms_free(nccl_comms *all)
{
    for (kept *k = all ? all->first : NULL, *next; k; k = next) {
        next = k->next;
        kept_free(k);
    }
    free(all);
}

void nccl_comms_drop(nccl_comms *all, ncclComm_t comm)
{
    for (kept **link = &all->first; *link; link = &(*link)->next)
        if ((*link)->comm == comm) {
            kept *gone = *link;

            *link = gone->next;
            kept_free(gone);
            return;
        }
}

/* Number of communicators to keep: those used last. Each has buffers of some 0.5 GB on 8 GPUs
 * (NVIDIA/nccl issues 964, 986). None has work in progress. */
enum { KEPT = 4 };

static void make_room(nccl_comms *all)
{
    size_t n    = 0;
    kept  *last = NULL;

    for (kept *k = all->first; k; k = k->next, n++)
        last = k;
    if (n >= KEPT)
        nccl_comms_drop(all, last->comm);
}

/* Finds a kept communicator and moves it to the front; NULL: none. */
static kept *find_kept(nccl_comms *all, const double *member, bool ring)
{
    const size_t bytes = (size_t)world_size(all->everyone) * sizeof *member;

    for (kept **link = &all->first; *link; link = &(*link)->next)
        if ((*link)->ring == ring && !memcmp((*link)->member, member, bytes)) {
            kept *k = *link;

            *link      = k->next;
            k->next    = all->first;
            all->first = k;
            return k;
        }
    return NULL;
}

/* Sends the id from rank 0 to the others. */
static lm_status share_id(const world *group, ncclUniqueId *id, lm_error *err)
{
    struct {
        ncclResult_t status;
        ncclUniqueId id;
    } told = { .status = ncclSuccess };

    if (world_rank(group) == 0)
        told.status = ncclGetUniqueId(&told.id);
    world_broadcast(group, &told, sizeof told);
    *id = told.id;
    return told.status == ncclSuccess ? LM_OK : nccl_failed(err, NULL, "unique id", told.status);
}

static lm_status initialise(const world *group, const ncclUniqueId *id, bool ring, ncclComm_t *out,
                            lm_error *err)
{
    const char    *before = getenv("NCCL_ALGO");
    char          *own    = before ? strdup(before) : NULL;
    ncclResult_t   status;
    pulse_activity doing;

    if (before && !own)
        return no_memory(err);
    if (ring)
        setenv("NCCL_ALGO", "Ring", 1);
    doing  = pulse_enter(PULSE_EXCHANGE); /* ranks wait for each other in this call */
    status = ncclCommInitRank(out, world_size(group), *id, world_rank(group));
    pulse_enter(doing);
    if (ring && own)
        setenv("NCCL_ALGO", own, 1);
    else if (ring)
        unsetenv("NCCL_ALGO");
    free(own);
    if (status == ncclSuccess)
        return LM_OK;
    *out = NULL;
    return nccl_failed(err, NULL, "communicator", status);
}

/* Members of the group: an array over the ranks of the job, 1 for members. */
static lm_status find_members(const nccl_comms *all, const world *group, double **out,
                              lm_error *err)
{
    const int n      = world_size(all->everyone);
    double   *member = calloc((size_t)n, sizeof *member);
    lm_status status;

    status = world_agree(group, member ? LM_OK : no_memory(err), err);
    if (status) {
        free(member);
        return status;
    }
    member[world_rank(all->everyone)] = 1;
    world_max(group, member, n);
    *out = member;
    return LM_OK;
}

/* Agrees on a status if a communicator could not be made. If one rank had no memory, all skip the
 * point, although the others saw a lost peer. */
static lm_status agree_on_made(const world *group, lm_status mine, lm_error *err)
{
    double          memory = mine == LM_E_NOMEM;
    const lm_status status = world_agree(group, mine, err);

    world_max(group, &memory, 1);
    if (!status || memory <= 0)
        return status;
    return mine == LM_E_NOMEM ? mine
                              : lm_error_set(err, LM_E_NOMEM,
                                             "another rank has no memory for a "
                                             "communicator of NCCL");
}

static lm_status make(nccl_comms *all, const world *group, bool ring, double *member, kept **out,
                      lm_error *err)
{
    kept        *k = calloc(1, sizeof *k);
    ncclUniqueId id;
    lm_status    status = world_agree(group, k ? LM_OK : no_memory(err), err);

    if (k)
        *k = (kept){ .member = member, .ring = ring };
    else
        free(member);
    make_room(all);
    nccl_network_listen();
    if (!status)
        status = share_id(group, &id, err);
    if (!status)
        status = agree_on_made(group, initialise(group, &id, ring, &k->comm, err), err);
    nccl_network_hush();
    if (status && k)
        kept_free(k);
    if (status)
        return status;
    k->next    = all->first;
    all->first = k;
    *out       = k;
    return LM_OK;
}

lm_status nccl_comms_get(nccl_comms *all, const world *group, bool ring, ncclComm_t *out,
                         lm_error *err)
{
    kept     *k;
    double   *member, missing;
    lm_status status = find_members(all, group, &member, err);

    if (status)
        return status;
    k       = find_kept(all, member, ring);
    missing = !k;
    world_max(group, &missing, 1); /* ranks keep communicators of different groups */
    if (missing <= 0) {
        free(member);
    } else {
        if (k)
            nccl_comms_drop(all, k->comm);
        status = make(all, group, ring, member, &k, err);
    }
    if (!status)
        *out = k->comm;
    return status;
}
