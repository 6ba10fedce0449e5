/* INI files: every trap of inih is either passed or refused by line. */
#include "check.h"
#include "folder.h"

#include <string.h>

#include "base/ini.h"

static ini_document *read_text(const char *text)
{
    ini_document *doc = NULL;
    lm_error      err = { LM_OK, "" };

    assert_int_equal(ini_load_text("t.ini", text, &doc, &err), LM_OK);
    assert_non_null(doc);
    return doc;
}

static void assert_pair(const ini_document *doc, const char *section, const char *key,
                        const char *value, int line)
{
    const ini_pair *pair = ini_get(ini_find(doc, section), key);

    assert_non_null(pair);
    assert_string_equal(pair->value, value);
    assert_int_equal(pair->line, line);
}

static void sections_and_keys_keep_order_and_line(void **state)
{
    ini_document *doc = read_text("; comment\n\n[b]\nx = 1\n\n# comment\ny=2\n[a]\nz : 3");

    (void)state;
    assert_int_equal(doc->n_sections, 2);
    assert_string_equal(doc->section[0].name, "b");
    assert_int_equal(doc->section[0].line, 3);
    assert_int_equal(doc->section[0].n_pairs, 2);
    assert_int_equal(doc->section[1].line, 8);
    assert_pair(doc, "b", "x", "1", 4);
    assert_pair(doc, "b", "y", "2", 7);
    assert_pair(doc, "a", "z", "3", 9); /* the last line has no newline */
    assert_null(ini_find(doc, "c"));
    assert_null(ini_get(ini_find(doc, "a"), "x"));
    assert_null(ini_get(NULL, "x"));
    ini_free(doc);
}

static void an_empty_section_is_there(void **state)
{
    ini_document *doc = read_text("[empty]\n[last]\n");

    (void)state;
    assert_int_equal(doc->n_sections, 2);
    assert_int_equal(doc->section[0].n_pairs, 0);
    assert_int_equal(doc->section[1].n_pairs, 0);
    assert_int_equal(doc->section[1].line, 2);
    ini_free(doc);
    doc = read_text("");
    assert_int_equal(doc->n_sections, 0);
    ini_free(doc);
}

static void indentation_continues_nothing(void **state)
{
    ini_document *doc = read_text("[a]\nx = 1\n    y = 2\n\t[b]\n \t z = 3\n");

    (void)state;
    assert_pair(doc, "a", "x", "1", 2);
    assert_pair(doc, "a", "y", "2", 3);
    assert_pair(doc, "b", "z", "3", 5);
    ini_free(doc);
}

static void carriage_returns_and_a_byte_order_mark_vanish(void **state)
{
    ini_document *doc = read_text("\xEF\xBB\xBF[a]\r\nx = 1\r\n\r\ny = two words \r\n");

    (void)state;
    assert_int_equal(doc->section[0].line, 1);
    assert_pair(doc, "a", "x", "1", 2);
    assert_pair(doc, "a", "y", "two words", 4);
    ini_free(doc);
}

static void values_keep_what_is_no_comment(void **state)
{
    ini_document *doc =
        read_text("[a]\nx = 1 ; words\ny = a;b\nz = a=b:c # d\nw =\nu = \xC3\xA9\n");

    (void)state;
    assert_pair(doc, "a", "x", "1", 2);
    assert_pair(doc, "a", "y", "a;b", 3);
    assert_pair(doc, "a", "z", "a=b:c # d", 4);
    assert_pair(doc, "a", "w", "", 5);
    assert_pair(doc, "a", "u", "\xC3\xA9", 6);
    ini_free(doc);
}

static void many_sections_and_keys_find_room(void **state)
{
    static char   text[100000];
    ini_document *doc;
    size_t        n = 0;

    (void)state;
    for (int s = 0; s < 50; s++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "[s%d]\n", s);
        for (int k = 0; k < 50; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "k%d = %d\n", k, s * 100 + k);
    }
    doc = read_text(text);
    assert_int_equal(doc->n_sections, 50);
    for (int s = 0; s < 50; s++)
        assert_int_equal(doc->section[s].n_pairs, 50);
    assert_pair(doc, "s49", "k49", "4949", 50 * 51);
    ini_free(doc);
}

