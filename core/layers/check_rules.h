/** Calls a layer type for one case, and checks the answer. */
#ifndef LAYERS_CHECK_RULES_H
#define LAYERS_CHECK_RULES_H

#include "base/arena.h"
#include "layers/check.h"
#include "layers/check_case.h"

/** The callbacks, lower() once for each pass. */
typedef enum check_step {
    STEP_INFER,
    STEP_WEIGHTS,
    STEP_COST,
    STEP_LOWER, /**< + pass */
    N_STEPS = STEP_LOWER + LM_N_PASSES
} check_step;

/** The answers of the callbacks to one case. */
typedef struct check_answer {
    bool       legal;                   /**< no callback refused */
    lm_error   refusal;                 /**< the first one's */
    lm_tensor  output[LM_MAX_RANK + 1]; /**< one more than a type may have: a trap */
    lm_cost    cost, behind;            /**< so is `behind` */
    lm_weight *weight;
    size_t     n_weights;
    lm_kernel *kernel[LM_N_PASSES];
    size_t     n_kernels[LM_N_PASSES];
    uint64_t   digest[N_STEPS]; /**< equal for equal answers */
    arena     *arena;           /**< owns all of the above */
} check_answer;

/** Details of the calls that must not change the answer. */
typedef struct check_manner {
    unsigned char fill; /**< byte that fills memory which a callback must not read or must write */
    bool          backwards;   /**< the callbacks after infer() in reverse */
    const check_case *between; /**< a use to ask infer() of before each callback; or NULL */
} check_manner;

/**
 * Calls all callbacks. False: a violation in `report`, or no memory (report->status). The report's
 * step always names the current callback, also after a crash.
 */
bool check_ask(const registry_entry *entry, const check_case *c, const check_manner *how,
               check_report *report, check_answer *out);
void check_answer_free(check_answer *answer);

/** Checks the answer to a legal case. False: a violation in `report`. */
bool check_sound(const registry_entry *entry, const check_case *c, const check_answer *a,
                 check_report *report);

/** Notes a violation; returns false. */
bool check_violated(check_report *report, const char *fmt, ...) LM_PRINTF(2, 3);

/** "infer", "lower(forward)", ... */
const char *check_step_name(check_step step);

#endif
