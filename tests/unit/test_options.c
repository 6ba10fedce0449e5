/* Tables of options: what they read, fill, refuse and print. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "options/options.h"
#include "report/table.h"

typedef enum fruit { APPLE, PEAR, QUINCE } fruit;

typedef struct basket {
    double       weight;
    const char  *label;
    option_texts tags;
} basket;

typedef struct made {
    bool          flag;
    const char   *text, *pair;
    int64_t       count, whole, bytes;
    uint64_t      seed;
    double        real, fraction, seconds, rate;
    option_counts counts, ascending, sizes;
    option_texts  names;
    struct {
        const int64_t *at;
        size_t         n;
    } many;
    fruit    fruit;
    lm_dtype dtype;
    format   format;
    basket   basket;
    bool     checked;
} made;

#define AT(member) OPTION_AT(made, member)

static const option_row basket_rows[] = {
    { "weight", OPTION_AT(basket, weight), &type_real, "KG", "2.5", HELP_WHERE, "of the basket",
      .least = 1, .outside = "expected a weight from 1 up, found" },
    { "label", OPTION_AT(basket, label), &type_text, "TEXT", NULL, HELP_WHERE, "on it",
      .needs = "weight", .refusal = "goes with --weight" },
    { "tag", OPTION_AT(basket, tags), &type_text, "TEXT", NULL, HELP_WHERE, "beside it",
      .repeats = true },
    { .name = NULL },
};

static const char *told_at_run_time(char *buffer, size_t size)
{
    snprintf(buffer, size, "red, green");
    return buffer;
}

static const option_row option_rows[] = {
    { "flag", AT(flag), &type_flag, NULL, NULL, HELP_WHAT, "is set" },
    { "text", AT(text), &type_text, "TEXT", "as it is", HELP_WHAT, "taken" },
    { "pair", AT(pair), &type_pair, "NAME=VALUE", NULL, HELP_WHAT, "two" },
    { "count", AT(count), &type_count, "N", "1", HELP_WHAT, "of things" },
    { "whole", AT(whole), &type_whole, "N", NULL, HELP_WHAT, "number", .least = -1, .most = 5,
      .outside = "expected -1 to 5" },
    { "bytes", AT(bytes), &type_bytes, "SIZE", NULL, HELP_HOW, "of memory", .when = "fruit!=apple",
      .otherwise = "an apple has none" },
    { "seed", AT(seed) },
    { "real", AT(real), &type_real, "X", NULL, HELP_HOW, "number" },
    { "fraction", AT(fraction), &type_fraction, "X", "1", HELP_HOW, "part" },
    { "seconds", AT(seconds), &type_seconds, "TIME", NULL, HELP_HOW, "so long",
      .least = OPTION_ABOVE_0, .outside = "must last" },
    { "rate", AT(rate), &type_rate, "RATE", NULL, HELP_HOW, "of bytes", .when = "fruit=quince",
      .otherwise = "is of quinces, not of %s" },
    { "counts", AT(counts), &type_counts, "LIST", "1..8*2", HELP_HOW, "several" },
    { "ascending", AT(ascending), &type_ascending, "LIST", "4,1,4", HELP_HOW, "sorted",
      .or_auto = true },
    { "sizes", AT(sizes), &type_sizes, "LIST", NULL, HELP_HOW, "of several" },
    { "names", AT(names), &type_names, "LIST", NULL, HELP_HOW, "of several", .excludes = "flag",
      .refusal = "says more than --flag: give one of the two" },
    { "many", AT(many), &type_count, "N", NULL, HELP_HOW, "numbers", .repeats = true },
    { "fruit", AT(fruit), &type_choice, "NAME", "pear", HELP_OUTPUT, "to eat",
      .choices = "apple, pear or quince" },
    { "colour", AT(basket.label), &type_text, "NAME", NULL, HELP_OUTPUT, "of it",
      .words = told_at_run_time },
    { "dtype", AT(dtype) },
    { "format", AT(format), .fallback = "csv" },
    { "weight", .help = "of what is in the basket", .fallback = "3" },
    OPTION_GROUP(made, basket, basket_rows),
    { .name = NULL },
};

static lm_status check_made(options *o, lm_error *err)
{
    made *m = o->filled;

    m->checked = true;
    return m->count == 13 ? misused(o, &m->count, err, "%d is no number of ours", 13) : LM_OK;
}

static lm_status never(const options *o, lm_error *err)
{
    (void)o;
    return lm_error_set(err, LM_E_ARG, "run");
}

static const char details[]  = "Details.\n";
static const char examples[] = "  made --flag\n";

static const command self = COMMAND("made", "FILE...", "Make it", made, 0, 2, check_made, never);

/* Options and what they fill, of up to eight words. To be freed. */
typedef struct taken {
    options   o;
    lm_status status;
    lm_error  err;
    made     *m;
} taken;

