/** What the machines of a report cost. */
#ifndef CLI_REPORT_PRICES_H
#define CLI_REPORT_PRICES_H

#include "cli/options.h"
#include "plan/prices.h"
#include "report/page.h"

/** Options by their place in the command's own table. */
typedef struct price_options {
    int price, prices, instance, device, spot;
} price_options;

/** What the page's machines point at. */
typedef struct report_prices {
    price_list  *prices;
    device_list *devices;
    char        *paid[PAGE_MACHINES];
} report_prices;

/**
 * Prices of the page's machines, all in the currency of the first: by --price, --instance or
 * --device, each given once for all or once for each, else by the device that the machine file
 * names. A machine without one says why in `unpaid`; where a price was asked for, that is an error.
 * False after a message, with *exit_code set; close in either case.
 */
bool report_prices_open(const options *o, const price_options *at, page *p, report_prices *out,
                        int *exit_code);
void report_prices_close(report_prices *prices);

#endif
