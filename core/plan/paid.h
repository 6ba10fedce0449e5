/** Prices of machines, given by the user or from a price file, all in one currency. */
#ifndef PLAN_PAID_H
#define PLAN_PAID_H

#include "fit/calibration.h"
#include "plan/prices.h"

/** The price question for one machine. */
typedef struct paid_asked {
    const char *name; /**< its file, for messages */
    /** price per device and hour from the user; NULL: from the price file */
    const money *hour;
    /** section of the price file; NULL: the section of the device */
    const char        *instance;
    const char        *device; /**< given by the user; NULL: that of the machine file */
    const calibration *cal;    /**< NULL: no machine file */
} paid_asked;

/** Settings for all machines. */
typedef struct paid_rule {
    const price_list  *prices;
    const device_list *devices;
    int64_t            used; /**< devices per node */
    price_tier         tier; /**< wanted tier; the result has the other tier, too, if it exists */
    /** a missing price is an error if the user gave a price or instance for this machine */
    bool        wanted;
    const char *so; /**< end of the message for an unknown device: ", so ..." */
    char        currency[CURRENCY_TEXT]; /**< of all costs; "": set by the first price */
} paid_rule;

/** The price of a machine. */
typedef struct paid_price {
    money        hour[N_PRICE_TIERS]; /**< per node; amount NAN: unknown */
    const price *price;       /**< section of the price file; NULL: given by the user, or none */
    size_t       among;       /**< number of prices of which it is the cheapest */
    char         unpaid[508]; /**< reason for a missing price; "": there is a price */
} paid_price;

/**
 * Finds the price. A missing price is an error only if the user gave a price or an instance for
 * this machine and the rule wants it: LM_E_NOTFOUND, LM_E_ARG.
 */
lm_status paid_find(paid_rule *r, const paid_asked *a, paid_price *out, lm_error *err);

#endif
