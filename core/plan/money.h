/** Amounts of money: numbers with an ISO 4217 currency, and rates between currencies. */
#ifndef PLAN_MONEY_H
#define PLAN_MONEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>

/** Size of "USD" with its terminating 0. */
#define CURRENCY_TEXT 4

typedef struct money {
    double amount;
    char   currency[CURRENCY_TEXT];
} money;

/** Is it an ISO 4217 code of a current currency? */
bool currency_known(const char *code);

/** Reads "500USD", "1.5e3 EUR": a number of 0 or more, and a known currency. LM_E_ARG. */
lm_status money_parse(const char *text, money *out, lm_error *err);

/** Reads "2.50 USD/h": an amount per hour, above 0. LM_E_ARG. */
lm_status money_parse_per_hour(const char *text, money *out, lm_error *err);
/** Reads "0.30 EUR/kWh": an amount per kWh of electricity. LM_E_ARG. */
lm_status money_parse_per_kwh(const char *text, money *out, lm_error *err);

/**
 * Prints "1,040 USD", "12.34 USD", "0.00123 USD": whole numbers from 100, with cents below, three
 * digits below one cent.
 */
#define MONEY_TEXT 48
const char *money_print(const money *m, char buffer[MONEY_TEXT]);

/** Cost of a run: all nodes from start to end. */
money money_of_run(const money *node_hour, int64_t nodes, double seconds);

/** Value of one unit of a currency in another currency. */
typedef struct exchange_rate {
    char  of[CURRENCY_TEXT];
    money worth; /**< above 0, of another currency */
} exchange_rate;

#define EXCHANGE_RATES_MAX 64

/** Rates form chains without cycles: each currency is on the left at most once. */
typedef struct exchange {
    exchange_rate rate[EXCHANGE_RATES_MAX];
    size_t        n;
} exchange;

/** Adds a rate. LM_E_ARG: a second rate of a currency, or a cycle. LM_E_UNSUPPORTED: more than
 * EXCHANGE_RATES_MAX. */
lm_status exchange_add(exchange *x, const exchange_rate *rate, lm_error *err);

/** Converts an amount to another currency. LM_E_NOTFOUND: no rates lead there. */
lm_status exchange_to(const exchange *x, const money *from, const char *currency, money *out,
                      lm_error *err);

#endif
