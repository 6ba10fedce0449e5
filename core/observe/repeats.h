/** Repeated measurements of a run: their noise, and changes of the machine. */
#ifndef OBSERVE_REPEATS_H
#define OBSERVE_REPEATS_H

#include "observe/observation.h"

/** A deviation is drift beyond this many noise floors and beyond this share. */
#define DRIFT_FLOORS 3.0
#define DRIFT_LEAST  0.05

/** Shares, not %; NAN: too few repetitions. */
typedef struct repeats {
    /** Median |difference| of repeated times over their mean. Times flagged contended or throttled
     * do not count. */
    double noise_floor;
    size_t n_noise; /**< number of differences */

    /** Of the anchor: the change from its first to its last time by the median slope (Theil & Sen),
     * over their median. */
    double drift;
    double drift_noise; /**< 1.4826 * MAD of its times around that line, over their median */
    size_t n_anchors;   /**< its times, the first included */
    size_t n_drifted;   /**< rows flagged drifted, or to be flagged: see repeats_find() */
} repeats;

/** Fewest differences that tell the noise. */
#define REPEATS_LEAST 3

/**
 * Compares rows in the order of the file, which is that of time. A point's time is that of its
 * `step` (networks, layers) or its only one.
 *
 * @param drifted NULL, or obs->n_rows flags, cleared first. Set for rows between two times of the
 * anchor (the configuration with the most rows flagged so) if one of the two differs from the
 * median of all by more than DRIFT_FLOORS noise floors and DRIFT_LEAST. Rows before the first time
 * are judged by the first, rows behind the last time by the last.
 */
lm_status repeats_find(const observations *obs, bool *drifted, repeats *out, lm_error *err);

#endif
