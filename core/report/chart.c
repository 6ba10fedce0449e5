/* Functions that the pictures of a page share. */
#include "report/chart.h"

#include <math.h>

static const struct {
    const char *colour;
    int         dash, filled, hollow;
} curves[CHART_CURVES] = {
    { "#0072B2", 1, 7, 6 },   { "#D55E00", 2, 5, 4 },   { "#009E73", 4, 9, 8 },
    { "#CC79A7", 3, 13, 12 }, { "#E69F00", 5, 11, 10 }, { "#000000", 1, 15, 14 },
};

static const struct {
    const char *colour, *name;
} parts[N_CHART_PARTS] = {
    [CHART_FORWARD] = { "#56B4E9", "forward" },     [CHART_BACKWARD] = { "#0072B2", "backward" },
    [CHART_SYNC] = { "#E69F00", "exposed sync" },   [CHART_UPDATE] = { "#F0E442", "update" },
    [CHART_BUBBLE] = { "#CCCCCC", "pipeline bubble" },
    [CHART_OTHER] = { "#CC79A7", "copies, waits" }, [CHART_WHOLE] = { "#999999", "passes, update" },
};

const char *chart_colour(size_t i)
{
    return curves[i % CHART_CURVES].colour;
}

int chart_dash(size_t i)
{
    return curves[i % CHART_CURVES].dash;
}

int chart_marker(size_t i, bool hollow)
{
    return hollow ? curves[i % CHART_CURVES].hollow : curves[i % CHART_CURVES].filled;
}

const char *chart_part_colour(chart_part p)
{
    return parts[p].colour;
}

const char *chart_part_name(chart_part p)
{
    return parts[p].name;
}

/* Pixels: a row of the legend, and the gap between the legend and the plot. */
#define LEGEND_ROW  18
#define BELOW_PLOT  58
#define LEGEND_ROOM 6

void chart_begin(FILE *out, const char *title, gnuplot_size size, size_t entries, size_t columns)
{
    const size_t rows = (entries + columns - 1) / columns;

    fputs("reset\nset encoding utf8\nset title ", out);
    gnuplot_put_quoted(out, title);
    fprintf(out,
            " offset 0,-0.2\nset grid lc rgb '#dddddd' lt 1\nset border 3 lc rgb '#555555'\n"
            "set tics nomirror\nset bmargin at screen %.4g\nset xlabel offset 0,0.4\n"
            "set key at screen 0.5,%.4g center bottom horizontal Left reverse samplen 2 width -1 "
            "spacing 1.1 maxcols %zu font ',12'\n",
            ((double)rows * LEGEND_ROW + LEGEND_ROOM + BELOW_PLOT) / size.height,
            LEGEND_ROOM / size.height, columns);
}

void chart_begin_wide(FILE *out, const char *title, gnuplot_size size, size_t entries,
                      size_t longest)
{
    const size_t columns = size.width / 9 / (double)(longest + 6) >= 3   ? 3
                           : size.width / 9 / (double)(longest + 6) >= 2 ? 2
                                                                         : 1;

    chart_begin(out, title, size, entries, columns);
    fputs("set key width 1\n", out);
}

/* "500", "20k", "1.5M". */
static void put_short(FILE *out, double value)
{
    if (value >= 1e6)
        fprintf(out, "'%gM' %.9g", value / 1e6, value);
    else if (value >= 1e4)
        fprintf(out, "'%gk' %.9g", value / 1e3, value);
    else
        fprintf(out, "'%g' %.9g", value, value);
}

