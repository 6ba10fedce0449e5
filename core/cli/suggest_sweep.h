/** Suggested points as a sweep file, which `layermeter calibrate` measures as it stands. */
#ifndef CLI_SUGGEST_SWEEP_H
#define CLI_SUGGEST_SWEEP_H

#include "suggest/candidates.h"
#include "suggest/suggest.h"

/** What the sweep says of all its points. */
typedef struct sweep_head {
    const char     *asked_for; /**< for a comment */
    const char     *backend;   /**< onednn, cudnn, sim */
    const char     *machine;   /**< of sim: its coefficients */
    const char     *variant;   /**< "dtype=bf16 layout=nhwc" */
    const char     *optimizer; /**< of the update */
    int64_t         threads;
    const stopping *stop;
} sweep_head;

/**
 * One section a point, in the order in which they are to be measured. Appears whole or not at all.
 *
 * @param cost of each candidate, seconds
 */
lm_status suggest_sweep_write(const char *path, const sweep_head *head, const candidates *c,
                              const suggestion *s, const double *cost, lm_error *err);

#endif
