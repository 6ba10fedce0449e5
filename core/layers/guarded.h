/** Runs code that may crash, hang or exhaust memory in a separate process. */
#ifndef LAYERS_GUARDED_H
#define LAYERS_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

typedef struct guard_limits {
    double  seconds;
    int64_t bytes; /**< limit, in addition to the memory of the process */
} guard_limits;

typedef enum guard_end {
    GUARD_RETURNED,
    GUARD_EXITED,  /**< the code ended the process, with status `number` */
    GUARD_CRASHED, /**< by signal `number` */
    GUARD_TIMED_OUT
} guard_end;

typedef struct guard_outcome {
    guard_end end;
    int       number;
    bool      wrote;      /**< it wrote to stdout or stderr; the text is discarded */
    int64_t   peak_bytes; /**< peak memory */
} guard_outcome;

/** Zeroed memory that both processes share; NULL when memory runs out. */
void *guarded_memory(size_t bytes);
void  guarded_memory_free(void *memory, size_t bytes);

/** Calls `call(argument)` in a child process and waits for its end. */
lm_status guarded_call(void (*call)(void *), void *argument, const guard_limits *limits,
                       guard_outcome *out, lm_error *err);

/** "does not return within 10 s", "crashes (SIGSEGV)", "ends the process with status 3". */
const char *guarded_describe(const guard_outcome *o, const guard_limits *limits, char *buffer,
                             size_t size);

#endif
