/* Collectives over NCCL, on device memory, one process for each GPU: the library's choice of
 * algorithm, or its ring. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/trial.h"
#include "base/no_memory.h"
#include "fabric/collective.h"
#include "measure/backend.h"
#include "measure/clock.h"
#include "measure/topology.h"
#include "nccl_buckets.h"
#include "nccl_comm.h"
#include "nccl_network.h"
#include "nccl_values.h"
#include "ranks/pulse.h"
#include "ranks/start_mpi.h"
#include "ranks/watchdog.h"
#include "sample/gpu_nvml.h"

extern char **environ;

typedef struct nccl_backend {
    backend      base; /* first */
    const world *everyone;
    nccl_comms  *comms;
    cudaStream_t stream;
    cudaEvent_t  begin, end;
    size_t       cache_bytes; /* size of the device's L2 cache */
    void        *pool;        /* zeros, kept between points */
    size_t       pool_bytes;
    void        *flush; /* written before each message: see hold_back() */
    size_t       flush_bytes;
    nvml        *manager; /* NULL: there is none */
} nccl_backend;

typedef struct nccl_work nccl_work;

/* Enqueues a kind of collective on the messages at `data`. */
typedef ncclResult_t nccl_exchange(const nccl_work *w, char *data, cudaStream_t stream);

struct nccl_work {
    nccl_exchange *run;
    trial          of;
    const char    *title;
    const world   *group;
    start_line     start;
    ncclComm_t     comm;
    ncclDataType_t type;
    int64_t        n;           /* elements */
    size_t         bytes;       /* of a message */
    size_t         room;        /* bytes of all messages of one exchange */
    int64_t        slots, next; /* messages of the pool, used in turn */
    char           chosen[32];  /* algorithm and protocol */
};

/* ---- open, close ----------------------------------------------------------------------------- */

static void nccl_close(backend *self)
{
    nccl_backend *b = (nccl_backend *)self;

    nccl_comms_free(b->comms);
    nccl_network_forget();
    nvml_close(b->manager);
    if (b->pool)
        cudaFree(b->pool);
    if (b->flush)
        cudaFree(b->flush);
    if (b->begin)
        cudaEventDestroy(b->begin);
    if (b->end)
        cudaEventDestroy(b->end);
    if (b->stream)
        cudaStreamDestroy(b->stream);
    free(b);
}

/* Takes the same GPU as a compute backend: by the rank's number on its host, among the visible
 * ones. */
static lm_status take_device(nccl_backend *b, const world *everyone, lm_error *err)
{
    const int   seat    = world_placement(everyone)->seat[world_rank(everyone)];
    int         visible = 0, cache = 0;
    char        bus_id[32] = "";
    cudaError_t status     = cudaGetDeviceCount(&visible);

    if (status != cudaSuccess || visible < 1)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "collective = nccl: no CUDA device: cudaGetDeviceCount says: %s",
                            status == cudaSuccess ? "there are 0" : cudaGetErrorString(status));
    if ((status = cudaSetDevice(seat % visible)) != cudaSuccess ||
        (status = cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, seat % visible)) !=
            cudaSuccess)
        return nccl_cuda_failed(err, "CUDA device", status);
    b->cache_bytes = (size_t)cache;
    if (cudaDeviceGetPCIBusId(bus_id, (int)sizeof bus_id, seat % visible) == cudaSuccess)
        b->manager = nvml_open(bus_id);
    return LM_OK;
}

static lm_status nccl_open(const backend_config *config, backend **out, lm_error *err)
{
    nccl_backend *b = calloc(1, sizeof *b);
    lm_status     status;
    cudaError_t   cuda;

    if (!b)
        return no_memory(err);
    b->base.type = &backend_nccl;
    b->everyone  = config->world;
    status       = take_device(b, config->world, err);
    if (!status && !(b->comms = nccl_comms_new(config->world)))
        status = no_memory(err);
    if (!status &&
        ((cuda = cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking)) != cudaSuccess ||
         (cuda = cudaEventCreate(&b->begin)) != cudaSuccess ||
         (cuda = cudaEventCreate(&b->end)) != cudaSuccess))
        status = nccl_cuda_failed(err, "CUDA device", cuda);
    if (status) {
        nccl_close(&b->base);
        return status;
    }
    *out = &b->base;
    return LM_OK;
}

