/* What --model paleo takes in place of a machine file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"

bool session_wants_paleo(const options *o, const session_options *at)
{
    return !strcmp(o->value[at->model], "paleo");
}

/* Percents above 100 are told, as no platform has them. */
static bool read_fraction(const options *o, int at, double *out, int *exit_code)
{
    lm_error err = { 0 };

    if (!text_real(o->value[at], out, &err) && *out > 0 && *out <= 1)
        return true;
    lm_error_set(&err, LM_E_ARG, "expected a fraction above 0, at most 1, found '%.40s'",
                 o->value[at]);
    return option_misuse(o, at, &err, exit_code);
}

/* Is a device's limit looked up: power is told by what it draws at rest, or the limit itself? */
static bool wants_limit(const options *o)
{
    for (int i = 0; o->command->options[i].name; i++)
        if (o->given[i] && (!strcmp(o->command->options[i].name, "idle-power") ||
                            !strcmp(o->command->options[i].name, "power-cap")))
            return true;
    return false;
}

/* Options that would change nothing. */
static bool left_alone(const options *o, const session_options *at, int *exit_code)
{
    const paleo_options *p     = &at->paleo;
    const int            own[] = { p->ppp_comp, p->ppp_comm, p->scheme, p->device, p->devices };
    const size_t         n     = session_wants_learned(o, at) || wants_limit(o) ? 3 : 5;
    lm_error             err   = { 0 };

    if (session_wants_paleo(o, at)) {
        if (at->latency && o->given[at->latency]) {
            lm_error_set(&err, LM_E_ARG, "PALEO's model knows no latency");
            return option_misuse(o, at->latency, &err, exit_code);
        }
        if (!o->given[at->machine])
            return true;
        lm_error_set(&err, LM_E_ARG, "--model paleo takes a device (--device), no machine file");
        return option_misuse(o, at->machine, &err, exit_code);
    }
    for (size_t i = 0; i < n; i++)
        if (o->given[own[i]]) {
            lm_error_set(&err, LM_E_ARG, "is for --model paleo");
            return option_misuse(o, own[i], &err, exit_code);
        }
    return true;
}

static lm_status figures_of(const options *o, const paleo_options *at, lm_dtype dtype,
                            paleo_platform *out, lm_error *err)
{
    device_list  *list   = NULL;
    const device *d      = NULL;
    lm_status     status = devices_open(o->value[at->devices], &list, err);

    if (!status)
        status = devices_find(list, o->value[at->device], &d, err);
    if (!status) {
        out->peak      = device_peak(d, dtype);
        out->bandwidth = d->figure[DEVICE_BANDWIDTH];
        if (isnan(out->peak) || isnan(out->bandwidth))
            status = lm_error_set(err, LM_E_NOTFOUND, "%s:%d: '%.60s' has no %s", d->path, d->line,
                                  d->name, isnan(out->peak) ? text_dtype_name(dtype) : "bandwidth");
    }
    devices_free(list);
    return status;
}

bool session_platform(const options *o, const session_options *at, lm_dtype dtype,
                      paleo_platform *out, int *exit_code)
{
    const paleo_options *p   = &at->paleo;
    lm_error             err = { 0 };

    if (!left_alone(o, at, exit_code))
        return false;
    if (!session_wants_paleo(o, at))
        return true;
    if (!o->value[p->device]) {
        lm_error_set(&err, LM_E_ARG,
                     "--model paleo needs a device; 'layermeter devices' lists "
                     "those there are");
        return option_misuse(o, p->device, &err, exit_code);
    }
    if (!read_fraction(o, p->ppp_comp, &out->ppp_comp, exit_code) ||
        !read_fraction(o, p->ppp_comm, &out->ppp_comm, exit_code))
        return false;
    out->link = NAN;
    if (o->value[p->bandwidth] &&
        (text_rate(o->value[p->bandwidth], &out->link, &err) ||
         (!(out->link > 0) && lm_error_set(&err, LM_E_ARG, "must be above 0"))))
        return option_misuse(o, p->bandwidth, &err, exit_code);
    if (paleo_scheme_parse(o->value[p->scheme], &out->scheme, &err))
        return option_misuse(o, p->scheme, &err, exit_code);
    if (figures_of(o, p, dtype, out, &err)) {
        *exit_code = report_failure(&err);
        return false;
    }
    return true;
}
