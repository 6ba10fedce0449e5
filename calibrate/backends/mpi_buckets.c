/* Gradient buckets over MPI during a backward pass. */
#include "mpi_buckets.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "ranks/pulse.h"
#include "ranks/world_mpi.h"

typedef struct mpi_buckets {
    MPI_Comm               comm;
    int                    rank, size;
    const gradient_bucket *bucket;
    size_t                 n;
    bool                   threaded;

    MPI_Request *request; /* poll: by bucket; MPI_REQUEST_NULL when done */
    int         *index;   /* memory for MPI_Testsome */

    /* thread: its progress, protected by `lock` */
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    size_t          started, finished;
    bool            ends, failed;
} mpi_buckets;

static MPI_Datatype type_of(const gradient_bucket *b)
{
    return b->dtype == LM_F64 ? MPI_DOUBLE : MPI_FLOAT;
}

static int count_of(const gradient_bucket *b)
{
    return (int)(b->bytes / lm_dtype_bytes(b->dtype));
}

/* ---- elements -------------------------------------------------------------------------------- */

static void divide(const gradient_bucket *b, int by)
{
    const int n = count_of(b);

    if (b->dtype == LM_F64) {
        const double scale = 1.0 / by;

        for (int i = 0; i < n; i++)
            ((double *)b->data)[i] *= scale;
    } else {
        const float scale = 1.0f / (float)by;

        for (int i = 0; i < n; i++)
            ((float *)b->data)[i] *= scale;
    }
}

static double element(const gradient_bucket *b, int i)
{
    return b->dtype == LM_F64 ? ((const double *)b->data)[i] : (double)((const float *)b->data)[i];
}

