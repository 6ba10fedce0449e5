/* Fields of a record: one table by hand, in each of its views. */
#define _XOPEN_SOURCE 700 /* pseudo terminals */
#include "check.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "report/memory_fields.h"
#include "report/plan/fields.h"
#include "report/scale_view.h"

typedef struct car {
    double      seconds, metres, watts;
    uint64_t    wheels;
    int64_t     seats; /* below 0: unknown */
    const char *maker; /* NULL: unknown */
    char        name[16];
    bool        sold;
} car;

enum { WITH_POWER = 1, WITH_SEATS = 2 };

static const char *const gears[] = { "first", "second" };

static const char *gear(const void *whole, size_t i)
{
    return i < (whole ? *(const size_t *)whole : 2) ? gears[i] : NULL;
}

REAL_OF(speed, car, r->metres / r->seconds)
REAL_OF(geared, car, (double)(i + 1) * r->metres)
COUNT_OF(axles, car, r->wheels / 2)
TEXT_OF(called, car, (snprintf(room, FIELD_TEXT_MAX, "the %s", r->name), room))

static const field fields[] = {
    { "name", "name", "car", FIELD_AT(car, name), .help = "of the car" },
    { "lap_ms", "lap [ms]", "lap", FIELD_AT(car, seconds), IN_MS, .help = "a lap" },
    { "road_km", NULL, NULL, FIELD_AT(car, metres), .per = 1000, IN_UNIT("km", 1) },
    { "speed", "m/s", NULL, .real = speed, IN_UNIT("m/s", 1) },
    { "wheels", "wheels", NULL, FIELD_AT(car, wheels) },
    { "axles", NULL, "axles", .count = axles },
    { "seats", "seats", NULL, FIELD_AT(car, seats), .worth = WITH_SEATS },
    { "power_w", "power [W]", NULL, FIELD_AT(car, watts), IN_UNIT("W", 1), .when = WITH_POWER },
    { "maker", NULL, NULL, FIELD_AT(car, maker) },
    { "sold", NULL, NULL, FIELD_AT(car, sold), .not_in = IN_CSV },
    { "%s_m", "%s [m]", NULL, .each = gear, .real = geared, IN_UNIT("m", 0) },
    { "title", NULL, NULL, .text = called, .not_in = IN_CSV },
    { 0 },
};

static const car beetle = { 1.6, 2000, NAN, 4000, 5, "VW", "beetle", true };
static const car ghost  = { NAN, 0, NAN, 0, -1, NULL, "ghost", false };

static const size_t one_gear = 1;

static field_view view_of(field_place in, unsigned facts)
{
    return (field_view){ .fields = fields, .in = in, .facts = facts, .whole = &one_gear, .ms = 1 };
}

/* What a view makes of cars; free() it. */
static char *written(const field_view *v, const car *const list[], size_t n)
{
    char      *text = NULL;
    size_t     size = 0;
    FILE      *out  = open_memstream(&text, &size);
    field_rows rows = field_rows_of(v);

    for (size_t i = 0; i < n; i++)
        field_row(&rows, list[i]);
    if (v->in == IN_PAGE)
        table_html(rows.t, out);
    else
        assert_int_equal(table_print(rows.t,
                                     v->in == IN_CSV    ? FORMAT_CSV
                                     : v->in == IN_JSON ? FORMAT_JSON
                                                        : FORMAT_TABLE,
                                     out, NULL),
                         LM_OK);
    fclose(out);
    table_free(rows.t);
    return text;
}

static void check_written(field_view v, const car *const list[], size_t n, const char *expected)
{
    char *text = written(&v, list, n);

    assert_string_equal(text, expected);
    free(text);
}

static const car *const both[] = { &beetle, &ghost };

static void files_have_every_field_in_its_unit(void **state)
{
    (void)state;
    check_written(view_of(IN_CSV, WITH_POWER), both, 1,
                  "name,lap_ms,road_km,speed,wheels,axles,seats,power_w,maker,first_m\n"
                  "beetle,1600,2,1250,4000,2000,5,,VW,2000\n");
}

