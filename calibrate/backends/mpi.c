/* Collectives over MPI, on host memory; each has a row of types[]. All-reduces: the library's own
 * choice, its nonblocking one (often another algorithm, used by buckets), or our own ring. (A
 * library does not report its algorithm, or it needs a switch before the start. A ring of sends and
 * receives is known to be one.) */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "backends/trial.h"
#include "base/no_memory.h"
#include "fabric/collective.h"
#include "measure/backend.h"
#include "measure/clock.h"
#include "measure/machine_state.h"
#include "mpi_buckets.h"
#include "ranks/pulse.h"
#include "ranks/start_mpi.h"
#include "ranks/world_mpi.h"

typedef struct mpi_backend {
    backend base; /* first */
    float  *pool; /* zeros, kept between points: fresh pages take long */
    size_t  pool_bytes;
} mpi_backend;

typedef struct mpi_work mpi_work;

/* The call of a kind of collective, on the message at w->data. */
typedef struct mpi_type {
    void (*before)(mpi_work *w); /* not timed: work of the pass before the message; NULL: none */
    void (*begin)(mpi_work *w);  /* not timed; NULL: nothing */
    int (*run)(mpi_work *w);     /* timed; returns MPI's code */
} mpi_type;

struct mpi_work {
    const mpi_type *type;
    const world    *group;
    start_line      start;
    MPI_Comm        comm;
    trial           of;
    int             rank, size;
    int64_t         n;    /* number of floats of a message */
    int64_t         room; /* number of floats of all messages of one exchange */
    float          *pool; /* the backend's pool: several messages, used in turn, see pool_slots() */
    int64_t         slots, next;
    float          *data;    /* the message in use */
    float          *scratch; /* one chunk of the ring */
    bool            ring, nonblocking;
    MPI_Request     posted; /* of the nonblocking all-reduce */
};

/* Begin of chunk c if n elements are divided among `size` ranks. */
static int64_t chunk_begin(const mpi_work *w, int c)
{
    return w->n / w->size * c + (c < w->n % w->size ? c : w->n % w->size);
}

static int chunk_length(const mpi_work *w, int c)
{
    return (int)(chunk_begin(w, c + 1) - chunk_begin(w, c));
}

static int right_of(const mpi_work *w)
{
    return (w->rank + 1) % w->size;
}

static int left_of(const mpi_work *w)
{
    return (w->rank + w->size - 1) % w->size;
}

/* Ring all-reduce: reduce-scatter, then all-gather, each in size - 1 steps to the right-hand neighbour (Patarasuk & Yuan 2009). Every rank
 * sends 2 (size - 1) / size of the message. */
static int ring_allreduce(const mpi_work *w)
{
    const int right = right_of(w), left = left_of(w);
    int       failed = MPI_SUCCESS;

    for (int s = 0; s < w->size - 1 && failed == MPI_SUCCESS; s++) {
        const int out = (w->rank - s + w->size) % w->size;
        const int in  = (w->rank - s - 1 + w->size) % w->size;
        float    *to  = w->data + chunk_begin(w, in);
        const int n   = chunk_length(w, in);

        failed = MPI_Sendrecv(w->data + chunk_begin(w, out), chunk_length(w, out), MPI_FLOAT, right,
                              0, w->scratch, n, MPI_FLOAT, left, 0, w->comm, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++)
            to[i] += w->scratch[i];
    }
    for (int s = 0; s < w->size - 1 && failed == MPI_SUCCESS; s++) {
        const int out = (w->rank + 1 - s + w->size) % w->size;
        const int in  = (w->rank - s + w->size) % w->size;

        failed = MPI_Sendrecv(w->data + chunk_begin(w, out), chunk_length(w, out), MPI_FLOAT, right,
                              0, w->data + chunk_begin(w, in), chunk_length(w, in), MPI_FLOAT, left,
                              0, w->comm, MPI_STATUS_IGNORE);
    }
    return failed;
}

