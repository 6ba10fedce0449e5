/* Scaling curves. */
#include "report/plot.h"

#include <math.h>
#include <stdio.h>

#include "report/chart.h"
#include "report/gnuplot.h"
#include "report/step_fields.h"

/* Colours of Okabe and Ito, without black and the pale yellow. */
static const char *const colours[] = { "#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                       "#E69F00", "#56B4E9", "#555555" };

_Static_assert(sizeof colours / sizeof colours[0] == PLOT_CURVES_MAX, "a colour for each curve");

/* The data of a picture. */
typedef struct picture {
    plot_heads        heads;
    const plot_curve *curve;
    size_t            n;
} picture;

/* The update, with parts that the model does not separate from it. */
static double exposed_of(const prediction *s)
{
    return isnan(s->exposed) ? 0 : s->exposed;
}

REAL_OF(ideal, step_row, r->point.samples_per_second / r->point.efficiency)
REAL_OF(rest, step_row, r->point.step.grad - exposed_of(&r->point.step))
REAL_OF(exposed, step_row, exposed_of(&r->point.step))
COUNT_OF(beyond, step_row, r->point.step.grounds.n_beyond > 0)

static const field curve_fields[] = {
    { .key = "nodes" },
    { .key = "samples_per_s" },
    { .key = "samples_low_per_s" },
    { .key = "samples_high_per_s" },
    { "ideal", .real = ideal },
    { .key = "forward_ms" },
    { .key = "backward_ms" },
    { "update_ms", .real = rest, IN_MS },
    { "exposed_ms", .real = exposed, IN_MS },
    { .key = "efficiency" },
    { .key = "efficiency_low" },
    { .key = "efficiency_high" },
    { "beyond", .count = beyond },
    { .key = "batch" },
    { .key = "step_ms" },
    { .key = "step_low_ms" },
    { .key = "step_high_ms" },
    { .key = "latency_p95_ms" },
    { 0 },
};

static int column(const char *key)
{
    return fields_column(curve_fields, key);
}

static void put_data(FILE *out, const plot_curve *c, size_t at)
{
    const field_view v    = { .fields = curve_fields, .from = step_fields, .in = IN_DATA };
    const step_watts none = { &power_unknown, false, NAN };

    fprintf(out, "$curve%zu << EOD\n", at);
    fields_data_head(&v, out);
    for (size_t i = 0; i < c->n; i++) {
        const step_row r = step_row_of(&c->point[i], &none);

        fields_data(&v, &r, out);
    }
    fputs("EOD\n", out);
}

static bool has_marks(const picture *p)
{
    for (size_t k = 0; k < p->n; k++)
        if (p->curve[k].n_marks)
            return true;
    return false;
}

static void put_marks_data(FILE *out, const picture *p)
{
    fputs("$measured << EOD\n", out);
    for (size_t k = 0; k < p->n; k++)
        for (size_t i = 0; i < p->curve[k].n_marks; i++) {
            const measured_mark *m = &p->curve[k].mark[i];

            fprintf(out, "%lld %.9g\n", (long long)(p->heads.by_batch ? m->batch : m->nodes),
                    m->samples_per_second);
        }
    fputs("EOD\n", out);
}

/* Throughput, efficiency, time of a step: their columns. */
static const char *const rates[] = { "samples_per_s", "samples_low_per_s", "samples_high_per_s" };
static const char *const efficiencies[] = { "efficiency", "efficiency_low", "efficiency_high" };
static const char *const times[]        = { "step_ms", "step_low_ms", "step_high_ms" };

static double low_of(const scale_point *x, const char *const of[3])
{
    if (of == efficiencies) /* on one node it is 1 by definition */
        return x->step.nodes > 1 ? x->efficiencies.low : NAN;
    return of == times ? x->step.low[PHASE_STEP] : x->samples.low;
}

static bool knows_bounds(const plot_curve *c, const char *const of[3])
{
    for (size_t i = 0; i < c->n; i++)
        if (!isnan(low_of(&c->point[i], of)))
            return true;
    return false;
}

static bool leaves_range(const picture *p)
{
    for (size_t k = 0; k < p->n; k++)
        for (size_t i = 0; i < p->curve[k].n; i++)
            if (p->curve[k].point[i].step.grounds.n_beyond)
                return true;
    return false;
}

/* Devices of a node, if all curves have the same; 0: they differ. */
static int64_t common_devices(const picture *p)
{
    const int64_t devices = p->curve[0].point[0].step.devices;

    for (size_t k = 1; k < p->n; k++)
        if (p->curve[k].point[0].step.devices != devices)
            return 0;
    return devices;
}

/* Measured nodes, if all curves have the same; 0: they differ. */
static int64_t common_measured(const picture *p)
{
    for (size_t k = 1; k < p->n; k++)
        if (p->curve[k].measured != p->curve[0].measured)
            return 0;
    return p->curve[0].measured;
}

static int64_t place_of(const picture *p, const scale_point *x)
{
    return p->heads.by_batch ? x->step.batch : x->step.nodes;
}

static void put_marks(FILE *out, const picture *p)
{
    const plot_curve *c     = &p->curve[0];
    const int64_t     first = place_of(p, &c->point[0]), last = place_of(p, &c->point[c->n - 1]);
    const int64_t     measured = p->heads.by_batch ? 0 : common_measured(p);
    const int64_t     turning  = p->heads.by_batch ? -1 : c->turning.nodes;

    fprintf(out, "set xrange [%lld:%lld]\n", (long long)first,
            (long long)(last > first ? last : last + 1));
    if (measured && measured < last)
        fprintf(out,
                "set object 1 rectangle from first %lld,graph 0 to graph 1,graph 1 behind "
                "fillcolor rgb '#f3f3f3' fillstyle solid noborder\n"
                "set label 1 'beyond the calibration' at graph 0.99,graph 0.05 right textcolor rgb "
                "'#777777'\n",
                (long long)(measured < first ? first : measured));
    if (p->n == 1 && turning >= first && turning <= last) {
        fprintf(
            out,
            "set arrow 1 from first %lld,graph 0 to first %lld,graph 1 nohead dashtype 3 lw 2 lc "
            "rgb '#555555'\nset label 2 ' turning point: %lld",
            (long long)turning, (long long)turning, (long long)turning);
        if (c->turning.low > 0 && c->turning.high > 0)
            fprintf(out, " (%lld to %lld)", (long long)c->turning.low, (long long)c->turning.high);
        fprintf(out, " ' at first %lld,graph 0.13 %s textcolor rgb '#555555'\n", (long long)turning,
                turning * turning > first * last ? "right" : "left");
    }
}

/* The parts of a plot command, joined by commas. */
static void put_comma(FILE *out, bool *first)
{
    fputs(*first ? "plot " : ", \\\n  ", out);
    *first = false;
}

/* Column of the horizontal axis. */
static int across(const picture *p)
{
    return column(p->heads.by_batch ? "batch" : "nodes");
}

/* Bands, below all lines. */
static void put_bands(FILE *out, const picture *p, const char *const of[3], bool *first)
{
    for (size_t k = 0; k < p->n; k++) {
        if (!knows_bounds(&p->curve[k], of))
            continue;
        put_comma(out, first);
        fprintf(out,
                "$curve%zu using %d:%d:%d with filledcurves fillcolor rgb '%s' fillstyle "
                "transparent solid %s noborder %s",
                k, across(p), column(of[1]), column(of[2]), colours[k], p->n < 3 ? "0.25" : "0.15",
                p->n == 1 ? "title 'low to high'" : "notitle");
    }
}

/* Lines with points. Points beyond the range are hollow. */
static void put_lines(FILE *out, const picture *p, const char *const of[3], bool *first)
{
    const int at = column(of[0]), x = across(p);

    for (size_t k = 0; k < p->n; k++) {
        put_comma(out, first);
        fprintf(out, "$curve%zu using %d:%d with lines lw 3 lc rgb '%s' title ", k, x, at,
                colours[k]);
        gnuplot_put_quoted(out, p->n == 1 ? "predicted" : p->curve[k].label);
        fprintf(out,
                ", \\\n  $curve%zu using %d:%d with points pt 7 ps 0.9 lc rgb '%s' notitle, \\\n  "
                "$curve%zu using %d:($%d > 0 ? $%d : NaN) with points pt 7 ps 0.5 lc rgb 'white' "
                "notitle",
                k, x, at, colours[k], k, x, column("beyond"), at);
    }
}

static void put_throughput(FILE *out, const picture *p)
{
    bool first = true;

    fputs("set logscale y\nset format y '%.0s%c'\nset ylabel 'samples per second'\n", out);
    if (p->n == 1 && !p->heads.by_batch) {
        put_comma(out, &first);
        fprintf(out, "$curve0 using 1:%d with lines dashtype 2 lw 2 lc rgb '#999999' title 'ideal'",
                column("ideal"));
    }
    put_bands(out, p, rates, &first);
    put_lines(out, p, rates, &first);
    if (has_marks(p))
        fputs(", \\\n  $measured using 1:2 with points pt 2 ps 1.1 lw 2 lc rgb '#000000' title "
              "'measured'",
              out);
    if (leaves_range(p))
        fputs(", \\\n  NaN with points pt 6 ps 0.8 lw 3 lc rgb '#555555' title 'beyond the "
              "calibration'",
              out);
    fputs("\nunset logscale y\nset format y\nunset label 1\nunset label 2\n", out);
}

/* Parts of a step, each on top of those before it: the last is drawn first. */
static void put_parts(FILE *out)
{
    static const struct {
        const char *key;
        chart_part  part;
    } parts[] = { { "forward_ms", CHART_FORWARD },
                  { "backward_ms", CHART_BACKWARD },
                  { "update_ms", CHART_UPDATE },
                  { "exposed_ms", CHART_SYNC } };

    fputs("set ylabel 'time of a step [ms]'\nset yrange [0:*]\nplot ", out);
    for (size_t k = sizeof parts / sizeof parts[0]; k-- > 0;) {
        fputs("$curve0 using 1:(", out);
        for (size_t i = 0; i <= k; i++)
            fprintf(out, "%s$%d", i ? "+" : "", column(parts[i].key));
        fprintf(out, ") with filledcurves y=0 fillcolor rgb '%s' title '%s'%s",
                chart_part_colour(parts[k].part), chart_part_name(parts[k].part),
                k ? ", \\\n  " : "\n");
    }
}

/* Does the model know the passes of a step? A machine file of whole steps alone does not. */
static bool knows_parts(const plot_curve *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!isnan(c->point[i].step.forward) && !isnan(c->point[i].step.backward))
            return true;
    return false;
}

