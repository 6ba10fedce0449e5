/* NCCL between devices that are not there (fake.h): ranks of one host meet in shared memory. A
 * collective runs when its turn in the stream has come. Only f32, f64, and 16 bit types as far as
 * the program's known values go; ranks that do not come are waited for, as by NCCL. Sends and
 * receives need a group, in which all ranks of the communicator take part. As by NCCL (argcheck.cc,
 * group.cc) ncclInvalidArgument is said of no communicator, memory that is no device's, a type or a
 * reduction without a name, and ranks outside the communicator; ncclInvalidUsage of the end of no
 * group, and of a message to itself that is not received, or the other way round.
 *
 *   LAYERMETER_FAKE_NCCL_WRONG=N   the N-th collective of rank 1 has a wrong element
 *   LAYERMETER_FAKE_NCCL_LARGEST=1 sums are the largest of what is added up
 *   LAYERMETER_FAKE_NCCL_LOST=N    before the N-th collective of rank 1 the network is lost: it
 *                                  never ends
 *   LAYERMETER_FAKE_NCCL_BROKEN=N  the N-th collective of a communicator never ends, which only
 *                                  ncclCommGetAsyncError() tells, unless ncclCommAbort() ends it
 *   LAYERMETER_FAKE_NCCL_REFUSED=N the N-th call of rank 1 finds no device memory ("unhandled cuda error"):
 *                                  the others wait in theirs until ncclCommAbort() ends it
 *   LAYERMETER_FAKE_NCCL_LOG=FILE  a line for each communicator: "rank of ranks: NCCL_ALGO"
 *   LAYERMETER_FAKE_NCCL_NET=NAME  the network that its log says it uses, IB
 *                                  and of each collective the algorithm and protocol, on rank 0
 *                                  where NCCL_DEBUG and its subsystem TUNING ask for it:
 *                                  below 64 KiB a tree and LL, as a ring is not forced
 *   LAYERMETER_FAKE_NCCL_VERSION=N 22803; before 22400 its log has numbers for names
 *   LAYERMETER_FAKE_NCCL_ROOM=N    rank 1 has device memory for N communicators at a time; for one
 *                                  more NCCL says "unhandled cuda error", as it does */
#include <fcntl.h>
#include <math.h>
#include <nccl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake.h"
#include "fake_nccl_log.h"

#define PIECE 4096 /* elements that are summed at a time */
#define RANKS 16

typedef struct meeting {
    atomic_int opened, arrived, turn, lost;
    size_t     sent[RANKS]; /* elements of the message that is under way */
    double     value[RANKS][PIECE];
} meeting;

struct ncclComm {
    meeting     *where;
    int          rank, ranks;
    long long    n_run;
    ncclResult_t error;
    bool         ring; /* NCCL_ALGO */
    bool         aborted;
    size_t       users; /* its owner, and messages whose turn has not come */
};

/* A message from one rank to another. */
typedef struct parcel {
    void          *at; /* NULL: none */
    size_t         count;
    ncclDataType_t type;
} parcel;

typedef struct collective {
    void (*run)(const struct collective *c);
    ncclComm_t     comm;
    const void    *send;
    void          *receive;
    size_t         count; /* elements: of a part where there are parts */
    ncclDataType_t type;
    ncclRedOp_t    op;
    int            root;
    parcel         to[RANKS], from[RANKS]; /* of a group */
} collective;

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

static const char *last_error = "";

/* ---- collectives ----------------------------------------------------------------------------- */

/* The elements that all ranks wrote down, added up. */
static double added(const collective *r, size_t i)
{
    const struct ncclComm *c       = r->comm;
    const bool             largest = fake_number("LAYERMETER_FAKE_NCCL_LARGEST", 0) > 0;
    double                 sum     = 0;

    for (int k = 0; k < c->ranks; k++)
        sum = !largest ? sum + c->where->value[k][i] : fmax(sum, c->where->value[k][i]);
    return r->op == ncclAvg ? sum / c->ranks : sum;
}

/* Writes down n elements from `at` on; then all have. */
static void show(const collective *r, const void *send, size_t at, size_t n)
{
    struct ncclComm *c = r->comm;

    for (size_t i = 0; i < n; i++)
        c->where->value[c->rank][i] = get(send, at + i, r->type);
    meet(c);
}

static size_t piece(size_t count, size_t at)
{
    return count - at < PIECE ? count - at : PIECE;
}

static void allreduce(const collective *r)
{
    for (size_t at = 0; at < r->count; at += PIECE) {
        const size_t n = piece(r->count, at);

        show(r, r->send, at, n);
        for (size_t i = 0; i < n; i++)
            put(r->receive, at + i, r->type, added(r, i));
        meet(r->comm);
    }
}