static int allreduce_run(mpi_work *w)
{
    if (w->ring)
        return ring_allreduce(w);
    if (w->nonblocking)
        return MPI_Wait(&w->posted, MPI_STATUS_IGNORE);
    return MPI_Allreduce(MPI_IN_PLACE, w->data, (int)w->n, MPI_FLOAT, MPI_SUM, w->comm);
}

/* Posts the message before timing starts. With buckets (mpi_buckets.h) posting is part of the
 * backward pass, because libraries copy the message: a sixth of the whole. Measured here is the
 * rest. Steps with buckets give the share of the pass (fit/exposed/exposed.h). */
static void allreduce_begin(mpi_work *w)
{
    if (w->nonblocking)
        MPI_Iallreduce(MPI_IN_PLACE, w->data, (int)w->n, MPI_FLOAT, MPI_SUM, w->comm, &w->posted);
}

/* Divides the message, as buckets are before they are sent: part of it is then in caches. */
static void allreduce_before(mpi_work *w)
{
    for (int64_t i = 0; w->nonblocking && i < w->n; i++)
        w->data[i] /= (float)w->size;
}

/* Number of elements of one rank's part. */
static int part_of(const mpi_work *w)
{
    return (int)(w->n / w->size);
}

static int allgather_run(mpi_work *w)
{
    return MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, w->data, part_of(w), MPI_FLOAT,
                         w->comm);
}

static int reducescatter_run(mpi_work *w)
{
    return MPI_Reduce_scatter_block(MPI_IN_PLACE, w->data, part_of(w), MPI_FLOAT, MPI_SUM, w->comm);
}

static int alltoall_run(mpi_work *w)
{
    return MPI_Alltoall(w->data, part_of(w), MPI_FLOAT, w->data + w->n, part_of(w), MPI_FLOAT,
                        w->comm);
}

static int sendrecv_run(mpi_work *w)
{
    return MPI_Sendrecv(w->data, (int)w->n, MPI_FLOAT, right_of(w), 0, w->data + w->n, (int)w->n,
                        MPI_FLOAT, left_of(w), 0, w->comm, MPI_STATUS_IGNORE);
}

static int broadcast_run(mpi_work *w)
{
    return MPI_Bcast(w->data, (int)w->n, MPI_FLOAT, 0, w->comm);
}

static const mpi_type types[N_COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALLREDUCE]     = { allreduce_before, allreduce_begin, allreduce_run },
    [COLLECTIVE_ALLGATHER]     = { .run = allgather_run },
    [COLLECTIVE_REDUCESCATTER] = { .run = reducescatter_run },
    [COLLECTIVE_ALLTOALL]      = { .run = alltoall_run },
    [COLLECTIVE_SENDRECV]      = { .run = sendrecv_run },
    [COLLECTIVE_BROADCAST]     = { .run = broadcast_run },
};

/* ---- is it right? -------------------------------------------------------------------------------- */

/* The received message: behind the sent one, if it has separate memory. */
static float *got(const mpi_work *w)
{
    return w->data + (trial_messages(w->of.kind) - 1) * w->n;
}

static lm_status expect(const mpi_work *w, int64_t i, double value, lm_error *err)
{
    const double is = (double)got(w)[i];

    if (is == value)
        return LM_OK;
    return lm_error_set(err, LM_E_IO, "the %s gave %g instead of %g at element %lld of %lld",
                        collective_types[w->of.kind].title, is, value, (long long)i,
                        (long long)trial_n_got(&w->of));
}

static int exchange(mpi_work *w)
{
    const pulse_activity before = pulse_enter(PULSE_EXCHANGE);
    const int            said   = w->type->run(w);

    pulse_enter(before);
    return said;
}

/* Number of the group's ranks on this rank's machine. */
static int64_t neighbours(const world *group)
{
    const placement *p = world_placement(group);
    int64_t          n = 0;

    for (int r = 0; r < p->n_ranks; r++)
        n += p->host[r] == p->host[world_rank(group)];
    return n;
}

