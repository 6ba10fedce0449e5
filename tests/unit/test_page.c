/* Names of machines in a report, and how it says times. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "pages/page_parts.h"

static void check_labels(const char *const file[], const char *const label[], size_t n)
{
    page p = { .n_machines = n };

    for (size_t i = 0; i < n; i++)
        p.machine[i].file = file[i];
    page_label(&p);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(p.machine[i].label, label[i]);
}

static void machines_are_named_by_their_files(void **state)
{
    (void)state;
    check_labels((const char *[]){ "a100.ini", "/x/h100.ini", "t4" },
                 (const char *[]){ "a100", "h100", "t4" }, 3);
    /* as calibrate writes them, each into its folder */
    check_labels((const char *[]){ "west/machine.ini", "x//east//machine.ini", "t4.ini" },
                 (const char *[]){ "west", "east", "t4" }, 3);
    check_labels((const char *[]){ "west/m.ini", "east/m.ini" }, (const char *[]){ "west", "east" },
                 2);
    check_labels((const char *[]){ "machine.ini" }, (const char *[]){ "machine" }, 1);
}

static void names_that_are_equal_are_numbered(void **state)
{
    (void)state;
    check_labels((const char *[]){ "m.ini", "m.ini", "n.ini" },
                 (const char *[]){ "m (1)", "m (2)", "n" }, 3);
    check_labels((const char *[]){ "a/m.ini", "b/a/m.ini" }, (const char *[]){ "a (1)", "a (2)" },
                 2);
}

/* 28 bytes, and no half character. */
static void long_names_are_cut(void **state)
{
    (void)state;
    check_labels((const char *[]){ "0123456789012345678901234567.ini" },
                 (const char *[]){ "0123456789012345678901234567" }, 1);
    check_labels((const char *[]){ "01234567890123456789012345678.ini" },
                 (const char *[]){ "0123456789012345678901234567…" }, 1);
    check_labels((const char *[]){ "012345678901234567890123456üx.ini" },
                 (const char *[]){ "012345678901234567890123456…" }, 1);
}

static void machines_that_nobody_measured_are_called_so(void **state)
{
    calibration measured = { .max_ranks = 1 }, carried = { .max_ranks = 1, .transferred = true };
    const predictor by[] = { { .cal = &measured }, { .cal = &carried } };
    page            p    = { .n_machines = 2,
                             .machine    = { { .file = "v100.ini", .who = &by[0] },
                                             { .file = "a100.ini", .who = &by[1] } } };

    (void)state;
    page_label(&p);
    assert_string_equal(p.machine[0].label, "v100");
    assert_string_equal(p.machine[1].label, "a100 (transferred)");
}

/* One known interval is a bar, and none is nothing to speak of. */
static void captions_speak_of_what_is_drawn(void **state)
{
    const size_t many[] = { 0, 2 }, one[] = { 1, 0 }, none[] = { 0, 0 };
    char         text[60];

    (void)state;
    assert_string_equal(page_band_words(many, 2, " hold.", text, sizeof text), " Bands hold.");
    assert_string_equal(page_band_words(one, 2, " hold.", text, sizeof text), " Bars hold.");
    assert_string_equal(page_band_words(none, 2, " hold.", text, sizeof text), "");
}

static void times_are_said_in_units_that_fit(void **state)
{
    static const struct {
        double      seconds;
        const char *text;
    } said[] = { { 3.2e-5, "32 µs" }, { 0.0349, "34.9 ms" }, { 1, "1 s" },
                 { 119, "119 s" },    { 120, "2 min" },      { 7200, "2 h" },
                 { 36000, "10 h" },   { 172800, "2 d" },     { 4920 * 86400.0, "4,920 d" },
                 { NAN, "–" } };
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        assert_string_equal(html_time(said[i].seconds, text, sizeof text), said[i].text);
}

static void turning_points_are_said_with_their_interval(void **state)
{
    static const struct {
        turning_point of;
        const char   *text;
    } said[] = { { { 22, 16, 31 }, "22 nodes (16 to 31)" },
                 { { 1886, 666, 0 }, "1,886 nodes (666 or more)" },
                 { { 22, -1, -1 }, "22 nodes" },
                 { { 1, 1, 1 }, "1 node" },
                 { { 1, 1, 3 }, "1 node (1 to 3)" },
                 { { 0, 5, 0 }, "65,536 nodes and more" },
                 { { -1, 0, 0 }, "not known" } };
    char text[80];

    (void)state;
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        assert_string_equal(page_turning(&said[i].of, text, sizeof text), said[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_are_named_by_their_files),
        cmocka_unit_test(names_that_are_equal_are_numbered),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(machines_that_nobody_measured_are_called_so),
        cmocka_unit_test(captions_speak_of_what_is_drawn),
        cmocka_unit_test(times_are_said_in_units_that_fit),
        cmocka_unit_test(turning_points_are_said_with_their_interval),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
