/* [limits], [limits.N]: steps of jobs under power limits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "machine/sections.h"

#define SHARE .most = 1, .needed = true

static const key device_keys_of[] = {
    { KEY("rows", KEY_COUNT, limit_curves, rows) },
    { KEY("idle", KEY_REAL, limit_curves, idle_w), .unit = "W", .most = 1e5, .needed = true },
    { KEY("knee", KEY_REAL, limit_curves, knee), .least = 0.01, SHARE },
    { KEY("slope", KEY_REAL, limit_curves, slope), .most = 10, .needed = true },
    { KEY("seconds_mape_percent", KEY_REAL, limit_curves, seconds_mape), .scale = 100 },
    { KEY("watts_mape_percent", KEY_REAL, limit_curves, watts_mape), .scale = 100 },
    { KEY("seconds", KEY_RANGE, limit_curves, seconds_low), .needed = true },
    { KEY("watts", KEY_RANGE, limit_curves, watts_low), .needed = true },
};

void limits_both(record *r, calibration *cal, const char *star)
{
    limit_curves *all = &cal->limits;

    if (r->out && !all->n)
        return;
    record_begin(r, star);
    RECORD_KEYS(r, device_keys_of, all);
    if (r->out || *r->missing)
        return;
    record_close(r);
    if (!r->status && (all->seconds_low > 1 || all->seconds_high < 1 || all->watts_low > 1 ||
                       all->watts_high < 1))
        record_fail(r, NULL, LM_E_ARG, "[limits]: an interval does not hold 1");
}

static const key curve_keys[] = {
    { KEY("batch", KEY_WHOLE, limit_curve, batch), .least = 1, .needed = true },
    { KEY("dynamic", KEY_REAL, limit_curve, dynamic_w), .unit = "W", .least = 1e-6, .most = 1e5,
      .needed = true },
    { KEY("fixed", KEY_REAL, limit_curve, fixed), .unit = "s", .needed = true },
    { KEY("clocked", KEY_REAL, limit_curve, clocked), .unit = "s", .needed = true },
    { KEY("waits", KEY_REAL, limit_curve, waits), SHARE },
};

static void write_curves(record *r, limit_curves *all)
{
    char text[40];

    for (size_t i = 0; i < all->n; i++) {
        limit_curve *c = &all->of[i];

        snprintf(text, sizeof text, "%zu", i + 1);
        record_begin(r, text);
        record_put(r, "network", "%s", c->network);
        record_put(r, "input", "%s", c->input);
        record_put(r, "optimizer", "%s", c->optimizer);
        record_put(r, "phase", "%s", phase_name(c->of));
        RECORD_KEYS(r, curve_keys, c);
        for (size_t k = 0; k < c->n; k++) {
            snprintf(text, sizeof text, "%.9gW", c->row[k].limit_w);
            record_put(r, text, "%.9g s, %.9g W", c->row[k].seconds, c->row[k].watts);
        }
    }
}

static lm_status positive(const char *text, const char *unit, double *out, lm_error *err)
{
    const lm_status status = text_quantity(text, unit, out, err);

    return status || (*out > 0 && *out < 1e12)
               ? status
               : lm_error_set(err, LM_E_ARG, "expected a number above 0 %s, found '%.40s'", unit,
                              text);
}

/* "250W = 0.12 s, 180 W" */
static lm_status read_row(const ini_pair *p, limit_row *out, lm_error *err)
{
    char     *text  = strdup(p->value);
    char     *comma = text ? strchr(text, ',') : NULL;
    lm_status status;

    if (!text)
        return no_memory(err);
    if (!comma) {
        status = lm_error_set(err, LM_E_SYNTAX, "expected 'SECONDS s, WATTS W', found '%.40s'",
                              p->value);
    } else {
        *comma = '\0';
        if (!(status = positive(p->key, "W", &out->limit_w, err)) &&
            !(status = positive(text_trim(text), "s", &out->seconds, err)))
            status = positive(text_trim(comma + 1), "W", &out->watts, err);
    }
    free(text);
    return status;
}

static void read_rows(record *r, limit_curves *all, const limit_key *of)
{
    const ini_pair *p;

    while (!r->status && (p = record_next(r))) {
        limit_row row = { 0 };

        if (read_row(p, &row, r->err))
            record_failed(r, p, r->err->code);
        else
            r->status = limit_curves_add(all, of, row, r->err);
    }
}

static void read_curve(record *r, limit_curves *all)
{
    const ini_pair *name = record_take(r, "network"), *input = record_take(r, "input");
    const ini_pair *updated = record_take(r, "optimizer"), *which = record_take(r, "phase");
    limit_curve     c = { .batch = 0 };
    limit_key       of;

    RECORD_KEYS(r, curve_keys, &c);
    if (*r->missing || r->status) /* reported at the end of the section */
        return;
    if (!name || !input || !updated || !which) {
        record_fail(r, NULL, LM_E_NOTFOUND, "[%s]: network, input, optimizer or phase is missing",
                    r->section->name);
        return;
    }
    of = (limit_key){ name->value, input->value, updated->value, c.batch, PHASE_STEP };
    if (phase_parse(which->value, &of.of))
        record_fail(r, which, LM_E_NOTFOUND, "phase: '%.40s' is none", which->value);
    else if (!(c.fixed + c.clocked > 0))
        record_fail(r, NULL, LM_E_ARG, "[%s]: a step takes no time", r->section->name);
    else if (limit_curves_find(all, &of))
        record_fail(r, NULL, LM_E_ARG, "[%s]: %s has two curves", r->section->name, of.network);
    else
        read_rows(r, all, &of);
    if (!r->status) {
        limit_curve *to = (limit_curve *)limit_curves_find(all, &of);

        if (!to || to->n < LIMITS_LEAST) {
            record_fail(r, NULL, LM_E_NOTFOUND, "[%s]: fewer than %d limits", r->section->name,
                        LIMITS_LEAST);
            return;
        }
        to->dynamic_w = c.dynamic_w;
        to->fixed     = c.fixed;
        to->clocked   = c.clocked;
        to->waits     = c.waits;
    }
}

void limit_both(record *r, calibration *cal, const char *star)
{
    (void)star;
    if (r->out)
        write_curves(r, &cal->limits);
    else
        read_curve(r, &cal->limits);
}
