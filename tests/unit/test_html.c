/* Text within HTML, and pictures within a page. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "report/html.h"

static char  *written;
static size_t size;

static FILE *begin(void)
{
    FILE *out = open_memstream(&written, &size);

    assert_non_null(out);
    return out;
}

static void wrote(FILE *out, const char *text)
{
    fclose(out);
    assert_string_equal(written, text);
    free(written);
}

static void check_text(const char *from, const char *to)
{
    FILE *out = begin();

    html_text(out, from);
    wrote(out, to);
}

static void markup_is_escaped(void **state)
{
    (void)state;
    check_text("<script>alert('&\"')</script>",
               "&lt;script&gt;alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;");
    check_text("a\nb\tc", "a b c");
    check_text("", "");
}

/* RFC 3629: what is UTF-8 stays, each byte that is not becomes U+FFFD. */
static void what_is_no_text_is_replaced(void **state)
{
    (void)state;
    check_text("\xC3\xBC \xE2\x82\xAC \xF0\x9F\x98\x80", "\xC3\xBC \xE2\x82\xAC \xF0\x9F\x98\x80");
    check_text("\x01\x1B\x7F", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    check_text("\xC3", "\xEF\xBF\xBD"); /* cut off */
    check_text("\xE2\x82<", "\xEF\xBF\xBD\xEF\xBF\xBD&lt;");
    check_text("\xC0\xBC", "\xEF\xBF\xBD\xEF\xBF\xBD");                 /* a '<' in two bytes */
    check_text("\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); /* a surrogate */
    check_text("\xF5\x80\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    check_text("\xC2\x85", "\xEF\xBF\xBD\xEF\xBF\xBD"); /* a control character */
}

static void what_printf_makes_is_escaped_too(void **state)
{
    FILE *out = begin();

    (void)state;
    html_paragraph(out, "%s & %d", "<b>", 7);
    wrote(out, "<p>&lt;b&gt; &amp; 7</p>\n");
    out = begin();
    html_item(out, "%s", "<b>");
    wrote(out, "<li>&lt;b&gt;</li>\n");
}

/* Names within the picture become the page's own; its size gives way to the page's. */
static void a_picture_stands_within_a_page(void **state)
{
    FILE *out = begin();

    (void)state;
    html_svg(out,
             "<?xml version=\"1.0\"?>\n<svg width=\"40\" height=\"30\" viewBox=\"0 0 40 30\">\n"
             "<title>Gnuplot</title>\n<desc>Produced by</desc>\n<g id=\"canvas\"><use "
             "xlink:href='#gpPt5' id='a'/><p fill='url(#x)'/></g></svg>",
             "c1", "<t>", "d");
    wrote(
        out,
        "<svg role=\"img\" aria-labelledby=\"c1-title c1-desc\" viewBox=\"0 0 40 30\" "
        "xmlns=\"http://www.w3.org/2000/svg\" "
        "xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n<title id=\"c1-title\">&lt;t&gt;</title>\n"
        "<desc id=\"c1-desc\">d</desc>\n\n<g id=\"c1-canvas\"><use xlink:href='#c1-gpPt5' "
        "id='c1-a'/><p fill='url(#c1-x)'/></g></svg>");
}

/* A hint passes a script's string and gnuplot's attribute as plain characters, whatever is in it; gnuplot's
 * own titles, which a pointer would show, are gone. */
static void hints_are_shown_and_made_up_titles_are_not(void **state)
{
    FILE *out = begin();
    char  svg[600], *hint;

    (void)state;
    html_hint(out, "it's <b> \"%s\" \xC3\xBC ~ %d %%", "a&b", 7);
    fclose(out);
    assert_string_equal(written, "\"it~27s ~3cb~3e ~22a~26b~22 ~c3~bc ~7e 7 %\"");
    hint                   = written;
    hint[strlen(hint) - 1] = '\0';
    snprintf(svg, sizeof svg,
             "<svg viewBox=\"0 0 4 3\">\n<title>Gnuplot</title>\n<desc>x</desc>\n"
             "<g id=\"p\" ><title>$m0 using 1:2</title><g "
             "onmousemove=\"gnuplot_svg.showHypertext(evt,'%s')\" "
             "onmouseout=\"gnuplot_svg.hideHypertext()\"><title> </title><use/></g></g></svg>",
             hint + 1);
    free(written);
    out = begin();
    html_svg(out, svg, "c", "t", "d");
    fclose(out);
    assert_non_null(strstr(written,
                           "\n<g id=\"c-p\" ><g class=\"hint\" opacity=\"0\"><title>it&#39;s "
                           "&lt;b&gt; &quot;a&amp;b&quot; \xC3\xBC ~ 7 %</title><use/></g></g>"));
    assert_null(strstr(written, "gnuplot"));
    assert_null(strstr(written, "$m0"));
    free(written);
}

static void what_is_no_picture_is_left_out(void **state)
{
    FILE *out = begin();

    (void)state;
    html_svg(out, "", "c", "t", "d");
    html_svg(out, "<svg", "c", "t", "d");
    html_svg(out, "<svg>", "c", "t", "d");
    wrote(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_is_escaped),
        cmocka_unit_test(what_is_no_text_is_replaced),
        cmocka_unit_test(what_printf_makes_is_escaped_too),
        cmocka_unit_test(a_picture_stands_within_a_page),
        cmocka_unit_test(hints_are_shown_and_made_up_titles_are_not),
        cmocka_unit_test(what_is_no_picture_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
