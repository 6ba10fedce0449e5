/* What the machines of a report cost. */
#include "cli/report_prices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is asked, and of whom. */
typedef struct asking {
    const options       *o;
    const price_options *at;
    page                *page;
    report_prices       *out;
    price_tier           tier;
    char                 currency[CURRENCY_TEXT];
} asking;

static bool check_times(const asking *a, int at, int *exit_code)
{
    const size_t n   = option_times(a->o, at);
    lm_error     err = { LM_OK, "" };

    if (n <= 1 || n == a->page->n_machines)
        return true;
    lm_error_set(&err, LM_E_ARG,
                 "given %zu times for %zu machine%s: once for all, or once for each", n,
                 a->page->n_machines, a->page->n_machines == 1 ? "" : "s");
    return option_misuse(a->o, at, &err, exit_code);
}

static lm_status find_price(const asking *a, size_t i, const price **out, lm_error *err)
{
    const page_machine *m        = &a->page->machine[i];
    const char         *instance = option_nth(a->o, a->at->instance, i),
               *of               = option_nth(a->o, a->at->device, i);

    if (instance)
        return prices_find(a->out->prices, instance, out, err);
    if (!of)
        of = calibration_device(m->who->cal);
    if (of)
        return prices_of_device(a->out->prices, a->out->devices, of, out, err);
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "%s does not say what device it is of: give --device, --instance or --price 2.50USD/h",
        m->file);
}

/* "list price of [p5.48xlarge], 55.04 USD/h a node, 2026-11-09, not checked with its source" */
static char *words_of(const asking *a, const price *p)
{
    char   hour[MONEY_TEXT];
    char  *text = NULL;
    size_t size;
    FILE  *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fprintf(out, "the %s price of [%s], %s/h a %s", price_tier_name(a->tier), p->name,
            money_print(&p->hour[a->tier], hour), p->per_node ? "node" : "device");
    if (p->date)
        fprintf(out, ", %s", p->date);
    if (p->check != PRICE_CHECK_UNKNOWN)
        fprintf(out, ", %s with its source", p->check == PRICE_CHECKED ? "checked" : "not checked");
    fclose(out);
    return text;
}

/* All costs are in the currency of the first price. */
static lm_status take_price(asking *a, size_t i, const money *hour, lm_error *err)
{
    page_machine *m = &a->page->machine[i];
    money         in;
    lm_status     status;

    if (!*a->currency)
        strcpy(a->currency, hour->currency);
    status = exchange_to(&a->out->prices->rates, hour, a->currency, &in, err);
    if (status) {
        lm_error_prefix(err, "%s", a->out->prices->path);
        return status;
    }
    m->hour = in;
    m->paid = a->out->paid[i];
    return LM_OK;
}

static bool open_price(asking *a, size_t i, bool wanted, int *exit_code)
{
    page_machine *m       = &a->page->machine[i];
    const char   *given   = option_nth(a->o, a->at->price, i);
    const int64_t devices = a->page->question.setup.devices;
    const price  *found   = NULL;
    lm_error      err     = { LM_OK, "" };
    lm_status     status;
    money         hour;

    m->hour.amount = NAN;
    if (given) {
        if (money_parse_per_hour(given, &hour, &err))
            return option_misuse(a->o, a->at->price, &err, exit_code);
        hour.amount *= (double)devices;
        status = take_price(a, i, &hour, &err);
    } else {
        status = find_price(a, i, &found, &err);
        if (!status)
            status = price_of_node(found, a->tier, devices, &hour, &err);
        if (!status)
            a->out->paid[i] = words_of(a, found);
        if (!status)
            status = take_price(a, i, &hour, &err);
    }
    if (!status)
        return true;
    m->hour.amount = NAN;
    snprintf(m->unpaid, sizeof m->unpaid, "%s", err.text);
    if (wanted)
        *exit_code = report_failure(&err);
    return !wanted;
}

bool report_prices_open(const options *o, const price_options *at, page *p, report_prices *out,
                        int *exit_code)
{
    const int once_or_each[] = { at->price, at->instance, at->device };
    asking    a              = { .o = o, .at = at, .page = p, .out = out };
    lm_error  err            = { LM_OK, "" };
    /* of these models --device is a datasheet in the first place */
    const bool learned = p->machine[0].who->layerwise != NULL;
    bool       wanted  = o->given[at->prices] || o->given[at->spot];

    a.tier = o->value[at->spot] ? PRICE_SPOT : PRICE_LIST;
    for (size_t i = 0; i < sizeof once_or_each / sizeof once_or_each[0]; i++) {
        wanted |=
            option_times(o, once_or_each[i]) > 0 && !(once_or_each[i] == at->device && learned);
        if (!check_times(&a, once_or_each[i], exit_code))
            return false;
    }
    if (prices_open(o->value[at->prices], &out->prices, &err) ||
        devices_open(NULL, &out->devices, &err)) {
        *exit_code = report_failure(&err);
        return false;
    }
    for (size_t i = 0; i < p->n_machines; i++)
        if (!open_price(&a, i, wanted, exit_code))
            return false;
    return true;
}

void report_prices_close(report_prices *prices)
{
    prices_free(prices->prices);
    devices_free(prices->devices);
    for (size_t i = 0; i < PAGE_MACHINES; i++)
        free(prices->paid[i]);
}
