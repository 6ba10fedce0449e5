/** Hourly prices of devices and instances, from a file that users edit. */
#ifndef PLAN_PRICES_H
#define PLAN_PRICES_H

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"
#include "plan/money.h"

typedef enum price_tier {
    PRICE_LIST, /**< on demand */
    PRICE_SPOT, /**< the provider may withdraw it at any time */
    N_PRICE_TIERS
} price_tier;

/** "list", "spot". */
const char *price_tier_name(price_tier t);

/** Was the price compared with its source? */
typedef enum price_check { PRICE_CHECK_UNKNOWN, PRICE_CHECKED, PRICE_NOT_CHECKED } price_check;

/** Unit of a price. */
typedef enum price_per { PRICE_PER_DEVICE, PRICE_PER_NODE } price_per;

/** One section of the file. Owned by its list. */
typedef struct price {
    const char *name;                 /**< an instance, or a device */
    const char *also;                 /**< other names, "A, B"; NULL: none */
    const char *device;               /**< its device; NULL: the section's name */
    const char *network;              /**< between nodes, a name of an interconnect; NULL: none */
    const char *date, *source, *note; /**< NULL: not given */
    const char *path;                 /**< path of its file */
    int         line;                 /**< line of its section */
    money       hour[N_PRICE_TIERS];  /**< amount NAN: not given */
    price_per   per;
    int64_t     devices; /**< per node; 0: not given */
    price_check check;
} price;

typedef struct price_list {
    price        *price; /**< in the files' order, the user's own first */
    size_t        n;
    size_t        n_own; /**< number of prices from the user's file */
    exchange      rates;
    const char   *path;  /**< file for new prices */
    struct arena *arena; /**< owns all of the above */
} price_list;

/**
 * Reads the prices of `own` (NULL: none), then the shipped ones.
 *
 * A section is an instance or a device; its keys are list and spot ("2.50 USD/h"), per (device,
 * node), devices (of a node), network (between nodes), device, also, date (2026-01-31 or 2026-01), source, checked (yes,
 * no), note. [currency] holds rates, "EUR = 1.08 USD"; those of `own`, if it has any, replace the
 * shipped ones.
 *
 * @return LM_E_IO, LM_E_SYNTAX, LM_E_NOTFOUND for an unknown key, LM_E_ARG for a value; the
 * text begins with file:line
 */
lm_status prices_open(const char *own, price_list **out, lm_error *err);
/** Reads one file only. */
lm_status prices_load(const char *path, price_list **out, lm_error *err);
void      prices_free(price_list *list);

/**
 * Finds a price by the name of its section or another of its names; names are compared by
 * device_same_name(). LM_E_NOTFOUND.
 */
lm_status prices_find(const price_list *list, const char *name, const price **out, lm_error *err);

/** The price question for a device. */
typedef struct price_asked {
    const char *device;
    price_tier  tier;
    int64_t     used; /**< devices per node */
} price_asked;

/** Is it the price of a device of this name, or of another of its names? */
bool price_holds(const price *p, const device_list *devices, const char *wanted);

/**
 * The price of a device: a section with one of the device's names, or a section whose device it is.
 * Of several, the one with the lowest cost for the used devices of a node; the first in the file if
 * equal. The user's own sections come first.
 *
 * @param among number of candidates
 * @return LM_E_NOTFOUND if there is none; errors of price_of_node() if none applies; errors of
 *         exchange_to() if two cannot be compared
 */
lm_status prices_of_device(const price_list *list, const device_list *devices, const price_asked *a,
                           const price **out, size_t *among, lm_error *err);

/**
 * Hourly cost of a node with `devices` used devices. A price per node does not depend on the number
 * of used devices.
 *
 * @return LM_E_NOTFOUND without a price of that tier; LM_E_ARG where a node has fewer devices
 */
lm_status price_of_node(const price *p, price_tier tier, int64_t devices, money *out,
                        lm_error *err);

#endif
