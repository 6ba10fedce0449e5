/** Cache of residuals: networks repeat their layers. */
#ifndef SINGLE_RESIDUAL_MEMO_H
#define SINGLE_RESIDUAL_MEMO_H

#include "counts/layer_class.h"

#define RESIDUAL_MEMO 4096 /* number of entries; a new answer overwrites an old one */

/** All inputs of a residual, without its trees. */
typedef struct residual_question {
    layer_shape shape;
    unsigned    run; /**< its flags */
    double      multiprocessors;
    double      seconds; /**< by prices */
} residual_question;

typedef struct residual_answer {
    residual_question asked;
    double            r;
    bool              known;
} residual_answer;

/** Cache for one residual_set and one thread. Zero-initialise. */
typedef struct residual_memo {
    residual_answer at[RESIDUAL_MEMO];
} residual_memo;

/**
 * Makes the key of a layer.
 *
 * @return false if it cannot be cached: updates, and layers and launches that are priced by kernels
 */
bool residual_question_of(const layer_shape *s, const layer_run *run, double seconds,
                          residual_question *out);

/** The entry of a key: known, or to be filled in. */
residual_answer *residual_memo_find(residual_memo *m, const residual_question *q);

#endif