static void a_table_has_the_fields_with_heads_and_their_digits(void **state)
{
    (void)state;
    check_written(view_of(IN_TABLE, 0), both, 1,
                  "name    lap [ms]     m/s  wheels  first [m]\n"
                  "beetle   1600.00  1250.0   4,000       2000\n");
    check_written(view_of(IN_TABLE, WITH_SEATS | WITH_POWER), both, 1,
                  "name    lap [ms]     m/s  wheels  seats  power [W]  first [m]\n"
                  "beetle   1600.00  1250.0   4,000      5          -       2000\n");
}

static void a_page_has_heads_and_digits_of_its_own(void **state)
{
    field_view v    = view_of(IN_PAGE, 0);
    char      *text = written(&v, both, 1);

    (void)state;
    assert_non_null(strstr(text, "car</th><th scope=\"col\" class=\"n\">lap</th>"));
    assert_non_null(strstr(text, "<td class=\"n\" data-of=\"lap\">1600.0</td>"
                                 "<td class=\"n\" data-of=\"axles\">2,000</td>"));
    assert_null(strstr(text, "wheels"));
    free(text);
}

static void what_is_unknown_is_never_zero(void **state)
{
    static const car *const unknown[] = { &ghost };
    field_view              v         = view_of(IN_JSON, WITH_POWER);
    char                   *text      = written(&v, unknown, 1);

    (void)state;
    check_written(view_of(IN_CSV, WITH_POWER), unknown, 1,
                  "name,lap_ms,road_km,speed,wheels,axles,seats,power_w,maker,first_m\n"
                  "ghost,,0,,0,0,,,,0\n");
    check_written(view_of(IN_TABLE, WITH_SEATS), unknown, 1,
                  "name   lap [ms]  m/s  wheels  seats  first [m]\n"
                  "ghost         -    -       0      -          0\n");
    assert_non_null(strstr(text, "\"lap_ms\": null"));
    assert_non_null(strstr(text, "\"seats\": null"));
    assert_non_null(strstr(text, "\"maker\": null"));
    assert_non_null(strstr(text, "\"wheels\": 0"));
    free(text);
}

static void one_record_becomes_keys_of_an_object(void **state)
{
    field_view v    = view_of(IN_JSON, 0);
    char      *text = NULL;
    size_t     size = 0;
    FILE      *out  = open_memstream(&text, &size);
    json       j    = { .out = out, .one_line = true };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        json_open(&j, NULL, '{');
        fields_json(&v, both[i], &j);
        json_close(&j, '}');
    }
    fclose(out);
    assert_string_equal(
        text, "{\"name\": \"beetle\", \"lap_ms\": 1600, \"road_km\": 2, \"speed\": 1250, "
              "\"wheels\": 4000, \"axles\": 2000, \"seats\": 5, \"maker\": \"VW\", \"sold\": true, "
              "\"first_m\": 2000, \"title\": \"the beetle\"}\n"
              "{\"name\": \"ghost\", \"lap_ms\": null, \"road_km\": 0, \"speed\": null, "
              "\"wheels\": 0, \"axles\": 0, \"seats\": null, \"maker\": null, \"sold\": false, "
              "\"first_m\": 0, \"title\": \"the ghost\"}\n");
    free(text);
}

/* Another table picks rows of this one by their keys, with heads and facts of its own. */
static void a_row_without_a_value_takes_it_from_its_namesake(void **state)
{
    static const field  picked[] = { { "lap_ms", .title = "round" },
                                     { "wheels", .title = "wheels", .when = WITH_SEATS },
                                     { "%s_m", .title = "%s" },
                                     { "half", .title = "half", .count = axles },
                                     { 0 } };
    static const size_t two      = 2;
    field_view          v        = { picked, fields, IN_TABLE, 0, &two, 0, NULL };

    (void)state;
    check_written(v, both, 1,
                  "  round  first  second   half\n"
                  "1600.00   2000    4000  2,000\n");
}