static taken take(const char *const *word)
{
    char *argv[12] = { "made" };
    int   argc     = 1;
    taken t        = { .status = LM_OK };

    for (; word && word[argc - 1]; argc++)
        argv[argc] = (char *)word[argc - 1];
    if (!(t.status = options_parse("program", &self, argc, argv, &t.o, &t.err)))
        t.status = options_fill(&t.o, &t.err);
    t.m = t.o.filled;
    return t;
}

#define TAKE(...) take((const char *const[]){ __VA_ARGS__, NULL })

static void defaults_are_read_as_what_is_given(void **state)
{
    taken t = take(NULL);

    (void)state;
    assert_int_equal(t.status, LM_OK);
    assert_false(t.m->flag);
    assert_string_equal(t.m->text, "as it is");
    assert_null(t.m->pair);
    assert_int_equal(t.m->count, 1);
    assert_int_equal(t.m->whole, 0);
    assert_int_equal(t.m->seed, 1);
    assert_true(isnan(t.m->real) && isnan(t.m->seconds) && isnan(t.m->rate));
    assert_close(t.m->fraction, 1, 0);
    assert_int_equal(t.m->counts.n, 4);
    assert_int_equal(t.m->counts.at[3], 8);
    assert_int_equal(t.m->ascending.n, 2);
    assert_int_equal(t.m->ascending.at[1], 4);
    assert_int_equal(t.m->sizes.n + t.m->names.n + t.m->many.n + t.m->basket.tags.n, 0);
    assert_int_equal(t.m->fruit, PEAR);
    assert_int_equal(t.m->dtype, LM_F32);
    assert_int_equal(t.m->format, FORMAT_CSV);
    assert_close(t.m->basket.weight, 3, 0);
    assert_true(t.m->checked);
    assert_false(option_given(&t.o, &t.m->count));
    assert_string_equal(option_text(&t.o, &t.m->count), "1");
    assert_null(option_text(&t.o, &t.m->pair));
    options_free(&t.o);
}

static void values_are_of_their_type(void **state)
{
    taken t = TAKE("--flag", "--pair", "a=b=c", "--count=7", "--whole", "-1", "--bytes=64KiB");

    (void)state;
    assert_int_equal(t.status, LM_OK);
    assert_true(t.m->flag);
    assert_string_equal(t.m->pair, "a=b=c");
    assert_int_equal(t.m->count, 7);
    assert_int_equal(t.m->whole, -1);
    assert_int_equal(t.m->bytes, 65536);
    assert_true(option_given(&t.o, &t.m->count));
    assert_string_equal(option_text(&t.o, &t.m->bytes), "64KiB");
    options_free(&t.o);
    t = TAKE("--seconds=5ms", "--rate=10Gbit/s", "--sizes=1KiB,2KiB", "--names= T4, A 100 ",
             "--fruit=quince", "--dtype=bf16", "--seed=0", "--real=-0");
    assert_int_equal(t.status, LM_OK);
    assert_close(t.m->seconds, 0.005, 0);
    assert_close(t.m->rate, 1.25e9, 0);
    assert_int_equal(t.m->sizes.at[1], 2048);
    assert_int_equal(t.m->names.n, 2);
    assert_string_equal(t.m->names.at[0], "T4");
    assert_string_equal(t.m->names.at[1], "A 100");
    assert_int_equal(t.m->fruit, QUINCE);
    assert_int_equal(t.m->dtype, LM_BF16);
    assert_int_equal(t.m->seed, 0);
    options_free(&t.o);
    t = TAKE("--ascending=auto");
    assert_int_equal(t.status, LM_OK);
    assert_true(t.m->ascending.automatic);
    assert_int_equal(t.m->ascending.n, 0);
    assert_false(t.m->counts.automatic);
    options_free(&t.o);
}

