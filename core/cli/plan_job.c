/* The machines of 'layermeter plan': formulas, device, memory, price. */
#include "cli/plan_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "predict/layerwise_step.h"

static bool failure(const lm_error *err, int *exit_code)
{
    *exit_code = report_failure(err);
    return false;
}

/* ---- options once for all machines, or once for each --------------------------------------------
 */

const char *plan_nth(const plan_job *job, int at, size_t i)
{
    return option_nth(job->o, at, i);
}

static bool check_times(const plan_job *job, int at, int *exit_code)
{
    const size_t n   = option_times(job->o, at);
    lm_error     err = { LM_OK, "" };

    if (n <= 1 || n == job->n)
        return true;
    lm_error_set(&err, LM_E_ARG,
                 "given %zu times for %zu machine%s: once for all, or once for each", n, job->n,
                 job->n == 1 ? "" : "s");
    return option_misuse(job->o, at, &err, exit_code);
}

/* ---- formulas -----------------------------------------------------------------------------------
 */

static bool wants_paleo(const plan_job *job)
{
    return session_wants_paleo(job->o, &job->at->session);
}

/* The command line as it would be with this machine alone. */
static options alone(const plan_job *job, size_t i)
{
    options o = *job->o;

    o.value[job->at->session.machine] = plan_nth(job, job->at->session.machine, i);
    o.value[job->at->device]          = plan_nth(job, job->at->device, i);
    if (!wants_paleo(job)) { /* here these are of machine files, too */
        o.given[job->at->device]       = false;
        o.given[job->at->plan_devices] = false;
    }
    return o;
}

static const char *provenance(const calibration *cal, const char *key)
{
    for (size_t i = 0; i < cal->n_provenance; i++)
        if (!strcmp(cal->provenance[i].key, key))
            return cal->provenance[i].value;
    return NULL;
}

/* The same predictor with half the bandwidth that is assumed between nodes. */
struct half_link {
    calibration     cal; /* owns nothing of its own */
    paleo_predictor paleo;
    predictor       who;
};

static lm_status open_half_link(plan_job *job, size_t i, lm_error *err)
{
    plan_side *side = &job->side[i];
    session   *s    = &side->session;

    if (s->cal ? !(s->cal->link.bytes_per_second > 0) : isnan(s->paleo.platform.link))
        return LM_OK; /* nothing is assumed */
    side->half = calloc(1, sizeof *side->half);
    if (!side->half)
        return no_memory(err);
    side->half->who = s->who;
    if (s->cal) {
        side->half->cal = *s->cal;
        side->half->cal.link.bytes_per_second /= 2;
        side->half->who.cal = &side->half->cal;
    } else {
        side->half->paleo = s->paleo;
        side->half->paleo.platform.link /= 2;
        side->half->who.paleo = &side->half->paleo;
    }
    job->machine[i].half_link = &side->half->who;
    return LM_OK;
}

static bool open_formulas(plan_job *job, size_t i, int *exit_code)
{
    plan_side    *side = &job->side[i];
    const options o    = alone(job, i);
    lm_error      err  = { LM_OK, "" };

    if (!session_open(&o, &job->at->session, &side->session, exit_code))
        return false;
    if (side->session.layerwise) /* of evaluations, too, which have no setup */
        side->session.layerwise->optimizer = optimizer_name(job->how.setup.optimizer);
    job->machine[i].who = &side->session.who;
    if (open_half_link(job, i, &err))
        return failure(&err, exit_code);
    side->device = o.value[job->at->device];
    if (!side->device && side->session.cal)
        side->device = provenance(side->session.cal, "device");
    side->name = wants_paleo(job) ? side->device : o.value[job->at->session.machine];
    return true;
}

/* ---- memory -------------------------------------------------------------------------------------
 */

