/* Runs code that may crash, hang or take all memory in a process of its own. */
#define _GNU_SOURCE /* prctl(), wait4() */
#include "layers/guarded.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit status of a call that returned; a plugin that calls exit() most likely uses another one. */
#define RETURNED 113

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

/* Address space in use now: a limit is set beyond it, as sanitizers reserve most of what there is.
 */
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

/* The child has no input, writes to `output`, and dies with its parent and of every signal. */
static void enter_child(int output, const guard_limits *limits)
{
    const int              nothing = open("/dev/null", O_RDONLY);
    const struct itimerval timer   = {
          .it_value = { .tv_sec  = (time_t)limits->seconds,
                        .tv_usec = (suseconds_t)(fmod(limits->seconds, 1) * 1e6) }
    };
    const rlim_t used = address_space();
    sigset_t     none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i].number, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    LOWER_LIMIT(RLIMIT_CORE, 0);
    LOWER_LIMIT(RLIMIT_CPU, (rlim_t)ceil(limits->seconds) + 1);
    if (used)
        LOWER_LIMIT(RLIMIT_AS, used + (rlim_t)limits->bytes);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static guard_outcome outcome_of(int status, const struct rusage *usage, int output)
{
    guard_outcome o = { .peak_bytes = (int64_t)usage->ru_maxrss * 1024 };
    struct stat   written;

    o.wrote = !fstat(output, &written) && written.st_size > 0;
    if (WIFSIGNALED(status)) {
        o.number = WTERMSIG(status);
        o.end    = o.number == SIGALRM || o.number == SIGXCPU ? GUARD_TIMED_OUT : GUARD_CRASHED;
    } else {
        o.number = WEXITSTATUS(status);
        o.end    = o.number == RETURNED ? GUARD_RETURNED : GUARD_EXITED;
    }
    return o;
}

lm_status guarded_call(void (*call)(void *), void *argument, const guard_limits *limits,
                       guard_outcome *out, lm_error *err)
{
    FILE         *output = tmpfile();
    struct rusage usage;
    int           ended  = 0;
    lm_status     status = LM_OK;
    pid_t         child;

    if (!output)
        return lm_error_set(err, LM_E_IO, "no temporary file: %s", strerror(errno));
    fflush(stdout);
    fflush(stderr);
    child = fork();
    if (child == 0) {
        enter_child(fileno(output), limits);
        call(argument);
        fflush(stdout);
        fflush(stderr);
        _exit(RETURNED);
    }
    if (child < 0)
        status = lm_error_set(err, LM_E_IO, "no child process: %s", strerror(errno));
    while (!status && wait4(child, &ended, 0, &usage) < 0)
        if (errno != EINTR)
            status = lm_error_set(err, LM_E_IO, "lost a child process: %s", strerror(errno));
    if (!status)
        *out = outcome_of(ended, &usage, fileno(output));
    fclose(output);
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
