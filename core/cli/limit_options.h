/** Options of memory and batch limits (plan/limits.h). */
#ifndef CLI_LIMIT_OPTIONS_H
#define CLI_LIMIT_OPTIONS_H

#include "cli/session.h"
#include "plan/limits.h"

/** The options. */
typedef struct limit_choice {
    int64_t     memory, overhead, critical; /**< 0: not given */
    const char *recompute;
    limits      met;
} limit_choice;

/** Fill it: --memory, --framework-overhead, --recompute, --critical-batch. */
extern const option_row limit_option_rows[];

/**
 * Opens the limits for a session, and sets the recomputed share in `setup`, for the batch `batch`.
 */
lm_status limit_begin(limit_choice *c, const session *s, const session_options *q,
                      step_setup *setup, int64_t batch, lm_error *err);

/** Notes on all steps so far, printed after the data: limits_check(). */
typedef struct limit_notes {
    char memory[LIMITS_TEXT], batch[LIMITS_TEXT];
} limit_notes;
lm_status limit_judge(const limit_choice *c, limit_notes *out, lm_error *err);
/** Prints the notes. `label` names the machine if there are several; NULL: one machine. */
void limit_print(const limit_notes *n, const char *label, FILE *out);

#endif