static bool read_bytes(const plan_job *job, int at, size_t i, bool above_0, uint64_t *out,
                       int *exit_code)
{
    lm_error err = { LM_OK, "" };
    int64_t  bytes;

    if (text_bytes(plan_nth(job, at, i), &bytes, &err))
        return option_misuse(job->o, at, &err, exit_code);
    if (above_0 && !bytes) {
        lm_error_set(&err, LM_E_ARG, "a device without memory runs nothing: give its size");
        return option_misuse(job->o, at, &err, exit_code);
    }
    *out = (uint64_t)bytes;
    return true;
}

static bool open_room(plan_job *job, size_t i, int *exit_code)
{
    plan_side        *side = &job->side[i];
    const device     *d    = NULL;
    const step_setup *s    = &job->question.setup;
    plan_machine     *m    = &job->machine[i];
    bind_options      b    = { .dtype = side->session.who.dtype, .input = side->session.who.input };
    device_room       less;
    lm_error          err = { LM_OK, "" };

    if (!read_bytes(job, job->at->overhead, i, false, &side->room.overhead, exit_code))
        return false;
    if (plan_nth(job, job->at->memory, i)) {
        if (!read_bytes(job, job->at->memory, i, true, &side->room.bytes, exit_code))
            return false;
    } else if (job->o->given[job->at->device] &&
               devices_find(job->devices, side->device, &d, &err)) {
        return failure(&err, exit_code);
    } else if (side->device && !devices_find(job->devices, side->device, &d, NULL) &&
               !isnan(d->figure[DEVICE_MEMORY])) {
        side->room.bytes = (uint64_t)d->figure[DEVICE_MEMORY];
    }
    less       = side->room;
    less.bytes = (uint64_t)((double)less.bytes * (1 - MEMORY_LESS));
    if (batch_limits_of(side->session.net, side->session.reg, &b, &s->sync, s->optimizer,
                        &side->room, &m->fits, &err) ||
        batch_limits_of(side->session.net, side->session.reg, &b, &s->sync, s->optimizer, &less,
                        &m->fits_less, &err))
        return failure(&err, exit_code);
    return true;
}

/* ---- prices -------------------------------------------------------------------------------------
 */

/* Is a price asked for, so that a missing one is a mistake? */
static bool price_wanted(const plan_job *job)
{
    return *job->currency || option_times(job->o, job->at->price) ||
           option_times(job->o, job->at->instance) || job->o->given[job->at->prices] ||
           job->o->given[job->at->spot];
}

static lm_status find_price(const plan_job *job, size_t i, const price **out, lm_error *err)
{
    const char *instance = plan_nth(job, job->at->instance, i), *of = job->side[i].device;

    if (instance)
        return prices_find(job->prices, instance, out, err);
    if (!of && job->side[i].session.cal) /* which is what its backend ran on then */
        of = provenance(job->side[i].session.cal, "cpu");
    if (of)
        return prices_of_device(job->prices, job->devices, of, out, err);
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "%s does not say what device it is of, so no price is known: give --device, "
        "--instance or --price 2.50USD/h",
        job->side[i].name);
}

/* All costs are in one currency: that of the budget, else that of the first price. */
static lm_status in_one_currency(plan_job *job, const money *hour, money *out, lm_error *err)
{
    lm_status status;

    if (!*job->currency)
        strcpy(job->currency, hour->currency);
    status = exchange_to(&job->prices->rates, hour, job->currency, out, err);
    if (status)
        lm_error_prefix(err, "%s", job->prices->path);
    return status;
}

static lm_status price_tiers(plan_job *job, size_t i, lm_error *err)
{
    plan_side    *side    = &job->side[i];
    const int64_t devices = job->question.setup.devices;
    lm_status     status  = LM_OK;

    for (price_tier t = PRICE_LIST; t < N_PRICE_TIERS && !status; t++) {
        money hour;

        if (t != job->view.tier && isnan(side->price->hour[t].amount))
            continue;
        status = price_of_node(side->price, t, devices, &hour, err);
        if (!status)
            status = in_one_currency(job, &hour, &job->machine[i].hour[t], err);
    }
    return status;
}

