/** Code that may crash, hang or take all memory, in a process of its own. */
#ifndef LAYERS_GUARDED_H
#define LAYERS_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

typedef struct guard_limits {
    double  seconds;
    int64_t bytes; /**< beyond what the process has already */
} guard_limits;

typedef enum guard_end {
    GUARD_RETURNED,
    GUARD_EXITED,  /**< ended the process itself, with status `number` */
    GUARD_CRASHED, /**< by signal `number` */
    GUARD_TIMED_OUT
} guard_end;

typedef struct guard_outcome {
    guard_end end;
    int       number;
    bool      wrote;      /**< something to stdout or stderr, which went nowhere */
    int64_t   peak_bytes; /**< most memory it held */
} guard_outcome;

/** Zeroed memory that both processes see; NULL when there is none. */
void *guarded_memory(size_t bytes);
void  guarded_memory_free(void *memory, size_t bytes);

/** Calls `call(argument)` in a child process and waits for its end. */
lm_status guarded_call(void (*call)(void *), void *argument, const guard_limits *limits,
                       guard_outcome *out, lm_error *err);

/** "does not return within 10 s", "crashes (SIGSEGV)", "ends the process with status 3". */
const char *guarded_describe(const guard_outcome *o, const guard_limits *limits, char *buffer,
                             size_t size);

#endif