/* In training gradients come from memory, not from a cache. So messages are taken in turn from pools larger than any cache. The ranks of a
 * machine share its largest caches; a machine may have two. */
static int64_t pool_slots(int64_t bytes, const world *group)
{
    const int64_t cache = machine_cache_bytes();
    const int64_t all   = 4 * (cache > 33554432 ? cache : 33554432);
    const int64_t mine  = all / neighbours(group);
    const int64_t least = mine > 8388608 ? mine : 8388608; /* private caches of a core */

    return bytes >= least ? 1 : (least + bytes - 1) / bytes;
}

/* Makes a pool of at least `bytes` zeros, with resident pages. */
static bool grow_pool(mpi_backend *b, size_t bytes)
{
    if (b->pool_bytes >= bytes)
        return true;
    free(b->pool);
    b->pool_bytes = 0;
    b->pool       = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!b->pool)
        return false;
    memset(b->pool, 0, bytes);
    b->pool_bytes = bytes;
    return true;
}

static lm_status failed_by_mpi(const mpi_work *w, lm_error *err)
{
    return lm_error_set(err, LM_E_IO, "%s failed", collective_types[w->of.kind].one);
}

/* Timed results must be right: every element once, ... */
static lm_status verify(mpi_work *w, lm_error *err)
{
    lm_status status = LM_OK;
    trial_at  at     = trial_seek(&w->of, 0);

    memset(w->data, 0, (size_t)w->room * sizeof *w->data);
    for (int64_t i = 0; i < w->n; i++, trial_next(&w->of, &at))
        w->data[i] = (float)trial_gives(&w->of, &at);
    if (w->type->begin)
        w->type->begin(w);
    if (exchange(w) != MPI_SUCCESS)
        status = failed_by_mpi(w, err);
    at = trial_seek_got(&w->of, 0);
    for (int64_t i = 0; i < trial_n_got(&w->of) && !status; i++, trial_next(&w->of, &at))
        status = expect(w, i, trial_gets(&w->of, &at), err);
    memset(w->data, 0, (size_t)w->room * sizeof *w->data);
    return status;
}

/* ... and the first, the middle and the last element of the timed messages, which hold zeros. */
static lm_status verify_timed(const mpi_work *w, lm_error *err)
{
    const int64_t last   = trial_n_got(&w->of) - 1;
    lm_status     status = expect(w, 0, 0, err);

    if (!status)
        status = expect(w, last / 2, 0, err);
    return status ? status : expect(w, last, 0, err);
}

static void mpi_release(backend *self, void *work)
{
    mpi_work *w = work;

    (void)self;
    if (!w)
        return;
    free(w->scratch);
    free(w);
}

static lm_status mpi_prepare(backend *self, const bench_case *what, void **work, lm_error *err)
{
    mpi_backend  *b     = (mpi_backend *)self;
    const char   *title = collective_types[what->collective].title;
    const int64_t bytes = what->bytes;
    mpi_work     *w;
    double        failed = 0;
    lm_status     status;

    if (!types[what->collective].run)
        return lm_error_set(err, LM_E_UNSUPPORTED, "%s: mpi measures none", title);
    if (bytes < 4 || bytes / 4 > INT32_MAX - 1) /* MPI counts in int */
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "%s of %lld bytes: 4 to 2^33 - 8 can be measured", title,
                            (long long)bytes);
    w = calloc(1, sizeof *w);
    if (w) {
        w->type        = &types[what->collective];
        w->group       = what->group;
        w->comm        = world_communicator(what->group);
        w->rank        = world_rank(what->group);
        w->size        = world_size(what->group);
        w->n           = trial_elements(what->collective, w->size, (bytes + 3) / 4);
        w->of          = (trial){ what->collective, w->rank, w->size, w->n };
        w->room        = w->n * trial_messages(what->collective);
        w->ring        = !strcmp(what->point->algorithm, ALGORITHM_RING);
        w->nonblocking = !strcmp(what->point->algorithm, ALGORITHM_NONBLOCKING);
        w->slots       = pool_slots(4 * w->room, what->group);
        w->scratch     = malloc(((size_t)w->n / (size_t)w->size + 1) * sizeof *w->scratch);
    }
    if (!w || !w->scratch || !grow_pool(b, (size_t)w->slots * (size_t)w->room * sizeof *w->pool))
        failed = 1;
    else
        w->data = w->pool = b->pool;
    world_max(what->group, &failed, 1);
    if (failed > 0) {
        mpi_release(self, w);
        return lm_error_set(err, LM_E_NOMEM, "no memory for %s of %lld bytes",
                            collective_types[what->collective].one, (long long)bytes);
    }
    status = start_line_agree(w->group, verify(w, err), &w->start, err);
    if (status) {
        mpi_release(self, w);
        return status;
    }
    *work = w;
    return LM_OK;
}

