/**
 * Which points to measure next, one after the other, and how well the networks asked for would be
 * known after each: design.h asked again and again, within limits.
 *
 * Pure but for what the caller is asked.
 */
#ifndef SUGGEST_SUGGEST_H
#define SUGGEST_SUGGEST_H

#include "suggest/design.h"

/** Can this candidate be measured at all? Asked only of what would be taken,
 * as the answer may be dear. */
typedef lm_status (*suggest_asker)(void *context, size_t candidate, bool *fits, lm_error *err);

typedef struct suggest_limits {
    double        seconds; /**< of measuring, all points together; HUGE_VAL: any */
    size_t        points;
    suggest_asker ask; /**< NULL: everything can be measured */
    void         *context;
} suggest_limits;

/** What is asked for: the networks of the design's targets, by number from 0 up. */
typedef struct suggest_asked {
    const size_t *network; /**< of each target */
    size_t        n_targets, n_networks;
} suggest_asked;

typedef struct suggestion {
    size_t *at;           /**< candidates, the one to be measured first first */
    size_t  n, n_refused; /**< n_refused: that the caller said cannot be measured */
    /** Expected width of the central 90 % interval of a step, relative to it (design_widths()), the
     * median of each network's targets: before, then after each point; (n + 1) x n_networks. */
    double *width;
} suggestion;

/**
 * The candidate that tells most per second goes first (design_next()); the next is chosen as if it
 * had been measured.
 *
 * @param cost seconds that measuring each takes
 */
lm_status suggest_points(const design *d, const design_case *candidate, const double *cost,
                         size_t n, const suggest_asked *asked, const suggest_limits *limits,
                         suggestion *out, lm_error *err);
void      suggestion_free(suggestion *s);

#endif
