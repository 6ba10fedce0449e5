/** Answers of residuals, remembered: networks repeat their layers. */
#ifndef SINGLE_RESIDUAL_MEMO_H
#define SINGLE_RESIDUAL_MEMO_H

#include "counts/layer_class.h"

#define RESIDUAL_MEMO 4096 /* places; a new answer takes the place of an old one */

/** All that a residual depends on, without its trees. */
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

/** Zero-initialise. Knows the answers of one residual_set to one thread. */
typedef struct residual_memo {
    residual_answer at[RESIDUAL_MEMO];
} residual_memo;

/**
 * Makes a question of a layer.
 *
 * @return false for what is not remembered: updates, and layers and launches known by their kernels
 */
bool residual_question_of(const layer_shape *s, const layer_run *run, double seconds,
                          residual_question *out);

/** The place of a question: with its answer where it is known, else to be filled in. */
residual_answer *residual_memo_find(residual_memo *m, const residual_question *q);

#endif