static void fill(const gradient_bucket *b, int rank)
{
    const int n = count_of(b);

    for (int i = 0; i < n; i++) {
        const double value = rank + 1 + i % 7;

        if (b->dtype == LM_F64)
            ((double *)b->data)[i] = value;
        else
            ((float *)b->data)[i] = (float)value;
    }
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Body of the thread: reduces started buckets in order, and sleeps if there is none. */
static void *reduce_in_order(void *context)
{
    mpi_buckets *b = context;

    pthread_mutex_lock(&b->lock);
    for (;;) {
        const gradient_bucket *next;
        int                    failed;

        while (b->finished == b->started && !b->ends)
            pthread_cond_wait(&b->changed, &b->lock);
        if (b->finished == b->started)
            break;
        next = &b->bucket[b->finished];
        pthread_mutex_unlock(&b->lock);
        failed = MPI_Allreduce(MPI_IN_PLACE, next->data, count_of(next), type_of(next), MPI_SUM,
                               b->comm) != MPI_SUCCESS;
        pthread_mutex_lock(&b->lock);
        b->finished++;
        b->failed |= failed;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static lm_status start_thread(mpi_buckets *b, lm_error *err)
{
    int level;

    if (MPI_Query_thread(&level) != MPI_SUCCESS || level < MPI_THREAD_SERIALIZED)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "this MPI gives no MPI_THREAD_SERIALIZED: take 'progress = poll'");
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    if (pthread_create(&b->thread, NULL, reduce_in_order, b)) {
        pthread_cond_destroy(&b->changed);
        pthread_mutex_destroy(&b->lock);
        return lm_error_set(err, LM_E_NOMEM, "no thread is available for 'progress = thread'");
    }
    b->threaded = true;
    return LM_OK;
}

static void end_thread(mpi_buckets *b)
{
    pthread_mutex_lock(&b->lock);
    b->ends = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
}

/* ---- start, poll, finish --------------------------------------------------------------------- */

static lm_status mpi_failed(lm_error *err)
{
    return lm_error_set(err, LM_E_IO, "an all-reduce of a bucket failed");
}

lm_status mpi_start_bucket(backend *self, void *work, size_t i, void *stream, lm_error *err)
{
    mpi_buckets           *b   = work;
    const gradient_bucket *one = &b->bucket[i];

    (void)self;
    (void)stream;
    divide(one, b->size);
    if (!b->threaded)
        return MPI_Iallreduce(MPI_IN_PLACE, one->data, count_of(one), type_of(one), MPI_SUM,
                              b->comm, &b->request[i]) == MPI_SUCCESS
                   ? LM_OK
                   : mpi_failed(err);
    pthread_mutex_lock(&b->lock);
    b->started++;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    return LM_OK;
}

lm_status mpi_poll_buckets(backend *self, void *work, lm_error *err)
{
    mpi_buckets *b = work;
    int          done;

    (void)self;
    if (b->threaded)
        return LM_OK;
    return MPI_Testsome((int)b->n, b->request, &done, b->index, MPI_STATUSES_IGNORE) == MPI_SUCCESS
               ? LM_OK
               : mpi_failed(err);
}

static bool wait_for_thread(mpi_buckets *b)
{
    bool failed;

    pthread_mutex_lock(&b->lock);
    while (b->finished < b->started)
        pthread_cond_wait(&b->changed, &b->lock);
    b->started = b->finished = 0;
    failed                   = b->failed;
    pthread_mutex_unlock(&b->lock);
    return !failed;
}

lm_status mpi_finish_buckets(backend *self, void *work, void *stream, lm_error *err)
{
    mpi_buckets         *b      = work;
    const pulse_activity before = pulse_enter(PULSE_EXCHANGE);
    bool                 ok;

    (void)self;
    (void)stream;
    ok = b->threaded ? wait_for_thread(b)
                     : MPI_Waitall((int)b->n, b->request, MPI_STATUSES_IGNORE) == MPI_SUCCESS;
    pulse_enter(before);
    return ok ? LM_OK : mpi_failed(err);
}

/* ---- prepare, release ------------------------------------------------------------------------ */

void mpi_release_buckets(backend *self, void *work)
{
    mpi_buckets *b = work;

    (void)self;
    if (!b)
        return;
    if (b->threaded)
        end_thread(b);
    free_all(b->request, b->index, b);
}

static lm_status check(const gradient_bucket *bucket, size_t n, lm_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (bucket[i].dtype != LM_F32 && bucket[i].dtype != LM_F64)
            return lm_error_set(err, LM_E_UNSUPPORTED,
                                "MPI sums no gradients of %s: f32 and f64 can be measured",
                                text_dtype_name(bucket[i].dtype));
        if (bucket[i].bytes / lm_dtype_bytes(bucket[i].dtype) > INT32_MAX)
            return lm_error_set(err, LM_E_UNSUPPORTED,
                                "a bucket of %llu bytes: MPI takes fewer than 2^31 elements",
                                (unsigned long long)bucket[i].bytes);
    }
    if (n > INT32_MAX)
        return lm_error_set(err, LM_E_UNSUPPORTED, "%zu buckets", n);
    return LM_OK;
}

/* Checks the results, with whole numbers that depend on the rank and have a known mean. All buckets
 * are in flight at once, as in the measurement. */
static lm_status verify(mpi_buckets *b, lm_error *err)
{
    const double mean   = (double)(b->size + 1) / 2;
    lm_status    status = LM_OK;

    for (size_t i = 0; i < b->n; i++)
        fill(&b->bucket[i], b->rank);
    for (size_t i = 0; i < b->n; i++) {
        const lm_status one = mpi_start_bucket(NULL, b, i, NULL, err);

        status = status ? status : one;
        mpi_poll_buckets(NULL, b, NULL);
    }
    {
        const lm_status one = mpi_finish_buckets(NULL, b, NULL, err);

        status = status ? status : one;
    }
    for (size_t i = 0; i < b->n && !status; i++) {
        const int n = count_of(&b->bucket[i]);

        for (int k = 0; k < n; k++)
            if (!(fabs(element(&b->bucket[i], k) - mean - k % 7) <= 1e-5 * (mean + 7)))
                return lm_error_set(err, LM_E_IO,
                                    "the all-reduce of bucket %zu gave %g instead of %g", i + 1,
                                    element(&b->bucket[i], k), mean + k % 7);
    }
    return status;
}

static mpi_buckets *new_buckets(const bench_case *what, const gradient_bucket *bucket, size_t n)
{
    mpi_buckets *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->comm    = world_communicator(what->group);
    b->rank    = world_rank(what->group);
    b->size    = world_size(what->group);
    b->bucket  = bucket;
    b->n       = n;
    b->request = malloc((n + 1) * sizeof *b->request);
    b->index   = malloc((n + 1) * sizeof *b->index);
    for (size_t i = 0; b->request && i < n; i++)
        b->request[i] = MPI_REQUEST_NULL;
    if (b->request && b->index)
        return b;
    mpi_release_buckets(NULL, b);
    return NULL;
}

lm_status mpi_prepare_buckets(backend *self, const bench_case *what, const gradient_bucket *bucket,
                              size_t n, void **work, lm_error *err)
{
    lm_status    status = check(bucket, n, err);
    mpi_buckets *b      = NULL;

    if (!status && !(b = new_buckets(what, bucket, n)))
        status = no_memory(err);
    if (!status && what->how.value[SETTING_PROGRESS])
        status = start_thread(b, err);
    status = world_agree(what->group, status, err); /* all ranks verify, or none */
    if (!status)
        status = verify(b, err);
    if (status) {
        mpi_release_buckets(self, b);
        return status;
    }
    *work = b;
    return LM_OK;
}
