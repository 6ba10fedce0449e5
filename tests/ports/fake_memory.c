/* Memory of a device that is not there: see fake.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fake_runtime.h"

typedef struct allocation {
    struct allocation *next;
    char              *at;
    size_t             bytes;
} allocation;

static struct {
    allocation *first;
    size_t      used, n_made;
} memory;

static size_t all_bytes(void)
{
    return (size_t)fake_number("LAYERMETER_FAKE_MEMORY", 1ll << 30);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    fake_enter();
    *total_bytes = all_bytes();
    *free_bytes  = memory.used < *total_bytes ? *total_bytes - memory.used : 0;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    enum { ALIGN = 256 };
    const long long fails = fake_number("LAYERMETER_FAKE_ALLOCATION", 0);
    allocation     *a     = NULL;
    void           *at;

    fake_enter();
    if (fake_capturing())
        return fake_leave(cudaErrorStreamCaptureUnsupported);
    memory.n_made++;
    if ((fails && memory.n_made >= (size_t)fails) || bytes > all_bytes() - memory.used)
        return fake_leave(cudaErrorMemoryAllocation);
    a = malloc(sizeof *a);
    if (!a || posix_memalign(&at, ALIGN, bytes ? bytes : 1)) {
        free(a);
        return fake_leave(cudaErrorMemoryAllocation);
    }
    memset(at, 0xff, bytes);
    *a           = (allocation){ memory.first, at, bytes };
    memory.first = a;
    memory.used += bytes;
    *out = at;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaFree(void *at)
{
    fake_enter();
    if (at)
        fake_run_all();
    for (allocation **link = &memory.first; at && *link; link = &(*link)->next)
        if ((*link)->at == at) {
            allocation *a = *link;

            *link = a->next;
            memory.used -= a->bytes;
            free(a->at);
            free(a);
            return fake_leave(cudaSuccess);
        }
    return fake_leave(at ? cudaErrorInvalidValue : cudaSuccess);
}

bool fake_is_device_memory(const void *at, size_t bytes)
{
    bool found = false;

    fake_enter();
    for (const allocation *a = memory.first; a && !found; a = a->next)
        found = (const char *)at >= a->at && (size_t)((const char *)at - a->at) <= a->bytes &&
                bytes <= a->bytes - (size_t)((const char *)at - a->at);
    (void)fake_leave(cudaSuccess);
    return found;
}

static bool copy_is_sane(const void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    const bool to_device   = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;

    return fake_is_device_memory(to, bytes) == to_device &&
           fake_is_device_memory(from, bytes) == from_device;
}

/* What is still on its way when cudaMemcpy() to the device returns. */
enum { TAIL = 4096 };

typedef struct tail {
    char  *to;
    size_t bytes;
    char   data[TAIL];
} tail;

static void run_tail(void *context)
{
    const tail *t = context;

    memcpy(t->to, t->data, t->bytes);
}

/* Not in any stream, as with streams that do not wait for the one of those that have none. From the
 * host it returns early: "the DMA to final destination may not have completed" (CUDA Runtime API,
 * API synchronization behavior). */
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    tail end;

    fake_enter();
    if (fake_capturing())
        return fake_leave(cudaErrorStreamCaptureUnsupported);
    if (!copy_is_sane(to, from, bytes, kind))
        return fake_leave(cudaErrorInvalidValue);
    fake_run_default();
    end.bytes = kind != cudaMemcpyHostToDevice ? 0 : bytes < TAIL ? bytes : TAIL;
    memcpy(to, from, bytes - end.bytes);
    if (end.bytes) {
        end.to = (char *)to + bytes - end.bytes;
        memcpy(end.data, (const char *)from + bytes - end.bytes, end.bytes);
        (void)fake_leave(fake_enqueue(NULL, run_tail, &end, sizeof end));
        return cudaSuccess;
    }
    return fake_leave(cudaSuccess);
}

typedef struct move {
    void       *to;
    const void *from;
    int         value;
    size_t      bytes;
} move;

static void run_copy(void *context)
{
    const move *m = context;

    memmove(m->to, m->from, m->bytes);
}

static void run_set(void *context)
{
    const move *m = context;

    memset(m->to, m->value, m->bytes);
    fake_sweeps(m->bytes);
    if (m->bytes > 2000000)
        fake_spend((long long)(m->bytes / 1000));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    const move m = { to, from, 0, bytes };

    if (!copy_is_sane(to, from, bytes, kind))
        return cudaErrorInvalidValue;
    return fake_enqueue(stream, run_copy, &m, sizeof m);
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream)
{
    const move m = { at, NULL, value, bytes };

    if (!fake_is_device_memory(at, bytes))
        return cudaErrorInvalidValue;
    return fake_enqueue(stream, run_set, &m, sizeof m);
}

size_t fake_allocations(void)
{
    size_t n = 0;

    for (const allocation *a = memory.first; a; a = a->next)
        n++;
    return n;
}
