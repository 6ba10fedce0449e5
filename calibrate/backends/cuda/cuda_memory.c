/* Device memory that is kept, so that times do not include the allocator. */
#include "cuda_memory.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/no_memory.h"

/* A block serves requests of at least this part of its size, to leave it to larger ones. */
enum { WASTE = 4 };

/* Memory left for others: libraries load kernels at the first run, and NCCL has buffers. Idle
 * blocks may hold only a part of the device, for the same reason. */
enum { RESERVE = 256 << 20, RESERVE_PART = 64, IDLE_PART = 4 };

typedef struct block {
    struct block *next;
    void         *at;
    size_t        bytes;
    bool          lent;
} block;

struct cuda_pool {
    block *first;
};

lm_status cuda_pool_new(cuda_pool **out, lm_error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? LM_OK : no_memory(err);
}

/* Returns unused blocks to the system; at the end all blocks. */
static void trim(cuda_pool *pool, bool all)
{
    block **link = &pool->first;

    while (*link) {
        block *b = *link;

        if (b->lent && !all) {
            link = &b->next;
            continue;
        }
        *link = b->next;
        cudaFree(b->at);
        free(b);
    }
}

void cuda_pool_free(cuda_pool *pool)
{
    if (!pool)
        return;
    trim(pool, true);
    free(pool);
}

/* The smallest block that is large enough, but not much too large. */
static block *find(const cuda_pool *pool, size_t bytes)
{
    block *best = NULL;

    for (block *b = pool->first; b; b = b->next)
        if (!b->lent && b->bytes >= bytes && b->bytes / WASTE <= bytes &&
            (!best || b->bytes < best->bytes))
            best = b;
    return best;
}

static lm_status too_large(size_t bytes, lm_error *err)
{
    size_t free_bytes = 0, all_bytes = 0;

    if (cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess)
        return lm_error_set(err, LM_E_NOMEM, "no %.0f MB are available on the device",
                            (double)bytes / 1e6);
    return lm_error_set(err, LM_E_NOMEM, "needs %.0f MB, %.0f of the device's %.0f MB are free",
                        (double)bytes / 1e6, (double)free_bytes / 1e6, (double)all_bytes / 1e6);
}

/* Does enough memory remain for others? */
static bool leaves_enough(size_t bytes)
{
    size_t free_bytes = 0, all_bytes = 0, reserve;

    if (cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess)
        return true; /* cudaMalloc() reports the error */
    reserve = all_bytes / RESERVE_PART < RESERVE ? all_bytes / RESERVE_PART : RESERVE;
    return free_bytes >= reserve && bytes <= free_bytes - reserve;
}

static lm_status allocate(cuda_pool *pool, size_t bytes, void **out, lm_error *err)
{
    cudaError_t status = cudaErrorMemoryAllocation;

    if (leaves_enough(bytes))
        status = cudaMalloc(out, bytes);
    if (status == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError(); /* or the next call reports it again */
        trim(pool, false);
        if (leaves_enough(bytes))
            status = cudaMalloc(out, bytes);
    }
    if (status == cudaSuccess)
        return LM_OK;
    (void)cudaGetLastError();
    return status == cudaErrorMemoryAllocation ? too_large(bytes, err)
                                               : cuda_failed(err, "device memory", status);
}

lm_status cuda_borrow(const cuda_device *device, size_t bytes, void **out, lm_error *err)
{
    const size_t wanted = bytes ? bytes : 1;
    block       *b      = find(device->pool, wanted);
    lm_status    status;

    if (!b) {
        b = calloc(1, sizeof *b);
        if (!b)
            return no_memory(err);
        status = allocate(device->pool, wanted, &b->at, err);
        if (status) {
            free(b);
            return status;
        }
        b->bytes            = wanted;
        b->next             = device->pool->first;
        device->pool->first = b;
    }
    b->lent = true;
    *out    = b->at;
    return LM_OK;
}

void cuda_give_back(const cuda_device *device, void *memory)
{
    size_t idle = 0;

    for (block *b = device->pool->first; b; b = b->next) {
        if (b->at == memory)
            b->lent = false;
        idle += b->lent ? 0 : b->bytes;
    }
    if (idle > device->memory_bytes / IDLE_PART)
        trim(device->pool, false);
}