/* Records NCCL's environment variables, which influence its choices. */
static void put_environment(void (*put)(void *context, const char *key, const char *value),
                            void *context)
{
    char text[400] = "";

    for (char **e = environ; *e; e++) {
        const size_t n = strlen(text);

        if (!strncmp(*e, "NCCL_", 5))
            snprintf(text + n, sizeof text - n, "%s%s", n ? " " : "", *e);
    }
    if (*text)
        put(context, "nccl_environment", text);
}

static void nccl_describe(const backend *self,
                          void (*put)(void *context, const char *key, const char *value),
                          void *context)
{
    int  version = 0;
    char text[32];

    (void)self;
    if (ncclGetVersion(&version) == ncclSuccess) {
        snprintf(text, sizeof text, "%d.%d.%d", version / 10000, version / 100 % 100,
                 version % 100);
        put(context, "nccl", text);
    }
    put_environment(put, context);
    put(context, "collective",
        "ncclAllReduce in place on device memory, messages not in the L2 cache, between CUDA events; "
        "ring: NCCL_ALGO=Ring; in place too: ncclAllGather, ncclReduceScatter, ncclBroadcast; "
        "not so: ncclSend and ncclRecv of one group, as all-to-all and to the next rank");
}

/* ---- one message ----------------------------------------------------------------------------- */

static ncclResult_t allreduce_run(const nccl_work *w, char *data, cudaStream_t stream)
{
    return ncclAllReduce(data, data, (size_t)w->n, w->type, ncclSum, w->comm, stream);
}

/* Number of elements of one rank's part. */
static size_t part_of(const nccl_work *w)
{
    return (size_t)(w->n / w->of.size);
}

static char *part_at(const nccl_work *w, char *data, int rank)
{
    return data + (size_t)rank * (w->bytes / (size_t)w->of.size);
}

static ncclResult_t allgather_run(const nccl_work *w, char *data, cudaStream_t stream)
{
    return ncclAllGather(part_at(w, data, w->of.rank), data, part_of(w), w->type, w->comm, stream);
}

static ncclResult_t reducescatter_run(const nccl_work *w, char *data, cudaStream_t stream)
{
    return ncclReduceScatter(data, part_at(w, data, w->of.rank), part_of(w), w->type, ncclSum,
                             w->comm, stream);
}

/* An all-to-all of sends and receives in one group, as in the library's guide and in frameworks. */
static ncclResult_t alltoall_run(const nccl_work *w, char *data, cudaStream_t stream)
{
    ncclResult_t status = ncclGroupStart(), ended;

    if (status != ncclSuccess)
        return status;
    for (int r = 0; r < w->of.size && status == ncclSuccess; r++) {
        status = ncclSend(part_at(w, data, r), part_of(w), w->type, r, w->comm, stream);
        if (status == ncclSuccess)
            status =
                ncclRecv(part_at(w, data + w->bytes, r), part_of(w), w->type, r, w->comm, stream);
    }
    ended = ncclGroupEnd();
    return status == ncclSuccess ? ended : status;
}

static ncclResult_t sendrecv_run(const nccl_work *w, char *data, cudaStream_t stream)
{
    const int    size = w->of.size, next = (w->of.rank + 1) % size;
    const int    last   = (w->of.rank + size - 1) % size;
    ncclResult_t status = ncclGroupStart(), ended;

    if (status != ncclSuccess)
        return status;
    status = ncclSend(data, (size_t)w->n, w->type, next, w->comm, stream);
    if (status == ncclSuccess)
        status = ncclRecv(data + w->bytes, (size_t)w->n, w->type, last, w->comm, stream);
    ended = ncclGroupEnd();
    return status == ncclSuccess ? ended : status;
}

