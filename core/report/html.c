/* HTML: escaped text, and pictures within a page. */
#include "report/html.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* Length of the UTF-8 character at `s`; 0: there is none (RFC 3629, section 4). */
static size_t character(const unsigned char *s)
{
    const unsigned char c = s[0];
    size_t              n;

    if (c < 0x80)
        return c >= ' ' && c != 0x7F ? 1 : 0;
    n = c >= 0xC2 && c <= 0xDF ? 2 : c >= 0xE0 && c <= 0xEF ? 3 : c >= 0xF0 && c <= 0xF4 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((c == 0xC2 && s[1] < 0xA0) || (c == 0xE0 && s[1] < 0xA0) || (c == 0xED && s[1] > 0x9F) ||
        (c == 0xF0 && s[1] < 0x90) || (c == 0xF4 && s[1] > 0x8F) ||
        (c == 0xEF && s[1] == 0xBF && s[2] >= 0xBE)) /* controls, too long, surrogates, none */
        return 0;
    return n;
}

void html_text(FILE *out, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const size_t n = character(s);

        switch (*s) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        case '\n':
        case '\t': putc(' ', out); break;
        default:
            if (n)
                fwrite(s, 1, n, out);
            else
                fputs(REPLACEMENT, out);
        }
        s += n ? n : 1;
    }
}

static void text_of(FILE *out, const char *format, va_list arguments)
{
    char text[1000];

    vsnprintf(text, sizeof text, format, arguments);
    html_text(out, text);
}

void html_textf(FILE *out, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text_of(out, format, arguments);
    va_end(arguments);
}

void html_paragraph(FILE *out, const char *format, ...)
{
    va_list arguments;

    fputs("<p>", out);
    va_start(arguments, format);
    text_of(out, format, arguments);
    va_end(arguments);
    fputs("</p>\n", out);
}

void html_item(FILE *out, const char *format, ...)
{
    va_list arguments;

    fputs("<li>", out);
    va_start(arguments, format);
    text_of(out, format, arguments);
    va_end(arguments);
    fputs("</li>\n", out);
}

/* ---- pictures ---- */

/* The texts before names that a picture defines or uses. */
static const char *const before_name[] = { " id='", " id=\"", "href='#", "href=\"#", "url(#" };

/* A script's string and an attribute of a script in a picture would take some characters for their
 * end, or as markup: these are written as hexadecimal numbers behind a tilde. */
#define HINT_PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .,:()+-/%"

void html_hint(FILE *script, const char *format, ...)
{
    char    text[1000];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    putc('"', script);
    for (const char *s = text; *s; s++)
        fprintf(script, strchr(HINT_PLAIN, *s) ? "%c" : "~%02x", (unsigned char)*s);
    putc('"', script);
}

/* Markup that gnuplot writes around the text of such a label, and its names of curves. */
#define HINT_OPEN  "<g onmousemove=\"gnuplot_svg.showHypertext(evt,'"
#define HINT_CLOSE "')\" onmouseout=\"gnuplot_svg.hideHypertext()\"><title> </title>"
#define MADE_UP    "<title>"

/* Writes a label as an invisible mark. Returns the text after the label; NULL: there is no
 * label. */
static const char *put_hint(FILE *out, const char *svg)
{
    const size_t open = strlen(HINT_OPEN);
    const char  *ends = strncmp(svg, HINT_OPEN, open) ? NULL : strstr(svg, HINT_CLOSE);
    char         text[1000];
    size_t       n = 0;

    if (!ends)
        return NULL;
    for (const char *s = svg + open; s < ends && n + 1 < sizeof text; s++) {
        unsigned code = (unsigned char)*s;

        if (*s == '~' && sscanf(s + 1, "%2x", &code) == 1)
            s += 2;
        text[n++] = (char)code;
    }
    text[n] = '\0';
    fputs("<g class=\"hint\" opacity=\"0\"><title>", out);
    html_text(out, text);
    fputs("</title>", out);
    return ends + strlen(HINT_CLOSE);
}

