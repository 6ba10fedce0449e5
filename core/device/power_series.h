/** Mean power from samples of a device, without the time before the power is steady. */
#ifndef DEVICE_POWER_SERIES_H
#define DEVICE_POWER_SERIES_H

#include <stdbool.h>
#include <stddef.h>

/** Mean power over an interval of time. */
typedef struct power_piece {
    double seconds, watts;
} power_piece;

/** Intervals between samples, in order. Zero-initialise. */
typedef struct power_series {
    power_piece *piece;
    size_t       n, room;
    double       time, joules; /**< of the last sample that was used */
    /** begun: there is a first sample; moved: the counter has changed since */
    bool   begun, moved;
    size_t resets; /**< number of counter resets */
    bool   lost;   /**< out of memory */
} power_series;

/**
 * Adds a sample at `time` (s). It has the value of an energy counter, or else the watts of a
 * sensor, which apply since the sample before. NAN: none. A sample without a change of the counter
 * is ignored. A counter that falls was reset: that interval is left out. Nothing counts before a
 * counter's first change, because the time of the change before it is unknown.
 */
void power_series_look(power_series *s, double time, double joules, double watts);
void power_series_free(power_series *s);

typedef struct power_mean {
    double watts;           /**< NAN: no power */
    double seconds;         /**< s of time in the mean */
    double ramp_seconds;    /**< s left out at the beginning */
    double tail_seconds;    /**< s left out at the end, by power_settle_run() */
    double deviation;       /**< standard deviation of the intervals, W */
    size_t pieces, strange; /**< intervals in the mean; intervals left out as outliers */
} power_mean;

/** Fewest intervals for the search of a ramp. */
#define POWER_RAMP_PIECES 8

/**
 * Mean power after it has settled. It leaves out the beginning, at most half, that gives the least
 * standard error of the rest (marginal standard error rule: White 1997, "An effective truncation
 * heuristic for bias reduction in simulation output"). Then it repeatedly leaves out intervals
 * beyond three standard deviations (Nicolai 2025).
 */
power_mean power_settle(const power_piece *piece, size_t n);

/**
 * power_settle() for a log that may continue after the run: it also leaves out the end, in the same
 * way.
 */
power_mean power_settle_run(const power_piece *piece, size_t n);

#endif
