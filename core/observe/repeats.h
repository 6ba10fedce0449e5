/** Repeated measurements in a run: their noise, and changes of the machine. */
#ifndef OBSERVE_REPEATS_H
#define OBSERVE_REPEATS_H

#include "observe/observation.h"

/** A deviation counts as drift if it exceeds this many noise floors and this share. */
#define DRIFT_FLOORS 3.0
#define DRIFT_LEAST  0.05

/** Shares, not %; NAN: too few repetitions. */
typedef struct repeats {
    /**
     * Median |difference| of repeated times over their mean, without times flagged contended or
     * throttled.
     */
    double noise_floor;
    size_t n_noise; /**< number of differences */

    /**
     * Anchor: change from its first to its last time by the median slope (Theil & Sen), over their
     * median.
     */
    double drift;
    double drift_noise; /**< 1.4826 * MAD of its times around that line, over their median */
    size_t n_anchors;   /**< number of its times, with the first */
    size_t n_drifted;   /**< rows flagged drifted, or to be flagged: see repeats_find() */
} repeats;

/** Fewest differences for the noise. */
#define REPEATS_LEAST 3

/**
 * Compares rows in the order of the file, which is the order of time. A point's time is its `step`
 * (networks, layers) or its only time.
 *
 * The anchor is the configuration with the most rows flagged anchor. A row lies between two times
 * of the anchor. It has drifted if one of these two differs from the median of all anchor times by
 * more than DRIFT_FLOORS noise floors and DRIFT_LEAST. Rows before the first time are judged by the
 * first, rows after the last time by the last.
 *
 * @param drifted NULL, or obs->n_rows flags, cleared first; set for rows that have drifted
 */
lm_status repeats_find(const observations *obs, bool *drifted, repeats *out, lm_error *err);

#endif
