/* A trace with its epochs. */
#include "epochs/trace_plot.h"

#include <math.h>
#include <stdio.h>

#include "report/gnuplot.h"

#define POINTS_MAX 2000

typedef struct picture {
    const char       *title, *metric, *unit;
    const trace_grid *g;
    const epochs     *e;
} picture;

/* Least, mean and largest of as many stretches as there is room for. */
static void put_trace(FILE *out, const trace_grid *g)
{
    const size_t points = g->n < POINTS_MAX ? g->n : POINTS_MAX;

    fputs("$trace << EOD\n# seconds least mean largest\n", out);
    for (size_t p = 0; p < points; p++) {
        double       least = INFINITY, largest = -INFINITY, sum = 0;
        size_t       n    = 0;
        const size_t from = p * g->n / points, to = (p + 1) * g->n / points;

        for (size_t i = from; i < to; i++) {
            if (isnan(g->x[i]))
                continue;
            least   = fmin(least, (double)g->x[i]);
            largest = fmax(largest, (double)g->x[i]);
            sum += (double)g->x[i];
            n++;
        }
        if (n)
            fprintf(out, "%.9g %.6g %.6g %.6g\n", g->start + g->step * 0.5 * (double)(from + to),
                    least, sum / (double)n, largest);
        else
            fputc('\n', out); /* a gap in the line */
    }
    fputs("EOD\n", out);
}

static void put_lengths(FILE *out, const epochs *e)
{
    fputs("$lengths << EOD\n# start middle length kind\n", out);
    for (size_t i = 0; i < e->n; i++)
        if (e->epoch[i].kind == EPOCH_STEADY || e->epoch[i].kind == EPOCH_WARMUP ||
            e->epoch[i].kind == EPOCH_IRREGULAR)
            fprintf(out, "%.9g %.9g %.9g %d\n", e->epoch[i].start,
                    e->epoch[i].start + 0.5 * e->epoch[i].length, e->epoch[i].length,
                    e->epoch[i].kind == EPOCH_STEADY);
    fputs("EOD\n", out);
}

/* Lines at epochs, if they are few enough to tell apart; shades over parts that do not count. */
static void put_marks(FILE *out, const epochs *e)
{
    for (size_t i = 0; i < e->n; i++) {
        const epoch *x = &e->epoch[i];

        if (x->kind != EPOCH_STEADY)
            fprintf(
                out,
                "set object %zu rectangle from first %.9g,graph 0 to first %.9g,graph 1 behind fillcolor rgb "
                "'%s' fillstyle solid noborder\n",
                i + 1, x->start, x->start + x->length,
                x->kind == EPOCH_WARMUP || x->kind == EPOCH_IRREGULAR ? "#fff0d9" : "#eeeeee");
        if (e->n <= 400 && x->kind != EPOCH_STARTUP)
            fprintf(
                out,
                "set arrow %zu from first %.9g,graph 0 to first %.9g,graph 1 nohead lw 1 dashtype 3 lc rgb "
                "'#D55E00'\n",
                i + 1, x->start, x->start);
    }
}

static void put_script(FILE *out, const void *what)
{
    const picture    *p   = what;
    const trace_grid *g   = p->g;
    const double      end = g->start + g->step * (double)g->n;
    char              label[160];

    put_trace(out, g);
    put_lengths(out, p->e);
    fputs("set multiplot layout 2,1 title ", out);
    gnuplot_put_quoted(out, p->title);
    fputs(
        "\nset grid y lc rgb '#dddddd' lt 1\nset border 3 lc rgb '#555555'\nset tics nomirror\nset lmargin 12\n"
        "set rmargin 4\nset key outside top center horizontal Left reverse samplen 2 width 2\n"
        "set xlabel 'seconds'\n",
        out);
    fprintf(out, "set xrange [%.9g:%.9g]\n", g->start < 0 ? 0 : g->start, end);
    put_marks(out, p->e);
    fputs("set ylabel ", out);
    snprintf(label, sizeof label, *p->unit ? "%.90s [%.30s]" : "%.90s%.0s", p->metric, p->unit);
    gnuplot_put_quoted(out, label);
    fputs(
        "\nplot $trace using 1:2:4 with filledcurves fillcolor rgb '#56B4E9' fillstyle transparent solid 0.35 "
        "noborder title 'least to largest', \\\n"
        "  $trace using 1:3 with lines lw 1 lc rgb '#0072B2' title 'mean', \\\n"
        "  NaN with lines dashtype 3 lc rgb '#D55E00' title 'an epoch begins'\n"
        "unset object\nunset arrow\nset ylabel 'length of an epoch [s]'\nset yrange [0:*]\n",
        out);
    fprintf(
        out,
        "set arrow 1 from graph 0,first %.9g to graph 1,first %.9g nohead dashtype 2 lc rgb '#555555'\n"
        "plot $lengths using 2:($4 == 1 ? $3 : NaN) with points pt 7 ps 0.6 lc rgb '#0072B2' title 'steady', \\\n"
        "  $lengths using 2:($4 == 1 ? NaN : $3) with points pt 6 ps 0.8 lc rgb '#D55E00' title 'not counted'\n"
        "unset multiplot\n",
        p->e->steady, p->e->steady);
}

lm_status plot_trace(const char *path, const char *title, const char *metric, const char *unit,
                     const trace_grid *g, const epochs *e, bool keep_script, lm_error *err)
{
    const picture p = { title, metric, unit, g, e };

    return gnuplot_draw(path, (gnuplot_size){ 1000, 720 }, put_script, &p, keep_script, err);
}
