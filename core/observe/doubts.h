/**
 * Doubtful times: times in another unit than seconds, copied times, and times that contradict each
 * other. The search needs no model; a fit to a wrong time could hide it (judge.h).
 */
#ifndef OBSERVE_DOUBTS_H
#define OBSERVE_DOUBTS_H

#include <stddef.h>
#include <stdio.h>

#include <layermeter/error.h>

#include "observe/points.h"

typedef enum doubt_kind {
    DOUBT_FILE,          /**< all times: more FLOP or bytes per second than any device can do */
    DOUBT_PHASE,         /**< all times of a phase, compared with the other phases */
    DOUBT_TIME,          /**< one time, compared with others of its phase: left out */
    DOUBT_COPY,          /**< a repeated point, its times equal to the last digit */
    DOUBT_CONTRADICTION, /**< times of one point differ by DOUBT_APART, and no flag tells why */
    /**
     * two times, one of a training step and one of inference, exchanged or mislabelled: both left
     * out
     */
    DOUBT_MODES,
    DOUBT_STEP,    /**< a step shorter than its forward, backward and update */
    DOUBT_POWER,   /**< all powers: above the device's limit, or near 0 */
    DOUBT_REFUSED, /**< a network that cannot have the row's input: left out */
    N_DOUBTS
} doubt_kind;

/** Decades between a network's time and the time expected from the others. Measured files reach
 * 1.2; units are 3 apart. */
#define DOUBT_DECADES 1.5
/** The same of single layers, the smallest of which take the time of a launch; of all-reduces,
 * whose links have any speed; and of updates compared with passes. */
#define DOUBT_DECADES_WIDE   3.0
#define DOUBT_DECADES_UPDATE 2.0
/** Largest factor between two times of one point. */
#define DOUBT_APART 3.0
/**
 * A whole step compared with another time of the same work. One of the two was measured in the
 * wrong mode if the step takes less than DOUBT_MODES_STEP times as long as inference, or if two
 * steps differ by DOUBT_MODES_APART. On a CPU (PyTorch, 539 networks, images and batches), steps
 * take 1.36 to 12 times as long as inference; 95 % of them take at least twice as long.
 */
#define DOUBT_MODES_STEP  1.25
#define DOUBT_MODES_APART 2.0
/** Least share of a step in the sum of its parts: medians of the same repetitions agree better. */
#define DOUBT_STEP_SHARE 0.8

/** More FLOP/s than any device can do: a wafer of 2024 has 1.25e17 in 16 bits. */
#define DOUBT_FLOPS 2e17

typedef struct doubt {
    doubt_kind         kind;
    const observation *row;   /**< first row of its point; NULL for files and phases */
    size_t             at;    /**< the point */
    phase              phase; /**< unused for copies */
    /**
     * DOUBT_PHASE: the other suspect, if it is unknown which is wrong; else N_PHASES. DOUBT_MODES:
     * phase of the other time
     */
    phase  beside;
    size_t other_at; /**< DOUBT_MODES: the other point */
    int    line, other_line;
    double seconds, other_seconds;
    /**
     * DOUBT_TIME, DOUBT_PHASE: measured / expected; DOUBT_FILE: per second; DOUBT_POWER: median
     * watts
     */
    double      factor;
    const char *why;  /**< DOUBT_REFUSED: error text of the network; owned by the points */
    double      peak; /**< of the device; DOUBT_FILE: FLOP/s, DOUBT_POWER: watts; NAN: unknown */
} doubt;

typedef struct doubts {
    doubt *doubt; /**< by kind, then in the order of the file */
    size_t n, room;
} doubts;

/** Finds doubts among the points of fits. LM_E_NOMEM, or as devices_open(). */
lm_status doubts_find(const observations *obs, const points *p, doubts *out, lm_error *err);
/**
 * Removes the times of DOUBT_TIME and DOUBT_MODES from the points, because they would harm a fit.
 */
void doubts_leave_out(const doubts *d, points *p);
void doubts_free(doubts *d);

/** One line with a remedy, without file and line number. */
#define DOUBT_TEXT 320
const char *doubt_text(const doubt *d, char buffer[DOUBT_TEXT]);

/**
 * Prints the first few doubts of each kind, one per line (for copies only the first), then the
 * number of others: "BEFORE PATH:LINE: TEXT".
 */
#define DOUBTS_SAID 3
void doubts_print(const doubts *d, const char *before, const char *path, FILE *out);

#endif
