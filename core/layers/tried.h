/** Trial of untrusted plugins in a child process, before this process loads them. */
#ifndef LAYERS_TRIED_H
#define LAYERS_TRIED_H

#include <stddef.h>
#include <stdint.h>

#include "layers/guarded.h"

/** Extent of a trial. */
typedef struct trial_limits {
    guard_limits of;    /**< limits for all files together */
    uint64_t     cases; /**< legal uses of each type, as for check_type(); 0: only loading */
} trial_limits;

/**
 * Loads files, checks a few uses of their types, and closes them, in one child process. The error
 * names the file and the fault. Faults: it crashes, hangs, ends the process or writes to its
 * output; it changes state of the process (floating-point environment, locale, signal handlers,
 * timers, threads, environment, working directory); a type breaks the contract.
 *
 * Malicious code can distinguish the child from its parent: this finds faults, not attacks.
 */
lm_status plugins_try(const char *const *file, size_t n, const trial_limits *limits, lm_error *err);

#endif
