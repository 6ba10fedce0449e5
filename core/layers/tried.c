/* Trial of untrusted plugins in a child process, before this process loads them. */
#define _GNU_SOURCE /* environ */
#include "layers/tried.h"

#include <dirent.h>
#include <fenv.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "layers/check.h"
#include "layers/loader.h"

/* ---- what all code of a process shares ---- */

#define N_SIGNALS 32

typedef struct process_state {
    int      rounding, threads;
    bool     denormals; /* subnormal numbers are not flushed to 0 */
    bool     timer;
    uint64_t environment, locale;
    void (*handler[N_SIGNALS])(int);
    char folder[PATH_MAX];
} process_state;

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int  n     = 0;

    if (!tasks)
        return 0;
    while (readdir(tasks))
        n++;
    closedir(tasks);
    return n;
}

static uint64_t environment_hash(void)
{
    uint64_t h = 1;

    for (char **e = environ; e && *e; e++)
        h = (h ^ text_hash(*e)) * UINT64_C(1099511628211);
    return h;
}

static void look(process_state *s)
{
    volatile double  least = DBL_MIN;
    const char      *all   = setlocale(LC_ALL, NULL);
    struct itimerval timer = { .it_value = { 0 } };

    memset(s, 0, sizeof *s);
    s->rounding    = fegetround();
    s->threads     = count_threads();
    s->denormals   = least / 2 > 0;
    s->timer       = !getitimer(ITIMER_REAL, &timer) && timerisset(&timer.it_value);
    s->environment = environment_hash();
    s->locale      = text_hash(all ? all : "");
    for (int i = 1; i < N_SIGNALS; i++) {
        struct sigaction action;

        if (!sigaction(i, NULL, &action))
            s->handler[i] = action.sa_handler;
    }
    if (!getcwd(s->folder, sizeof s->folder))
        s->folder[0] = '\0';
}

/* The changed state; NULL: none. */
static const char *change(const process_state *a, const process_state *b)
{
    if (a->rounding != b->rounding)
        return "changes how numbers are rounded";
    if (a->denormals != b->denormals)
        return "turns small numbers into 0 (was it linked with -ffast-math?)";
    if (a->locale != b->locale)
        return "changes the locale";
    if (a->environment != b->environment)
        return "changes the environment";
    if (memcmp(a->handler, b->handler, sizeof a->handler))
        return "changes what signals do";
    if (a->timer != b->timer)
        return "sets a timer";
    if (a->threads != b->threads)
        return "starts threads";
    return strcmp(a->folder, b->folder) ? "changes the working directory" : NULL;
}

/* ---- memory ---- */

/* Blocks with known contents around free blocks for a plugin's allocations. A write behind an
 * allocation changes the next block. */
#define N_SIZES  64
#define PER_SIZE 12
#define N_BLOCKS (N_SIZES * PER_SIZE)

typedef struct fence {
    unsigned char *block[N_BLOCKS];
} fence;

static size_t block_size(size_t i)
{
    return 16 * (i / PER_SIZE) + 8;
}

static unsigned char block_byte(size_t i)
{
    return (unsigned char)(0x5C ^ i);
}

static void fence_put_up(fence *f)
{
    for (size_t i = 0; i < N_BLOCKS; i++)
        if ((f->block[i] = malloc(block_size(i))))
            memset(f->block[i], block_byte(i), block_size(i));
    for (size_t i = 1; i < N_BLOCKS; i += 2) {
        free(f->block[i]);
        f->block[i] = NULL;
    }
}

static bool fence_holds(const fence *f)
{
    for (size_t i = 0; i < N_BLOCKS; i++)
        for (size_t k = 0; f->block[i] && k < block_size(i); k++)
            if (f->block[i][k] != block_byte(i))
                return false;
    return true;
}

/* Allocates memory of all sizes, so that the allocator detects damage of its data. */
static void fence_take_down(fence *f)
{
    for (size_t i = 1; i < N_BLOCKS; i += 2)
        f->block[i] = malloc(block_size(i));
    for (size_t i = 0; i < N_BLOCKS; i++)
        free(f->block[i]);
}

