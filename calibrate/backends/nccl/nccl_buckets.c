/* Gradient buckets over NCCL, in a separate stream during the backward pass. */
#include "nccl_buckets.h"

#include <stdlib.h>

#include "base/no_memory.h"
#include "ranks/pulse.h"

#include "nccl_values.h"

typedef struct nccl_buckets {
    ncclComm_t             comm;
    const world           *group;
    const gradient_bucket *bucket;
    size_t                 n;
    cudaStream_t           stream;
    cudaEvent_t            ready, done;
} nccl_buckets;

static int64_t elements(const gradient_bucket *b)
{
    return (int64_t)(b->bytes / lm_dtype_bytes(b->dtype));
}

lm_status nccl_start_bucket(backend *self, void *work, size_t i, void *stream, lm_error *err)
{
    nccl_buckets          *b   = work;
    const gradient_bucket *one = &b->bucket[i];
    ncclDataType_t         type;
    ncclResult_t           status;
    cudaError_t            cuda;

    (void)self;
    nccl_type(one->dtype, &type); /* was checked */
    if ((cuda = cudaEventRecord(b->ready, stream)) != cudaSuccess ||
        (cuda = cudaStreamWaitEvent(b->stream, b->ready, 0)) != cudaSuccess)
        return nccl_cuda_failed(err, "bucket", cuda);
    status = ncclAllReduce(one->data, one->data, (size_t)elements(one), type, ncclAvg, b->comm,
                           b->stream);
    return status == ncclSuccess ? LM_OK : nccl_failed(err, b->comm, "bucket", status);
}

lm_status nccl_finish_buckets(backend *self, void *work, void *stream, lm_error *err)
{
    nccl_buckets *b = work;
    cudaError_t   cuda;

    if ((cuda = cudaEventRecord(b->done, b->stream)) != cudaSuccess ||
        (cuda = cudaStreamWaitEvent(stream, b->done, 0)) != cudaSuccess)
        return nccl_cuda_failed(err, "buckets", cuda);
    return nccl_poll_buckets(self, work, err);
}

lm_status nccl_poll_buckets(backend *self, void *work, lm_error *err)
{
    const nccl_buckets *b     = work;
    ncclResult_t        found = ncclSuccess, asked = ncclCommGetAsyncError(b->comm, &found);

    (void)self;
    found = asked == ncclSuccess ? found : asked;
    return found == ncclSuccess || found == ncclInProgress
               ? LM_OK
               : nccl_failed(err, b->comm, "buckets", found);
}

void nccl_release_buckets(backend *self, void *work)
{
    nccl_buckets *b = work;

    (void)self;
    if (!b)
        return;
    if (b->ready)
        cudaEventDestroy(b->ready);
    if (b->done)
        cudaEventDestroy(b->done);
    if (b->stream)
        cudaStreamDestroy(b->stream);
    free(b);
}

static lm_status set_up(nccl_buckets *b, lm_error *err)
{
    ncclDataType_t type;
    cudaError_t    cuda;

    for (size_t i = 0; i < b->n; i++)
        if (!nccl_type(b->bucket[i].dtype, &type))
            return lm_error_set(err, LM_E_UNSUPPORTED, "NCCL does not sum this type of gradients");
    if ((cuda = cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking)) != cudaSuccess ||
        (cuda = cudaEventCreateWithFlags(&b->ready, cudaEventDisableTiming)) != cudaSuccess ||
        (cuda = cudaEventCreateWithFlags(&b->done, cudaEventDisableTiming)) != cudaSuccess)
        return nccl_cuda_failed(err, "buckets", cuda);
    return LM_OK;
}

static trial trial_of(const nccl_buckets *b, const gradient_bucket *g)
{
    return (trial){ COLLECTIVE_ALLREDUCE, world_rank(b->group), world_size(b->group), elements(g) };
}

/* Checks the results. Every rank makes the same calls, also after a failure. */
static lm_status verify(nccl_buckets *b, lm_error *err)
{
    lm_status      status = LM_OK, one;
    pulse_activity before;

    for (size_t i = 0; i < b->n; i++) {
        const gradient_bucket *g = &b->bucket[i];
        const trial            t = trial_of(b, g);

        one    = nccl_fill(g->data, &t, g->dtype, t.size, status ? NULL : err);
        status = status ? status : one;
    }
    for (size_t i = 0; i < b->n; i++) {
        one    = nccl_start_bucket(NULL, b, i, b->stream, status ? NULL : err);
        status = status ? status : one;
    }
    if ((status = world_agree(b->group, status, err)))
        return status; /* no rank waits for a message that another did not start */
    one    = nccl_finish_buckets(NULL, b, b->stream, status ? NULL : err);
    status = status ? status : one;
    before = pulse_enter(PULSE_EXCHANGE);
    one    = nccl_wait(b->comm, b->done, status ? NULL : err);
    status = status ? status : one;
    pulse_enter(before);
    /* NCCL divides before it sums: with 16 bits a rounding error in the last place is allowed */
    for (size_t i = 0; i < b->n && !status; i++) {
        const trial t = trial_of(b, &b->bucket[i]);

        status = nccl_check(b->bucket[i].data, &t, b->bucket[i].dtype, 0.02, err);
    }
    return status;
}

lm_status nccl_buckets_new(ncclComm_t comm, const bench_case *what, const gradient_bucket *bucket,
                           size_t n, void **work, lm_error *err)
{
    nccl_buckets *b = calloc(1, sizeof *b);
    lm_status     status;

    if (b)
        *b = (nccl_buckets){ .comm = comm, .group = what->group, .bucket = bucket, .n = n };
    status = b ? set_up(b, err) : no_memory(err);
    status = world_agree(what->group, status, err); /* all ranks verify, or none */
    if (!status)
        status = verify(b, err);
    if (status) {
        nccl_release_buckets(NULL, b);
        return status;
    }
    *work = b;
    return LM_OK;
}
