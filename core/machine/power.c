/* [power]: power of a device. */
#include "machine/sections.h"

/* Above the power of any device (a wafer: 23 kW), and above any clock. */
#define WATTS .unit = "W", .most = 1e5
#define MHZ   .unit = "MHz", .most = 1e5
#define RATIO .most = 1e6

static const key keys[] = {
    { KEY("rows", KEY_COUNT, power_model, rows) },
    { KEY("networks", KEY_COUNT, power_model, groups) },
    { KEY("arithmetic", KEY_REAL, power_model, bound_w[BOUND_ARITHMETIC]), WATTS, .needed = true },
    { KEY("traffic", KEY_REAL, power_model, bound_w[BOUND_TRAFFIC]), WATTS, .needed = true },
    { KEY("launch", KEY_REAL, power_model, bound_w[BOUND_LAUNCH]), WATTS, .needed = true },
    { KEY("memory", KEY_REAL, power_model, memory_w), WATTS },
    { KEY("idle", KEY_REAL, power_model, idle_w), WATTS },
    { KEY("wait", KEY_REAL, power_model, wait_w), WATTS },
    { KEY("cap", KEY_REAL, power_model, cap_w), WATTS },
    { KEY("top", KEY_REAL, power_model, top_mhz), MHZ },
    { KEY("knee", KEY_REAL, power_model, knee_mhz), MHZ },
    { KEY("slope", KEY_REAL, power_model, slope), .most = 10 },
    { KEY("lowest", KEY_REAL, power_model, low_mhz), MHZ },
    { KEY("highest", KEY_REAL, power_model, high_mhz), MHZ },
    { KEY("mape_percent", KEY_REAL, power_model, mape), .scale = 100, RATIO },
    { KEY("held_out_mape_percent", KEY_REAL, power_model, held_out_mape), .scale = 100, RATIO },
    { KEY("low", KEY_REAL, power_model, low), RATIO },
    { KEY("high", KEY_REAL, power_model, high), RATIO },
};

/* Checks ratios and clocks that are divisors. */
static const char *what_is_wrong(const power_model *m)
{
    if (m->top_mhz <= 0 || m->knee_mhz <= 0)
        return "clocks must be above 0";
    if (m->cap_w <= 0)
        return "cap must be above 0";
    if (m->low > m->high)
        return "low is above high";
    if (m->idle_w + m->memory_w > m->bound_w[BOUND_TRAFFIC] * (1 + 1e-9))
        return "idle and memory are more than traffic";
    if (m->wait_w < m->idle_w || m->wait_w > m->cap_w)
        return "wait is below idle or above cap";
    if (m->idle_w >= m->cap_w)
        return "idle is not below cap";
    return NULL;
}

void power_both(record *r, calibration *cal, const char *star)
{
    if (r->out && !(cal->power && power_known(cal->power)))
        return;
    record_begin(r, star);
    if (!r->out && (cal->power = section_room(r, NULL, sizeof *cal->power)))
        *cal->power = power_unknown;
    if (!cal->power)
        return;
    RECORD_KEYS(r, keys, cal->power);
    if (!r->out)
        record_close(r);
    if (!r->out && what_is_wrong(cal->power))
        record_fail(r, NULL, LM_E_ARG, "[power]: %s", what_is_wrong(cal->power));
}