static lm_status mpi_run(backend *self, void *work, phase part, backend_time *out, lm_error *err)
{
    mpi_work *w = work;
    int64_t   wall, cpu;
    int       said;

    (void)self;
    (void)part;
    w->data = w->pool + w->next * w->room;
    w->next = (w->next + 1) % w->slots;
    if (w->type->before)
        w->type->before(w);
    start_line_wait(w->group, &w->start);
    if (w->type->begin)
        w->type->begin(w);
    cpu       = clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID); /* as slow as a small message */
    wall      = clock_nanoseconds(CLOCK_MONOTONIC);
    said      = exchange(w);
    out->wall = clock_seconds_since(CLOCK_MONOTONIC, wall);
    out->cpu  = clock_seconds_since(CLOCK_THREAD_CPUTIME_ID, cpu);
    return said == MPI_SUCCESS ? verify_timed(w, err) : failed_by_mpi(w, err);
}

/* MPI libraries allocate a receive buffer for each message. Above some size the allocator would take its pages from the system and return
 * them each time. That doubles the time of a message and is no property of the network, so the allocator keeps its pages. */
#define KEPT (512 << 20)

static void keep_heap(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, KEPT);
    mallopt(M_TRIM_THRESHOLD, KEPT);
#endif
}

static lm_status mpi_open(const backend_config *config, backend **out, lm_error *err)
{
    mpi_backend *b = calloc(1, sizeof *b);

    (void)config;
    if (!b)
        return no_memory(err);
    keep_heap();
    b->base.type = &backend_mpi;
    *out         = &b->base;
    return LM_OK;
}

static void mpi_close(backend *self)
{
    free(((mpi_backend *)self)->pool);
    free(self);
}

static void mpi_describe(const backend *self,
                         void (*put)(void *context, const char *key, const char *value),
                         void *context)
{
    (void)self;
    put(context, "collective",
        "MPI_Allreduce in place on host memory, messages not in any cache, what was freed "
        "is kept; nonblocking: MPI_Wait behind MPI_Iallreduce of what was divided just before; "
        "ring: sends and receives; in place too: MPI_Allgather, MPI_Reduce_scatter_block, "
        "MPI_Bcast; not so: MPI_Alltoall, MPI_Sendrecv to the next rank");
}

const backend_type backend_mpi = {
    .name            = "mpi",
    .doc             = "collectives over MPI on host memory",
    .open            = mpi_open,
    .close           = mpi_close,
    .describe        = mpi_describe,
    .prepare         = mpi_prepare,
    .run             = mpi_run,
    .release         = mpi_release,
    .prepare_buckets = mpi_prepare_buckets,
    .start_bucket    = mpi_start_bucket,
    .poll_buckets    = mpi_poll_buckets,
    .finish_buckets  = mpi_finish_buckets,
    .release_buckets = mpi_release_buckets,
    .serves          = 1u << PHASE_SYNC,
    .settings        = 1u << SETTING_PROGRESS,
};
