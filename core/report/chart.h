/** Pictures of a page: what they have in common. */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include <stdbool.h>
#include <stdint.h>

#include "report/gnuplot.h"

/** Curves that can be told apart in one picture: by colour, dash and marker. */
#define CHART_CURVES 6

/**
 * "#0072B2": of curve i. Colours that hardly anybody confuses (Okabe and Ito 2008, "Color universal
 * design"), the darkest first.
 */
const char *chart_colour(size_t i);
/** gnuplot's dash type. */
int chart_dash(size_t i);
/** gnuplot's point type; `hollow` of the same shape. */
int chart_marker(size_t i, bool hollow);

/** Parts of a step, as they are coloured everywhere: light and dark in turn, so that they differ
 * in grey, too. */
typedef enum chart_part {
    CHART_WHOLE, /**< passes and update of a step of which no parts are known */
    CHART_FORWARD,
    CHART_BACKWARD,
    CHART_SYNC,
    CHART_UPDATE,
    CHART_OTHER, /**< copies into buckets and out of them, waiting for the slowest rank */
    N_CHART_PARTS
} chart_part;

const char *chart_part_colour(chart_part p);
const char *chart_part_name(chart_part p);

/** What every picture begins with: nothing of the one before, light grid, no frame, room below for
 * a legend of so many entries in columns. */
void chart_begin(FILE *out, const char *title, gnuplot_size size, size_t entries, size_t columns);

/** The same for a picture whose legend names machines, by the longest of their labels. */
void chart_begin_wide(FILE *out, const char *title, gnuplot_size size, size_t entries,
                      size_t longest);

/** Tics of axis 'x' or 'y' that leave room for their numbers, from 0 to `top`. */
void chart_linear_axis(FILE *out, char axis, double top);

/** The same of milliseconds, said in seconds where they are many, with its name: "time [ms]". */
void chart_time_axis(FILE *out, char axis, double top, const char *what);

/** A logarithmic one from `low` to `high`, both above 0, with room beside them. */
void chart_log_axis(FILE *out, char axis, double low, double high);

/** Parts of a plot command: of the data $mK of curve K the band between two columns over the first,
 * and the curve itself, its column once more for what is within the calibration and for what is
 * beyond it, whose marks are hollow. */
void chart_band(FILE *out, size_t k, int low, int high);
/** Bars between two columns at a third: where there is but one point, a band is none. */
void chart_bar(FILE *out, size_t k, int at, int low, int high);
void chart_curve(FILE *out, size_t k, const char *label, int all, int within, int beyond);

/** Hints of a picture: rows of $hint, "x y hint" (html_hint()), are shown where the pointer rests.
 * In front of the data, behind them, and at the end of the plot command, whose last line has a comma. */
void chart_hints_begin(FILE *out);
void chart_hints_end(FILE *out);
void chart_hints(FILE *out);

/** Axis of nodes, powers of two marked, from the first to the last. */
void chart_node_axis(FILE *out, const int64_t *nodes, size_t n, int64_t devices);

#endif