static void the_last_of_an_option_counts_unless_it_repeats(void **state)
{
    taken t = TAKE("--count=3", "--many=5", "--count=4", "--many=6", "--tag", "x");

    (void)state;
    assert_int_equal(t.status, LM_OK);
    assert_int_equal(t.m->count, 4);
    assert_int_equal(t.m->many.n, 2);
    assert_int_equal(t.m->many.at[0], 5);
    assert_int_equal(t.m->many.at[1], 6);
    assert_int_equal(t.m->basket.tags.n, 1);
    assert_string_equal(t.m->basket.tags.at[0], "x");
    assert_int_equal(t.o.n_words, 5);
    assert_int_equal(once_or_each(&t.o, &t.m->many, 2, &t.err), LM_OK);
    assert_int_equal(once_or_each(&t.o, &t.m->basket.tags, 7, &t.err), LM_OK);
    assert_int_equal(once_or_each(&t.o, &t.m->many, 1, &t.err), LM_E_ARG);
    assert_error(t.err, LM_E_ARG,
                 "--many: given 2 times for 1 machine: once for all, or once for each");
    options_free(&t.o);
}

static void arguments_plugins_and_the_end_of_options_are_told_apart(void **state)
{
    taken t = TAKE("a", "--plugin", "p.so", "--", "--flag");

    (void)state;
    assert_int_equal(t.status, LM_OK);
    assert_int_equal(t.o.n_arguments, 2);
    assert_string_equal(t.o.argument[1], "--flag");
    assert_false(t.m->flag);
    assert_int_equal(t.o.plugins.n, 1);
    assert_string_equal(t.o.plugins.at[0], "p.so");
    options_free(&t.o);
    t = TAKE("-", "--help", "--nonsense");
    assert_int_equal(t.status, LM_OK);
    assert_true(t.o.help);
    options_free(&t.o);
}

