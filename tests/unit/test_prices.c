/* Money and price files: amounts, currencies, rates, whose price it is, refusals, and the shipped
 * file. */
#include "check.h"
#include "folder.h"

#include "plan/prices.h"

static void amounts_have_a_number_and_a_currency(void **state)
{
    static const struct {
        const char *text;
        double      amount;
        const char *currency;
    } cases[] = {
        { "500USD", 500, "USD" }, { "$500", 500, "USD" },       { "12.5 €", 12.5, "EUR" },
        { "£3e2", 300, "GBP" },   { "1.5e3 EUR", 1500, "EUR" }, { " 0.25 CHF ", 0.25, "CHF" },
        { "5EUR", 5, "EUR" },     { "0JPY", 0, "JPY" },         { "2e-2GBP", 0.02, "GBP" },
    };
    static const struct {
        const char *text, *error;
    } bad[] = {
        { "500", "expected an amount of money such as 500USD, found '500'" },
        { "USD", "expected an amount of money such as 500USD, found 'USD'" },
        { "-5USD", "expected an amount of money such as 500USD, found '-5USD'" },
        { "5usd", "unknown currency 'usd': expected a code of ISO 4217 such as USD or EUR" },
        { "5UDS", "unknown currency 'UDS': expected a code of ISO 4217 such as USD or EUR" },
        { "5SD ", "unknown currency 'SD': expected a code of ISO 4217 such as USD or EUR" },
        { "5USD/h", "unknown currency 'USD/h': expected a code of ISO 4217 such as USD or EUR" },
    };
    money    m;
    lm_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(money_parse(cases[i].text, &m, NULL), LM_OK);
        assert_close(m.amount, cases[i].amount, 1e-15);
        assert_string_equal(m.currency, cases[i].currency);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(money_parse(bad[i].text, &m, &err), LM_E_ARG);
        assert_error(err, LM_E_ARG, "%s", bad[i].error);
    }
    assert_int_equal(money_parse_per_hour("2.50USD/h", &m, NULL), LM_OK);
    assert_close(m.amount, 2.5, 1e-15);
    assert_int_equal(money_parse_per_hour("$2.50/h", &m, NULL), LM_OK);
    assert_close(m.amount, 2.5, 1e-15);
    assert_string_equal(m.currency, "USD");
    assert_int_equal(money_parse_per_hour("2.50/h$", &m, &err), LM_E_ARG);
    assert_int_equal(money_parse_per_hour("2.50 USD", &m, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "expected a price above 0 such as 2.50 USD/h, found '2.50 USD'");
    assert_int_equal(money_parse_per_hour("0USD/h", &m, &err), LM_E_ARG);
    assert_int_equal(money_parse_per_hour("2USD/min", &m, &err), LM_E_ARG);
    assert_int_equal(money_parse_per_hour("2XXY/h", &m, &err), LM_E_ARG);
}

