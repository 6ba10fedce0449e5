/* Runs independent parts of a calculation on threads. */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/text.h"

/* More threads do not help with so little work. */
#define MOST_THREADS 16

/* An open loop: a call that has not returned. */
typedef struct loop {
    struct loop  *outer; /* opened before it and still open; or NULL */
    size_t        n, next, done;
    parallel_part part;
    void         *context;
    size_t        failed;
    lm_status     status;
    lm_error     *err;
} loop;

/* Threads of the outermost loop. */
typedef struct team {
    pthread_mutex_t lock;    /* of the loops */
    pthread_cond_t  changed; /* signals a new or a finished loop */
    loop           *open;    /* the newest open loop */
    loop           *first;
} team;

static _Thread_local team *mine; /* NULL: in no call */

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

/* Keeps the failure of the lowest part. */
static void note(loop *l, size_t part, lm_status status, const lm_error *err)
{
    if (l->status && l->failed < part)
        return;
    l->failed = part;
    l->status = status;
    if (l->err)
        *l->err = *err;
}

/* Runs the loop's next part, outside of the lock. */
static void do_part(team *t, loop *l)
{
    const size_t i   = l->next++;
    lm_error     err = { LM_OK, "" };
    lm_status    status;

    pthread_mutex_unlock(&t->lock);
    status = l->part(l->context, i, &err);
    pthread_mutex_lock(&t->lock);
    if (status)
        note(l, i, status, &err);
    if (++l->done == l->n)
        pthread_cond_broadcast(&t->changed);
}

/* The outermost loop with parts left: its parts are the largest. */
static loop *find_parts(const team *t)
{
    loop *found = NULL;

    for (loop *l = t->open; l; l = l->outer)
        if (l->next < l->n)
            found = l;
    return found;
}

/* Runs parts of any loop until the outermost loop is done. */
static void help(team *t)
{
    pthread_mutex_lock(&t->lock);
    while (t->first->done < t->first->n) {
        loop *l = find_parts(t);

        if (l)
            do_part(t, l);
        else
            pthread_cond_wait(&t->changed, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
}

static void *join_team(void *context)
{
    mine = context;
    help(mine);
    return NULL;
}

/* A loop within a part: the caller runs its parts until all are done. */
static void do_loop(team *t, loop *l)
{
    loop **at = &t->open;

    pthread_mutex_lock(&t->lock);
    l->outer = t->open;
    t->open  = l;
    pthread_cond_broadcast(&t->changed);
    while (l->next < l->n)
        do_part(t, l);
    while (l->done < l->n)
        pthread_cond_wait(&t->changed, &t->lock);
    while (*at != l)
        at = &(*at)->outer;
    *at = l->outer;
    pthread_mutex_unlock(&t->lock);
}

/* The outermost loop. If a thread cannot start, fewer threads do the work. */
static void do_first(loop *l)
{
    team         t       = { .lock    = PTHREAD_MUTEX_INITIALIZER,
                             .changed = PTHREAD_COND_INITIALIZER,
                             .open    = l,
                             .first   = l };
    const size_t want    = threads_wanted();
    size_t       n_other = 0;
    pthread_t    other[MOST_THREADS];

    mine = &t;
    while (n_other + 1 < want && !pthread_create(&other[n_other], NULL, join_team, &t))
        n_other++;
    help(&t);
    while (n_other > 0)
        pthread_join(other[--n_other], NULL);
    mine = NULL;
}

lm_status parallel_for(size_t n, parallel_part part, void *context, lm_error *err)
{
    loop l = { .n = n, .part = part, .context = context, .err = err };

    if (mine)
        do_loop(mine, &l);
    else if (n > 0)
        do_first(&l);
    return l.status;
}
