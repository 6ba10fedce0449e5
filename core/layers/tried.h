/** Plugins that nobody vouches for, tried in a child process before this one loads them. */
#ifndef LAYERS_TRIED_H
#define LAYERS_TRIED_H

#include <stddef.h>
#include <stdint.h>

#include "layers/guarded.h"

/** What to try. */
typedef struct trial_limits {
    guard_limits of;    /**< of all files together */
    uint64_t     cases; /**< legal uses of each type, as of check_type(); 0: loading alone */
} trial_limits;

/**
 * Loads files, asks their types about a few uses and closes them, in one child process. The error
 * names the file and what it does: it crashes, hangs, ends the process or writes to its output; it
 * changes what all code of a process shares (the floating-point environment, the locale, signal
 * handlers, timers, threads, the environment, the working directory); a type breaks the contract.
 *
 * Code that means harm can tell the child from its parent: this finds faults, not attacks.
 */
lm_status plugins_try(const char *const *file, size_t n, const trial_limits *limits, lm_error *err);

#endif
