/* Prices of machines. */
#include "plan/paid.h"

#include <math.h>
#include <string.h>

/* "Tesla V100" of "Tesla V100-SXM2-16GB": a name up to its first number. */
static int family_of(const char *name)
{
    const size_t words = strcspn(name, "0123456789");

    return (int)(words + strspn(name + words, "0123456789"));
}

/* Do names tell devices of one family? A100 is a name of those with 40 and with 80 GB. */
static bool same_family(const char *a, const char *b)
{
    return family_of(a) == family_of(b) && !strncmp(a, b, (size_t)family_of(a));
}

/* Finds the section of the price file: by instance, else by device, from its name or the machine
 * file. */
static lm_status find_section(const paid_rule *r, const paid_asked *a, paid_price *out,
                              lm_error *err)
{
    const char *of = a->device;

    out->among = 1;
    if (a->instance) {
        const lm_status status = prices_find(r->prices, a->instance, &out->price, err);

        if (!status && of && out->price->device && !same_family(out->price->device, of) &&
            !price_holds(out->price, r->devices, of))
            return lm_error_set(err, LM_E_ARG, "%s:%d: '%.60s' has %s, not %s", out->price->path,
                                out->price->line, out->price->name, out->price->device, of);
        return status;
    }
    if (!of && a->cal) /* or the device of its backend */
        of = calibration_device(a->cal);
    if (of)
        return prices_of_device(r->prices, r->devices, &(price_asked){ of, r->tier, r->used },
                                &out->price, &out->among, err);
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "%s does not name its device%s: give --device, --instance or --price 2.50USD/h", a->name,
        r->so);
}

static lm_status in_one_currency(paid_rule *r, const money *hour, money *out, lm_error *err)
{
    lm_status status;

    if (!*r->currency)
        strcpy(r->currency, hour->currency);
    status = exchange_to(&r->prices->rates, hour, r->currency, out, err);
    if (status)
        lm_error_prefix(err, "%s", r->prices->path);
    return status;
}

static lm_status take_tiers(paid_rule *r, paid_price *p, lm_error *err)
{
    lm_status status = LM_OK;

    for (price_tier t = PRICE_LIST; t < N_PRICE_TIERS && !status; t++) {
        money hour;

        if (t != r->tier && isnan(p->price->hour[t].amount))
            continue;
        status = price_of_node(p->price, t, r->used, &hour, err);
        if (!status)
            status = in_one_currency(r, &hour, &p->hour[t], err);
    }
    return status;
}

lm_status paid_find(paid_rule *r, const paid_asked *a, paid_price *out, lm_error *err)
{
    lm_error  why = { 0 };
    lm_status status;

    *out = (paid_price){ .price = NULL };
    for (int t = 0; t < N_PRICE_TIERS; t++)
        out->hour[t].amount = NAN;
    if (a->hour) {
        money hour = *a->hour;

        hour.amount *= (double)r->used;
        status = in_one_currency(r, &hour, &out->hour[r->tier], &why);
    } else if (!(status = find_section(r, a, out, &why))) {
        status = take_tiers(r, out, &why);
    }
    if (!status)
        return LM_OK;
    if (r->wanted && (a->hour || a->instance))
        return lm_error_set(err, status, "%s", why.text);
    strcpy(out->unpaid, why.text);
    return LM_OK;
}