static ncclResult_t broadcast_run(const nccl_work *w, char *data, cudaStream_t stream)
{
    return ncclBroadcast(data, data, (size_t)w->n, w->type, 0, w->comm, stream);
}

static nccl_exchange *const types[N_COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALLREDUCE] = allreduce_run,         [COLLECTIVE_ALLGATHER] = allgather_run,
    [COLLECTIVE_REDUCESCATTER] = reducescatter_run, [COLLECTIVE_ALLTOALL] = alltoall_run,
    [COLLECTIVE_SENDRECV] = sendrecv_run,           [COLLECTIVE_BROADCAST] = broadcast_run,
};

/* Address of a rank's result: reduce-scatters in place, in the rank's part; all-to-alls and
 * send-recvs behind the sent data. */
static const char *got(const nccl_work *w, char *data)
{
    if (w->of.kind == COLLECTIVE_REDUCESCATTER)
        return part_at(w, data, w->of.rank);
    return data + w->room - w->bytes;
}

static lm_status exchange(const nccl_backend *b, const nccl_work *w, char *data, lm_error *err)
{
    const ncclResult_t status = w->run(w, data, b->stream);

    return status == ncclSuccess ? LM_OK : nccl_failed(err, w->comm, w->title, status);
}

static void drop(void **memory, size_t *bytes)
{
    if (*memory)
        cudaFree(*memory);
    *memory = NULL;
    *bytes  = 0;
}

/* Makes a buffer of at least so many zero bytes. */
static lm_status grow(const nccl_backend *b, void **memory, size_t *has, size_t bytes,
                      const char *what, lm_error *err)
{
    cudaError_t status;

    if (*has >= bytes)
        return LM_OK;
    drop(memory, has);
    if ((status = cudaMalloc(memory, bytes)) != cudaSuccess) {
        cudaGetLastError(); /* or the next call says it again */
        *memory = NULL;
        return lm_error_set(err, LM_E_NOMEM, "no device memory for %s of %zu bytes: %s", what,
                            bytes, cudaGetErrorString(status));
    }
    *has   = bytes;
    status = cudaMemsetAsync(*memory, 0, bytes, b->stream);
    return status == cudaSuccess ? LM_OK : nccl_cuda_failed(err, what, status);
}

/* Checks the results of a collective. */
static lm_status verify(nccl_backend *b, nccl_work *w, lm_dtype dtype, lm_error *err)
{
    pulse_activity before;
    cudaError_t    cuda = cudaStreamSynchronize(b->stream);
    lm_status status = cuda == cudaSuccess ? LM_OK : nccl_cuda_failed(err, "messages", cuda), one;

    if (!status)
        status = nccl_fill(b->pool, &w->of, dtype, 1, err);
    /* other ranks wait for this exchange, also after a failure here */
    one    = exchange(b, w, b->pool, status ? NULL : err);
    status = world_agree(w->group, status ? status : one, err);
    if (status) /* the first message makes connections: no rank may wait for a missing one */
        return status;
    if ((cuda = cudaEventRecord(b->end, b->stream)) != cudaSuccess)
        status = nccl_cuda_failed(err, w->title, cuda);
    before = pulse_enter(PULSE_EXCHANGE);
    if (!status)
        status = nccl_wait(w->comm, b->end, err);
    pulse_enter(before);
    if (!status)
        status = nccl_check(got(w, b->pool), &w->of, dtype, 0, err);
    if (!status && ((cuda = cudaMemsetAsync(b->pool, 0, w->room, b->stream)) != cudaSuccess ||
                    (cuda = cudaStreamSynchronize(b->stream)) != cudaSuccess))
        status = nccl_cuda_failed(err, "messages", cuda);
    return status;
}

/* Keeps the device busy until its clock has risen. Clocks fall while ranks connect, and rise during
 * some 10 ms of work (345 to 1980 MHz on an H100). */
