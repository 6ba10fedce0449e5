/** What machines cost: as told, or by a price file, all in one currency. */
#ifndef PLAN_PAID_H
#define PLAN_PAID_H

#include "fit/calibration.h"
#include "plan/prices.h"

/** What is asked of a machine. */
typedef struct paid_asked {
    const char        *name;     /**< its file, for messages */
    const money       *hour;     /**< of a device, as told; NULL: by the price file */
    const char        *instance; /**< section of that; NULL: of the device */
    const char        *device;   /**< as told; NULL: what the machine file says */
    const calibration *cal;      /**< NULL: there is no machine file */
} paid_asked;

/** What all machines share. */
typedef struct paid_rule {
    const price_list  *prices;
    const device_list *devices;
    int64_t            used;   /**< devices of each node */
    price_tier         tier;   /**< that is asked for: the other one where it is there, too */
    bool               wanted; /**< one that is told of a machine alone and missing is a mistake */
    const char        *so;     /**< said where a device is not known: ", so ..." */
    char               currency[CURRENCY_TEXT]; /**< of all costs; "": becomes that of the first */
} paid_rule;

/** What a machine costs. */
typedef struct paid_price {
    money        hour[N_PRICE_TIERS]; /**< of a node; amount NAN: unknown */
    const price *price;               /**< section of the price file; NULL: as told, or none */
    size_t       among;               /**< of so many it is the cheapest */
    char         unpaid[508];         /**< why there is no price; "": there is one */
} paid_price;

/** A missing price is no error unless the machine's own price or instance is told, and wanted:
 * LM_E_NOTFOUND, LM_E_ARG. */
lm_status paid_find(paid_rule *r, const paid_asked *a, paid_price *out, lm_error *err);

#endif
