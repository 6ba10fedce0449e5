/* Price files. */
#include "plan/prices.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/ini_keys.h"
#include "base/no_memory.h"
#include "base/place.h"
#include "base/text.h"

#define CURRENCY_SECTION "currency"

static const char *const tiers[] = { [PRICE_LIST] = "list", [PRICE_SPOT] = "spot" };

const char *price_tier_name(price_tier t)
{
    return tiers[t];
}

/* "2026-01" or "2026-01-31". */
static bool is_date(const char *text)
{
    static const char form[] = "dddd-dd-dd";
    const size_t      n      = strlen(text);

    for (size_t i = 0; i < n && i < sizeof form; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    return (n == 7 || n == 10) && atoi(text + 5) >= 1 && atoi(text + 5) <= 12 &&
           (n == 7 || (atoi(text + 8) >= 1 && atoi(text + 8) <= 31));
}

static lm_status parse_date(const char *text, const char **out, lm_error *err)
{
    if (!is_date(text))
        return lm_error_set(err, LM_E_ARG,
                            "expected a day or month such as 2026-01-31, found '%.40s'", text);
    *out = text;
    return LM_OK;
}

static lm_status parse_check(const char *text, price_check *out, lm_error *err)
{
    bool            yes;
    const lm_status status = text_bool(text, &yes, err);

    if (!status)
        *out = yes ? PRICE_CHECKED : PRICE_NOT_CHECKED;
    return status;
}

VALUE_TYPE(type_hour, money, money_parse_per_hour);
VALUE_TYPE(type_date, const char *, parse_date);
VALUE_TYPE(type_check, price_check, parse_check);

static const ini_key keys[] = {
    INI_KEY("list", price, hour[PRICE_LIST], &type_hour),
    INI_KEY("spot", price, hour[PRICE_SPOT], &type_hour),
    INI_KEY("per", price, per, &type_choice, .choices = "device or node"),
    INI_KEY("devices", price, devices, &type_whole, 1, 1024, /* a larger number is a typing error */
            .outside = "expected a whole number from 1 to 1024, found"),
    INI_KEY("device", price, device, &type_text),
    INI_KEY("network", price, network, &type_text),
    INI_KEY("also", price, also, &type_text),
    INI_KEY("date", price, date, &type_date),
    INI_KEY("source", price, source, &type_text),
    INI_KEY("checked", price, check, &type_check),
    INI_KEY("note", price, note, &type_text),
    { .name = NULL },
};

/* Position in the file. */
typedef struct reading {
    const ini_document *doc;
    arena              *arena;
    lm_error           *err;
} reading;

/* Checks the keys of a section against each other. */
static lm_status check_price(const reading *r, const price *p)
{
    const money *list = &p->hour[PRICE_LIST], *spot = &p->hour[PRICE_SPOT];

    if (isnan(list->amount) && isnan(spot->amount))
        return ini_fail(r->doc, r->err, p->line, LM_E_SYNTAX,
                        "[%.80s] has no price: list = 2.50 USD/h, or spot", p->name);
    if (!isnan(list->amount) && !isnan(spot->amount) && strcmp(list->currency, spot->currency) != 0)
        return ini_fail(r->doc, r->err, p->line, LM_E_SYNTAX,
                        "[%.80s] has two currencies, %s and %s: write both prices in one", p->name,
                        list->currency, spot->currency);
    if (p->per == PRICE_PER_NODE && !p->devices)
        return ini_fail(r->doc, r->err, p->line, LM_E_SYNTAX,
                        "[%.80s] is a price of a node: say how many devices it has (devices = 8)",
                        p->name);
    return LM_OK;
}

static lm_status read_section(const reading *r, const ini_section *s, price *p)
{
    lm_status status;

    *p = (price){ .name = arena_text(r->arena, s->name, strlen(s->name)),
                  .path = arena_text(r->arena, r->doc->path, strlen(r->doc->path)),
                  .line = s->line };
    if (!p->name || !p->path)
        return no_memory(r->err);
    for (int t = 0; t < N_PRICE_TIERS; t++)
        p->hour[t].amount = NAN;
    status = ini_keys_read(r->doc->path, s, keys, "a price", r->arena, p, r->err);
    return status ? status : check_price(r, p);
}

static lm_status read_rates(const reading *r, const ini_section *s, exchange *out)
{
    out->n = 0;
    for (size_t i = 0; i < s->n_pairs; i++) {
        const ini_pair *pair = &s->pair[i];
        lm_error        why  = { LM_OK, "" };
        exchange_rate   rate;
        lm_status       status = LM_OK;

        if (!currency_known(pair->key))
            return ini_fail(r->doc, r->err, pair->line, LM_E_ARG,
                            "unknown currency '%.12s': expected a code of ISO 4217 such as EUR",
                            pair->key);
        strcpy(rate.of, pair->key);
        status = money_parse(pair->value, &rate.worth, &why);
        if (!status && !(rate.worth.amount > 0 && isfinite(rate.worth.amount)))
            status = lm_error_set(&why, LM_E_ARG, "a currency is worth more than 0");
        if (!status)
            status = exchange_add(out, &rate, &why);
        if (status)
            return ini_fail(r->doc, r->err, pair->line, status, "%s: %s", pair->key, why.text);
    }
    return LM_OK;
}

/* Appends the prices of a file. `rates`: its exchange rates replace those of the list. */
static lm_status append(price_list *list, const char *path, bool rates, lm_error *err)
{
    ini_document *doc    = NULL;
    lm_status     status = ini_load(path, &doc, err);
    reading       r      = { .doc = doc, .arena = list->arena, .err = err };
    price        *all    = NULL;

    if (!status) {
        all = arena_array(list->arena, list->n + doc->n_sections + 1, sizeof *all);
        if (!all)
            status = no_memory(err);
    }
    if (!status && list->n)
        memcpy(all, list->price, list->n * sizeof *all);
    if (!status)
        list->price = all;
    for (size_t i = 0; !status && i < doc->n_sections; i++) {
        const ini_section *s = &doc->section[i];

        if (!strcmp(s->name, CURRENCY_SECTION)) {
            if (rates)
                status = read_rates(&r, s, &list->rates);
        } else if (!(status = read_section(&r, s, &all[list->n]))) {
            list->n++;
        }
    }
    ini_free(doc);
    return status;
}

static lm_status read_files(const char *own, const char *shipped, price_list **out, lm_error *err)
{
    const char *first  = own ? own : shipped;
    price_list *list   = calloc(1, sizeof *list);
    lm_status   status = list && (list->arena = arena_new()) &&
                               (list->path = arena_text(list->arena, first, strlen(first)))
                             ? LM_OK
                             : no_memory(err);

    if (!status && own) {
        status = append(list, own, true, err);
        if (!status)
            list->n_own = list->n;
    }
    if (!status && shipped)
        status = append(list, shipped, !own || !list->rates.n, err);
    if (status) {
        prices_free(list);
        return status;
    }
    *out = list;
    return LM_OK;
}

lm_status prices_load(const char *path, price_list **out, lm_error *err)
{
    return read_files(path, NULL, out, err);
}

lm_status prices_open(const char *own, price_list **out, lm_error *err)
{
    char      shipped[PATH_MAX];
    lm_status status =
        place_installed(LAYERMETER_CONFIG_DIR "/prices.ini", shipped, sizeof shipped, err);

    return status ? status : read_files(own, shipped, out, err);
}

void prices_free(price_list *list)
{
    if (!list)
        return;
    arena_free(list->arena);
    free(list);
}
