/* Runs code that may crash, hang or exhaust memory in a separate process. */
#define _GNU_SOURCE /* prctl(), wait4() */
#include "layers/guarded.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct {
    int         number;
    const char *name;
} signals[] = {
    { SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" },   { SIGFPE, "SIGFPE" },   { SIGILL, "SIGILL" },
    { SIGABRT, "SIGABRT" }, { SIGTRAP, "SIGTRAP" }, { SIGKILL, "SIGKILL" }, { SIGSYS, "SIGSYS" },
};

void *guarded_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void guarded_memory_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

/* Address space in use. Limits are relative to it, because sanitizers reserve large parts. */
static rlim_t address_space(void)
{
    FILE              *file  = fopen("/proc/self/statm", "r");
    unsigned long long pages = 0;

    if (!file || fscanf(file, "%llu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* The type of RLIMIT_* is an enum in one C library and int in another: their names stay literal. */
#define LOWER_LIMIT(what, value)                                    \
    do {                                                            \
        struct rlimit limit;                                        \
                                                                    \
        if (!getrlimit(what, &limit) && (value) < limit.rlim_cur) { \
            limit.rlim_cur = (value);                               \
            setrlimit(what, &limit);                                \
        }                                                           \
    } while (0)

/* The child has no input, writes to `output`, and dies with its parent and of every signal. Its
 * process group ends with it. */
static void enter_child(int output, const guard_limits *limits)
{
    const int    nothing = open("/dev/null", O_RDONLY);
    const rlim_t used    = address_space();
    sigset_t     none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i].number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    LOWER_LIMIT(RLIMIT_CORE, 0);
    if (used)
        LOWER_LIMIT(RLIMIT_AS, used + (rlim_t)limits->bytes);
}

/* Shared state of a call. */
typedef struct guard_state {
    bool returned;
} guard_state;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Waits for the child, and kills it at its deadline (*late) with SIGKILL, which cannot be ignored.
 * False: another part of the process waited for the child, or it ignores SIGCHLD. */
static bool await(pid_t child, double seconds, int *status, struct rusage *usage, bool *late)
{
    const double    deadline = now() + seconds;
    struct timespec pause    = { .tv_nsec = 20000 };
    pid_t           ended;

    while ((ended = wait4(child, status, WNOHANG, usage)) != child) {
        if (ended < 0 && errno != EINTR)
            break;
        if (now() >= deadline) {
            *late = true;
            kill(-child, SIGKILL);
            kill(child, SIGKILL);
        }
        nanosleep(&pause, NULL);
        pause.tv_nsec += pause.tv_nsec < 1000000 ? pause.tv_nsec / 4 : 0;
    }
    kill(-child, SIGKILL); /* its remaining processes */
    return ended == child;
}

static guard_outcome outcome_of(int status, bool late, bool returned, const struct rusage *usage,
                                int output)
{
    guard_outcome o = { .peak_bytes = (int64_t)usage->ru_maxrss * 1024 };
    struct stat   written;

    o.wrote = !fstat(output, &written) && written.st_size > 0;
    if (late) {
        o.end = GUARD_TIMED_OUT;
    } else if (WIFSIGNALED(status)) {
        o.number = WTERMSIG(status);
        o.end    = GUARD_CRASHED;
    } else {
        o.number = WEXITSTATUS(status);
        o.end    = returned ? GUARD_RETURNED : GUARD_EXITED;
    }
    return o;
}

lm_status guarded_call(void (*call)(void *), void *argument, const guard_limits *limits,
                       guard_outcome *out, lm_error *err)
{
    FILE         *output = tmpfile();
    guard_state  *shared = guarded_memory(sizeof *shared);
    struct rusage usage  = { .ru_maxrss = 0 };
    int           ended  = 0;
    bool          late   = false;
    lm_status     status = LM_OK;
    pid_t         child  = -1;

    if (!output)
        status = lm_error_set(err, LM_E_IO, "no temporary file: %s", strerror(errno));
    else if (!shared)
        status = lm_error_set(err, LM_E_NOMEM, "out of memory");
    if (status)
        goto out;
    fflush(stdout);
    fflush(stderr);
    child = fork();
    if (child == 0) {
        enter_child(fileno(output), limits);
        call(argument);
        fflush(stdout);
        fflush(stderr);
        shared->returned = true;
        _exit(0);
    }
    if (child < 0)
        status = lm_error_set(err, LM_E_IO, "no child process: %s", strerror(errno));
    else if (!await(child, limits->seconds, &ended, &usage, &late) && !late && !shared->returned)
        status = lm_error_set(err, LM_E_IO, "lost a child process");
    if (!status)
        *out = outcome_of(ended, late, shared->returned, &usage, fileno(output));
out:
    if (output)
        fclose(output);
    guarded_memory_free(shared, sizeof *shared);
    return status;
}

const char *guarded_describe(const guard_outcome *o, const guard_limits *limits, char *buffer,
                             size_t size)
{
    const char *name = NULL;

    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (signals[i].number == o->number)
            name = signals[i].name;
    if (o->end == GUARD_TIMED_OUT)
        snprintf(buffer, size, "does not return within %g s", limits->seconds);
    else if (o->end == GUARD_EXITED)
        snprintf(buffer, size, "ends the process with status %d", o->number);
    else if (o->end == GUARD_CRASHED && name)
        snprintf(buffer, size, "crashes (%s)", name);
    else if (o->end == GUARD_CRASHED)
        snprintf(buffer, size, "crashes (signal %d)", o->number);
    else
        snprintf(buffer, size, "returns");
    if (o->end != GUARD_RETURNED && o->peak_bytes > limits->bytes / 10 * 9) {
        const size_t n = strlen(buffer);

        snprintf(buffer + n, size - n, " after taking %lld MiB of memory",
                 (long long)(o->peak_bytes >> 20));
    }
    return buffer;
}