static void put_efficiencies(FILE *out, const picture *p)
{
    bool first = true;

    fputs("unset key\nset ylabel 'efficiency against one node'\nset yrange [0:1.05]\n", out);
    put_bands(out, p, efficiencies, &first);
    put_lines(out, p, efficiencies, &first);
    putc('\n', out);
}

/* Times of steps over batches; latencies of inference. */
static void put_times(FILE *out, const picture *p)
{
    bool first = true;

    fprintf(out, "set logscale y\nset ylabel '%s [ms]'\n",
            p->heads.infers ? "latency" : "time of a step");
    put_bands(out, p, times, &first);
    put_lines(out, p, times, &first);
    for (size_t k = 0; k < p->n; k++)
        if (!isnan(p->curve[k].point[0].step.p95))
            fprintf(out, ", \\\n  $curve%zu using %d:%d with lines dashtype 2 lw 2 lc rgb '%s' %s",
                    k, across(p), column("latency_p95_ms"), colours[k],
                    k ? "notitle" : "title '95th percentile'");
    putc('\n', out);
}

static void put_axis(FILE *out, const picture *p)
{
    const int64_t devices = common_devices(p);

    if (p->heads.by_batch)
        fputs("set xlabel 'batch: samples of each device'\n", out);
    else if (!devices)
        fputs("set xlabel 'nodes'\n", out);
    else
        fprintf(out, "set xlabel 'nodes (%lld device%s each)'\n", (long long)devices,
                devices == 1 ? "" : "s");
}

