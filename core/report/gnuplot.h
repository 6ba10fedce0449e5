/** Pictures, drawn by gnuplot. */
#ifndef REPORT_GNUPLOT_H
#define REPORT_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

#include <layermeter/error.h>

/** Hundredths of an inch, in formats with inches. */
typedef struct gnuplot_size {
    double width, height;
} gnuplot_size;

/** Writes the script of a picture, after `set output`. It may be called twice. */
typedef void gnuplot_writer(FILE *out, const void *what);

/**
 * Draws a picture.
 *
 * @param path        ends in .svg, .png or .pdf, which decides the format; written whole or not at
 * all
 * @param keep_script leave the script and its data beside the picture, as PATH.gp
 * @return LM_E_ARG for another ending, LM_E_NOTFOUND without gnuplot, LM_E_IO
 */
lm_status gnuplot_draw(const char *path, gnuplot_size size, gnuplot_writer *writer,
                       const void *what, bool keep_script, lm_error *err);

/** One of several pictures. */
typedef struct gnuplot_picture {
    gnuplot_size    size;
    gnuplot_writer *writer;
    const void     *what;
} gnuplot_picture;

/**
 * Draws several pictures with one gnuplot process: picture i into the file path[i]; either all or
 * none is written. Equal consecutive paths of a .pdf are its pages.
 *
 * @return as gnuplot_draw()
 */
lm_status gnuplot_draw_all(const char *const path[], const gnuplot_picture *picture, size_t n,
                           lm_error *err);

/**
 * The same as texts of SVG documents, malloc'ed, in svg[0..n). LM_E_NOTFOUND without gnuplot,
 * LM_E_IO.
 */
lm_status gnuplot_svg(const gnuplot_picture *picture, size_t n, char *svg[], lm_error *err);

/** The suffix of a picture format, ".svg"; NULL: no picture format. */
const char *gnuplot_ending(const char *path);

/**
 * Writes text between single quotes of a script: markup characters are escaped, control characters
 * become blanks.
 */
void gnuplot_put_quoted(FILE *out, const char *text);

#endif
