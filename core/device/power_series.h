/** Mean power from samples of a device, without the time before its power settles. */
#ifndef DEVICE_POWER_SERIES_H
#define DEVICE_POWER_SERIES_H

#include <stdbool.h>
#include <stddef.h>

/** Mean power over a piece of time. */
typedef struct power_piece {
    double seconds, watts;
} power_piece;

/** Samples, one after the other. Zero-initialise. */
typedef struct power_series {
    power_piece *piece;
    size_t       n, room;
    double       time, joules; /**< of the last sample that counted */
    bool         begun, moved; /**< a first sample; and the counter's first step since */
    size_t       resets;       /**< restarts of the counter */
    bool         lost;         /**< out of memory */
} power_series;

/**
 * A sample at `time` (s): an energy counter, whose steps are the energy between them; else a
 * sensor's watts, which hold since the sample before. NAN: none. A counter that has not moved says
 * nothing. A counter that falls was reset: the piece is left out. Nothing counts before a counter's
 * first step, as the time of the step before it is unknown.
 */
void power_series_look(power_series *s, double time, double joules, double watts);
void power_series_free(power_series *s);

typedef struct power_mean {
    double watts;           /**< NAN: no power */
    double seconds;         /**< length of the averaged time */
    double ramp_seconds;    /**< left out at the beginning */
    double tail_seconds;    /**< and at the end, by power_settle_run() */
    double deviation;       /**< standard deviation of its pieces, W */
    size_t pieces, strange; /**< averaged pieces; pieces left out as outliers */
} power_mean;

/** Fewest pieces for the search of a ramp. */
#define POWER_RAMP_PIECES 8

/**
 * The mean over time once power has settled. The beginning left out, at most half, is the one with
 * the least standard error of the rest (marginal standard error rule: White 1997, "An effective
 * truncation heuristic for bias reduction in simulation output"). Then pieces beyond three standard
 * deviations are left out until there are none (Nicolai 2025).
 */
power_mean power_settle(const power_piece *piece, size_t n);

/** The same of a log that may go on behind the run: its end is left out in the same way. */
power_mean power_settle_run(const power_piece *piece, size_t n);

#endif
