/* Measured beside planned seconds. */
#include "watch/verdict.h"

#include <math.h>
#include <stdio.h>

bool watch_throttled(const watch_means *m, double usual_mhz)
{
    return m->held_power >= WATCH_HELD || m->held_heat >= WATCH_HELD ||
           m->clock_mhz < (1 - WATCH_CLOCK_FELL) * usual_mhz;
}

/* All values are shares of the planned time. */
static watch_cause explain(double ratio, double exposed, int64_t ranks, const watch_means *m)
{
    const double too_long = ratio - 1;
    const double planned  = isnan(exposed) ? 0 : exposed;
    double       waited;

    if (isnan(m->busy))
        return CAUSE_UNTOLD;
    waited = (1 - m->busy) * ratio - (ranks > 1 ? planned : 0);
    if (waited < WATCH_EXPLAINS * too_long)
        return ranks > 1 ? CAUSE_AT_WORK : CAUSE_COMPUTE;
    if (ranks > 1 && planned + waited <= WATCH_SYNC_MOST * planned)
        return CAUSE_SYNC;
    return CAUSE_INPUT;
}

watch_verdict watch_judge(double seconds, const planned_time *planned, double exposed,
                          int64_t ranks, const watch_means *means, double usual_mhz)
{
    const bool    bounded = !isnan(planned->low) && !isnan(planned->high);
    const double  low     = bounded ? planned->low : planned->expected * (1 - WATCH_TOLERANCE);
    const double  high    = bounded ? planned->high : planned->expected * (1 + WATCH_TOLERANCE);
    watch_verdict v       = { .finding = seconds > high  ? WATCH_SLOWER
                                         : seconds < low ? WATCH_FASTER
                                                         : WATCH_ON_PLAN,
                              .cause   = CAUSE_UNTOLD,
                              .ratio   = seconds / planned->expected,
                              .bounded = bounded };

    if (v.finding == WATCH_SLOWER)
        v.cause = watch_throttled(means, usual_mhz) ? CAUSE_THROTTLED
                                                    : explain(v.ratio, exposed, ranks, means);
    return v;
}

static const char *cause_name(watch_cause c)
{
    static const char *const names[] = {
        [CAUSE_UNTOLD]    = "",
        [CAUSE_THROTTLED] = "clock throttled",
        [CAUSE_SYNC]      = "sync-bound",
        [CAUSE_INPUT]     = "input-bound",
        [CAUSE_COMPUTE]   = "compute-bound",
        [CAUSE_AT_WORK]   = "compute- or sync-bound",
    };

    return names[c];
}

const char *watch_verdict_word(const watch_verdict *v)
{
    if (v->finding == WATCH_SLOWER)
        return v->cause == CAUSE_UNTOLD ? "slower" : cause_name(v->cause);
    return v->finding == WATCH_FASTER ? "faster" : "on plan";
}

/* "1200 MHz after 1410 MHz, 63 % of the time by power" */
static void print_clock(const watch_means *m, double usual_mhz, char *out, size_t size)
{
    const bool   heat = !(m->held_power >= m->held_heat);
    const double held = heat ? m->held_heat : m->held_power;
    size_t       n    = 0;

    *out = '\0';
    if (m->clock_mhz < (1 - WATCH_CLOCK_FELL) * usual_mhz)
        n = (size_t)snprintf(out, size, "%.0f MHz after %.0f MHz", m->clock_mhz, usual_mhz);
    else if (!isnan(m->clock_mhz))
        n = (size_t)snprintf(out, size, "%.0f MHz", m->clock_mhz);
    if (held > 0 && n < size)
        snprintf(out + n, size - n, "%s%.0f %% of the time by %s", n ? ", " : "", 100 * held,
                 heat ? "heat" : "power");
}

const char *watch_verdict_print(const watch_verdict *v, const watch_means *means, double usual_mhz,
                                char buffer[WATCH_VERDICT_TEXT])
{
    const double percent = 100 * fabs(v->ratio - 1);
    char         why[80] = "";

    if (v->finding == WATCH_ON_PLAN) {
        snprintf(buffer, WATCH_VERDICT_TEXT, "on plan");
        return buffer;
    }
    if (v->finding == WATCH_FASTER || v->cause == CAUSE_UNTOLD) {
        snprintf(buffer, WATCH_VERDICT_TEXT, "%s by %.0f %%",
                 v->finding == WATCH_FASTER ? "faster" : "slower", percent);
        return buffer;
    }
    if (v->cause == CAUSE_THROTTLED)
        print_clock(means, usual_mhz, why, sizeof why);
    else
        snprintf(why, sizeof why, "busy %.0f %% of the time", 100 * means->busy);
    snprintf(buffer, WATCH_VERDICT_TEXT, "slower by %.0f %%, %s%s%s", percent, cause_name(v->cause),
             *why ? ": " : "", why);
    return buffer;
}
