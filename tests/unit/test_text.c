/* Numbers, units, lists and shapes from text. */
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "base/text.h"

static void sizes_take_binary_and_decimal_units(void **state)
{
    static const struct {
        const char *text;
        int64_t     bytes;
    } cases[] = {
        { "4096", 4096 },       { "64KiB", 65536 }, { "25 MiB", 26214400 },
        { "1GB", 1000000000 },  { " 1 kB ", 1000 }, { "1.5KiB", 1536 },
        { "2GiB", 2147483648 }, { "7B", 7 },        { "80gb", 80000000000 },
        { "80G", 80000000000 }, { "64kib", 65536 }, { "2TB", 2000000000000 },
    };
    int64_t bytes;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(text_bytes(cases[i].text, &bytes, NULL), LM_OK);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void sizes_refuse_what_is_none(void **state)
{
    static const char *const bad[] = { "",     "KiB", "-1",   "1.5", "64kbit",
                                       "1 QB", "nan", "0x10", "1e30" };
    int64_t                  bytes;
    lm_error                 err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(text_bytes(bad[i], &bytes, &err), LM_E_ARG);
    assert_string_equal(err.text, "expected a size such as 64KiB, 25 MiB or 1GB, found '1e30'");
}

static void quantities_need_their_unit_and_take_prefixes(void **state)
{
    static const struct {
        const char *text, *unit;
        double      value;
    } cases[] = {
        { "15.7 TFLOP/s", "FLOP/s", 15.7e12 }, { "300W", "W", 300 }, { " 1530 MHz ", "Hz", 1.53e9 },
        { "2 PFLOP/s", "FLOP/s", 2e15 },       { "7 kW", "W", 7e3 }, { "1.5 GHz", "Hz", 1.5e9 },
    };
    static const char *const bad[] = { "",        "W",     "300",   "300 w",   "300 mW",
                                       "300 kHz", "3 kkW", "3 W/s", "1e999 W", "3 G" };
    double                   value;
    lm_error                 err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(text_quantity(cases[i].text, cases[i].unit, &value, NULL), LM_OK);
        assert_close(value, cases[i].value, 1e-12);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(text_quantity(bad[i], "W", &value, &err), LM_E_ARG);
    assert_string_equal(err.text, "expected a number of W such as 1.5 GW, found '3 G'");
}

static void rates_are_bytes_or_bits_a_second(void **state)
{
    static const struct {
        const char *text;
        double      value;
    } cases[] = {
        { "10Gbit/s", 1.25e9 }, { "1.25 GB/s", 1.25e9 }, { "3.35TB/s", 3.35e12 },
        { "8 bit/s", 1 },       { "1 B/s", 1 },          { "10G", 1.25e9 },
        { "100Gbps", 12.5e9 },  { "100gbit/s", 12.5e9 }, { "10 Gb/s ", 1.25e9 },
        { "25GBps", 25e9 },     { "8kbps", 1e3 },        { "0.4T", 5e10 },
    };
    static const char *const bad[] = { "", "10", "G", "10GB", "10 GiB/s", "9e307GB/s", "10 GbE" };
    double                   value;
    lm_error                 err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(text_rate(cases[i].text, &value, NULL), LM_OK);
        assert_close(value, cases[i].value, 1e-12);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(text_rate(bad[i], &value, &err), LM_E_ARG);
    assert_string_equal(err.text, "expected a rate such as 10Gbit/s or 1.25 GB/s, found '10 GbE'");
}

static void amounts_are_counted_as_people_say_them(void **state)
{
    static const struct {
        const char *text;
        int64_t     value;
    } cases[] = { { "15T", 15000000000000 }, { "300B", 300000000000 }, { "300b", 300000000000 },
                  { "1.5k", 1500 },          { "2e9", 2000000000 },    { "7", 7 } };
    static const char *const bad[]     = { "", "0", "-1", "1.5", "3X", "T", "1e30", "1.0005k" };
    static const char *const lengths[] = { "4096", "4k", "4K", "0.5k", "1M" };
    static const int64_t     tokens[]  = { 4096, 4096, 4096, 512, 1048576 };
    int64_t                  value;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(text_amount(cases[i].text, &value, NULL), LM_OK);
        assert_int_equal(value, cases[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(text_amount(bad[i], &value, NULL), LM_E_ARG);
    /* tokens of a sequence are counted in powers of two */
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        assert_int_equal(text_length(lengths[i], &value, NULL), LM_OK);
        assert_int_equal(value, tokens[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(text_length(bad[i], &value, NULL), LM_E_ARG);
    assert_int_equal(text_length("15T", &value, NULL), LM_E_ARG);
}

static void a_batch_is_samples_or_tokens(void **state)
{
    static const char *const bad[] = { "", "0", "-1", "4M", "tokens", "4Gtokens", "1.5" };
    batch_told               b;

    (void)state;
    assert_int_equal(text_batch("512", &b, NULL), LM_OK);
    assert_int_equal(b.n, 512);
    assert_false(b.tokens);
    assert_int_equal(text_batch("4Mtokens", &b, NULL), LM_OK);
    assert_int_equal(b.n, 4 * 1024 * 1024);
    assert_true(b.tokens);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(text_batch(bad[i], &b, NULL), LM_E_ARG);
}

static void element_types_have_the_names_of_frameworks(void **state)
{
    static const struct {
        const char *text;
        lm_dtype    type;
    } cases[] = { { "fp16", LM_F16 },
                  { "half", LM_F16 },
                  { "fp32", LM_F32 },
                  { "bfloat16", LM_BF16 },
                  { "fp64", LM_F64 } };
    int32_t  type;
    lm_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(text_dtype(cases[i].text, &type, NULL), LM_OK);
        assert_int_equal(type, cases[i].type);
    }
    assert_int_equal(text_dtype("tf32", &type, &err), LM_E_ARG);
    assert_non_null(strstr(err.text, "math=tf32"));
    assert_string_equal(text_dtype_name(DTYPE_TF32), "tf32");
    assert_int_equal(text_dtype("amp", &type, &err), LM_E_ARG);
    assert_non_null(strstr(err.text, "--mixed bf16"));
}

static void durations_grow_with_their_unit(void **state)
{
    static const struct {
        double      seconds;
        const char *text;
    } cases[] = { { 0.00203, "0.00203 s" }, { 119.4, "119 s" }, { 120, "2.0 min" },
                  { 7199, "120.0 min" },    { 7200, "2.0 h" },  { 3.6e6, "1,000 h" },
                  { 1e18, "2.78e+14 h" },   { -1, "-1 s" } };
    char text[40];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(text_duration(cases[i].seconds, text, sizeof text), cases[i].text);
}

static void assert_list(const char *text, const int64_t *expected, size_t n_expected)
{
    int64_t *list;
    size_t   n;

    assert_int_equal(text_list(text, text_int, &list, &n, NULL), LM_OK);
    assert_int_equal(n, n_expected);
    assert_memory_equal(list, expected, n * sizeof *list);
    free(list);
}

static void lists_take_ranges_and_end_where_they_say(void **state)
{
    (void)state;
    assert_list("1,2,4", (int64_t[]){ 1, 2, 4 }, 3);
    assert_list("1..4", (int64_t[]){ 1, 2, 3, 4 }, 4);
    assert_list("1..64*4", (int64_t[]){ 1, 4, 16, 64 }, 4);
    assert_list("1..10*4", (int64_t[]){ 1, 4, 10 }, 3);
    assert_list("32..128+32, 224", (int64_t[]){ 32, 64, 96, 128, 224 }, 5);
    assert_list("7..7", (int64_t[]){ 7 }, 1);
}

static void lists_refuse_what_would_never_end(void **state)
{
    static const char *const bad[] = { "",
                                       ",",
                                       "1,",
                                       "1,,2",
                                       "4..1",
                                       "0..8*2",
                                       "1..8*1",
                                       "1..8+0",
                                       "1..",
                                       "..8",
                                       "1..9223372036854775807",
                                       "-3",
                                       "a" };
    int64_t                 *list;
    size_t                   n;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_not_equal(text_list(bad[i], text_int, &list, &n, NULL), LM_OK);
}

static void exact_text_reads_back_as_the_same_double(void **state)
{
    static const double values[] = {
        0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 2.2789939195024706e-11, 123456789.125, 1
    };
    char   text[40];
    double back;

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        text_exact(values[i], text, sizeof text);
        assert_int_equal(text_real(text, &back, NULL), LM_OK);
        assert_true(back == values[i]);
    }
    assert_string_equal(text_exact(0.5, text, sizeof text), "0.5");
}

static void reals_are_finite_decimal_numbers(void **state)
{
    static const char *const bad[] = { "nan", "inf", "-inf", "0x1p3", "1e999", "", "1 2", "abc" };
    double                   value;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(text_real(bad[i], &value, NULL), LM_E_ARG);
    assert_int_equal(text_real(" -.5e1 ", &value, NULL), LM_OK);
    assert_close(value, -5, 0);
}

static void shapes_are_positive_and_bounded(void **state)
{
    int64_t  dim[LM_MAX_RANK];
    size_t   n;
    lm_error err;

    (void)state;
    assert_int_equal(text_shape("3x224x224", dim, 8, &n, NULL), LM_OK);
    assert_int_equal(n, 3);
    assert_int_equal(dim[0], 3);
    assert_int_equal(dim[2], 224);
    assert_int_equal(text_shape("4k", dim, 8, &n, NULL), LM_OK);
    assert_true(n == 1 && dim[0] == 4096);
    assert_int_equal(text_shape("-9223372036854775807k", dim, 8, &n, NULL), LM_E_ARG);
    assert_int_equal(text_shape("9223372036854775807k", dim, 8, &n, NULL), LM_E_ARG);
    assert_int_equal(text_shape("3x0", dim, 8, &n, NULL), LM_E_ARG);
    assert_int_equal(text_shape("3x", dim, 8, &n, NULL), LM_E_ARG);
    assert_int_equal(text_shape("1x2x3", dim, 2, &n, &err), LM_E_ARG);
    assert_string_equal(err.text, "at most 2 dimensions here, found '1x2x3'");
}

static void distance_counts_single_edits(void **state)
{
    (void)state;
    assert_int_equal(text_distance("conv2d", "conv2d", 2), 0);
    assert_int_equal(text_distance("conv2", "conv2d", 2), 1);
    assert_int_equal(text_distance("covn2d", "conv2d", 2), 2);
    assert_int_equal(text_distance("linear", "conv2d", 2), 3);
}

/* As printf() writes it: with as many of 15, 16 and 17 digits as it takes. */
static const char *by_printf(double value, char *buffer, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, size, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    return buffer;
}

static void read_back(double value)
{
    char text[26], printed[26];

    assert_string_equal(text_exact(value, text, sizeof text),
                        by_printf(value, printed, sizeof printed));
    assert_true(strtod(text, NULL) == value);
}

/* All sizes, round figures and their neighbours, ties, ends of ranges, and whatever bits there are.
 */
static void reals_read_back_as_they_were(void **state)
{
    static const double some[] = { 0,    -0.0,  1,      0.5,     1.5,    2.5,        0.125, 0.375,
                                   1e-4, 1e-5,  1e15,   1e16,    1e9,    1e17,       0.1,   0.3,
                                   -1.5, -0.25, 1e-300, DBL_MAX, 5e-324, 999999999.5 };
    uint64_t            bits   = 88172645463325252ull;

    (void)state;
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        read_back(some[i]);
        read_back(nextafter(some[i], INFINITY));
        read_back(nextafter(some[i], -INFINITY));
    }
    for (int i = 0; i < 20000; i++) {
        double value;

        bits ^= bits << 13; /* xorshift, Marsaglia 2003 */
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            read_back(value);
        value = ldexp((double)(bits >> 11), -(int)(bits % 70));
        read_back(value);
        read_back((double)(bits % 100000) / 1000);
        read_back((double)(bits % 4096) / 64);
    }
}

/* Words as observations have them; a word that ends as another begins is no such word. */
static void settings_are_read_word_by_word(void **state)
{
    static const char *settings = "xlayout=nchw clock=1200,layout=nhwc\tmixed=bf16 amp=huge launch";
    size_t             n;

    (void)state;
    assert_true(setting_is(settings, "layout", "nhwc"));
    assert_false(setting_is(settings, "layout", "nhw"));
    assert_false(setting_is(settings, "layout", "nhwcs"));
    assert_memory_equal(setting_value(settings, "clock", &n), "1200", 4);
    assert_int_equal(n, 4);
    assert_null(setting_value(settings, "launch", &n));
    assert_null(setting_value(NULL, "layout", &n));
    assert_int_equal(setting_dtype(settings, "mixed"), LM_BF16);
    assert_int_equal(setting_dtype(settings, "amp"), 0);
    assert_int_equal(setting_dtype("", "amp"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_take_binary_and_decimal_units),
        cmocka_unit_test(sizes_refuse_what_is_none),
        cmocka_unit_test(quantities_need_their_unit_and_take_prefixes),
        cmocka_unit_test(amounts_are_counted_as_people_say_them),
        cmocka_unit_test(element_types_have_the_names_of_frameworks),
        cmocka_unit_test(durations_grow_with_their_unit),
        cmocka_unit_test(rates_are_bytes_or_bits_a_second),
        cmocka_unit_test(lists_take_ranges_and_end_where_they_say),
        cmocka_unit_test(lists_refuse_what_would_never_end),
        cmocka_unit_test(exact_text_reads_back_as_the_same_double),
        cmocka_unit_test(reals_read_back_as_they_were),
        cmocka_unit_test(reals_are_finite_decimal_numbers),
        cmocka_unit_test(shapes_are_positive_and_bounded),
        cmocka_unit_test(a_batch_is_samples_or_tokens),
        cmocka_unit_test(settings_are_read_word_by_word),
        cmocka_unit_test(distance_counts_single_edits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