static void misuse_says_what_was_expected(void **state)
{
    static const struct {
        const char *word[3], *text;
    } cases[] = {
        { { "--flat" }, "unknown option --flat, did you mean --flag? (see 'program made --help')" },
        { { "--zzzzzz=3" }, "unknown option --zzzzzz=3 (see 'program made --help')" },
        { { "-f" }, "unknown option -f (see 'program made --help')" },
        { { "--flag=yes" }, "takes no value: --flag=yes (see 'program made --help')" },
        { { "--count" }, "needs a value: --count (see 'program made --help')" },
        { { "a", "b", "c" }, "unexpected argument: c (see 'program made --help')" },
        { { "--count=0" }, "--count: expected a whole number from 1 up, found '0'" },
        { { "--count=x" }, "--count: expected a whole number from 1 up, found 'x'" },
        { { "--count=13" }, "--count: 13 is no number of ours" },
        { { "--whole=6" }, "--whole: expected -1 to 5" },
        { { "--whole=x" }, "--whole: expected a whole number, found 'x'" },
        { { "--bytes=1furlong" },
          "--bytes: expected a size such as 64KiB, 25 MiB or 1GB, found '1furlong'" },
        { { "--real=-1" }, "--real: must be 0 or more" },
        { { "--fraction=2" }, "--fraction: expected a fraction above 0, at most 1, found '2'" },
        { { "--seconds=0" }, "--seconds: must last" },
        { { "--rate=0GB/s" }, "--rate: must be above 0" },
        { { "--weight=0.5" }, "--weight: expected a weight from 1 up, found '0.5'" },
        { { "--label=x" }, "--label: goes with --weight" },
        { { "--names=x", "--flag" }, "--names: says more than --flag: give one of the two" },
        { { "--names=x,,y" }, "--names: expected names separated by commas, found 'x,,y'" },
        { { "--pair=x" }, "--pair: expected NAME=VALUE, found 'x'" },
        { { "--pair==x" }, "--pair: expected NAME=VALUE, found '=x'" },
        { { "--counts=0" }, "--counts: expected numbers from 1 up, found '0'" },
        { { "--counts=auto" }, "--counts: expected a whole number, found 'auto'" },
        { { "--many=1", "--many=0" }, "--many: expected a whole number from 1 up, found '0'" },
        { { "--fruit=appl" }, "--fruit: expected apple, pear or quince, found 'appl'" },
        { { "--bytes=1KiB", "--fruit=apple" }, "--bytes: an apple has none" },
        { { "--rate=1GB/s", "--fruit=apple" }, "--rate: is of quinces, not of apple" },
        { { "--format=or" }, "--format: expected table, csv or json, found 'or'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        taken t = TAKE(cases[i].word[0], cases[i].word[1], cases[i].word[2]);

        assert_int_equal(t.status, LM_E_ARG);
        assert_string_equal(t.err.text, cases[i].text);
        options_free(&t.o);
    }
}

static void options_of_another_question_are_refused(void **state)
{
    taken t = TAKE("--weight=9", "--tag=x");

    (void)state;
    assert_int_equal(t.status, LM_OK);
    assert_int_equal(refused(&t.o, &t.m->many, sizeof t.m->many, "tests", &t.err), LM_OK);
    assert_int_equal(refused(&t.o, &t.m->basket, sizeof t.m->basket, "tests", &t.err), LM_E_ARG);
    assert_error(t.err, LM_E_ARG, "--weight: is for tests");
    options_free(&t.o);
}

static void a_needed_option_says_why(void **state)
{
    static const option_row rows[] = {
        { "text", AT(text), &type_text, "TEXT", NULL, HELP_WHAT, "taken",
          .needed = "--text TEXT is needed: to say something" },
        { .name = NULL },
    };
    const command c = {
        .name = "", .arguments = "", .doc = "", .rows = rows, .size = sizeof(made)
    };
    char    *argv[] = { "program", "--text", "x" };
    options  o;
    lm_error err;

    (void)state;
    assert_int_equal(options_parse("program", &c, 1, argv, &o, &err), LM_OK);
    assert_int_equal(options_fill(&o, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "--text TEXT is needed: to say something");
    options_free(&o);
    assert_int_equal(options_parse("program", &c, 3, argv, &o, &err), LM_OK);
    assert_int_equal(options_fill(&o, &err), LM_OK);
    options_free(&o);
    argv[1] = "--x";
    assert_int_equal(options_parse("program", &c, 2, argv, &o, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "unknown option --x (see 'program --help')");
    options_free(&o);
}

/* Each heading once, options below their own, defaults behind them, 100 columns. */
static void help_is_grouped_and_aligned(void **state)
{
    static const char *const lines[] = {
        "Make it",
        "",
        "Usage: program made [options] FILE...",
        "",
        "What:",
        "  --flag             is set",
        "  --text TEXT        taken [as it is]",
        "",
        "Where:",
        "  --weight KG        of what is in the basket [3]",
        "  --tag TEXT         beside it; repeatable",
        "  --fruit NAME       to eat: apple, pear or quince [pear]",
        "  --colour NAME      of it: red, green",
        "",
        "Details.",
        "",
        "Examples:",
        "  made --flag",
    };
    taken  t    = take(NULL);
    char  *text = NULL, *at;
    size_t size, last = 0;
    FILE  *out = open_memstream(&text, &size);

    (void)state;
    options_print_help(&t.o, "program", out);
    fclose(out);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char line[120];

        snprintf(line, sizeof line, "%s%s\n", i ? "\n" : "", lines[i]);
        at = strstr(text + last, line);
        if (!at)
            fail_msg("'%s' is not in order in:\n%s", lines[i], text);
        last = (size_t)(at - text);
    }
    free(text);
    options_free(&t.o);
}

static void long_lines_of_the_help_are_wrapped(void **state)
{
    static const option_row rows[] = {
        { "text", AT(text), &type_text, "TEXT", "default", HELP_WHAT,
          "a word, and another word, and another word, and another word, and another word, and so on "
          "until the line is full" },
        { "an-option-with-a-long-name", AT(count), &type_count, "ARGUMENT", NULL, HELP_HOW, "n" },
        { .name = NULL },
    };
    const command c = {
        .name = "", .arguments = "", .doc = "Doc", .rows = rows, .size = sizeof(made)
    };
    char    *argv[] = { "program" }, *text = NULL;
    size_t   size;
    FILE    *out = open_memstream(&text, &size);
    options  o;
    lm_error err;

    (void)state;
    assert_int_equal(options_parse("program", &c, 1, argv, &o, &err), LM_OK);
    options_print_help(&o, "program", out);
    fclose(out);
    assert_string_equal(
        text,
        "Doc\n\nUsage: program [options]\n\nWhat:\n"
        "  --text TEXT    a word, and another word, and another word, and another word, and another word, and\n"
        "                 so on until the line is full [default]\n"
        "  --plugin FILE  layer types from FILE.so, before all others; repeatable\n\nHow:\n"
        "  --an-option-with-a-long-name ARGUMENT\n"
        "                 n\n\nOutput:\n"
        "  --help         this text\n");
    free(text);
    options_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_read_as_what_is_given),
        cmocka_unit_test(values_are_of_their_type),
        cmocka_unit_test(the_last_of_an_option_counts_unless_it_repeats),
        cmocka_unit_test(arguments_plugins_and_the_end_of_options_are_told_apart),
        cmocka_unit_test(misuse_says_what_was_expected),
        cmocka_unit_test(options_of_another_question_are_refused),
        cmocka_unit_test(a_needed_option_says_why),
        cmocka_unit_test(help_is_grouped_and_aligned),
        cmocka_unit_test(long_lines_of_the_help_are_wrapped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
