/** Mean power from looks at a device, without what it draws before it has settled. */
#ifndef ENERGY_POWER_SERIES_H
#define ENERGY_POWER_SERIES_H

#include <stdbool.h>
#include <stddef.h>

/** Mean power over a piece of time. */
typedef struct power_piece {
    double seconds, watts;
} power_piece;

/** Looks, one after the other. Zeroed: none yet. */
typedef struct power_series {
    power_piece *piece;
    size_t       n, room;
    double       time, joules; /**< of the last look that counted */
    bool         begun, moved; /**< a first look; and the counter's first step since */
    size_t       resets;       /**< how often a counter began anew */
    bool         lost;         /**< out of memory */
} power_series;

/**
 * A look at `time` (s): an energy counter, whose steps say what was drawn between them, else a
 * sensor's watts, which are taken to be those since the look before. NAN: there is none. Counters
 * that have not moved say nothing; one that falls was reset, and the piece is left out. Before a
 * counter's first step nothing counts, as nobody knows when it moved last.
 */
void power_series_look(power_series *s, double time, double joules, double watts);
void power_series_free(power_series *s);

typedef struct power_mean {
    double watts;           /**< NAN: nothing was drawn */
    double seconds;         /**< that it is the mean of */
    double ramp_seconds;    /**< left out at the beginning */
    double tail_seconds;    /**< and at the end, by power_settle_run() */
    double deviation;       /**< standard deviation of its pieces, W */
    size_t pieces, strange; /**< those it is the mean of; and left out as none of them */
} power_mean;

/** Fewest pieces in which a ramp is looked for. */
#define POWER_RAMP_PIECES 8

/**
 * The mean by time once it has settled. How much of the beginning is left out is what makes the
 * standard error of the rest least, at most the first half (marginal standard error rule: White
 * 1997, "An effective truncation heuristic for bias reduction in simulation output"). Then pieces
 * beyond three standard deviations are left out until there are none (Nicolai 2025).
 */
power_mean power_settle(const power_piece *piece, size_t n);

/** The same of a log that may go on behind the run: what is drawn while it ends is
 * left out in the same way. */
power_mean power_settle_run(const power_piece *piece, size_t n);

#endif
