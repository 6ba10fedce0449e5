/** HTML: text that cannot become markup, and pictures that stand within a page. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include <stdio.h>

#if defined(__GNUC__)
#define HTML_PRINTF __attribute__((format(printf, 2, 3)))
#else
#define HTML_PRINTF
#endif

/** Text as it is shown: markup characters are escaped; what is no UTF-8 and control characters are
 * replaced by U+FFFD. Good within quotes of an attribute, too. */
void html_text(FILE *out, const char *text);

/** What printf makes of it, as text; cut after 1000 bytes. */
void html_textf(FILE *out, const char *format, ...) HTML_PRINTF;

/** A paragraph of such text. */
void html_paragraph(FILE *out, const char *format, ...) HTML_PRINTF;
/** An item of a list. */
void html_item(FILE *out, const char *format, ...) HTML_PRINTF;

/** What printf makes of it, as the text of a gnuplot label with `hypertext`: html_svg() shows it
 * where the pointer rests on the label. Cut after 1000 bytes. */
void html_hint(FILE *script, const char *format, ...) HTML_PRINTF;

/**
 * A picture of gnuplot within a page: its own names get `name` before them, as those of a page must
 * be unique; it scales with the page, and says what it shows to who cannot see it.
 *
 * @param svg   a whole document; what is none is left out
 * @param name  letters and digits
 * @param title a few words
 * @param desc  what can be seen, in sentences
 */
void html_svg(FILE *out, const char *svg, const char *name, const char *title, const char *desc);

/** "34.9 ms", "2.3 h": seconds as people say them. NAN: a dash. */
const char *html_time(double seconds, char *buffer, size_t size);

#endif