static lm_status wake(const nccl_backend *b, lm_error *err)
{
    const double  least = 0.03, most = 0.5, look = 0.01;
    const int64_t began = clock_nanoseconds(CLOCK_MONOTONIC);
    double        clock = 0, before, passed;

    do {
        const int64_t now   = clock_nanoseconds(CLOCK_MONOTONIC);
        cudaError_t   cause = cudaSuccess;

        before = clock;
        while (cause == cudaSuccess && clock_seconds_since(CLOCK_MONOTONIC, now) < look) {
            cause = cudaMemsetAsync(b->flush, 0, b->flush_bytes, b->stream);
            if (cause == cudaSuccess)
                cause = cudaStreamSynchronize(b->stream);
        }
        if (cause == cudaSuccess) /* only of a busy device */
            cause = cudaMemsetAsync(b->flush, 0, b->flush_bytes, b->stream);
        if (cause != cudaSuccess)
            return nccl_cuda_failed(err, "warming up", cause);
        clock = b->manager ? nvml_read(b->manager).clock_mhz : (double)NAN;
        pulse_tick();
        passed = clock_seconds_since(CLOCK_MONOTONIC, began);
    } while (passed < least || (clock > 1.01 * before && passed < most));
    return LM_OK;
}

static lm_status set_up(nccl_backend *b, const bench_case *what, nccl_work *w, lm_error *err)
{
    const int64_t bytes = what->bytes;
    const size_t  width = lm_dtype_bytes(what->point->dtype);
    const size_t  least = 2 * b->cache_bytes;
    lm_status     status;

    if (bytes < 1 || !nccl_type(what->point->dtype, &w->type))
        return lm_error_set(err, LM_E_UNSUPPORTED, "NCCL sums no such message");
    w->run   = types[what->collective];
    w->title = collective_types[what->collective].title;
    w->group = what->group;
    w->n     = trial_elements(what->collective, world_size(what->group),
                              (bytes + (int64_t)width - 1) / (int64_t)width);
    w->of    = (trial){ what->collective, world_rank(what->group), world_size(what->group), w->n };
    w->bytes = (size_t)w->n * width;
    w->room  = w->bytes * (size_t)trial_messages(what->collective);
    w->slots = w->room >= least ? 1 : (int64_t)((least + w->room - 1) / w->room);
    status   = grow(b, &b->flush, &b->flush_bytes, 2 * least, "what empties the cache", err);
    if (!status)
        status = grow(b, &b->pool, &b->pool_bytes, (size_t)w->slots * w->room, "messages", err);
    return status;
}

static void nccl_release(backend *self, void *work)
{
    enum { KEEP = 1 << 28 };
    nccl_backend *b = (nccl_backend *)self;

    free(work);
    if (b->pool_bytes > KEEP) /* networks need the memory more */
        drop(&b->pool, &b->pool_bytes);
}

static lm_status nccl_prepare(backend *self, const bench_case *what, void **work, lm_error *err)
{
    nccl_backend *b    = (nccl_backend *)self;
    nccl_work    *w    = calloc(1, sizeof *w);
    const bool    ring = !strcmp(what->point->algorithm, ALGORITHM_RING);
    lm_status     status;

    if (!w)
        status = no_memory(err);
    else if (!types[what->collective])
        status = lm_error_set(err, LM_E_UNSUPPORTED, "%s: NCCL measures none here",
                              collective_types[what->collective].title);
    else if (!strcmp(what->point->algorithm, ALGORITHM_NONBLOCKING))
        status = lm_error_set(err, LM_E_UNSUPPORTED,
                              "NCCL's all-reduces never block: 'default' measures them");
    else
        status = set_up(b, what, w, err);
    status = world_agree(what->group, status, err); /* all ranks make a communicator, or none */
    if (!status)
        status = nccl_comms_get(b->comms, what->group, ring, &w->comm, err);
    if (!status) {
        nccl_network_begin();
        status = verify(b, w, what->point->dtype, err);
        nccl_network_chose(w->chosen, sizeof w->chosen);
        if (!status)
            status = wake(b, err);
        if (status == LM_E_IO && strcmp(err->text, WORLD_ELSEWHERE) != 0)
            watchdog_fail(err->text); /* the others may wait for it on their devices */
        status = start_line_agree(what->group, status, &w->start, err);
    }
    if (status) {
        if (w && w->comm) /* a message on it may never end */
            nccl_comms_drop(b->comms, w->comm);
        nccl_release(self, w);
        return status;
    }
    *work = w;
    return LM_OK;
}

