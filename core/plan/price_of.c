/* Price of a device, an instance or a node, for an hour. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "plan/prices.h"

/* Is it one of "A, B"? */
static bool among(const char *names, const char *wanted)
{
    while (names) {
        const char  *comma = strchr(names, ',');
        const size_t n     = comma ? (size_t)(comma - names) : strlen(names);
        char         name[200];

        if (n < sizeof name) {
            memcpy(name, names, n);
            name[n] = '\0';
            if (device_same_name(name, wanted))
                return true;
        }
        names = comma ? comma + 1 : NULL;
    }
    return false;
}

static bool is_called(const price *p, const char *name)
{
    return device_same_name(p->name, name) || among(p->also, name);
}

lm_status prices_find(const price_list *list, const char *name, const price **out, lm_error *err)
{
    char offer[300] = "";

    for (size_t i = 0; i < list->n; i++)
        if (is_called(&list->price[i], name)) {
            *out = &list->price[i];
            return LM_OK;
        }
    for (size_t i = 0; i < list->n; i++)
        text_add(offer, sizeof offer, "%s%.60s", i ? ", " : "", list->price[i].name);
    return lm_error_set(err, LM_E_NOTFOUND, "%s has no price of '%.60s'; it has %.250s", list->path,
                        name, list->n ? offer : "none");
}

bool price_holds(const price *p, const device_list *devices, const char *wanted)
{
    const device *a = NULL, *b = NULL;
    const char   *held = p->device ? p->device : p->name;

    if (device_same_name(held, wanted) || (!p->device && is_called(p, wanted)))
        return true;
    return !devices_find(devices, held, &a, NULL) && !devices_find(devices, wanted, &b, NULL) &&
           a == b;
}

/* The cheapest known price so far. */
typedef struct cheapest {
    const price *price; /* NULL: none yet */
    money        hour;
    size_t       n;   /* prices that hold the device */
    lm_error     why; /* error of the first unusable price */
} cheapest;

static lm_status take(const price_list *list, const price *p, const price_asked *a, cheapest *best,
                      lm_error *err)
{
    money     hour;
    lm_error  why    = { LM_OK, "" };
    lm_status status = price_of_node(p, a->tier, a->used, &hour, &why);

    best->n++;
    if (status) {
        if (!best->why.code)
            best->why = why;
        return LM_OK;
    }
    if (best->price) {
        status = exchange_to(&list->rates, &hour, best->hour.currency, &hour, err);
        if (status) {
            lm_error_prefix(err, "%s:%d: '%.60s' beside '%.60s'", p->path, p->line, p->name,
                            best->price->name);
            return status;
        }
    }
    if (!best->price || hour.amount < best->hour.amount) {
        best->price = p;
        best->hour  = hour;
    }
    return LM_OK;
}

lm_status prices_of_device(const price_list *list, const device_list *devices, const price_asked *a,
                           const price **out, size_t *among, lm_error *err)
{
    const size_t end[] = { list->n_own, list->n };
    cheapest     best  = { .price = NULL };
    size_t       i     = 0;
    lm_status    status;

    for (size_t file = 0; file < 2 && !best.n; file++)
        for (; i < end[file]; i++)
            if (price_holds(&list->price[i], devices, a->device) &&
                (status = take(list, &list->price[i], a, &best, err)))
                return status;
    if (!best.n)
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "%s has no price of '%.60s': write one there, or give --price 2.50USD/h", list->path,
            a->device);
    if (!best.price && a->tier == PRICE_SPOT)
        return lm_error_set(
            err, best.why.code,
            "none of the %zu price%s of '%.60s' has a spot price: give a file that has "
            "one (--prices), --price 2.50USD/h, or leave out --spot",
            best.n, best.n == 1 ? "" : "s", a->device);
    if (!best.price)
        return lm_error_set(err, best.why.code, "%s", best.why.text);
    *out   = best.price;
    *among = best.n;
    return LM_OK;
}

lm_status price_of_node(const price *p, price_tier tier, int64_t devices, money *out, lm_error *err)
{
    const money *hour = &p->hour[tier];

    if (p->devices && devices > p->devices)
        return lm_error_set(
            err, LM_E_ARG,
            "%s:%d: a node of '%.60s' has %lld device%s, fewer than the %lld asked for "
            "(--devices-per-node)",
            p->path, p->line, p->name, (long long)p->devices, p->devices == 1 ? "" : "s",
            (long long)devices);
    if (isnan(hour->amount))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s:%d: '%.60s' has no %s price: write %s = 2.50 USD/h%s", p->path,
                            p->line, p->name, price_tier_name(tier), price_tier_name(tier),
                            tier == PRICE_SPOT ? ", or leave out --spot" : "");
    *out = *hour;
    if (p->per == PRICE_PER_DEVICE)
        out->amount *= (double)devices;
    return LM_OK;
}