/* The text after a title that gnuplot wrote itself; NULL: there is none. */
static const char *skip_title(const char *svg)
{
    const char *ends = strncmp(svg, MADE_UP, strlen(MADE_UP)) ? NULL : strstr(svg, "</title>");

    return ends ? ends + strlen("</title>") : NULL;
}

/* Copies a picture; each name gets a prefix that is unique within the page. */
static void put_renamed(FILE *out, const char *svg, const char *name)
{
    while (*svg) {
        const char *behind = put_hint(out, svg);
        size_t      k      = 0, n;

        if (behind || (behind = skip_title(svg))) {
            svg = behind;
            continue;
        }
        while (k < sizeof before_name / sizeof before_name[0] &&
               strncmp(svg, before_name[k], strlen(before_name[k])) != 0)
            k++;
        if (k == sizeof before_name / sizeof before_name[0]) {
            putc(*svg++, out);
            continue;
        }
        n = strlen(before_name[k]);
        fwrite(svg, 1, n, out);
        fprintf(out, "%s-", name);
        svg += n;
    }
}

/* The end of an element that begins at `at`, blanks aside; `at` if it does not begin there. */
static const char *skip_element(const char *at, const char *open, const char *close)
{
    const char *begins = at + strspn(at, " \t\r\n");
    const char *ends   = strncmp(begins, open, strlen(open)) ? NULL : strstr(begins, close);

    return ends ? ends + strlen(close) : at;
}

/* The value of an attribute of the tag at `tag`, up to its quote. */
static bool attribute(const char *tag, const char *ends, const char *key, const char **value,
                      size_t *n)
{
    const char *at = strstr(tag, key);

    if (!at || at > ends)
        return false;
    *value = at + strlen(key);
    *n     = strcspn(*value, "\"");
    return true;
}

void html_svg(FILE *out, const char *svg, const char *name, const char *title, const char *desc)
{
    const char *tag  = strstr(svg, "<svg");
    const char *ends = tag ? strchr(tag, '>') : NULL;
    const char *box;
    size_t      n;

    if (!ends || !attribute(tag, ends, "viewBox=\"", &box, &n))
        return;
    fprintf(out,
            "<svg role=\"img\" aria-labelledby=\"%s-title %s-desc\" viewBox=\"%.*s\" "
            "xmlns=\"http://www.w3.org/2000/svg\" "
            "xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n<title id=\"%s-title\">",
            name, name, (int)n, box, name);
    html_text(out, title);
    fprintf(out, "</title>\n<desc id=\"%s-desc\">", name);
    html_text(out, desc);
    fputs("</desc>\n", out);
    ends = skip_element(ends + 1, "<title>", "</title>");
    ends = skip_element(ends, "<desc>", "</desc>");
    put_renamed(out, ends, name);
}

const char *html_time(double seconds, char *buffer, size_t size)
{
    char whole[32];
    static const struct {
        double      least, unit;
        const char *name;
    } units[] = { { 2 * 86400, 86400, "d" }, { 2 * 3600, 3600, "h" },
                  { 120, 60, "min" },        { 1, 1, "s" },
                  { 1e-3, 1e-3, "ms" },      { 0, 1e-6, "µs" } };
    size_t i  = 0;

    while (i + 1 < sizeof units / sizeof units[0] && !(seconds >= units[i].least))
        i++;
    if (isnan(seconds))
        snprintf(buffer, size, "–");
    else if (seconds >= 1000 * units[i].unit) /* days can be many */
        snprintf(buffer, size, "%s %s",
                 text_grouped((uint64_t)fmin(9e15, seconds / units[i].unit), whole, sizeof whole),
                 units[i].name);
    else
        snprintf(buffer, size, "%.3g %s", seconds / units[i].unit, units[i].name);
    return buffer;
}