static bool open_price(plan_job *job, size_t i, bool wanted, int *exit_code)
{
    plan_side  *side  = &job->side[i];
    const char *given = plan_nth(job, job->at->price, i);
    lm_error    err   = { LM_OK, "" };
    lm_status   status;
    money       hour;

    for (int t = 0; t < N_PRICE_TIERS; t++)
        job->machine[i].hour[t].amount = NAN;
    if (given) {
        if (money_parse_per_hour(given, &hour, &err))
            return option_misuse(job->o, job->at->price, &err, exit_code);
        hour.amount *= (double)job->question.setup.devices;
        status = in_one_currency(job, &hour, &job->machine[i].hour[job->view.tier], &err);
    } else {
        status = find_price(job, i, &side->price, &err);
        if (!status)
            status = price_tiers(job, i, &err);
    }
    if (side->price && !side->device) /* the instance tells */
        side->device = side->price->device;
    if (!status)
        return true;
    if (wanted)
        return failure(&err, exit_code);
    side->price = NULL;
    strcpy(side->no_price, err.text);
    return true;
}

bool plan_job_priced(const plan_job *job, const char **why)
{
    for (size_t i = 0; i < job->n; i++)
        if (*job->side[i].no_price) {
            if (why)
                *why = job->side[i].no_price;
            return false;
        }
    return true;
}

const char *plan_price_name(const plan_job *job)
{
    if (!plan_job_priced(job, NULL))
        return NULL;
    for (size_t i = 0; i < job->n; i++)
        if (job->side[i].price)
            return price_tier_name(job->view.tier);
    return "given";
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

/* Buckets are part of the memory that batches need: before these. */
static void settle(plan_job *job)
{
    bool all = true;

    for (size_t i = 0; i < job->n; i++)
        all &= setup_in_buckets(job->machine[i].who);
    setup_options_settle(&job->how, all);
    job->question.setup.sync = job->how.setup.sync;
}

bool plan_job_open(plan_job *job, int *exit_code)
{
    const int once_or_each[] = { job->at->device, job->at->memory, job->at->overhead,
                                 job->at->price, job->at->instance };
    lm_error  err            = { LM_OK, "" };
    const int names          = wants_paleo(job) ? job->at->device : job->at->session.machine;
    bool      wanted;

    job->n = option_times(job->o, names);
    if (!job->n)
        job->n = 1; /* session_open() says what is missing */
    for (size_t i = 0; i < sizeof once_or_each / sizeof once_or_each[0]; i++)
        if (!check_times(job, once_or_each[i], exit_code))
            return false;
    job->side    = calloc(job->n, sizeof *job->side);
    job->machine = calloc(job->n, sizeof *job->machine);
    if (!job->side || !job->machine) {
        no_memory(&err);
        return failure(&err, exit_code);
    }
    wanted = price_wanted(job);
    for (size_t i = 0; i < job->n; i++)
        if (!open_formulas(job, i, exit_code))
            return false;
    settle(job);
    if (devices_open(job->o->value[job->at->plan_devices], &job->devices, &err) ||
        prices_open(job->o->value[job->at->prices], &job->prices, &err))
        return failure(&err, exit_code);
    for (size_t i = 0; i < job->n; i++)
        if (!open_price(job, i, wanted, exit_code) || !open_room(job, i, exit_code))
            return false;
    if (!plan_job_priced(job, NULL)) /* costs of some say nothing beside those of others */
        for (size_t i = 0; i < job->n; i++)
            job->machine[i].hour[PRICE_LIST].amount = job->machine[i].hour[PRICE_SPOT].amount = NAN;
    return true;
}

void plan_job_close(plan_job *job)
{
    for (size_t i = 0; job->side && i < job->n; i++) {
        session_close(&job->side[i].session);
        free(job->side[i].half);
    }
    plan_set_free(&job->set);
    devices_free(job->devices);
    prices_free(job->prices);
    free(job->own_batch);
    free(job->how.policy);
    free(job->side);
    free(job->machine);
}
