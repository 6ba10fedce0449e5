/** Measured beside planned seconds, and the part of a step that explains the difference. */
#ifndef WATCH_VERDICT_H
#define WATCH_VERDICT_H

#include "watch/plan.h"

/** Means over a stretch of time; NAN: unknown. */
typedef struct watch_means {
    double busy;               /**< share of the time in which anything ran, 0 to 1 */
    double clock_mhz;          /**< while something ran */
    double watts, limit_watts; /**< limit_watts: what may be drawn */
    double held_power;         /**< share of the time in which the power limit held the clock */
    double held_heat;          /**< the same of heat and of the hardware's own protection */
} watch_means;

typedef enum { WATCH_ON_PLAN, WATCH_SLOWER, WATCH_FASTER } watch_finding;

typedef enum {
    CAUSE_UNTOLD,    /**< nothing beside the metric tells */
    CAUSE_THROTTLED, /**< heat or power hold the clock down, or it fell */
    CAUSE_SYNC,      /**< devices wait longer for each other than planned */
    CAUSE_INPUT,     /**< devices wait for something else: data, the host */
    CAUSE_COMPUTE,   /**< one device is always busy: kernels take longer */
    CAUSE_AT_WORK    /**< several devices are always busy, also during all-reduces: kernels or
                          all-reduces take longer */
} watch_cause;

typedef struct watch_verdict {
    watch_finding finding;
    watch_cause   cause;   /**< of a slower run */
    double        ratio;   /**< measured over expected */
    bool          bounded; /**< the plan has an interval */
} watch_verdict;

/** Tolerance, as a share of the planned time, of a plan without interval. */
#define WATCH_TOLERANCE 0.10
/** A clock counts as held down for this share of the time, or below its usual value by this
 * share. */
#define WATCH_HELD       0.25
#define WATCH_CLOCK_FELL 0.05
/** Waiting explains a delay if it makes up this share of it. */
#define WATCH_EXPLAINS 0.5
/** Waiting is not for all-reduces if they would take this many times longer than planned. */
#define WATCH_SYNC_MOST 5.0

/**
 * Compares seconds with a planned time: within its interval (else WATCH_TOLERANCE) they are on
 * plan. A delay is explained by the first of these that fits:
 *
 *   1. the clock: heat or power hold it down, or it is below `usual_mhz`
 *   2. waiting: idle time, less planned waiting for all-reduces, is half of the delay or more. It
 *      is for other devices if longer all-reduces can explain it, else for data or the host
 *   3. compute, or all-reduces that run on the devices themselves
 *
 * @param exposed   share of the planned time spent waiting for all-reduces; NAN: unknown
 * @param ranks     devices of all nodes
 * @param usual_mhz clock of the fastest epoch so far; NAN: unknown
 */
watch_verdict watch_judge(double seconds, const planned_time *planned, double exposed,
                          int64_t ranks, const watch_means *means, double usual_mhz);

/** Do heat or power hold the clock down, or is it below its usual value (NAN: unknown)? */
bool watch_throttled(const watch_means *means, double usual_mhz);

/** "on plan", "slower by 12 %, sync-bound: busy 81 % of the time", "slower by 9 %, clock throttled:
 * 1200 MHz after 1410 MHz, 63 % of the time by power". */
#define WATCH_VERDICT_TEXT 160
const char *watch_verdict_print(const watch_verdict *v, const watch_means *means, double usual_mhz,
                                char buffer[WATCH_VERDICT_TEXT]);

/** One word for programs: "on plan", "sync-bound", "clock throttled", ... */
const char *watch_verdict_word(const watch_verdict *v);

#endif
