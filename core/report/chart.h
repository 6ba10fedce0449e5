/** Common parts of the pictures on a page. */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include <stdbool.h>
#include <stdint.h>

#include "report/gnuplot.h"

/** Number of curves that can be distinguished in one picture: by colour, dash and marker. */
#define CHART_CURVES 6

/**
 * Colour of curve i, "#0072B2". The colours can be distinguished with all kinds of colour vision
 * (Okabe and Ito 2008, "Color universal design"); the darkest comes first.
 */
const char *chart_colour(size_t i);
/** gnuplot's dash type of curve i. */
int chart_dash(size_t i);
/** gnuplot's point type of curve i; `hollow`: the same shape, not filled. */
int chart_marker(size_t i, bool hollow);

/**
 * Parts of a step, with their colours. Light and dark colours alternate, so that they also differ
 * in grey.
 */
typedef enum chart_part {
    CHART_WHOLE, /**< passes and update of a step whose parts are unknown */
    CHART_FORWARD,
    CHART_BACKWARD,
    CHART_BUBBLE, /**< waiting for other stages of a pipeline */
    CHART_SYNC,
    CHART_UPDATE,
    CHART_OTHER, /**< copies into and out of buckets, waiting for the slowest rank */
    N_CHART_PARTS
} chart_part;

const char *chart_part_colour(chart_part p);
const char *chart_part_name(chart_part p);

/**
 * Begins a picture: resets gnuplot, light grid, no frame, room below for a legend with `entries`
 * entries in columns.
 */
void chart_begin(FILE *out, const char *title, gnuplot_size size, size_t entries, size_t columns);

/**
 * chart_begin() with a legend that names machines; `longest` is the length of the longest label.
 */
void chart_begin_wide(FILE *out, const char *title, gnuplot_size size, size_t entries,
                      size_t longest);

/** Axis 'x' or 'y' from 0 to `top`, with tics far enough apart for their numbers. */
void chart_linear_axis(FILE *out, char axis, double top);

/**
 * The same for milliseconds, shown in seconds if the numbers are large, with the axis' name: "time
 * [ms]".
 */
void chart_time_axis(FILE *out, char axis, double top, const char *what);

/** A logarithmic axis from `low` to `high`, both above 0, with a margin. */
void chart_log_axis(FILE *out, char axis, double low, double high);

/**
 * Parts of a plot command for the data $mK of curve K. chart_band(): the area between two columns.
 * chart_curve(): the line of column `all`, with markers from the columns `within` and `beyond` the
 * calibrated range; the latter are hollow.
 */
void chart_band(FILE *out, size_t k, int low, int high);
/** Bars between two columns, for curves with a single point, where an area is not visible. */
void chart_bar(FILE *out, size_t k, int at, int low, int high);
void chart_curve(FILE *out, size_t k, const char *label, int all, int within, int beyond);

/**
 * Hints of a picture: rows of $hint, "x y hint" (html_hint()), are shown under the pointer. Call
 * these before the hints, after them, and at the end of the plot command, whose last line ends with
 * a comma.
 */
void chart_hints_begin(FILE *out);
void chart_hints_end(FILE *out);
void chart_hints(FILE *out);

/** Axis of nodes with powers of two marked, from the first to the last. */
void chart_node_axis(FILE *out, const int64_t *nodes, size_t n, int64_t devices);

#endif
