/** What stands beside a metric (trace/metrics.h), as it comes, in constant memory. */
#ifndef WATCH_HISTORY_H
#define WATCH_HISTORY_H

#include <stddef.h>

#include <layermeter/error.h>

#include "trace/metrics.h"

/** Means over a stretch of time; NAN: nothing was told. */
typedef struct watch_means {
    double busy;               /**< share of the time in which anything ran, 0 to 1 */
    double clock_mhz;          /**< while something ran */
    double watts, limit_watts; /**< limit_watts: what may be drawn */
    double held_power;         /**< share of the time in which the power limit held the clock */
    double held_heat;          /**< the same of heat and of the hardware's own protection */
} watch_means;

/** Bins that are kept: a stretch of a hundredth of what is remembered is told within some %. */
#define HISTORY_BINS 4096

typedef struct watch_history watch_history;

lm_status watch_history_new(watch_history **out, lm_error *err);
/** NULL is fine. */
void watch_history_free(watch_history *h);

/** What stood beside a sample; times never fall. `period` in s is how long epochs take, NAN: not
 * known: as with epochs/window.h it decides what is forgotten. */
void watch_history_add(watch_history *h, double time, const float beside[N_BESIDE], double period);

/** Over a stretch that began at `from`, in s; bins that hold both ends count whole. */
watch_means watch_history_means(const watch_history *h, double from, double to);

#endif
