/** One case, asked of a layer type once; and what must hold of the answer. */
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

/** What the callbacks say of one case. */
typedef struct check_answer {
    bool       legal;   /**< no callback refused */
    lm_error   refusal; /**< the first one's */
    lm_tensor  output[LM_MAX_RANK];
    lm_cost    cost;
    lm_weight *weight;
    size_t     n_weights;
    lm_kernel *kernel[LM_N_PASSES];
    size_t     n_kernels[LM_N_PASSES];
    uint64_t   digest[N_STEPS]; /**< equal answers have equal ones */
    arena     *arena;           /**< owns all of the above */
} check_answer;

/** How to ask. Whatever differs here must not show in the answer. */
typedef struct check_manner {
    unsigned char     fill;      /**< byte in all that a callback must not read or has to write */
    bool              backwards; /**< the callbacks after infer() in reverse */
    const check_case *between;   /**< a use to ask infer() of before each callback; or NULL */
} check_manner;

/**
 * Asks. False: a violation, now in `report`, or memory ran out (its status). The report's step is
 * kept up to date, so that it says where a crash happened.
 */
bool check_ask(const registry_entry *entry, const check_case *c, const check_manner *how,
               check_report *report, check_answer *out);
void check_answer_free(check_answer *answer);

/** Is the answer to a legal case sound in itself? False: a violation, now in `report`. */
bool check_sound(const registry_entry *entry, const check_case *c, const check_answer *a,
                 check_report *report);

/** Notes a violation; returns false. */
bool check_violated(check_report *report, const char *fmt, ...) LM_PRINTF(2, 3);

/** "infer", "lower(forward)", ... */
const char *check_step_name(check_step step);

#endif
