/** Options on what steps meet beside time (plan/limits.h). */
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

/** Opens them for a session, and puts what is run again into the setup, whose batch is `batch`. */
lm_status limit_begin(limit_choice *c, const session *s, const session_options *q,
                      step_setup *setup, int64_t batch, lm_error *err);

/** Notes on all steps that were met, after data: limits_check(). */
typedef struct limit_notes {
    char memory[LIMITS_TEXT], batch[LIMITS_TEXT];
} limit_notes;
lm_status limit_judge(const limit_choice *c, limit_notes *out, lm_error *err);
/** `label` of the machine, where there are several; NULL: there is one. */
void limit_print(const limit_notes *n, const char *label, FILE *out);

#endif
