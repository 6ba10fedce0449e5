/* The runtime of a device that is not there: see fake.h. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_queue.h"

/* ---- what streams hold ----------------------------------------------------------------------- */

struct CUstream_st {
    struct CUstream_st *next;
    queue               waiting;
    struct CUgraph_st  *capture;        /* NULL: not captured */
    bool                running, stuck; /* stuck: what runs never ends, ... */
    const void         *by;             /* ... unless whose it is gives it up; NULL: nobody's */
    bool                destroyed;      /* lives on until its work has ended */
    int64_t             busy_until;
};

struct CUevent_st {
    struct CUstream_st *stream;         /* of the last recording */
    unsigned long long  recorded, done; /* turns */
    int64_t             nanoseconds;
    bool                timed;
    size_t              users; /* its owner, and what streams hold of it */
};

static struct {
    cudaError_t         sticky, last;
    struct CUstream_st *streams;
    struct CUstream_st  none; /* the stream of those that have none */
    size_t              n_launches, n_events;
    int                 device;
    int64_t             host, spent; /* the host's clock; what the call under way takes */
    bool                endless;     /* the call under way, ... */
    const void         *by;          /* ... which is of that communicator */
    bool                idle;        /* the call under way reads nothing */
    size_t              swept;       /* bytes written since a call read something */
} fake;

/* Streams may be given work by several threads. */
static pthread_mutex_t lock;
static pthread_once_t  once = PTHREAD_ONCE_INIT;

static void set_up(void)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    fake.none.waiting.end = &fake.none.waiting.first;
}

void fake_enter(void)
{
    pthread_once(&once, set_up);
    pthread_mutex_lock(&lock);
}

cudaError_t fake_leave(cudaError_t status)
{
    if (fake.sticky)
        status = fake.sticky;
    if (status)
        fake.last = status;
    pthread_mutex_unlock(&lock);
    return status;
}

