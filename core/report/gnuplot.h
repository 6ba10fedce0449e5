/** Pictures, drawn by gnuplot. */
#ifndef REPORT_GNUPLOT_H
#define REPORT_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

#include <layermeter/error.h>

/** In hundredths of an inch where the format knows inches. */
typedef struct gnuplot_size {
    double width, height;
} gnuplot_size;

/** Writes the script of a picture, between `set output` and its end. May be called twice. */
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
 * Draws several by one process: picture i into the file path[i], all whole or none. Where a .pdf
 * has the path of the one before it is its next page.
 *
 * @return as gnuplot_draw()
 */
lm_status gnuplot_draw_all(const char *const path[], const gnuplot_picture *picture, size_t n,
                           lm_error *err);

/** The same as texts of SVG documents, malloc'ed into svg[0..n). LM_E_NOTFOUND without gnuplot,
 * LM_E_IO. */
lm_status gnuplot_svg(const gnuplot_picture *picture, size_t n, char *svg[], lm_error *err);

/** Is it the ending of a picture that can be drawn, ".svg"? NULL: of none of them. */
const char *gnuplot_ending(const char *path);

/** Text between single quotes of a script; its markup characters lose their meaning, and control
 * characters become blanks. */
void gnuplot_put_quoted(FILE *out, const char *text);

#endif
