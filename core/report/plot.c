/* Scaling curves. */
#include "report/plot.h"

#include <math.h>
#include <stdio.h>

#include "report/gnuplot.h"

/* What a picture is drawn from. */
typedef struct curve {
    const char        *title;
    const scale_point *point;
    size_t             n;
    int64_t            measured_to, turning;
} curve;

static void put_data(FILE *out, const scale_point *point, size_t n)
{
    fputs("$curve << EOD\n# nodes samples_per_s low high ideal forward_ms backward_ms grad_ms\n",
          out);
    for (size_t i = 0; i < n; i++) {
        const prediction *s     = &point[i].step;
        const double      batch = (double)point[i].global_batch;

        fprintf(out, "%lld %.9g ", (long long)s->nodes, point[i].samples_per_second);
        if (isnan(s->low[QUANTITY_STEP]) || s->low[QUANTITY_STEP] <= 0)
            fputs("NaN NaN ", out);
        else
            fprintf(out, "%.9g %.9g ", batch / s->high[QUANTITY_STEP],
                    batch / s->low[QUANTITY_STEP]);
        fprintf(out, "%.9g %.9g %.9g %.9g\n", point[i].samples_per_second / point[i].efficiency,
                1e3 * s->forward, 1e3 * s->backward, 1e3 * s->grad);
    }
    fputs("EOD\n", out);
}

static void put_script(FILE *out, const void *what)
{
    const curve       *c           = what;
    const scale_point *point       = c->point;
    const long long    last        = (long long)point[c->n - 1].step.nodes;
    const int64_t      measured_to = c->measured_to, turning = c->turning;

    put_data(out, point, c->n);
    fputs("set multiplot layout 2,1 title ", out);
    gnuplot_put_quoted(out, c->title);
    fputs(
        "\nset grid lc rgb '#dddddd' lt 1\nset border 3 lc rgb '#555555'\nset tics nomirror\n"
        "set lmargin 12\nset rmargin 4\nset key outside top center horizontal Left reverse samplen 2 width 2\n"
        "set logscale x 2\nset xlabel 'nodes (one device each)'\n",
        out);
    fprintf(out, "set xrange [%lld:%lld]\n", (long long)point[0].step.nodes,
            last > point[0].step.nodes ? last : last + 1);
    if (measured_to < last)
        fprintf(out,
                "set object 1 rectangle from first %lld,graph 0 to graph 1,graph 1 behind "
                "fillcolor rgb '#f3f3f3' fillstyle solid noborder\n"
                "set label 1 'beyond the calibration' at graph 0.99,graph 0.05 right textcolor rgb "
                "'#777777'\n",
                (long long)(measured_to < point[0].step.nodes ? point[0].step.nodes : measured_to));
    if (turning > 0 && turning <= last)
        fprintf(
            out,
            "set arrow 1 from first %lld,graph 0 to first %lld,graph 1 nohead dashtype 3 lw 2 lc "
            "rgb '#555555'\nset label 2 ' turning point: %lld' at first %lld,graph 0.13 textcolor "
            "rgb '#555555'\n",
            (long long)turning, (long long)turning, (long long)turning, (long long)turning);
    fputs(
        "set logscale y\nset ylabel 'samples per second'\n"
        "plot $curve using 1:3:4 with filledcurves fillcolor rgb '#56B4E9' fillstyle transparent "
        "solid 0.30 noborder title 'low to high', \\\n"
        "  $curve using 1:5 with lines dashtype 2 lw 2 lc rgb '#999999' title 'ideal', \\\n"
        "  $curve using 1:2 with linespoints lw 3 pt 7 ps 0.7 lc rgb '#0072B2' title 'predicted'\n"
        "unset logscale y\nunset label 2\nset ylabel 'time of a step [ms]'\nset yrange [0:*]\n"
        "plot $curve using 1:($6+$7+$8) with filledcurves y=0 fillcolor rgb '#D55E00' title "
        "'sync and update', \\\n"
        "  $curve using 1:($6+$7) with filledcurves y=0 fillcolor rgb '#E69F00' title 'backward', "
        "\\\n"
        "  $curve using 1:6 with filledcurves y=0 fillcolor rgb '#009E73' title 'forward'\n"
        "unset multiplot\n",
        out);
}

lm_status plot_scaling(const char *path, const char *title, const scale_point *point, size_t n,
                       int64_t measured_to, int64_t turning, bool keep_script, lm_error *err)
{
    const curve c = { title, point, n, measured_to, turning };

    if (!n)
        return lm_error_set(err, LM_E_ARG, "%s: there is nothing to draw", path);
    return gnuplot_draw(path, (gnuplot_size){ 900, 760 }, put_script, &c, keep_script, err);
}