/* A round step that divides `span` into about four. */
static double round_step(double span)
{
    const double rough = span / 4, unit = pow(10, floor(log10(rough))), times = rough / unit;

    return unit * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

void chart_linear_axis(FILE *out, char axis, double top)
{
    const double step = round_step(top);

    if (!(top > 0))
        return;
    fprintf(out, "set %crange [0:%.9g]\nset %ctics (", axis, top, axis);
    for (int k = 0; k * step <= top; k++) {
        fputs(k ? ", " : "", out);
        put_short(out, k * step);
    }
    fputs(")\n", out);
}

void chart_time_axis(FILE *out, char axis, double top, const char *what)
{
    const bool   seconds = top >= 1e4;
    const double step    = round_step(top);

    if (!(top > 0))
        return;
    fprintf(out, "set %crange [0:%.9g]\nset %clabel '%s [%s]'\nset %ctics (", axis, top, axis, what,
            seconds ? "s" : "ms", axis);
    for (int k = 0; k * step <= top; k++)
        fprintf(out, "%s'%g' %.9g", k ? ", " : "", k * step / (seconds ? 1e3 : 1), k * step);
    fputs(")\n", out);
}

/* 1, 2, 5, 10 ...; for many decades only the powers of ten. */
static void put_decades(FILE *out, double low, double high)
{
    static const int times[] = { 1, 2, 5 };
    const size_t     dense   = high / low < 2000 ? 3 : 1;
    const char      *comma   = "";

    for (double unit = pow(10, floor(log10(low))); unit <= high; unit *= 10)
        for (size_t k = 0; k < dense; k++)
            if (times[k] * unit >= low && times[k] * unit <= high) {
                fputs(comma, out);
                put_short(out, times[k] * unit);
                comma = ", ";
            }
}

static void put_steps(FILE *out, double low, double high)
{
    const double step  = round_step(high - low);
    const char  *comma = "";

    for (double at = ceil(low / step) * step; at <= high; at += step) {
        fputs(comma, out);
        put_short(out, at);
        comma = ", ";
    }
}

/* A smaller range holds too few of 1, 2, 5. */
#define NARROW 6

void chart_log_axis(FILE *out, char axis, double low, double high)
{
    if (!(low > 0) || !(high >= low))
        return;
    low /= 1.15;
    high *= 1.15;
    fprintf(out, "set logscale %c\nset %crange [%.9g:%.9g]\nset %ctics (", axis, axis, low, high,
            axis);
    if (high / low < NARROW)
        put_steps(out, low, high);
    else
        put_decades(out, low, high);
    fputs(")\n", out);
}

void chart_node_axis(FILE *out, const int64_t *nodes, size_t n, int64_t devices)
{
    const double first = (double)nodes[0], last = (double)nodes[n - 1];

    fputs("set logscale x 2\nset format x '%.0f'\n", out);
    if (devices > 1)
        fprintf(out, "set xlabel 'nodes (%lld devices each)'\n", (long long)devices);
    else
        fputs("set xlabel 'nodes (one device each)'\n", out);
    if (first < last)
        fprintf(out, "set xrange [%g:%g]\n", first / 1.06, last * 1.06);
    else
        fprintf(out, "set xrange [%g:%g]\n", first / 2, last * 2);
}

void chart_bar(FILE *out, size_t k, int at, int low, int high)
{
    fprintf(
        out,
        "  $m%zu using ($%d == $%d ? $1 : NaN):%d:%d:%d with yerrorbars ps 0 lw 1.5 lc rgb '%s' "
        "notitle, \\\n",
        k, low, low, at, low, high, chart_colour(k));
}

void chart_hints_begin(FILE *out)
{
    fputs("$hint << EOD\n", out);
}

void chart_hints_end(FILE *out)
{
    fputs("EOD\n", out);
}

void chart_hints(FILE *out)
{
    fputs("  $hint using 1:2:3 with labels hypertext point pt 5 ps 3 lc rgb '#ffffff' notitle\n",
          out);
}

void chart_band(FILE *out, size_t k, int low, int high)
{
    fprintf(
        out,
        "  $m%zu using 1:%d:%d with filledcurves fillcolor rgb '%s' fillstyle transparent solid "
        "0.18 noborder notitle, \\\n",
        k, low, high, chart_colour(k));
}

void chart_curve(FILE *out, size_t k, const char *label, int all, int within, int beyond)
{
    fprintf(out,
            "  $m%zu using 1:%d with lines lw 2.5 dt %d lc rgb '%s' notitle, \\\n"
            "  $m%zu using 1:%d with points pt %d ps 0.9 lw 1.5 lc rgb '%s' notitle, \\\n"
            "  $m%zu using 1:%d with points pt %d ps 0.9 lw 1.5 lc rgb '%s' notitle, \\\n"
            "  NaN with linespoints lw 2.5 dt %d pt %d ps 0.9 lc rgb '%s' title ",
            k, all, chart_dash(k), chart_colour(k), k, within, chart_marker(k, false),
            chart_colour(k), k, beyond, chart_marker(k, true), chart_colour(k), chart_dash(k),
            chart_marker(k, false), chart_colour(k));
    gnuplot_put_quoted(out, label);
    fputs(", \\\n", out);
}