long long fake_number(const char *name, long long otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoll(text, NULL, 10) : otherwise;
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A clock of its own, of which all is known: LAYERMETER_FAKE_LATENCY. */
enum { KERNEL_NANOSECONDS = 2000, COLD_NANOSECONDS = 1000 };

static int64_t latency(void)
{
    return (int64_t)fake_number("LAYERMETER_FAKE_LATENCY", 0);
}

void fake_spend(long long nanoseconds)
{
    fake.spent = nanoseconds;
}

void fake_sweeps(size_t bytes)
{
    fake.idle = true;
    fake.swept += bytes;
}

void fake_never_ends(const void *by)
{
    fake.endless = true;
    fake.by      = by;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void queue_add(queue *q, item new)
{
    item *i = malloc(sizeof *i);

    if (!i)
        abort();
    if (new.event)
        new.event->users++;
    fake.host += latency();
    *i      = new;
    i->sent = fake.host;
    i->next = NULL;
    *q->end = i;
    q->end  = &i->next;
}

static void event_leave(struct CUevent_st *e)
{
    if (e && !--e->users)
        free(e);
}

static void item_free(item *i)
{
    event_leave(i->event);
    free(i->context);
    free(i);
}

void queue_free(queue *q)
{
    for (item *i = q->first, *next; i; i = next) {
        next = i->next;
        item_free(i);
    }
    *q = (queue){ NULL, &q->first };
}

static void *copy_of(const void *context, size_t size)
{
    void *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    if (size)
        memcpy(copy, context, size);
    return copy;
}

/* ---- running --------------------------------------------------------------------------------- */

static void run_until(struct CUstream_st *s, const struct CUevent_st *event,
                      unsigned long long turn);

static void run_call(const item *i)
{
    if (fake.sticky)
        return;
    if (++fake.n_launches == (size_t)fake_number("LAYERMETER_FAKE_LAUNCH", 0)) {
        fake.sticky = cudaErrorLaunchFailure;
        return;
    }
    if (fake.n_launches == (size_t)fake_number("LAYERMETER_FAKE_ENDLESS", 0)) {
        fake_never_ends(NULL);
        return;
    }
    i->call(i->context);
}

/* What reads finds the cache swept, which takes it longer, or finds it as the last one left it. */
static void spend(struct CUstream_st *s)
{
    s->busy_until += fake.spent;
    if (fake.idle)
        return;
    if (fake.swept >= FAKE_CACHE)
        s->busy_until += COLD_NANOSECONDS;
    fake.swept = 0;
}

/* False: it waits for an event that does not come. */
static bool run_item(struct CUstream_st *s, const item *i)
{
    const int64_t begins = later(s->busy_until, i->sent);

    switch (i->kind) {
    case ITEM_CALL:
        fake.spent    = KERNEL_NANOSECONDS;
        fake.idle     = false;
        s->busy_until = begins;
        run_call(i);
        spend(s);
        if (fake.endless) {
            s->stuck     = true;
            s->by        = fake.by;
            fake.endless = false;
        }
        break;
    case ITEM_RECORD:
        s->busy_until         = begins;
        i->event->done        = i->turn;
        i->event->nanoseconds = latency() ? s->busy_until : now();
        break;
    case ITEM_WAIT:
        if (i->event->done < i->turn && i->event->stream)
            run_until(i->event->stream, i->event, i->turn);
        if (i->event->done < i->turn && i->event->stream)
            return false;
        s->busy_until = later(begins, i->event->nanoseconds);
        break;
    }
    return true;
}

/* Up to and with one recording of an event; NULL: all. */
static void run_until(struct CUstream_st *s, const struct CUevent_st *event,
                      unsigned long long turn)
{
    if (s->running) /* streams that wait for each other */
        abort();
    s->running = true;
    while (s->waiting.first && !s->stuck && !(event && event->done >= turn)) {
        item *i = s->waiting.first;

        if (!run_item(s, i))
            break;
        s->waiting.first = i->next;
        if (!i->next)
            s->waiting.end = &s->waiting.first;
        item_free(i);
    }
    s->running = false;
}

/* Waits for ever for what never ends: nothing of this process may end it meanwhile. */
static void run_out(struct CUstream_st *s)
{
    run_until(s, NULL, 0);
    while (s->stuck || s->waiting.first)
        pause();
}

/* Streams that were destroyed, once their work has ended. */
static void bury(void)
{
    for (struct CUstream_st **link = &fake.streams, *s; (s = *link);)
        if (s->destroyed && !s->stuck && !s->waiting.first) {
            *link = s->next;
            free(s);
        } else {
            link = &s->next;
        }
}

void fake_ends(const void *by)
{
    fake_enter();
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        if (s->stuck && s->by == by)
            s->stuck = false;
    fake_leave(cudaSuccess);
}

void fake_run_default(void)
{
    run_out(&fake.none);
}

void fake_run_all(void)
{
    fake_run_default();
    for (struct CUstream_st *s = fake.streams; s; s = s->next)
        run_out(s);
    bury();
}

static struct CUstream_st *stream_of(cudaStream_t stream)
{
    return stream ? stream : &fake.none;
}

bool fake_is_busy(void)
{
    bool busy = fake.none.waiting.first;

    for (const struct CUstream_st *s = fake.streams; s; s = s->next)
        busy |= s->waiting.first != NULL;
    return busy;
}

bool fake_capturing(void)
{
    for (const struct CUstream_st *s = fake.streams; s; s = s->next)
        if (s->capture)
            return true;
    return false;
}

cudaError_t fake_enqueue(cudaStream_t stream, fake_call *call, const void *context, size_t size)
{
    item new = { .kind = ITEM_CALL, .call = call };
    struct CUstream_st *s;

    fake_enter();
    s           = stream_of(stream);
    new.context = copy_of(context, size);
    if (s->capture) {
        queue_add(&s->capture->calls, new);
        s->capture->n++;
    } else {
        queue_add(&s->waiting, new);
    }
    return fake_leave(cudaSuccess);
}

cudaError_t fake_library_enqueue(cudaStream_t stream, fake_call *call, const void *context,
                                 size_t size)
{
    static long long n;
    bool             refused;

    fake_enter();
    refused = ++n == fake_number("LAYERMETER_FAKE_REFUSED", 0);
    fake_leave(refused ? cudaErrorInvalidValue : cudaSuccess);
    return refused ? cudaErrorInvalidValue : fake_enqueue(stream, call, context, size);
}

bool fake_is_broken(void)
{
    return fake.sticky != cudaSuccess;
}

/* ---- errors ---------------------------------------------------------------------------------- */

cudaError_t cudaGetLastError(void)
{
    cudaError_t status;

    fake_enter();
    status    = fake.sticky ? fake.sticky : fake.last;
    fake.last = cudaSuccess;
    pthread_mutex_unlock(&lock);
    return status;
}

cudaError_t cudaPeekAtLastError(void)
{
    cudaError_t status;

    fake_enter();
    status = fake.sticky ? fake.sticky : fake.last;
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- devices --------------------------------------------------------------------------------- */

cudaError_t cudaSetDevice(int device)
{
    int n;

    if (cudaGetDeviceCount(&n) != cudaSuccess || device < 0 || device >= n)
        return cudaErrorInvalidDevice;
    fake.device = device;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    fake_enter();
    if (fake_capturing())
        return fake_leave(cudaErrorStreamCaptureUnsupported);
    fake_run_all();
    return fake_leave(cudaSuccess);
}

/* ---- streams and events ---------------------------------------------------------------------- */

struct CUgraph_st **fake_capture_of(cudaStream_t stream)
{
    return &stream->capture;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned int flags)
{
    struct CUstream_st *s = calloc(1, sizeof *s);

    (void)flags;
    fake_enter();
    if (!s)
        return fake_leave(cudaErrorMemoryAllocation);
    s->waiting.end = &s->waiting.first;
    s->next        = fake.streams;
    fake.streams   = s;
    *out           = s;
    return fake_leave(cudaSuccess);
}

/* "This function will return immediately and the resources associated with the stream will be released
 * automatically once the device has completed all work" (CUDA Runtime API, cudaStreamDestroy). */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    fake_enter();
    stream->destroyed = true;
    bury();
    return fake_leave(cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    fake_enter();
    if (stream_of(stream)->capture)
        return fake_leave(cudaErrorStreamCaptureUnsupported);
    run_out(stream_of(stream));
    fake.host = later(fake.host, stream_of(stream)->busy_until);
    return fake_leave(cudaSuccess);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned int flags)
{
    struct CUevent_st *e = calloc(1, sizeof *e);

    fake_enter();
    if (!e)
        return fake_leave(cudaErrorMemoryAllocation);
    e->users = 1;
    e->timed = !(flags & cudaEventDisableTiming);
    *out     = e;
    fake.n_events++;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    return cudaEventCreateWithFlags(out, cudaEventDefault);
}

/* Returns at once; what is pending keeps it (CUDA Runtime API, cudaEventDestroy). */
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    fake_enter();
    event_leave(event);
    fake.n_events--;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    struct CUstream_st *s;

    fake_enter();
    s = stream_of(stream);
    if (s->capture) /* real ones become edges of the graph: not here */
        return fake_leave(cudaErrorStreamCaptureUnsupported);
    event->stream = s;
    queue_add(&s->waiting,
              (item){ .kind = ITEM_RECORD, .event = event, .turn = ++event->recorded });
    return fake_leave(cudaSuccess);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    struct CUstream_st *s;

    (void)flags;
    fake_enter();
    s = stream_of(stream);
    if (s->capture)
        return fake_leave(cudaErrorStreamCaptureUnsupported);
    queue_add(&s->waiting, (item){ .kind = ITEM_WAIT, .event = event, .turn = event->recorded });
    return fake_leave(cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    fake_enter();
    if (fake_capturing())
        return fake_leave(cudaErrorStreamCaptureUnsupported);
    if (event->done < event->recorded)
        run_until(event->stream, event, event->recorded);
    while (event->done < event->recorded)
        pause();
    fake.host = later(fake.host, event->nanoseconds);
    return fake_leave(cudaSuccess);
}

/* Whoever asks again and again gets on. */
cudaError_t cudaEventQuery(cudaEvent_t event)
{
    const cudaError_t status = event->done < event->recorded ? cudaErrorNotReady : cudaSuccess;
    cudaError_t       ran;

    fake_enter();
    if (fake_capturing())
        return fake_leave(cudaErrorStreamCaptureUnsupported);
    if (event->done < event->recorded)
        run_until(event->stream, event, event->recorded);
    if (event->done < event->recorded)
        return fake_leave(cudaErrorNotReady);
    fake.host = later(fake.host, event->nanoseconds);
    ran       = fake_leave(cudaSuccess);
    return ran ? ran : status;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end)
{
    fake_enter();
    if (!begin->timed || !end->timed || !begin->recorded || !end->recorded)
        return fake_leave(cudaErrorInvalidResourceHandle);
    if (begin->done < begin->recorded || end->done < end->recorded)
        return fake_leave(cudaErrorNotReady);
    *milliseconds = (float)(1e-6 * (double)(end->nanoseconds - begin->nanoseconds));
    return fake_leave(cudaSuccess);
}

size_t fake_left(void)
{
    size_t n;

    fake_enter();
    fake_run_all();
    n = fake.n_events + fake_graphs() + fake_allocations();
    for (const struct CUstream_st *s = fake.streams; s; s = s->next)
        n++;
    pthread_mutex_unlock(&lock);
    return n;
}