static void reduce_scatter(const collective *r)
{
    const size_t all = r->count * (size_t)r->comm->ranks, begin = r->count * (size_t)r->comm->rank;

    for (size_t at = 0; at < all; at += PIECE) {
        const size_t n = piece(all, at);

        show(r, r->send, at, n);
        for (size_t i = 0; i < n; i++)
            if (at + i >= begin && at + i < begin + r->count)
                put(r->receive, at + i - begin, r->type, added(r, i));
        meet(r->comm);
    }
}

static void all_gather(const collective *r)
{
    for (size_t at = 0; at < r->count; at += PIECE) {
        const size_t n = piece(r->count, at);

        show(r, r->send, at, n);
        for (int k = 0; k < r->comm->ranks; k++)
            for (size_t i = 0; i < n; i++)
                put(r->receive, (size_t)k * r->count + at + i, r->type,
                    r->comm->where->value[k][i]);
        meet(r->comm);
    }
}

static void broadcast(const collective *r)
{
    for (size_t at = 0; at < r->count; at += PIECE) {
        const size_t n = piece(r->count, at);

        show(r, r->send, at, r->comm->rank == r->root ? n : 0);
        for (size_t i = 0; i < n; i++)
            put(r->receive, at + i, r->type, r->comm->where->value[r->root][i]);
        meet(r->comm);
    }
}

/* To the rank that is `ahead`, from the one as far behind. What nobody receives, or sends, is waited
 * for by NCCL; here it is an error. */
static void pass_on(const collective *r, int ahead)
{
    struct ncclComm *c    = r->comm;
    const int        left = (c->rank + c->ranks - ahead) % c->ranks;
    const parcel    *to = &r->to[(c->rank + ahead) % c->ranks], *from = &r->from[left];
    size_t           most = 0;

    c->where->sent[c->rank] = to->at ? to->count : 0;
    meet(c);
    for (int k = 0; k < c->ranks; k++)
        most = c->where->sent[k] > most ? c->where->sent[k] : most;
    if (c->where->sent[left] != (from->at ? from->count : 0))
        c->error = ncclInternalError;
    for (size_t at = 0; at < most; at += PIECE) {
        for (size_t i = 0; to->at && at < to->count && i < piece(to->count, at); i++)
            c->where->value[c->rank][i] = get(to->at, at + i, to->type);
        meet(c);
        for (size_t i = 0; from->at && at < from->count && i < piece(from->count, at); i++)
            put(from->at, at + i, from->type, c->where->value[left][i]);
        meet(c);
    }
    meet(c);
}

static void exchange(const collective *r)
{
    for (int ahead = 0; ahead < r->comm->ranks; ahead++)
        pass_on(r, ahead);
}

/* Where the N-th result of rank 1 is spoilt. */
static void spoil(const collective *r)
{
    const parcel *last = NULL;

    for (int k = 0; k < r->comm->ranks && r->run == exchange; k++)
        if (r->from[k].at)
            last = &r->from[k];
    if (last)
        put(last->at, last->count / 2, last->type, 1000);
    else if (r->receive)
        put(r->receive, r->count / 2, r->type, 1000);
}

static void leave(struct ncclComm *c)
{
    if (--c->users)
        return;
    munmap(c->where, sizeof(meeting));
    free(c);
}

static void run_one(const collective *r)
{
    if (++r->comm->n_run == fake_number("LAYERMETER_FAKE_NCCL_BROKEN", 0)) {
        r->comm->error = ncclRemoteError;
        fake_never_ends(r->comm);
        return;
    }
    r->run(r);
    if (r->comm->rank == 1 && r->comm->n_run == fake_number("LAYERMETER_FAKE_NCCL_WRONG", 0))
        spoil(r);
}

static void run(void *context)
{
    const collective *r = context;

    if (!r->comm->aborted)
        run_one(r);
    leave(r->comm);
}

static size_t width(ncclDataType_t type)
{
    return type == ncclFloat64 ? 8 : type == ncclFloat32 ? 4 : 2;
}

static bool known(ncclDataType_t type, ncclRedOp_t op)
{
    return type >= ncclFloat16 && type <= ncclBfloat16 && (op == ncclSum || op == ncclAvg);
}

static bool is_rank(const struct ncclComm *c, int rank)
{
    return rank >= 0 && rank < c->ranks;
}

static int fake_version(void)
{
    return (int)fake_number("LAYERMETER_FAKE_NCCL_VERSION", 22803);
}

/* enqueue.cc of 2.28, and as before 2.24; nothing of sends and receives. */
static void log_choice(const collective *r)
{
    const size_t bytes = r->count * width(r->type);
    const bool   small = bytes < 65536, tree = small && !r->comm->ring && r->run == allreduce;

    if (r->comm->rank != 0 || r->run == exchange)
        return;
    if (fake_version() < 22400)
        log_say("TUNING", "%zu Bytes -> Algo %d proto %d time 9.5", bytes, tree ? 0 : 1,
                small ? 0 : 2);
    else
        log_say("TUNING", "%s: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={0..%d}",
                r->run == allreduce ? "AllReduce" : "Collective", bytes, tree ? "TREE" : "RING",
                small ? "LL" : "SIMPLE", small ? 0 : 3);
}