#define TOO_LONG                                                                                  \
    "t.ini:2: line longer than 197 bytes: shorten it, or end it in a backslash and go on in the " \
    "next"

/* inih, as packaged, splits a line of 200 bytes or more and takes its tail for a new line. */
static void lines_up_to_197_bytes_are_read_and_longer_ones_refused(void **state)
{
    char          text[400], line[300];
    ini_document *doc;
    lm_error      err;

    (void)state;
    for (int n = 190; n <= 260; n++) {
        snprintf(line, sizeof line, "x = %0*d", n - 4, 7);
        assert_int_equal(strlen(line), n);
        snprintf(text, sizeof text, "[a]\n%s\ny = 1\n", line);
        if (n <= 197) {
            doc = read_text(text);
            assert_pair(doc, "a", "x", line + 4, 2);
            assert_pair(doc, "a", "y", "1", 3);
            ini_free(doc);
        } else {
            assert_int_equal(ini_load_text("t.ini", text, &doc, &err), LM_E_SYNTAX);
            assert_error(err, LM_E_SYNTAX, TOO_LONG);
        }
    }
    /* a comment is a line as well: inih would read its tail */
    snprintf(text, sizeof text, "[a]\n;%0*d = 1", 230, 0);
    assert_int_equal(ini_load_text("t.ini", text, &doc, &err), LM_E_SYNTAX);
    assert_error(err, LM_E_SYNTAX, TOO_LONG);
}

/* inih would cut names after 49 bytes without a word, so it gets none to see. */
static void section_names_up_to_191_bytes_are_read_and_longer_ones_refused(void **state)
{
    char          text[220], name[200];
    ini_document *doc;
    lm_error      err;

    (void)state;
    for (int n = 40; n <= 195; n++) {
        snprintf(name, sizeof name, "a%0*d", n - 1, 7);
        snprintf(text, sizeof text, "[%s]\nx = 1\n", name);
        if (n <= 191) {
            doc = read_text(text);
            assert_string_equal(doc->section[0].name, name);
            assert_pair(doc, name, "x", "1", 2);
            ini_free(doc);
        } else {
            assert_int_equal(ini_load_text("t.ini", text, &doc, &err), LM_E_SYNTAX);
            assert_error(err, LM_E_SYNTAX, "t.ini:1: section name longer than 191 bytes");
        }
    }
}

static void a_backslash_continues_a_value_in_the_next_line(void **state)
{
    static const char text[] = "[a]\n"
                               "x = one,\\\n"
                               "   [two], ; a comment \\\r\n"
                               "= 3 \\\n"
                               "\n"
                               "; no value: \\\n"
                               "y = 4\n";
    ini_document     *doc    = read_text(text);
    lm_error          err;
    static char       long_text[200 * 1024] = "[a]\nx = 1\\\n";

    (void)state;
    assert_pair(doc, "a", "x", "one, [two], = 3", 2);
    assert_pair(doc, "a", "y", "4", 7);
    ini_free(doc);
    assert_int_equal(ini_load_text("t.ini", "[a]\n\\\nx\n", &doc, &err), LM_E_SYNTAX);
    assert_int_equal(ini_load_text("t.ini", "\\\nx\n", &doc, &err), LM_E_SYNTAX);
    for (size_t n = strlen(long_text); n < 150 * 1024; n += 102)
        snprintf(long_text + n, sizeof long_text - n, "%0100d\\\n", 1);
    assert_int_equal(ini_load_text("t.ini", long_text, &doc, &err), LM_E_SYNTAX);
    assert_error(err, LM_E_SYNTAX, "t.ini:651: value longer than 64 KiB");
}

