/** How good a model is on points, and how well its intervals hold. */
#ifndef FIT_VALIDATE_H
#define FIT_VALIDATE_H

#include "base/stats.h"
#include "fit/comparison.h"

typedef struct judgement {
    stats_errors errors;
    size_t       n_stated; /**< points of which an interval was stated */
    double       coverage; /**< share of them that it holds; NAN: none was stated */
    double       width;    /**< median of (high - low) / predicted */
} judgement;

/** Judges the points of one fold (SPLIT_ALWAYS: all points, those of no fold too). */
judgement validate_judge(const points *p, const comparison *c, phase q, const split *by,
                         size_t fold);

/** Has it something to say that no other quantity says? On one node the update is PHASE_GRAD. */
bool validate_tells(const points *p, phase q);

#endif
