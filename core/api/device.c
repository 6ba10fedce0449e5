/* Datasheets and prices of devices. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/handles.h"
#include "plan/prices.h"

lm_status lm_device_find(const lm_library *library, const char *name, lm_device *out, lm_error *err)
{
    device_list  *list = NULL;
    const device *d    = NULL;
    lm_device     mine = { 0 };
    lm_status     status;

    if ((status = ANSWER_CHECK(out, err)) ||
        (status = devices_open(library->from.devices, &list, err)))
        return status;
    if (!(status = devices_find(list, name, &d, err))) {
        const double *of = d->figure;

        snprintf(mine.name, sizeof mine.name, "%s", d->name);
        mine.memory    = of[DEVICE_MEMORY];
        mine.bandwidth = of[DEVICE_BANDWIDTH];
        mine.power     = of[DEVICE_POWER];
        mine.f32       = of[DEVICE_F32];
        mine.tf32      = of[DEVICE_TF32];
        mine.f16       = of[DEVICE_F16];
        mine.bf16      = of[DEVICE_BF16];
        mine.f8        = of[DEVICE_F8];
        answer_give(out, &mine, sizeof mine);
    }
    devices_free(list);
    return status;
}

/* Prices of a device in the currency of the list price, or of the other price without one. */
static lm_status price_of(const price *p, int64_t devices, lm_price *out, lm_error *err)
{
    double *const to[] = { [PRICE_LIST] = &out->list, [PRICE_SPOT] = &out->spot };
    lm_status     status;

    snprintf(out->section, sizeof out->section, "%s", p->name);
    snprintf(out->date, sizeof out->date, "%s", p->date ? p->date : "");
    for (price_tier t = 0; t < N_PRICE_TIERS; t++) {
        money hour;

        *to[t] = NAN;
        if (isnan(p->hour[t].amount))
            continue;
        if ((status = price_of_node(p, t, devices, &hour, err)))
            return status;
        if (!*out->currency)
            snprintf(out->currency, sizeof out->currency, "%s", hour.currency);
        if (!strcmp(out->currency, hour.currency))
            *to[t] = hour.amount;
    }
    return LM_OK;
}

lm_status lm_price_find(const lm_library *library, const char *name, int64_t devices, lm_price *out,
                        lm_error *err)
{
    device_list *list   = NULL;
    price_list  *prices = NULL;
    const price *p      = NULL;
    lm_price     mine   = { 0 };
    size_t       among;
    lm_status    status;

    if ((status = ANSWER_CHECK(out, err)))
        return status;
    if (devices < 1)
        return lm_error_set(err, LM_E_ARG, "%lld devices of a node: must be 1 or more",
                            (long long)devices);
    if (!(status = devices_open(library->from.devices, &list, err)) &&
        !(status = prices_open(NULL, &prices, err)) &&
        !(status = prices_of_device(prices, list, &(price_asked){ name, PRICE_LIST, devices }, &p,
                                    &among, err)) &&
        !(status = price_of(p, devices, &mine, err)))
        answer_give(out, &mine, sizeof mine);
    prices_free(prices);
    devices_free(list);
    return status;
}