/* `given`, `got`: elements of the two messages. */
static ncclResult_t start(const collective *r, size_t given, size_t got, cudaStream_t stream)
{
    static long long calls;
    struct ncclComm *c = r->comm;

    if (!c || !known(r->type, r->op) ||
        (given && !fake_is_device_memory(r->send, given * width(r->type))) ||
        (got && !fake_is_device_memory(r->receive, got * width(r->type))) || !is_rank(c, r->root))
        return ncclInvalidArgument;
    if (c->rank == 1 && c->n_run + 1 == fake_number("LAYERMETER_FAKE_NCCL_LOST", 0)) {
        atomic_store(&c->where->lost, 1);
        return ncclRemoteError;
    }
    if (c->rank == 1 && ++calls == fake_number("LAYERMETER_FAKE_NCCL_REFUSED", 0)) {
        last_error = "Cuda failure 2 'out of memory'";
        return ncclUnhandledCudaError;
    }
    log_choice(r);
    c->users++;
    return fake_enqueue(stream, run, r, sizeof *r) == cudaSuccess ? ncclSuccess
                                                                  : ncclUnhandledCudaError;
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return start(&(collective){ allreduce, comm, send, receive, count, type, op, .root = 0 }, count,
                 count, stream);
}

ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t receive_count,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream)
{
    return start(
        &(collective){ reduce_scatter, comm, send, receive, receive_count, type, op, .root = 0 },
        comm ? receive_count * (size_t)comm->ranks : 0, receive_count, stream);
}

ncclResult_t ncclAllGather(const void *send, void *receive, size_t send_count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream)
{
    return start(
        &(collective){ all_gather, comm, send, receive, send_count, type, ncclSum, .root = 0 },
        send_count, comm ? send_count * (size_t)comm->ranks : 0, stream);
}

ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream)
{
    return start(
        &(collective){ broadcast, comm, send, receive, count, type, ncclSum, .root = root },
        comm && comm->rank == root ? count : 0, count, stream);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static struct {
    int          depth;
    collective   of;
    cudaStream_t stream;
    ncclResult_t failed;
} group;

static ncclResult_t join(parcel *list, const parcel *one, int peer, ncclComm_t comm,
                         cudaStream_t stream)
{
    if (!comm || !is_rank(comm, peer) || !known(one->type, ncclSum) ||
        !fake_is_device_memory(one->at, one->count * width(one->type)))
        group.failed = ncclInvalidArgument;
    else if (!group.depth || list[peer].at) /* ours knows no more */
        group.failed = ncclInvalidUsage;
    else
        list[peer] = *one;
    group.of.comm = comm;
    group.stream  = stream;
    return group.failed;
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    const parcel one = { (void *)(uintptr_t)send, count, type };

    return join(group.of.to, &one, peer, comm, stream);
}

ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    const parcel one = { receive, count, type };

    return join(group.of.from, &one, peer, comm, stream);
}

ncclResult_t ncclGroupStart(void)
{
    if (!group.depth++)
        group.of = (collective){ .run = exchange, .type = ncclFloat32 };
    group.failed = ncclSuccess;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    const struct ncclComm *c = group.of.comm;

    if (!group.depth)
        return ncclInvalidUsage;
    if (--group.depth || group.failed != ncclSuccess || !c)
        return group.failed;
    if (!group.of.to[c->rank].at != !group.of.from[c->rank].at) {
        last_error = "Trying to send to self without a matching recv";
        return ncclInvalidUsage;
    }
    return start(&group.of, 0, 0, group.stream);
}

static int live;

/* ---- communicators --------------------------------------------------------------------------- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static int made;

    memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "/layermeter-nccl-%ld-%d", (long)getpid(), made++);
    return ncclSuccess;
}

static void log_made(struct ncclComm *c)
{
    const char *path = getenv("LAYERMETER_FAKE_NCCL_LOG"), *algorithm = getenv("NCCL_ALGO");
    const char *net = getenv("LAYERMETER_FAKE_NCCL_NET");
    FILE       *out = path ? fopen(path, "a") : NULL;

    c->ring = algorithm && !strcmp(algorithm, "Ring");
    log_open();
    log_say("NET", "Using network %s", net ? net : "IB");
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
    *c       = (struct ncclComm){ .rank = rank, .ranks = ranks, .users = 1 };
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

/* "will abort any uncompleted operations before destroying the communicator" (NCCL's guide, ncclCommAbort). */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    live--;
    comm->aborted = true;
    fake_ends(comm);
    leave(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    *error = comm->error;
    return ncclSuccess;
}

ncclResult_t ncclGetVersion(int *version)
{
    *version = fake_version();
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
