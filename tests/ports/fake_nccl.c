/* NCCL between devices that are not there (fake.h): ranks of one host meet in shared memory. An
 * all-reduce runs when its turn in the stream has come. Only f32, f64, and 16 bit types as far as
 * the program's known values go; ranks that do not come are waited for, as by NCCL.
 *
 *   LAYERMETER_FAKE_NCCL_WRONG=N   the N-th all-reduce of rank 1 has a wrong element
 *   LAYERMETER_FAKE_NCCL_LOST=N    before the N-th all-reduce of rank 1 the network is lost: it
 *                                  never ends
 *   LAYERMETER_FAKE_NCCL_LOG=FILE  a line for each communicator: "rank of ranks: NCCL_ALGO"
 *   LAYERMETER_FAKE_NCCL_ROOM=N    rank 1 has device memory for N communicators at a time; for one
 *                                  more NCCL says "unhandled cuda error", as it does */
#include <fcntl.h>
#include <nccl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake.h"

#define PIECE 4096 /* elements that are summed at a time */
#define RANKS 16

typedef struct meeting {
    atomic_int opened, arrived, turn, lost;
    double     value[RANKS][PIECE];
} meeting;

struct ncclComm {
    meeting     *where;
    int          rank, ranks;
    long long    n_reduced;
    ncclResult_t error;
};

typedef struct reduction {
    ncclComm_t     comm;
    const void    *send;
    void          *receive;
    size_t         count;
    ncclDataType_t type;
    ncclRedOp_t    op;
} reduction;

/* All ranks of a communicator; or the network is lost, which one of them knows sooner or later. */
static void meet(struct ncclComm *c)
{
    const int turn = atomic_load(&c->where->turn);

    if (atomic_fetch_add(&c->where->arrived, 1) == c->ranks - 1) {
        atomic_store(&c->where->arrived, 0);
        atomic_fetch_add(&c->where->turn, 1);
    } else {
        while (atomic_load(&c->where->turn) == turn && !atomic_load(&c->where->lost))
            sched_yield();
        if (atomic_load(&c->where->lost))
            c->error = ncclRemoteError;
    }
}

/* ---- elements -------------------------------------------------------------------------------- */

static float bits_to_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t float_to_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Of halves only 0 and normal numbers; what is lost is cut off. */
static double get(const void *at, size_t i, ncclDataType_t type)
{
    const uint16_t half =
        type == ncclFloat16 || type == ncclBfloat16 ? ((const uint16_t *)at)[i] : 0;

    switch (type) {
    case ncclFloat64: return ((const double *)at)[i];
    case ncclBfloat16: return (double)bits_to_float((uint32_t)half << 16);
    case ncclFloat16:
        return half ? (double)bits_to_float(((uint32_t)(half >> 10) + 112) << 23 |
                                            (uint32_t)(half & 0x3ff) << 13)
                    : 0;
    default: return (double)((const float *)at)[i];
    }
}

static void put(void *at, size_t i, ncclDataType_t type, double value)
{
    const uint32_t bits = float_to_bits((float)value);

    switch (type) {
    case ncclFloat64: ((double *)at)[i] = value; return;
    case ncclBfloat16: ((uint16_t *)at)[i] = (uint16_t)(bits >> 16); return;
    case ncclFloat16:
        ((uint16_t *)at)[i] =
            value == 0 ? 0 : (uint16_t)(((bits >> 23) - 112) << 10 | (bits >> 13 & 0x3ff));
        return;
    default: ((float *)at)[i] = (float)value;
    }
}

/* ---- all-reduce ------------------------------------------------------------------------------ */

static void run(void *context)
{
    const reduction *r   = context;
    struct ncclComm *c   = r->comm;
    const bool       odd = c->rank == 1;

    c->n_reduced++;
    for (size_t at = 0; at < r->count; at += PIECE) {
        const size_t n = r->count - at < PIECE ? r->count - at : PIECE;

        for (size_t i = 0; i < n; i++)
            c->where->value[c->rank][i] = get(r->send, at + i, r->type);
        meet(c);
        for (size_t i = 0; i < n; i++) {
            double sum = 0;

            for (int k = 0; k < c->ranks; k++)
                sum += c->where->value[k][i];
            put(r->receive, at + i, r->type, r->op == ncclAvg ? sum / c->ranks : sum);
        }
        meet(c);
    }
    if (odd && c->n_reduced == fake_number("LAYERMETER_FAKE_NCCL_WRONG", 0))
        put(r->receive, r->count / 2, r->type, 1000);
}

static size_t width(ncclDataType_t type)
{
    return type == ncclFloat64 ? 8 : type == ncclFloat32 ? 4 : 2;
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    const reduction r = { comm, send, receive, count, type, op };

    if (!fake_is_device_memory(send, count * width(type)) ||
        !fake_is_device_memory(receive, count * width(type)))
        return ncclInvalidArgument;
    if (comm->rank == 1 && comm->n_reduced + 1 == fake_number("LAYERMETER_FAKE_NCCL_LOST", 0)) {
        atomic_store(&comm->where->lost, 1);
        return ncclRemoteError;
    }
    return fake_enqueue(stream, run, &r, sizeof r) == cudaSuccess ? ncclSuccess
                                                                  : ncclUnhandledCudaError;
}

static int         live;
static const char *last_error = "";

/* ---- communicators --------------------------------------------------------------------------- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static int made;

    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "/layermeter-nccl-%ld-%d", (long)getpid(), made++);
    return ncclSuccess;
}

static void log_made(const struct ncclComm *c)
{
    const char *path = getenv("LAYERMETER_FAKE_NCCL_LOG"), *algorithm = getenv("NCCL_ALGO");
    FILE       *out = path ? fopen(path, "a") : NULL;

    if (!out)
        return;
    fprintf(out, "%d of %d: %s\n", c->rank, c->ranks, algorithm ? algorithm : "");
    fclose(out);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    struct ncclComm *c  = calloc(1, sizeof *c);
    const int        fd = shm_open(id.internal, O_RDWR | O_CREAT, 0600);
    int              device;

    if (!c || fd < 0 || ranks > RANKS || ftruncate(fd, sizeof(meeting)) ||
        cudaGetDeviceCount(&device) != cudaSuccess) {
        free(c);
        return ncclSystemError;
    }
    *c       = (struct ncclComm){ .rank = rank, .ranks = ranks };
    c->where = mmap(NULL, sizeof(meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (c->where == MAP_FAILED) {
        free(c);
        return ncclSystemError;
    }
    /* by the last: a late rank would open another of the name, and wait alone in it */
    if (atomic_fetch_add(&c->where->opened, 1) == ranks - 1)
        shm_unlink(id.internal);
    if (rank == 1 && live >= fake_number("LAYERMETER_FAKE_NCCL_ROOM", 1000)) {
        atomic_store(&c->where->lost, 1);
        last_error = "Cuda failure 2 'out of memory'";
        c->error   = ncclUnhandledCudaError;
    } else {
        meet(c);
    }
    if (c->error != ncclSuccess) {
        const ncclResult_t error = c->error;

        munmap(c->where, sizeof(meeting));
        free(c);
        return error;
    }
    live++;
    log_made(c);
    *comm = c;
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    live--;
    munmap(comm->where, sizeof(meeting));
    free(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    *error = comm->error;
    return ncclSuccess;
}

ncclResult_t ncclGetVersion(int *version)
{
    *version = 22803;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclRemoteError ? "remote process exited or there was a network error"
                                     : "unhandled error";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    const char *told = last_error;

    (void)comm;
    last_error = "";
    return told;
}