/* ---- tables for a terminal: no test has one, so that they are 100 wide ---- */

/* 100 characters hold the name and both of these, or the name, the first and a time. */
#define FORTY "a234567890123456789012345678901234567890"
#define FIFTY "b2345678901234567890123456789012345678901234567890"

static const field wide_fields[] = {
    { "name", "name", NULL, FIELD_AT(car, name) },
    { "a", FORTY, NULL, FIELD_AT(car, wheels), .yields = 1 },
    { "low", FIFTY, NULL, FIELD_AT(car, wheels), .yields = 2 },
    { "high", "high", NULL, FIELD_AT(car, wheels), .yields = 2 },
    { "run_s", "run", NULL, FIELD_AT(car, metres), IN_UNIT("s", TABLE_DURATION), .yields = 3 },
    { "maker", "maker", NULL, FIELD_AT(car, maker), .once = "made by" },
    { 0 },
};

static const car twin = { 1.6, 7200, NAN, 4, 5, "VW", "twin", true };

static void columns_yield_to_the_width_by_their_numbers_and_groups(void **state)
{
    static const car *const one[] = { &beetle };

    (void)state;
    /* low fits, high does not: neither is there, and the run, which fits, is */
    check_written((field_view){ .fields = wide_fields, .in = IN_TABLE }, one, 1,
                  "name    " FORTY "       run\n"
                  "beetle                                     4,000  33.3 min\n"
                  "made by: VW\n"
                  "left out: low, high (--wide)\n");
}

static void a_wide_table_has_every_column(void **state)
{
    static const car *const one[] = { &beetle };
    const table_look        look  = { .wide = true };

    (void)state;
    check_written((field_view){ .fields = wide_fields, .in = IN_TABLE, .look = &look }, one, 1,
                  "name    " FORTY "  " FIFTY "   high       run\n"
                  "beetle                                     4,000"
                  "                                               4,000  4,000  33.3 min\n"
                  "made by: VW\n");
}

/* What a terminal of so many columns shows of one car; free() it. */
static char *on_terminal(const field *of, unsigned short columns)
{
    const struct winsize size = { .ws_row = 24, .ws_col = columns };
    const int            ours = posix_openpt(O_RDWR | O_NOCTTY);
    struct termios       raw;
    char                *text = calloc(1, 2048);
    size_t               n    = 0;
    FILE                *out;
    field_rows           rows = field_rows_of(&(field_view){ .fields = of, .in = IN_TABLE });

    field_row(&rows, &beetle);
    assert_true(text && ours >= 0 && !grantpt(ours) && !unlockpt(ours));
    assert_non_null(out = fopen(ptsname(ours), "w"));
    assert_int_equal(tcgetattr(fileno(out), &raw), 0);
    raw.c_oflag &= ~(tcflag_t)OPOST; /* lines end as they are written */
    assert_int_equal(tcsetattr(fileno(out), TCSANOW, &raw), 0);
    assert_int_equal(ioctl(fileno(out), TIOCSWINSZ, &size), 0);
    assert_int_equal(table_print(rows.t, FORMAT_TABLE, out, NULL), LM_OK);
    fputs("\f", out);
    fflush(out);
    while (n < 2047 && !strchr(text, '\f')) {
        const ssize_t got = read(ours, text + n, 2047 - n);

        assert_true(got > 0);
        n += (size_t)got;
    }
    *strchr(text, '\f') = '\0';
    fclose(out);
    close(ours);
    table_free(rows.t);
    return text;
}

static void check_terminal(const field *of, unsigned short columns, const char *expected)
{
    char *text = on_terminal(of, columns);

    assert_string_equal(text, expected);
    free(text);
}

TEXT_OF(praise, car, r->wheels ? "the car of the people, of many years and of all continents" : "")

