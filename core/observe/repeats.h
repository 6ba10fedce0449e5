/** What was measured more than once says of a run: how much the same thing differs, and whether the
 * machine changed. */
#ifndef OBSERVE_REPEATS_H
#define OBSERVE_REPEATS_H

#include "observe/observation.h"

/** Deviations that are no noise: more than so many times the noise floor, and more than so much. */
#define DRIFT_FLOORS 3.0
#define DRIFT_LEAST  0.05

/** All shares, not %; NAN: too few repetitions to tell. */
typedef struct repeats {
    /** Median |difference| of the same thing measured again, over their mean. Times flagged
     * contended or throttled do not count. */
    double noise_floor;
    size_t n_noise; /**< differences behind it */

    /** Of the anchor: from the first to the last of its times, by the median slope (Theil & Sen),
     * over their median. */
    double drift;
    double drift_noise; /**< 1.4826 * MAD of its times around that line, over their median */
    size_t n_anchors;   /**< its times, the first included */
    size_t n_drifted;   /**< rows that are flagged drifted, or must be: see repeats_find() */
} repeats;

/** Fewer differences say nothing of noise. */
#define REPEATS_LEAST 3

/**
 * Compares rows in the order of the file, which is that of time. The time of a point is that of its
 * `step` (networks, layers) or its only one.
 *
 * @param drifted NULL, or obs->n_rows flags: set for rows between two times of the anchor (the
 *                configuration with the most rows flagged so) one of which differs from the median
 * of all by more than DRIFT_FLOORS noise floors and DRIFT_LEAST; what comes before its first time
 * is judged by that, what comes behind its last by the last. Cleared for others.
 */
lm_status repeats_find(const observations *obs, bool *drifted, repeats *out, lm_error *err);

#endif