/* Excludes the launch from a collective's time, because in a step the host is ahead of the device.
 * The device writes four times its cache (V100 27 us, A100 90, H200 44); meanwhile the host
 * enqueues the rest. This also removes messages from the cache. */
static lm_status hold_back(const nccl_backend *b, lm_error *err)
{
    const cudaError_t cause = cudaMemsetAsync(b->flush, 0, b->flush_bytes, b->stream);

    return cause == cudaSuccess ? LM_OK : nccl_cuda_failed(err, "emptying the cache", cause);
}

static lm_status nccl_run(backend *self, void *work, phase part, backend_time *out, lm_error *err)
{
    nccl_backend  *b    = (nccl_backend *)self;
    nccl_work     *w    = work;
    char          *data = (char *)b->pool + (size_t)w->next * w->room;
    float          milliseconds;
    pulse_activity before;
    cudaError_t    cuda;
    lm_status      status, held;

    (void)part;
    w->next = (w->next + 1) % w->slots;
    start_line_wait(w->group, &w->start);
    before = pulse_enter(PULSE_EXCHANGE);
    held   = hold_back(b, err);
    cuda   = cudaEventRecord(b->begin, b->stream);
    status = exchange(b, w, data, held ? NULL : err); /* always: other ranks wait for it */
    status = held ? held : status;
    if (!status &&
        (cuda != cudaSuccess || (cuda = cudaEventRecord(b->end, b->stream)) != cudaSuccess))
        status = nccl_cuda_failed(err, w->title, cuda);
    if (!status)
        status = nccl_wait(w->comm, b->end, err);
    pulse_enter(before);
    if (!status && (cuda = cudaEventElapsedTime(&milliseconds, b->begin, b->end)) != cudaSuccess)
        status = nccl_cuda_failed(err, w->title, cuda);
    if (status)
        return status;
    out->wall = (double)milliseconds / 1e3;
    out->cpu  = (double)NAN;
    return LM_OK;
}

static lm_status nccl_prepare_buckets(backend *self, const bench_case *what,
                                      const gradient_bucket *bucket, size_t n, void **work,
                                      lm_error *err)
{
    nccl_backend *b    = (nccl_backend *)self;
    const bool    ring = !strcmp(what->point->algorithm, ALGORITHM_RING);
    ncclComm_t    comm;
    lm_status     status = nccl_comms_get(b->comms, what->group, ring, &comm, err);

    if (status)
        return status;
    status = nccl_buckets_new(comm, what, bucket, n, work, err);
    if (status) /* work on it may never end */
        nccl_comms_drop(b->comms, comm);
    return status;
}

static const char *nccl_implementation(const backend *self, const void *work)
{
    (void)self;
    return ((const nccl_work *)work)->chosen;
}

static bool nccl_detours(const backend *self, const observation *point)
{
    char name[32], root[512];

    (void)self;
    return nccl_network_heard(name, sizeof name) &&
           topology_detours(topology_system(root, sizeof root), point->hosts, name);
}

const backend_type backend_nccl = {
    .name            = "nccl",
    .doc             = "collectives over NCCL on GPUs, one process each",
    .open            = nccl_open,
    .close           = nccl_close,
    .describe        = nccl_describe,
    .prepare         = nccl_prepare,
    .run             = nccl_run,
    .release         = nccl_release,
    .implementation  = nccl_implementation,
    .detours         = nccl_detours,
    .prepare_buckets = nccl_prepare_buckets,
    .start_bucket    = nccl_start_bucket,
    .poll_buckets    = nccl_poll_buckets,
    .finish_buckets  = nccl_finish_buckets,
    .release_buckets = nccl_release_buckets,
    .on_gpu          = 1,
    .serves          = 1u << PHASE_SYNC,
};
