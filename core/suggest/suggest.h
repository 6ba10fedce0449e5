/**
 * A list of points to measure, within limits, and the expected interval widths of the targets after
 * each point. Each point is a choice of design.h.
 *
 * Pure but for the callback.
 */
#ifndef SUGGEST_SUGGEST_H
#define SUGGEST_SUGGEST_H

#include "suggest/design.h"

/** Can this candidate be measured at all? Called only before a candidate is taken, because the
 * answer may be expensive. */
typedef lm_status (*suggest_asker)(void *context, size_t candidate, bool *fits, lm_error *err);

typedef struct suggest_limits {
    double        seconds; /**< limit of measuring all points; HUGE_VAL: none */
    size_t        points;
    suggest_asker ask; /**< NULL: everything can be measured */
    void         *context;
} suggest_limits;

/** The networks of the design's targets, by number from 0 up. */
typedef struct suggest_asked {
    const size_t *network; /**< of each target */
    size_t        n_targets, n_networks;
} suggest_asked;

typedef struct suggestion {
    size_t *at;           /**< candidates in order, the first to be measured first */
    size_t  n, n_refused; /**< n_refused: refused by the callback */
    /** Expected width of a step's central 90 % interval, relative to the step (design_widths()):
     * the median of each network's targets, before and after each point; (n + 1) x n_networks. */
    double *width;
} suggestion;

/**
 * Takes the candidate with the largest gain per second (design_next()), supposes it measured, then
 * chooses the next.
 *
 * @param cost seconds of measuring each
 */
lm_status suggest_points(const design *d, const design_case *candidate, const double *cost,
                         size_t n, const suggest_asked *asked, const suggest_limits *limits,
                         suggestion *out, lm_error *err);
void      suggestion_free(suggestion *s);

#endif
