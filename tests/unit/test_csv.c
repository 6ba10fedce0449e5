/* CSV as in RFC 4180, with comments before the header. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/csv.h"

/* One record a line, fields in brackets; then "end" or the error. */
static const char *read_all(const char *text)
{
    static char out[1024];
    char       *copy = strdup(text), *field[CSV_MAX_COLUMNS];
    csv_reader  csv;
    size_t      n, o = 0;
    lm_error    err;

    csv_open(&csv, "t.csv", copy);
    for (;;) {
        if (csv_record(&csv, field, &n, &err)) {
            snprintf(out + o, sizeof out - o, "%s", err.text);
            break;
        }
        if (!n) {
            snprintf(out + o, sizeof out - o, "end");
            break;
        }
        o += (size_t)snprintf(out + o, sizeof out - o, "%d", csv.line);
        for (size_t i = 0; i < n; i++)
            o += (size_t)snprintf(out + o, sizeof out - o, "[%s]", field[i]);
        o += (size_t)snprintf(out + o, sizeof out - o, "%s\n", csv.unended ? " unended" : "");
    }
    free(copy);
    return out;
}

static void records_keep_fields_and_lines(void **state)
{
    static const struct {
        const char *text, *read;
    } cases[] = {
        { "", "end" },
        { "\n\r\n\n", "end" },
        { "a,b\n1,2\n", "1[a][b]\n2[1][2]\nend" },
        { "a,b\r\n1,2\r\n", "1[a][b]\n2[1][2]\nend" },
        { "a,b\n1,2", "1[a][b]\n2[1][2] unended\nend" },
        { "\xEF\xBB\xBF"
          "a\n",
          "1[a]\nend" },
        { "a\n\n\nb\n", "1[a]\n4[b]\nend" },
        { ",\n", "1[][]\nend" },
        { "a,\n", "1[a][]\nend" },
        { "a,", "1[a][] unended\nend" },
        { " a , b \n", "1[ a ][ b ]\nend" }, /* blanks belong to a field */
        { "\"a,b\",c\n", "1[a,b][c]\nend" },
        { "\"say \"\"a\"\"\"\n", "1[say \"a\"]\nend" },
        { "\"\",x\n", "1[][x]\nend" },
        { "\"two\nlines\",x\ny\n", "1[two\nlines][x]\n3[y]\nend" },
        { "\"a\"", "1[a] unended\nend" },
        { "a,\"b\r\nc\"\r\nd\n", "1[a][b\r\nc]\n3[d]\nend" },

        { "a\nb,\"c\n", "1[a]\nt.csv:2: a quoted field does not end" },
        { "\"a\"b\n", "t.csv:1: text behind a quoted field" },
        { "a\nb\"c\n", "1[a]\nt.csv:2: a quote inside an unquoted field" },
        { "a\rb\n", "t.csv:1: a carriage return inside a line" },
        { "a\r", "t.csv:1: a carriage return inside a line" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(read_all(cases[i].text), cases[i].read);
}

static void columns_have_a_most(void **state)
{
    char       text[2 * 257 + 1];
    char      *field[CSV_MAX_COLUMNS];
    csv_reader csv;
    size_t     n;
    lm_error   err;

    (void)state;
    memset(text, 0, sizeof text);
    for (size_t i = 0; i < 256; i++)
        memcpy(text + 2 * i, i < 255 ? "1," : "1", i < 255 ? 2 : 1);
    csv_open(&csv, "t.csv", text);
    assert_int_equal(csv_record(&csv, field, &n, &err), LM_OK);
    assert_int_equal(n, 256);
    for (size_t i = 0; i < 257; i++)
        memcpy(text + 2 * i, i < 256 ? "1," : "1", i < 256 ? 2 : 1);
    csv_open(&csv, "t.csv", text);
    assert_int_equal(csv_record(&csv, field, &n, &err), LM_E_SYNTAX);
    assert_error(err, LM_E_SYNTAX, "t.csv:1: more than 256 columns");
}

static void comments_come_before_the_header_only(void **state)
{
    char       text[] = "# a: 1\r\n#b\n#\n#last";
    char       more[] = "#c\nx\n#y\n";
    char      *field[CSV_MAX_COLUMNS];
    csv_reader csv;
    size_t     n;

    (void)state;
    csv_open(&csv, "t.csv", text);
    assert_string_equal(csv_comment(&csv), " a: 1");
    assert_int_equal(csv.line, 1);
    assert_string_equal(csv_comment(&csv), "b");
    assert_string_equal(csv_comment(&csv), "");
    assert_string_equal(csv_comment(&csv), "last");
    assert_int_equal(csv.line, 4);
    assert_null(csv_comment(&csv));

    csv_open(&csv, "t.csv", more);
    assert_string_equal(csv_comment(&csv), "c");
    assert_null(csv_comment(&csv));
    assert_int_equal(csv_record(&csv, field, &n, NULL), LM_OK);
    assert_int_equal(csv.line, 2);
    assert_int_equal(csv_record(&csv, field, &n, NULL), LM_OK);
    assert_string_equal(field[0], "#y"); /* a field like any other */
}

static void what_is_written_reads_back(void **state)
{
    static const char *const fields[]  = { "plain",      "",   "with, comma", "with \"quotes\"",
                                           "two\nlines", "\"", "\r",          " blanks " };
    const size_t             n_fields  = sizeof fields / sizeof fields[0];
    char                     text[256] = "";
    FILE                    *out       = fmemopen(text, sizeof text, "w");
    char                    *field[CSV_MAX_COLUMNS];
    csv_reader               csv;
    size_t                   n;

    (void)state;
    for (size_t i = 0; i < n_fields; i++) {
        if (i)
            putc(',', out);
        csv_put(out, fields[i]);
    }
    putc('\n', out);
    fclose(out);
    csv_open(&csv, "t.csv", text);
    assert_int_equal(csv_record(&csv, field, &n, NULL), LM_OK);
    assert_int_equal(n, n_fields);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(field[i], fields[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_keep_fields_and_lines),
        cmocka_unit_test(columns_have_a_most),
        cmocka_unit_test(comments_come_before_the_header_only),
        cmocka_unit_test(what_is_written_reads_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
