/** HTML: escaped text, and pictures within a page. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include <stdio.h>

#if defined(__GNUC__)
#define HTML_PRINTF __attribute__((format(printf, 2, 3)))
#else
#define HTML_PRINTF
#endif

/**
 * Writes text with escaped markup characters. Invalid UTF-8 and control characters become U+FFFD.
 * Also valid within quotes of an attribute.
 */
void html_text(FILE *out, const char *text);

/** Formatted text like printf's, escaped; cut after 1000 bytes. */
void html_textf(FILE *out, const char *format, ...) HTML_PRINTF;

/** A paragraph of such text. */
void html_paragraph(FILE *out, const char *format, ...) HTML_PRINTF;
/** A list item of such text. */
void html_item(FILE *out, const char *format, ...) HTML_PRINTF;

/**
 * Formatted text of a gnuplot label with `hypertext`: html_svg() shows it when the pointer is over
 * the label. Cut after 1000 bytes.
 */
void html_hint(FILE *script, const char *format, ...) HTML_PRINTF;

/**
 * Inserts a picture of gnuplot into a page. Its ids get the prefix `name`, because ids of a page
 * must be unique. The picture scales with the page, and has a text alternative.
 *
 * @param svg   a whole document; otherwise nothing is inserted
 * @param name  letters and digits
 * @param title a few words
 * @param desc  description of the picture, in sentences
 */
void html_svg(FILE *out, const char *svg, const char *name, const char *title, const char *desc);

/** Seconds in a readable unit: "34.9 ms", "2.3 h". NAN: a dash. */
const char *html_time(double seconds, char *buffer, size_t size);

#endif