static void a_terminal_folds_the_last_text_and_leaves_out_what_is_beside_it(void **state)
{
    static const field silent[] = { { "name", "name", NULL, FIELD_AT(car, name) },
                                    { "wheels", "wheels", NULL, FIELD_AT(car, wheels) },
                                    { "run_s", FORTY, NULL, FIELD_AT(car, metres),
                                      IN_UNIT("s", 0) },
                                    { "praise", "praise", NULL, .text = praise },
                                    { 0 } };
    static const field ranked[] = {
        { "name", "name", NULL, FIELD_AT(car, name) },
        { "wheels", "wheels", NULL, FIELD_AT(car, wheels), .yields = -2 },
        { "praise", "praise", NULL, .text = praise },
        { "run_s", FORTY, NULL, FIELD_AT(car, metres), IN_UNIT("s", 0), .yields = -1 },
        { 0 }
    };
    char *text;

    (void)state;
    check_terminal(silent, 50,
                   "name    wheels  praise\n"
                   "beetle   4,000  the car of the people, of many\n"
                   "                years and of all continents\n"
                   "left out: run_s (--format csv)\n");
    check_terminal(ranked, 60,
                   "name    wheels  praise\n"
                   "beetle   4,000  the car of the people, of many years and of\n"
                   "                all continents\n"
                   "left out: run_s (--format csv)\n");
    text = on_terminal(ranked, 110); /* all of it fits, but for what yields last */
    assert_non_null(strstr(text, "the car of the people, of many years and of all continents"));
    assert_non_null(strstr(text, "left out: wheels (--format csv)\n"));
    free(text);
}

static void a_column_stands_where_its_rows_differ(void **state)
{
    static const field few[] = {
        { "name", "name", NULL, FIELD_AT(car, name) },
        { "run_s", "run", NULL, FIELD_AT(car, metres), .digits = TABLE_DURATION },
        { "maker", "maker", NULL, FIELD_AT(car, maker), .once = "made by" },
        { 0 }
    };
    static const car *const alike[] = { &beetle, &twin };

    (void)state;
    check_written((field_view){ .fields = few, .in = IN_TABLE }, alike, 2,
                  "name         run\n"
                  "beetle  33.3 min\n"
                  "twin       2.0 h\n"
                  "made by: VW\n");
    check_written((field_view){ .fields = few, .in = IN_TABLE }, both, 2,
                  "name         run  maker\n"
                  "beetle  33.3 min  VW\n"
                  "ghost        0 s      -\n");
}

static void chosen_columns_stand_in_their_order_shown_or_not(void **state)
{
    static const char *const names[] = { "maker", "wheels", "first_m" };
    const table_look         look    = { .columns = { names, 3 } };
    field_view               v       = view_of(IN_TABLE, 0);

    (void)state;
    v.look = &look;
    check_written(v, both, 1,
                  "maker  wheels  first [m]\n"
                  "VW      4,000       2000\n");
    v.in = IN_CSV;
    check_written(v, both, 1, "maker,wheels,first_m\nVW,4000,2000\n");
}

static void a_chosen_column_that_tells_nothing_is_refused(void **state)
{
    static const char *const names[] = { "power_w", "pover_w" };
    const table_look         look    = { .columns = { names, 1 } };
    const word_list          second  = { names + 1, 1 };
    field_view               v       = view_of(IN_TABLE, 0);
    field_rows               rows;
    lm_error                 err;

    (void)state;
    v.look = &look;
    rows   = field_rows_of(&v);
    assert_int_equal(table_print(rows.t, FORMAT_TABLE, stdout, &err), LM_E_NOTFOUND);
    assert_string_equal(err.text, "--columns: 'power_w' has no values here");
    table_free(rows.t);
    assert_int_equal(fields_check(fields, NULL, &look.columns, &err), LM_OK);
    assert_int_equal(fields_check(fields, NULL, &second, &err), LM_E_NOTFOUND);
    assert_string_equal(err.text, "no column 'pover_w', did you mean 'power_w'?");
}

