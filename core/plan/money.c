/* Amounts of money. */
#include "plan/money.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* A larger amount is a typing error, and sums might overflow. */
#define MOST 1e15

/* ISO 4217, currencies in use. */
static const char codes[] =
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD "
    "CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS "
    "GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW "
    "KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR "
    "MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR "
    "SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX "
    "USD UYU UZS VED VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG";

bool currency_known(const char *code)
{
    const char *at = strlen(code) == CURRENCY_TEXT - 1 ? strstr(codes, code) : NULL;

    return at && (at - codes) % CURRENCY_TEXT == 0;
}

/* The number in front of letters, and the letters without blanks around them. */
static bool split(const char *text, double *amount, char *rest, size_t size)
{
    const char *letter = text;
    char        number[64];
    size_t      n;

    while (*letter &&
           (!isalpha((unsigned char)*letter) ||
            ((*letter == 'e' || *letter == 'E') && letter > text &&
             (isdigit((unsigned char)letter[1]) || letter[1] == '-' || letter[1] == '+'))))
        letter++;
    n = (size_t)(letter - text);
    if (n >= sizeof number || strlen(letter) >= size)
        return false;
    memcpy(number, text, n);
    number[n] = '\0';
    strcpy(rest, letter);
    for (n = strlen(rest); n && isspace((unsigned char)rest[n - 1]);)
        rest[--n] = '\0';
    return *rest && !text_real(number, amount, NULL);
}

/* "$500" and "500$" become "500USD"; other texts stay. */
static const char *spelled(const char *text, char *room, size_t size)
{
    static const struct {
        const char *sign, *code;
    } signs[] = { { "$", "USD" }, { "\xe2\x82\xac", "EUR" }, { "\xc2\xa3", "GBP" } }; /* UTF-8 */

    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        const char  *at = strstr(text, signs[i].sign);
        const size_t n  = strlen(signs[i].sign);
        const char  *slash;
        int          before;

        if (!at)
            continue;
        slash  = strchr(text, '/');
        before = slash ? (int)(slash - text) : (int)strlen(text);
        if (slash && at > slash)
            return text;
        snprintf(room, size, "%.*s%.*s%s%s", (int)(at - text), text,
                 before - (int)(at - text + (int)n), at + n, signs[i].code, slash ? slash : "");
        return room;
    }
    return text;
}

/* An amount in a known currency. */
static lm_status amount_of(double amount, const char *currency, money *out, lm_error *err)
{
    if (amount > MOST)
        return lm_error_set(err, LM_E_ARG, "%g %s: expected less than %g", amount, currency, MOST);
    if (!currency_known(currency))
        return lm_error_set(
            err, LM_E_ARG,
            "unknown currency '%.12s': expected a code of ISO 4217 such as USD or EUR", currency);
    out->amount = amount;
    strcpy(out->currency, currency);
    return LM_OK;
}

/* Factor of "k" or "M" in front of a currency; moves *currency behind it. */
static double thousands(const char **currency)
{
    static const struct {
        char   letter;
        double factor;
    } words[] = { { 'k', 1e3 }, { 'K', 1e3 }, { 'M', 1e6 }, { 'B', 1e9 } };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *rest = *currency + 1;

        if (**currency != words[i].letter)
            continue;
        rest += strspn(rest, " ");
        if (!currency_known(rest))
            continue;
        *currency = rest;
        return words[i].factor;
    }
    return 1;
}

lm_status money_parse(const char *text, money *out, lm_error *err)
{
    char        letters[16], room[80];
    const char *currency = letters;
    double      amount;

    if (!split(spelled(text, room, sizeof room), &amount, letters, sizeof letters) || amount < 0)
        return lm_error_set(err, LM_E_ARG,
                            "expected an amount of money such as 500USD, found '%.40s'", text);
    amount *= thousands(&currency);
    return amount_of(amount, currency, out, err);
}

/* `per`: "/h"; `such`: an example. */
static lm_status parse_per(const char *text, const char *per, const char *such, money *out,
                           lm_error *err)
{
    char   currency[16], room[80], *slash;
    double amount;

    if (!split(spelled(text, room, sizeof room), &amount, currency, sizeof currency) ||
        !(slash = strchr(currency, '/')) || strcmp(slash, per) != 0 || !(amount > 0))
        return lm_error_set(err, LM_E_ARG, "expected a price above 0 such as %s, found '%.40s'",
                            such, text);
    *slash = '\0';
    return amount_of(amount, currency, out, err);
}

lm_status money_parse_per_hour(const char *text, money *out, lm_error *err)
{
    return parse_per(text, "/h", "2.50 USD/h", out, err);
}

lm_status money_parse_per_kwh(const char *text, money *out, lm_error *err)
{
    return parse_per(text, "/kWh", "0.30 EUR/kWh", out, err);
}

const char *money_print(const money *m, char buffer[MONEY_TEXT])
{
    char whole[32];

    if (m->amount >= 100 && m->amount < 1e15)
        snprintf(buffer, MONEY_TEXT, "%s %s",
                 text_grouped((uint64_t)llround(m->amount), whole, sizeof whole), m->currency);
    else if (m->amount >= 0.01 && m->amount < 100)
        snprintf(buffer, MONEY_TEXT, "%.2f %s", m->amount, m->currency);
    else
        snprintf(buffer, MONEY_TEXT, "%.3g %s", m->amount, m->currency);
    return buffer;
}

static const exchange_rate *rate_of(const exchange *x, const char *currency)
{
    for (size_t i = 0; i < x->n; i++)
        if (!strcmp(x->rate[i].of, currency))
            return &x->rate[i];
    return NULL;
}

/* Value of one unit in the currency at the end of the chain, which has no rate of its own. */
static money at_root(const exchange *x, const char *currency)
{
    money m = { .amount = 1 };

    strcpy(m.currency, currency);
    for (const exchange_rate *r; (r = rate_of(x, m.currency));) {
        m.amount *= r->worth.amount;
        strcpy(m.currency, r->worth.currency);
    }
    return m;
}

lm_status exchange_add(exchange *x, const exchange_rate *rate, lm_error *err)
{
    if (rate_of(x, rate->of))
        return lm_error_set(err, LM_E_ARG, "%s has a rate already", rate->of);
    if (!strcmp(at_root(x, rate->worth.currency).currency, rate->of))
        return lm_error_set(err, LM_E_ARG, "the rates of %s and %s make a circle", rate->of,
                            rate->worth.currency);
    if (x->n == EXCHANGE_RATES_MAX)
        return lm_error_set(err, LM_E_UNSUPPORTED, "more than %d rates", EXCHANGE_RATES_MAX);
    x->rate[x->n++] = *rate;
    return LM_OK;
}

lm_status exchange_to(const exchange *x, const money *from, const char *currency, money *out,
                      lm_error *err)
{
    const money here = at_root(x, from->currency), there = at_root(x, currency);

    if (!strcmp(from->currency, currency)) {
        *out = *from;
        return LM_OK;
    }
    if (strcmp(here.currency, there.currency) != 0)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "no rate leads from %s to %s: write one into [currency], such as %s = "
                            "1.5 %s",
                            from->currency, currency, from->currency, currency);
    out->amount = from->amount * here.amount / there.amount;
    strcpy(out->currency, currency);
    return LM_OK;
}

money money_of_run(const money *node_hour, int64_t nodes, double seconds)
{
    money run = *node_hour;

    run.amount = seconds / 3600 * (double)nodes * node_hour->amount;
    return run;
}
