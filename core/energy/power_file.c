/* Section [power] of machine files. */
#include "energy/power_file.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define SECTION "power"

/* More than any device draws (a wafer 23 kW) or is clocked at. */
#define MOST_WATTS 1e5
#define MOST_MHZ   1e5

static const struct {
    const char *name, *unit; /* "": a bare number */
    size_t      at;
    double      factor, most; /* of the file's unit in the model's; largest in the file's */
    bool        needed;
} keys[] = {
    { "arithmetic", "W", offsetof(power_model, bound_w[BOUND_ARITHMETIC]), 1, MOST_WATTS, true },
    { "traffic", "W", offsetof(power_model, bound_w[BOUND_TRAFFIC]), 1, MOST_WATTS, true },
    { "launch", "W", offsetof(power_model, bound_w[BOUND_LAUNCH]), 1, MOST_WATTS, true },
    { "memory", "W", offsetof(power_model, memory_w), 1, MOST_WATTS, false },
    { "idle", "W", offsetof(power_model, idle_w), 1, MOST_WATTS, false },
    { "cap", "W", offsetof(power_model, cap_w), 1, MOST_WATTS, false },
    { "top", "MHz", offsetof(power_model, top_mhz), 1, MOST_MHZ, false },
    { "knee", "MHz", offsetof(power_model, knee_mhz), 1, MOST_MHZ, false },
    { "slope", "", offsetof(power_model, slope), 1, 10, false },
    { "lowest", "MHz", offsetof(power_model, low_mhz), 1, MOST_MHZ, false },
    { "highest", "MHz", offsetof(power_model, high_mhz), 1, MOST_MHZ, false },
    { "mape_percent", "", offsetof(power_model, mape), 0.01, 1e6, false },
    { "held_out_mape_percent", "", offsetof(power_model, held_out_mape), 0.01, 1e6, false },
    { "low", "", offsetof(power_model, low), 1, 1e6, false },
    { "high", "", offsetof(power_model, high), 1, 1e6, false },
};

#define N_KEYS (sizeof keys / sizeof keys[0])

static double *member(power_model *m, size_t k)
{
    return (double *)(void *)((char *)m + keys[k].at);
}

void power_file_write(FILE *out, const power_model *m)
{
    power_model copy = *m;
    char        text[40];

    if (!power_known(m))
        return;
    fprintf(
        out,
        "\n[" SECTION "]\n"
        "; watts while all time is bound so, at the clock `top`; `memory` of traffic's and `idle` do "
        "not follow the\n; clock, all else as f V^2, V constant up to `knee` and growing by "
        "`slope` for each knee's worth above;\n; relative least squares, non-negative; low and "
        "high: measured / predicted, central 90 %%\n");
    fprintf(out, "rows = %zu\nnetworks = %zu\n", m->rows, m->groups);
    for (size_t k = 0; k < N_KEYS; k++) {
        const double value = *member(&copy, k) / keys[k].factor;

        if (isfinite(value))
            fprintf(out, "%s = %s%s%s\n", keys[k].name, text_exact(value, text, sizeof text),
                    *keys[k].unit ? " " : "", keys[k].unit);
    }
}

bool power_file_owns(const ini_section *s)
{
    return !strcmp(s->name, SECTION);
}

/* "31.5 W" */
static lm_status read_value(const ini_pair *p, size_t k, double *out, lm_error *err)
{
    char      copy[120];
    char     *space = NULL;
    double    value;
    lm_status status;

    snprintf(copy, sizeof copy, "%s", p->value);
    if (*keys[k].unit) {
        space = strchr(copy, ' ');
        if (!space || strcmp(text_trim(space), keys[k].unit) != 0)
            return lm_error_set(err, LM_E_SYNTAX, "%s: expected a number and '%s', found '%.60s'",
                                p->key, keys[k].unit, p->value);
        *space = '\0';
    }
    if ((status = text_real(copy, &value, err))) {
        lm_error_prefix(err, "%s", p->key);
        return status;
    }
    if (value < 0 || value > keys[k].most)
        return lm_error_set(err, LM_E_ARG, "%s: no device has %s", p->key, p->value);
    *out = value * keys[k].factor;
    return LM_OK;
}

static lm_status read_pair(const ini_pair *p, power_model *to, lm_error *err)
{
    uint64_t  n;
    lm_status status;

    if (!strcmp(p->key, "rows") || !strcmp(p->key, "networks")) {
        if ((status = text_uint(p->value, &n, err)))
            lm_error_prefix(err, "%s", p->key);
        else
            *(*p->key == 'r' ? &to->rows : &to->groups) = (size_t)n;
        return status;
    }
    for (size_t k = 0; k < N_KEYS; k++)
        if (!strcmp(p->key, keys[k].name))
            return read_value(p, k, member(to, k), err);
    return lm_error_set(err, LM_E_NOTFOUND,
                        "'%.40s' is no key of [" SECTION "]: written by another version, or by "
                        "hand? fit the observations again",
                        p->key);
}

/* Ratios and clocks that one divides by. */
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
    if (m->idle_w >= m->cap_w)
        return "idle is not below cap";
    return NULL;
}

lm_status power_file_read(const ini_document *doc, const ini_section *s, power_model *out,
                          lm_error *err)
{
    power_model m = power_unknown;

    for (size_t i = 0; i < s->n_pairs; i++) {
        const lm_status status = read_pair(&s->pair[i], &m, err);

        if (status) {
            lm_error_prefix(err, "%s:%d", doc->path, s->pair[i].line);
            return status;
        }
    }
    for (size_t k = 0; k < N_KEYS; k++)
        if (keys[k].needed && isnan(*member(&m, k)))
            return ini_fail(doc, err, s->line, LM_E_NOTFOUND, "[" SECTION "] lacks the key '%s'",
                            keys[k].name);
    if (what_is_wrong(&m))
        return ini_fail(doc, err, s->line, LM_E_ARG, "[" SECTION "]: %s", what_is_wrong(&m));
    *out = m;
    return LM_OK;
}
