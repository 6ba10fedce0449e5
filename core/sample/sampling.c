/* Samples of devices at equal times. */
#include "sample/sampling.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sample/sampler.h"

#define NANOSECONDS 1000000000.0

typedef struct looking {
    const sampling *how;
    sampler        *devices;
    FILE           *out; /* NULL: nowhere */
    sigset_t        ends;
    double          began;
    bool            lost[SAMPLER_DEVICES_MAX];
    size_t          n_lost;
} looking;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / NANOSECONDS;
}

/* Waits until a moment; true: a signal came first. */
static bool wait_until(const looking *l, double moment)
{
    const double    left = fmax(moment - now(), 0);
    struct timespec t;

    t.tv_sec  = (time_t)left;
    t.tv_nsec = (long)((left - floor(left)) * (NANOSECONDS - 1));
    return sigtimedwait(&l->ends, NULL, &t) > 0;
}

/* An existing file stays as it is, as a trace cannot be measured again. Pipes and devices are
 * written to. */
static lm_status open_file(const char *path, FILE **out, lm_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0 && errno == EEXIST) {
        FILE *there = fopen(path, "a");

        if (there && ftell(there) == 0) {
            *out = there;
            return LM_OK;
        }
        if (there)
            fclose(there);
        return lm_error_set(err, LM_E_IO, "%s: exists already: choose another name", path);
    }
    *out = fd < 0 ? NULL : fdopen(fd, "w");
    return *out ? LM_OK : lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
}

static lm_status lose(looking *l, size_t i, lm_error *err)
{
    char text[160];

    snprintf(text, sizeof text, "GPU %.60s is lost after %.3g s: no more of it",
             l->devices->device[i].index, now() - l->began);
    l->how->say(text);
    l->lost[i] = true;
    if (++l->n_lost < l->devices->n)
        return LM_OK;
    return lm_error_set(err, LM_E_NOTFOUND, "no device is left to watch");
}

static lm_status look(looking *l, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < l->devices->n && !status; i++) {
        const char   *index = l->devices->device[i].index;
        device_sample s;

        if (l->lost[i])
            continue;
        s = sampler_look(l->devices, i);
        if (s.lost) {
            status = lose(l, i, err);
            continue;
        }
        if (l->out)
            sample_csv_row(l->out, index, &s);
        if (l->how->take)
            status = l->how->take(l->how->context, index, &s, err);
    }
    /* whole rows at once, so that followers of the file see no partial row */
    if (l->out && (fflush(l->out) || ferror(l->out)) && !status)
        status = lm_error_set(err, LM_E_IO, "%s: %s", l->how->path ? l->how->path : "stdout",
                              strerror(errno));
    return status;
}

/* A sample that takes longer than the interval skips the moments that are over. */
static lm_status look_on(looking *l, lm_error *err)
{
    const double apart  = l->how->interval;
    lm_status    status = LM_OK;

    l->began = now();
    for (double k = 0; !status && k * apart <= l->how->seconds;) {
        if (wait_until(l, l->began + k * apart))
            break;
        status = look(l, err);
        k      = fmax(k + 1, ceil((now() - l->began) / apart));
    }
    return status;
}

static void say_devices(const looking *l)
{
    for (size_t i = 0; i < l->devices->n; i++) {
        char text[300];

        snprintf(text, sizeof text, "watching %.60s: %.200s", l->devices->device[i].index,
                 l->devices->device[i].name);
        l->how->say(text);
    }
}

/* A closing terminal ends the watch, unless told otherwise (nohup). */
static void choose_ends(sigset_t *ends)
{
    struct sigaction hangup;

    sigemptyset(ends);
    sigaddset(ends, SIGINT);
    sigaddset(ends, SIGTERM);
    if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
        sigaddset(ends, SIGHUP);
}

lm_status sampling_run(const sampling *w, lm_error *err)
{
    looking   l = { .how = w, .out = w->out };
    sigset_t  before;
    lm_status status;

    choose_ends(&l.ends);
    sigprocmask(SIG_BLOCK, &l.ends, &before);
    status = sampler_open(w->devices, &l.devices, err);
    if (!status && w->path)
        status = open_file(w->path, &l.out, err);
    if (!status) {
        say_devices(&l);
        if (l.out)
            sample_csv_head(l.out);
        status = look_on(&l, err);
    }
    if (w->path && l.out && fclose(l.out) && !status)
        status = lm_error_set(err, LM_E_IO, "%s: %s", w->path, strerror(errno));
    sampler_close(l.devices);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}