static void amounts_are_printed_as_people_write_them(void **state)
{
    static const struct {
        money       m;
        const char *text;
    } cases[] = {
        { { 1040.4, "USD" }, "1,040 USD" },
        { { 99.994, "USD" }, "99.99 USD" },
        { { 0.5, "EUR" }, "0.50 EUR" },
        { { 0.00123, "EUR" }, "0.00123 EUR" },
        { { 1234567.5, "JPY" }, "1,234,568 JPY" },
        { { 0, "USD" }, "0 USD" },
        { { 2e20, "USD" }, "2e+20 USD" },
    };
    char text[MONEY_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(money_print(&cases[i].m, text), cases[i].text);
}

/* EUR 1.1 USD, CHF 2 EUR, so CHF 2.2 USD; GBP 1.32 USD, so CHF 2.2 / 1.32 GBP. */
static void rates_lead_from_any_currency_to_any_other(void **state)
{
    static const exchange_rate rates[] = { { "EUR", { 1.1, "USD" } },
                                           { "CHF", { 2, "EUR" } },
                                           { "GBP", { 1.32, "USD" } } };
    exchange                   x       = { .n = 0 };
    money                      m;
    lm_error                   err;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(exchange_add(&x, &rates[i], NULL), LM_OK);
    assert_int_equal(exchange_to(&x, &(money){ 3, "CHF" }, "USD", &m, NULL), LM_OK);
    assert_close(m.amount, 6.6, 1e-14);
    assert_string_equal(m.currency, "USD");
    assert_int_equal(exchange_to(&x, &(money){ 3, "CHF" }, "GBP", &m, NULL), LM_OK);
    assert_close(m.amount, 5, 1e-14);
    assert_int_equal(exchange_to(&x, &(money){ 11, "USD" }, "EUR", &m, NULL), LM_OK);
    assert_close(m.amount, 10, 1e-14);
    assert_int_equal(exchange_to(&x, &(money){ 7, "JPY" }, "JPY", &m, NULL), LM_OK);
    assert_close(m.amount, 7, 1e-15);
    assert_int_equal(exchange_to(&x, &(money){ 7, "JPY" }, "USD", &m, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND,
                 "no rate leads from JPY to USD: write one into [currency], such as JPY = 1.5 USD");
    assert_int_equal(exchange_add(&x, &rates[0], &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "EUR has a rate already");
    assert_int_equal(exchange_add(&x, &(exchange_rate){ "USD", { 1, "CHF" } }, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "the rates of USD and CHF make a circle");
}

static price_list *load(const char *text, lm_error *err)
{
    price_list *list = NULL;

    *err = (lm_error){ LM_OK, "" };
    prices_load(folder_file("p.ini", text), &list, err);
    return list;
}

static void a_node_costs_its_price_or_that_of_its_devices(void **state)
{
    lm_error    err;
    price_list *list =
        load("[big]\nlist = 24 USD/h\nper = node\ndevices = 8\ndate = 2026-01-31\n"
             "checked = no\nsource = a page\n[small]\nlist = 2.5 USD/h\nspot = 1 USD/h\n",
             &err);
    const price *p = NULL;
    money        m;

    (void)state;
    assert_string_equal(err.text, "");
    assert_int_equal(list->n, 2);
    assert_int_equal(prices_find(list, "BIG", &p, &err), LM_OK);
    assert_int_equal(p->check, PRICE_NOT_CHECKED);
    assert_string_equal(p->date, "2026-01-31");
    assert_string_equal(p->source, "a page");
    assert_int_equal(p->line, 1);
    /* half of a node that is rented whole */
    assert_int_equal(price_of_node(p, PRICE_LIST, 4, &m, &err), LM_OK);
    assert_close(m.amount, 24, 1e-15);
    assert_int_equal(price_of_node(p, PRICE_LIST, 9, &m, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG,
                 "p.ini:1: a node of 'big' has 8 devices, fewer than the 9 asked for "
                 "(--devices-per-node)");
    assert_int_equal(price_of_node(p, PRICE_SPOT, 4, &m, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND,
                 "p.ini:1: 'big' has no spot price: write spot = 2.50 USD/h, or leave out --spot");
    assert_int_equal(prices_find(list, "small", &p, &err), LM_OK);
    assert_int_equal(p->check, PRICE_CHECK_UNKNOWN);
    assert_int_equal(price_of_node(p, PRICE_SPOT, 4, &m, &err), LM_OK);
    assert_close(m.amount, 4, 1e-15);
    assert_int_equal(prices_find(list, "medium", &p, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND, "p.ini has no price of 'medium'; it has big, small");
    prices_free(list);
}

static lm_status of_device(const price_list *list, const device_list *devices, const char *name,
                           price_tier tier, int64_t used, const price **out, size_t *among,
                           lm_error *err)
{
    return prices_of_device(list, devices, &(price_asked){ name, tier, used }, out, among, err);
}

/* Of a device, Z: half a node at 8 USD is dearer than one device at 3, four devices at 12 are not. */
static void of_several_prices_the_cheapest_is_taken(void **state)
{
    static const struct {
        price_tier  tier;
        int64_t     used;
        const char *name;
    } cases[] = { { PRICE_LIST, 1, "single" },
                  { PRICE_LIST, 4, "node" },
                  { PRICE_SPOT, 1, "euro" },
                  { PRICE_LIST, 9, "single" } };
    lm_error     err;
    device_list *devices = NULL;
    price_list  *list    = load("[node]\ndevice = Z\nlist = 8 USD/h\nper = node\ndevices = 8\n"
                                    "[single]\ndevice = Z\nlist = 3 USD/h\n"
                                    "[euro]\ndevice = Z\nlist = 2.5 EUR/h\nspot = 1 EUR/h\ndevices = 2\n"
                                    "[currency]\nEUR = 1.5 USD\n",
                                &err);
    const price *p       = NULL;
    size_t       n       = 0;

    (void)state;
    assert_string_equal(err.text, "");
    assert_int_equal(devices_load(folder_file("d.ini", "[Z]\n"), &devices, &err), LM_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(of_device(list, devices, "Z", cases[i].tier, cases[i].used, &p, &n, &err),
                         LM_OK);
        assert_string_equal(p->name, cases[i].name);
        assert_int_equal(n, 3);
    }
    /* none has so many devices at spot prices: the first reason */
    assert_int_equal(of_device(list, devices, "Z", PRICE_SPOT, 4, &p, &n, &err), LM_E_NOTFOUND);
    assert_error(
        err, LM_E_NOTFOUND,
        "none of the 3 prices of 'Z' has a spot price: give a file that has one (--prices), "
        "--price 2.50USD/h, or leave out --spot");
    prices_free(list);

    list = load("[a]\ndevice = Z\nlist = 3 USD/h\n[b]\ndevice = Z\nlist = 2 EUR/h\n", &err);
    assert_int_equal(of_device(list, devices, "Z", PRICE_LIST, 1, &p, &n, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND,
                 "p.ini:4: 'b' beside 'a': no rate leads from EUR to USD: write one into "
                 "[currency], such as EUR = 1.5 USD");
    prices_free(list);
    devices_free(devices);
}

static void a_device_is_found_by_any_of_its_names(void **state)
{
    lm_error     err;
    device_list *devices = NULL;
    price_list  *list    = load("[rented]\ndevice = BX\nlist = 1 USD/h\n[Board Y]\nlist = 2 USD/h\n"
                                    "[a]\ndevice = Z\nlist = 3 USD/h\n[b]\ndevice = Z\nlist = 4 USD/h\n",
                                &err);
    const price *p       = NULL;
    size_t       n       = 0;

    (void)state;
    assert_string_equal(err.text, "");
    assert_int_equal(devices_load(folder_file("d.ini", "[Board X]\nalso = BX\n[Board Y]\n[Z]\n"),
                                  &devices, &err),
                     LM_OK);
    assert_int_equal(of_device(list, devices, "NVIDIA Board X", PRICE_LIST, 1, &p, &n, &err),
                     LM_OK);
    assert_string_equal(p->name, "rented");
    assert_int_equal(of_device(list, devices, "board-y", PRICE_LIST, 1, &p, &n, &err), LM_OK);
    assert_string_equal(p->name, "Board Y");
    assert_int_equal(n, 1);
    assert_int_equal(of_device(list, devices, "Q", PRICE_LIST, 1, &p, &n, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND,
                 "p.ini has no price of 'Q': write one there, or give --price 2.50USD/h");
    prices_free(list);
    devices_free(devices);
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "[x]\nlist = 2.5\n",
          "p.ini:2: list: expected a price above 0 such as 2.50 USD/h, found '2.5'" },
        { "[x]\nlist = 2.5 UDS/h\n",
          "p.ini:2: list: unknown currency 'UDS': expected a code of ISO 4217 such as USD or EUR" },
        { "[x]\nlist = -1 USD/h\n",
          "p.ini:2: list: expected a price above 0 such as 2.50 USD/h, found '-1 USD/h'" },
        { "[x]\ncost = 2 USD/h\n",
          "p.ini:2: unknown key 'cost' of a price; known are list spot per devices device network also date "
          "source checked note" },
        { "\n[x]\ndate = 2026-01\n", "p.ini:2: [x] has no price: list = 2.50 USD/h, or spot" },
        { "[x]\nlist = 1 USD/h\nspot = 1 EUR/h\n",
          "p.ini:1: [x] has two currencies, USD and EUR: write both prices in one" },
        { "[x]\nlist = 1 USD/h\nper = node\n",
          "p.ini:1: [x] is a price of a node: say how many devices it has (devices = 8)" },
        { "[x]\nlist = 1 USD/h\nper = rack\n",
          "p.ini:3: per: expected device or node, found 'rack'" },
        { "[x]\nlist = 1 USD/h\ndevices = 0\n",
          "p.ini:3: devices: expected a whole number from 1 to 1024, found '0'" },
        { "[x]\nlist = 1 USD/h\ndate = 2026-13\n",
          "p.ini:3: date: expected a day or month such as 2026-01-31, found '2026-13'" },
        { "[x]\nlist = 1 USD/h\ndate = yesterday\n",
          "p.ini:3: date: expected a day or month such as 2026-01-31, found 'yesterday'" },
        { "[x]\nlist = 1 USD/h\nchecked = maybe\n",
          "p.ini:3: checked: expected yes or no, found 'maybe'" },
        { "[currency]\nEURO = 1 USD\n",
          "p.ini:2: unknown currency 'EURO': expected a code of ISO 4217 such as EUR" },
        { "[currency]\nEUR = 0 USD\n", "p.ini:2: EUR: a currency is worth more than 0" },
        { "[currency]\nEUR = 1 EUR\n", "p.ini:2: EUR: the rates of EUR and EUR make a circle" },
        { "[currency]\nEUR = 1 USD\nUSD = 1 EUR\n",
          "p.ini:3: USD: the rates of USD and EUR make a circle" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_error    err;
        price_list *list = load(cases[i].text, &err);

        assert_null(list);
        assert_string_equal(err.text, cases[i].error);
    }
}

/* Whoever reads a figure there must be able to find where it is from; none claims to be checked. */
static void shipped_prices_name_their_source_and_date(void **state)
{
    price_list  *list    = NULL;
    device_list *devices = NULL;
    lm_error     err     = { LM_OK, "" };

    (void)state;
    assert_int_equal(prices_open(NULL, &list, &err), LM_OK);
    assert_int_equal(devices_open(NULL, &devices, &err), LM_OK);
    assert_true(list->n > 0 && list->n_own == 0);
    for (size_t i = 0; i < list->n; i++) {
        const price  *p = &list->price[i];
        const device *d = NULL;

        assert_non_null(p->source);
        assert_non_null(p->date);
        assert_int_equal(p->check, PRICE_NOT_CHECKED);
        assert_int_equal(devices_find(devices, p->device ? p->device : p->name, &d, &err), LM_OK);
    }
    prices_free(list);
    devices_free(devices);
}

/* The first of a name is found, and rates of one's own replace the shipped ones. */
static void ones_own_prices_come_first(void **state)
{
    price_list  *list    = NULL;
    device_list *devices = NULL;
    const price *p       = NULL;
    size_t       n       = 0;
    lm_error     err     = { LM_OK, "" };

    (void)state;
    assert_int_equal(devices_open(NULL, &devices, &err), LM_OK);
    folder_file("own.ini",
                "[mine]\ndevice = H100 SXM\nlist = 1.25 EUR/h\n[currency]\nEUR = 2 USD\n");
    assert_int_equal(prices_open("own.ini", &list, &err), LM_OK);
    assert_int_equal(list->n_own, 1);
    assert_true(list->n > 1);
    assert_int_equal(list->rates.n, 1);
    assert_int_equal(of_device(list, devices, "NVIDIA H100 80GB HBM3", PRICE_LIST, 1, &p, &n, &err),
                     LM_OK);
    assert_int_equal(n, 1);
    assert_string_equal(p->name, "mine");
    assert_string_equal(p->path, "own.ini");
    prices_free(list);
    devices_free(devices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_have_a_number_and_a_currency),
        cmocka_unit_test(amounts_are_printed_as_people_write_them),
        cmocka_unit_test(rates_lead_from_any_currency_to_any_other),
        cmocka_unit_test(a_node_costs_its_price_or_that_of_its_devices),
        cmocka_unit_test(of_several_prices_the_cheapest_is_taken),
        cmocka_unit_test(a_device_is_found_by_any_of_its_names),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
        cmocka_unit_test(shipped_prices_name_their_source_and_date),
        cmocka_unit_test(ones_own_prices_come_first),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
