/* Independent parts of a calculation. */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/blas.h"
#include "base/text.h"

/* More are never of use for the little that is to be done. */
#define MOST_THREADS 16

/* Shared by the threads of a call. */
typedef struct loop {
    size_t          n, next;
    parallel_part   part;
    void           *context;
    pthread_mutex_t lock; /* of `next` and what follows */
    size_t          failed;
    lm_status       status;
    lm_error       *err;
} loop;

static _Thread_local bool inside;

static size_t threads_wanted(void)
{
    const char *said = getenv("OMP_NUM_THREADS");
    uint64_t    n;
    cpu_set_t   cores;

    if (said && !text_uint(said, &n, NULL) && n > 0)
        return n < MOST_THREADS ? (size_t)n : MOST_THREADS;
    if (sched_getaffinity(0, sizeof cores, &cores))
        return 1;
    return CPU_COUNT(&cores) < MOST_THREADS ? (size_t)CPU_COUNT(&cores) : MOST_THREADS;
}

/* The first failure, by number, is kept. */
static void note(loop *l, size_t part, lm_status status, const lm_error *err)
{
    if (l->status && l->failed < part)
        return;
    l->failed = part;
    l->status = status;
    if (l->err)
        *l->err = *err;
}

static void *take_parts(void *context)
{
    loop *l = context;

    inside = true;
    pthread_mutex_lock(&l->lock);
    while (l->next < l->n) {
        const size_t i   = l->next++;
        lm_error     err = { LM_OK, "" };
        lm_status    status;

        pthread_mutex_unlock(&l->lock);
        status = l->part(l->context, i, &err);
        pthread_mutex_lock(&l->lock);
        if (status)
            note(l, i, status, &err);
    }
    pthread_mutex_unlock(&l->lock);
    inside = false;
    return NULL;
}

lm_status parallel_for(size_t n, parallel_part part, void *context, lm_error *err)
{
    loop         l    = { .n = n, .part = part, .context = context, .err = err };
    const size_t want = inside ? 1 : threads_wanted();
    const bool   was  = inside;
    pthread_t    other[MOST_THREADS];
    size_t       n_other = 0;

    blas_one_thread(); /* a thread of ours is one of its */
    pthread_mutex_init(&l.lock, NULL);
    while (n_other + 1 < want && n_other + 1 < n &&
           !pthread_create(&other[n_other], NULL, take_parts, &l))
        n_other++; /* without a thread there are fewer to do it */
    take_parts(&l);
    inside = was;
    while (n_other > 0)
        pthread_join(other[--n_other], NULL);
    pthread_mutex_destroy(&l.lock);
    return l.status;
}