static void put_script(FILE *out, const void *what)
{
    const picture *p = what;

    for (size_t k = 0; k < p->n; k++)
        put_data(out, &p->curve[k], k);
    if (has_marks(p))
        put_marks_data(out, p);
    fputs("set multiplot layout 2,1 title ", out);
    gnuplot_put_quoted(out, p->heads.title);
    fputs(
        " offset 0,0.4\nset grid lc rgb '#dddddd' lt 1\nset border 3 lc rgb '#555555'\nset tics nomirror\n"
        "set lmargin 12\nset rmargin 4\nset key outside top center horizontal Left reverse "
        "samplen 2\nset logscale x 2\n",
        out);
    put_axis(out, p);
    put_marks(out, p);
    put_throughput(out, p);
    if (p->heads.by_batch || p->heads.infers)
        put_times(out, p);
    else if (p->n == 1 && knows_parts(&p->curve[0]))
        put_parts(out);
    else
        put_efficiencies(out, p);
    fputs("unset multiplot\n", out);
}

lm_status plot_scaling(const char *path, const plot_heads *heads, const plot_curve *curve, size_t n,
                       bool keep_script, lm_error *err)
{
    const picture p = { *heads, curve, n };

    if (!n || !curve[0].n)
        return lm_error_set(err, LM_E_ARG, "%s: there is nothing to draw", path);
    if (n > PLOT_CURVES_MAX)
        return lm_error_set(err, LM_E_ARG, "%s: %zu curves, of which at most %d can be told apart",
                            path, n, PLOT_CURVES_MAX);
    return gnuplot_draw(path, (gnuplot_size){ 900, 760 }, put_script, &p, keep_script, err);
}
