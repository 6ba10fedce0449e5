/* What was measured, kept in machine files. */
#include "folder.h"

#include <stdlib.h>

#include "fit/measured.h"

static measured_at at(const char *network, const char *input, int64_t batch, int64_t ranks)
{
    return (measured_at){ .network = network, .input = input, .batch = batch, .ranks = ranks };
}

static bool has(const measured_set *s, const char *network, int64_t batch, int64_t ranks)
{
    const measured_at one = at(network, "3x8x8", batch, ranks);

    return measured_has(s, &one);
}

static void add(measured_set *s, const char *network, int64_t batch, int64_t ranks)
{
    const measured_at one = at(network, "3x8x8", batch, ranks);

    assert_true(measured_add(s, &one));
}

static char *written(const measured_set *s)
{
    char  *text = NULL;
    size_t n;
    FILE  *out = open_memstream(&text, &n);

    measured_write(out, s);
    fclose(out);
    return text;
}

static lm_status read_back(const char *text, measured_set *s, lm_error *err)
{
    ini_document *doc = NULL;
    lm_status     status;

    assert_int_equal(ini_load_text("m.ini", text, &doc, err), LM_OK);
    status = measured_read(doc, &doc->section[0], s, err);
    ini_free(doc);
    return status;
}

static void each_configuration_is_there_once(void **state)
{
    measured_set s = { .n = 0 };

    (void)state;
    assert_false(has(&s, "a", 1, 1));
    for (int twice = 0; twice < 2; twice++) {
        add(&s, "b", 4, 2);
        add(&s, "a", 16, 1);
        add(&s, "a", 4, 1);
    }
    assert_int_equal(s.n, 3);
    assert_true(has(&s, "a", 4, 1) && has(&s, "a", 16, 1) && has(&s, "b", 4, 2));
    assert_false(has(&s, "a", 4, 2) || has(&s, "b", 4, 1) || has(&s, "a", 8, 1));
    measured_free(&s);
}

static void a_file_says_it_again(void **state)
{
    measured_set s = { .n = 0 }, again = { .n = 0 };
    char        *text, *twice;

    (void)state;
    add(&s, "dir, with comma/net.ini", 3, 2);
    for (int64_t b = 1; b <= 25; b++)
        add(&s, "n", b, 1);
    text = written(&s);
    assert_int_equal(read_back(text, &again, NULL), LM_OK);
    assert_int_equal(again.n, s.n);
    twice = written(&again);
    assert_string_equal(text, twice);
    assert_non_null(strstr(text, "at1 = dir, with comma/net.ini, 3x8x8, ranks 2, batch 3\n"));
    assert_non_null(strstr(text, "at4 = n, 3x8x8, ranks 1, batch 21 22 23 24 25\n"));
    free(text);
    free(twice);
    measured_free(&s);
    measured_free(&again);
    text = written(&again); /* nothing: no section */
    assert_string_equal(text, "");
    free(text);
}

static void lines_that_say_nothing_are_refused(void **state)
{
    static const struct {
        const char *line, *text;
    } cases[] = {
        { "n", "m.ini:2: at1: expected 'NETWORK, INPUT, ranks N, batch N N ...'" },
        { "n, 3, ranks 1, batch", "m.ini:2: at1: expected 'batch N N ...', found 'batch'" },
        { "n, 3, ranks 1, batch 0", "m.ini:2: at1: batch: must be 1 or more" },
        { "n, 3, ranks 0, batch 1", "m.ini:2: at1: ranks: must be 1 or more" },
        { "n, 3, rank 1, batch 1", "m.ini:2: at1: expected 'ranks N', found 'rank 1'" },
        { ", 3, ranks 1, batch 1",
          "m.ini:2: at1: expected 'NETWORK, INPUT, ranks N, batch N N ...'" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        measured_set s = { .n = 0 };
        lm_error     err;
        char         text[100];

        snprintf(text, sizeof text, "[measured]\nat1 = %s\n", cases[i].line);
        assert_true(read_back(text, &s, &err) != LM_OK);
        assert_string_equal(err.text, cases[i].text);
        measured_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_configuration_is_there_once),
        cmocka_unit_test(a_file_says_it_again),
        cmocka_unit_test(lines_that_say_nothing_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
