/** What was measured beside what was planned, and which part of the step explains it. */
#ifndef WATCH_VERDICT_H
#define WATCH_VERDICT_H

#include "watch/plan.h"

/** Means over a stretch of time; NAN: nothing was told. */
typedef struct watch_means {
    double busy;               /**< share of the time in which anything ran, 0 to 1 */
    double clock_mhz;          /**< while something ran */
    double watts, limit_watts; /**< limit_watts: what may be drawn */
    double held_power;         /**< share of the time in which the power limit held the clock */
    double held_heat;          /**< the same of heat and of the hardware's own protection */
} watch_means;

typedef enum { WATCH_ON_PLAN, WATCH_SLOWER, WATCH_FASTER } watch_finding;

typedef enum {
    CAUSE_UNTOLD,    /**< what stands beside says nothing */
    CAUSE_THROTTLED, /**< heat or power hold the clock down, or it fell */
    CAUSE_SYNC,      /**< devices wait longer for each other than planned */
    CAUSE_INPUT,     /**< they wait for something else: data, the host */
    CAUSE_COMPUTE,   /**< it is at work all the time: kernels take longer */
    CAUSE_AT_WORK    /**< several devices are, which all-reduces on them count as: they or kernels
                          take longer */
} watch_cause;

typedef struct watch_verdict {
    watch_finding finding;
    watch_cause   cause;   /**< of a run that is slower */
    double        ratio;   /**< measured over expected */
    bool          bounded; /**< the plan has an interval */
} watch_verdict;

/** Without an interval a plan is kept that is met within this part. */
#define WATCH_TOLERANCE 0.10
/** A clock is held down that is so for this share of the time, or has fallen by this part. */
#define WATCH_HELD       0.25
#define WATCH_CLOCK_FELL 0.05
/** Waiting explains what is too long if it makes up this part of it. */
#define WATCH_EXPLAINS 0.5
/** All-reduces that would have to take so many times as long as planned
 * are not what is waited for. */
#define WATCH_SYNC_MOST 5.0

/**
 * Judges seconds by a planned time, in whose interval (else WATCH_TOLERANCE) they are on plan.
 *
 * What is too long is explained, in this order: by the clock, where heat or power hold it down or
 * it is below `usual_mhz`; by waiting, where the time in which nothing ran, less the all-reduces
 * that were planned to be waited for, is half of what is too long or more: for other devices, if
 * there are any and longer all-reduces explain it, else for data or the host; else by compute, or
 * by all-reduces that run on the devices themselves.
 *
 * @param exposed   share of the planned time in which all-reduces are waited for; NAN: not told
 * @param ranks     devices of all nodes
 * @param usual_mhz clock of the fastest epoch so far; NAN: not known
 */
watch_verdict watch_judge(double seconds, const planned_time *planned, double exposed,
                          int64_t ranks, const watch_means *means, double usual_mhz);

/** Do heat or power hold the clock down, or has it fallen below what is usual (NAN: not known)? */
bool watch_throttled(const watch_means *means, double usual_mhz);

/** "on plan", "slower by 12 %, sync-bound: busy 81 % of the time", "slower by 9 %, clock throttled:
 * 1200 MHz after 1410 MHz, 63 % of the time by power". */
#define WATCH_VERDICT_TEXT 160
const char *watch_verdict_print(const watch_verdict *v, const watch_means *means, double usual_mhz,
                                char buffer[WATCH_VERDICT_TEXT]);

/** "on plan", "sync-bound", "clock throttled", ...: one word for programs. */
const char *watch_verdict_word(const watch_verdict *v);

#endif