static void data_of_a_picture_is_numbers_alone(void **state)
{
    field_view v    = view_of(IN_DATA, 0);
    char      *text = NULL;
    size_t     size = 0;
    FILE      *out  = open_memstream(&text, &size);

    (void)state;
    fields_data_head(&v, out);
    fields_data(&v, &ghost, out);
    fclose(out);
    assert_string_equal(text, "# name lap_ms road_km speed wheels axles seats maker sold first_m "
                              "title\nNaN NaN 0 NaN 0 0 NaN NaN 0 0 NaN\n");
    free(text);
}

/* Keys of a view of steps. */
static char *keys_of(const field *of, field_place in)
{
    const field_view v    = { .fields = of, .from = step_fields, .in = in, .facts = ~0u };
    char            *text = NULL;
    size_t           size = 0;
    FILE            *out  = open_memstream(&text, &size);

    fields_data_head(&v, out);
    fclose(out);
    return text;
}

/* Curves, in which they stand, are a table of their own. */
static bool of_the_curve(const char *key)
{
    return !strncmp(key, "turning_point", strlen("turning_point")) || !strcmp(key, "set");
}

static void each_key_of_scale_in_csv_is_one_in_json(void **state)
{
    char *csv = keys_of(step_fields, IN_CSV), *json_keys = keys_of(step_fields, IN_JSON);
    char *at = NULL;

    (void)state;
    json_keys[strlen(json_keys) - 1] = ' '; /* in the place of the end of the line */
    for (char *key = strtok_r(csv, "# \n", &at); key; key = strtok_r(NULL, "# \n", &at)) {
        char word[80];

        snprintf(word, sizeof word, " %s ", key);
        if (!strstr(json_keys, word) && !of_the_curve(key))
            fail_msg("%s is in CSV, and not in JSON", key);
    }
    free(csv);
    free(json_keys);
}

/* Fields that are picked take what they lack from their namesakes: a row without one fails. */
static void each_column_has_one_key_and_help(void **state)
{
    static const struct {
        const field *fields, *from;
    } tables[] = { { step_fields, NULL },
                   { step_predicted, step_fields },
                   { energy_fields, step_fields },
                   { plan_fields, NULL },
                   { plan_answer_fields, plan_fields },
                   { largest_fields, NULL },
                   { memory_fields, NULL },
                   { memory_layer_fields, NULL } };

    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        for (const field *f = tables[i].fields; f->key; f++) {
            const field *d = f;

            for (d = f->help ? f : tables[i].from; d && d->key && strcmp(d->key, f->key);)
                d++;
            if (!d || !d->key || !d->help)
                fail_msg("%s is not explained", f->key);
            for (const field *g = tables[i].fields; g < f; g++)
                assert_string_not_equal(f->key, g->key);
        }
    }
    free(keys_of(step_parts_told, IN_PAGE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_have_every_field_in_its_unit),
        cmocka_unit_test(a_table_has_the_fields_with_heads_and_their_digits),
        cmocka_unit_test(a_page_has_heads_and_digits_of_its_own),
        cmocka_unit_test(what_is_unknown_is_never_zero),
        cmocka_unit_test(one_record_becomes_keys_of_an_object),
        cmocka_unit_test(a_row_without_a_value_takes_it_from_its_namesake),
        cmocka_unit_test(columns_yield_to_the_width_by_their_numbers_and_groups),
        cmocka_unit_test(a_terminal_folds_the_last_text_and_leaves_out_what_is_beside_it),
        cmocka_unit_test(a_wide_table_has_every_column),
        cmocka_unit_test(a_column_stands_where_its_rows_differ),
        cmocka_unit_test(chosen_columns_stand_in_their_order_shown_or_not),
        cmocka_unit_test(a_chosen_column_that_tells_nothing_is_refused),
        cmocka_unit_test(data_of_a_picture_is_numbers_alone),
        cmocka_unit_test(each_key_of_scale_in_csv_is_one_in_json),
        cmocka_unit_test(each_column_has_one_key_and_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