static void what_inih_would_lose_is_refused_by_line(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "[a]\n[b]\n[a]\n",
          "t.ini:3: section [a] is already at line 1: give it another name or remove one" },
        { "[a]\nx = 1\n\nx = 2\n", "t.ini:4: 'x' is already set at line 2" },
        { "[a]\nx = 1\n  x = 2", "t.ini:3: 'x' is already set at line 2" },
        { "\nx = 1\n[a]\n", "t.ini:2: a key before the first [section]" },
        { "x = 1", "t.ini:1: a key before the first [section]" },
        { "[a]\nx = 1\n[b\ny = 2\n", "t.ini:3: section without closing ']'" },
        { "[a", "t.ini:1: section without closing ']'" },
        { "[", "t.ini:1: section without closing ']'" },
        { "[a] x = 1\n", "t.ini:1: text after the closing ']': put it on a line of its own" },
        { "[a]\nx = 1\nwords\n", "t.ini:3: expected 'key = value' or '[section]'" },
        { "[a]\nx = 1\nwords", "t.ini:3: expected 'key = value' or '[section]'" },
        { "[a]\n  words\n", "t.ini:2: expected 'key = value' or '[section]'" },
        { "[a]\nx = 1\n  more words\n", "t.ini:3: expected 'key = value' or '[section]'" },
        { "[a]\nwords\nx = 1\nx = 2\n",
          "t.ini:2: expected 'key = value' or '[section]'" }, /* the first */
        { "[a]\nx = 1\nx = 2\nwords\n", "t.ini:3: 'x' is already set at line 2" },
        { "[a]\nwords\n[a]\n", "t.ini:2: expected 'key = value' or '[section]'" },
        { "[a]\n = 1\n", "t.ini:2: expected 'key = value'" },
        { "[a]\nx = \x01\n", "t.ini:2: control characters: not a text file" },
        { "\x7F"
          "ELF\x02\x01\x01\n",
          "t.ini:1: control characters: not a text file" },
        { "[a]\nx = 1\n\vy = 2\n", "t.ini:3: control characters: not a text file" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ini_document *doc = NULL;
        lm_error      err = { LM_OK, "" };

        assert_int_equal(ini_load_text("t.ini", cases[i].text, &doc, &err), LM_E_SYNTAX);
        assert_error(err, LM_E_SYNTAX, "%s", cases[i].message);
        assert_null(doc);
    }
}

static void comments_may_follow_a_section(void **state)
{
    ini_document *doc = read_text("[a] ; words\nx = 1\n[b]# words\ny = 2\n");

    (void)state;
    assert_pair(doc, "a", "x", "1", 2);
    assert_pair(doc, "b", "y", "2", 4);
    ini_free(doc);
}

static void files_that_are_no_text_are_refused(void **state)
{
    ini_document *doc;
    lm_error      err;

    (void)state;
    assert_int_equal(ini_load("missing.ini", &doc, &err), LM_E_IO);
    assert_error(err, LM_E_IO, "missing.ini: No such file or directory");
    assert_int_equal(ini_load(".", &doc, &err), LM_E_IO);
    assert_error(err, LM_E_IO, ".: is a folder, not a file");
    folder_bytes("nul.ini", "[a]\nx = \0 1\n", 13);
    assert_int_equal(ini_load("nul.ini", &doc, &err), LM_E_SYNTAX);
    assert_error(err, LM_E_SYNTAX, "nul.ini: a binary file, expected text");
    assert_int_equal(ini_load(folder_file("good.ini", "[a]\nx = 1"), &doc, &err), LM_OK);
    assert_pair(doc, "a", "x", "1", 2);
    assert_string_equal(doc->path, "good.ini");
    ini_free(doc);
    ini_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_and_keys_keep_order_and_line),
        cmocka_unit_test(an_empty_section_is_there),
        cmocka_unit_test(indentation_continues_nothing),
        cmocka_unit_test(carriage_returns_and_a_byte_order_mark_vanish),
        cmocka_unit_test(values_keep_what_is_no_comment),
        cmocka_unit_test(many_sections_and_keys_find_room),
        cmocka_unit_test(lines_up_to_197_bytes_are_read_and_longer_ones_refused),
        cmocka_unit_test(section_names_up_to_191_bytes_are_read_and_longer_ones_refused),
        cmocka_unit_test(a_backslash_continues_a_value_in_the_next_line),
        cmocka_unit_test(what_inih_would_lose_is_refused_by_line),
        cmocka_unit_test(comments_may_follow_a_section),
        cmocka_unit_test(files_that_are_no_text_are_refused),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
