/* How long this process's threads waited for a core. */
#include "measure/run_queue.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Threads that had less than this share of the busiest one's time are helpers. */
#define HARDLY 0.01

typedef struct counted {
    int      file;
    uint64_t ran, waited; /* nanoseconds, at the last mark */
} counted;

struct run_queue {
    counted *thread;
    size_t   n;
};

/* "TIME_RUN TIME_WAITED TIMES_RUN" */
static bool read_counters(int file, uint64_t *ran, uint64_t *waited)
{
    char          text[96];
    const ssize_t n = pread(file, text, sizeof text - 1, 0);
    char         *end, *last;

    if (n <= 0)
        return false;
    text[n] = '\0';
    *ran    = strtoull(text, &end, 10);
    *waited = strtoull(end, &last, 10);
    return end > text && last > end;
}

static void drop(run_queue *q, size_t at)
{
    close(q->thread[at].file);
    q->thread[at] = q->thread[--q->n];
}

static bool add_thread(run_queue *q, const char *task, const char *name)
{
    char     path[400];
    counted *more = realloc(q->thread, (q->n + 1) * sizeof *more);
    counted *new;

    if (!more)
        return false;
    q->thread = more;
    new       = &more[q->n];
    snprintf(path, sizeof path, "%.200s/%.100s/schedstat", task, name);
    new->file = open(path, O_RDONLY | O_CLOEXEC);
    if (new->file < 0)
        return true; /* it has ended */
    q->n++;
    if (!read_counters(new->file, &new->ran, &new->waited))
        drop(q, q->n - 1);
    return true;
}

run_queue *run_queue_open(const char *task)
{
    const char    *path   = task ? task : "/proc/self/task";
    DIR           *folder = opendir(path);
    run_queue     *q      = calloc(1, sizeof *q);
    uint64_t       most   = 0;
    bool           ok     = folder && q;
    struct dirent *entry;

    while (ok && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            ok = add_thread(q, path, entry->d_name);
    if (folder)
        closedir(folder);
    for (size_t i = 0; ok && i < q->n; i++)
        most = q->thread[i].ran > most ? q->thread[i].ran : most;
    for (size_t i = 0; ok && i < q->n;)
        if ((double)q->thread[i].ran < HARDLY * (double)most)
            drop(q, i);
        else
            i++;
    if (ok && most > 0) /* kernels that do not count say "0 0 0" */
        return q;
    run_queue_close(q);
    return NULL;
}

void run_queue_close(run_queue *q)
{
    for (size_t i = 0; q && i < q->n; i++)
        close(q->thread[i].file);
    if (q)
        free(q->thread);
    free(q);
}

void run_queue_mark(run_queue *q)
{
    for (size_t i = 0; q && i < q->n;)
        if (read_counters(q->thread[i].file, &q->thread[i].ran, &q->thread[i].waited))
            i++;
        else
            drop(q, i); /* it has ended */
}

double run_queue_waited(run_queue *q)
{
    double   longest = NAN;
    uint64_t ran, waited;

    for (size_t i = 0; q && i < q->n; i++)
        if (read_counters(q->thread[i].file, &ran, &waited))
            longest = fmax(longest, 1e-9 * (double)(waited - q->thread[i].waited));
    return longest;
}