/* ---- in the child ---- */

typedef enum phase_of_trial { LOADED, ASKED, CLOSED } phase_of_trial;

/* Shared by both processes. */
typedef struct trial {
    const char *const *file;
    size_t             n, at;
    check_options      asked;
    phase_of_trial     phase;
    lm_status          status; /* status of loading */
    lm_error           err;
    const char        *changed;
    check_report       report;
    bool               wrote;
} trial;

/* Did the code write? Standard output and error are one file, initially empty. */
static bool has_written(void)
{
    struct stat written;

    fflush(stdout);
    fflush(stderr);
    return !fstat(STDOUT_FILENO, &written) && written.st_size > 0;
}

static bool broken(const trial *t)
{
    return t->status || t->changed || t->report.status ||
           (t->report.violation[0] && !t->report.idle);
}

/* Tries one file; false: the trial ends. */
static bool try_one(trial *t, const char *file)
{
    static const char written[] = "writes to memory that is not its own";
    process_state     before, now;
    registry         *reg = NULL;
    fence             f;

    memset(&t->report, 0, sizeof t->report);
    fence_put_up(&f);
    t->phase = LOADED;
    look(&before);
    t->status = registry_new(&reg, &t->err);
    if (!t->status)
        t->status = loader_open_file(reg, file, 0, &t->err);
    look(&now);
    if (!t->status)
        t->changed = fence_holds(&f) ? change(&before, &now) : written;
    if (broken(t))
        return false;
    t->phase = ASKED;
    for (size_t i = 0; t->asked.cases && !broken(t) && i < registry_count(reg); i++)
        check_type(registry_at(reg, i), &t->asked, &t->report);
    if (!fence_holds(&f))
        t->changed = written;
    if (broken(t))
        return false;
    t->phase = CLOSED;
    registry_free(reg);
    fence_take_down(&f);
    t->wrote = has_written();
    return !t->wrote;
}

static void try_all(void *argument)
{
    trial *t = argument;

    while (t->at < t->n && try_one(t, t->file[t->at]))
        t->at++;
}

/* ---- what is told ---- */

static lm_status told(const trial *t, const guard_outcome *end, const trial_limits *limits,
                      lm_error *err)
{
    static const char *const when[] = { "while it is loaded", "while it is asked",
                                        "while it is closed" };
    const char              *file   = t->file[t->at < t->n ? t->at : t->n - 1];
    const check_report      *r      = &t->report;
    char                     what[96];

    if (end->end != GUARD_RETURNED) {
        guarded_describe(end, &limits->of, what, sizeof what);
        if (t->phase != ASKED)
            return lm_error_set(err, LM_E_ABI, "%s: %s %s", file, what, when[t->phase]);
        return lm_error_set(err, LM_E_ABI, "%s: type '%s': %s%s%s", file, r->type, r->step,
                            *r->step ? ": " : "", what);
    }
    if (t->status) {
        *err = t->err;
        return t->status;
    }
    if (t->changed)
        return lm_error_set(err, LM_E_ABI, "%s: %s %s", file, t->changed, when[t->phase]);
    if (r->status)
        return no_memory(err);
    if (broken(t))
        return lm_error_set(
            err, LM_E_ABI, "%s: type '%s' breaks the contract ('layermeter check' shows a use): %s",
            file, r->type, r->violation);
    return t->wrote ? lm_error_set(err, LM_E_ABI, "%s: writes to stdout or stderr", file) : LM_OK;
}

lm_status plugins_try(const char *const *file, size_t n, const trial_limits *limits, lm_error *err)
{
    trial        *t = guarded_memory(sizeof *t);
    guard_outcome end;
    lm_status     status;

    if (!t)
        return no_memory(err);
    t->file  = file;
    t->n     = n;
    t->asked = (check_options){ .cases = limits->cases };
    status   = guarded_call(try_all, t, &limits->of, &end, err);
    if (!status)
        status = told(t, &end, limits, err);
    guarded_memory_free(t, sizeof *t);
    return status;
}
