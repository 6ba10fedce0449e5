/* Predicted against measured times. */
#include "report/scatter.h"

#include <math.h>
#include <stdio.h>

#include "report/gnuplot.h"

typedef struct picture {
    const char          *title;
    const scatter_panel *panel;
    size_t               n;
    double               low, high; /* of both axes, ms */
} picture;

static bool drawn(const scatter_panel *p, size_t i)
{
    return p->predicted[i] > 0 && p->measured[i] > 0 && isfinite(p->predicted[i]) &&
           isfinite(p->measured[i]);
}

static void put_script(FILE *out, const void *what)
{
    const picture *p = what;

    for (size_t k = 0; k < p->n; k++) {
        const scatter_panel *panel = &p->panel[k];

        fprintf(out, "$model%zu << EOD\n# measured_ms predicted_ms\n", k + 1);
        for (size_t i = 0; i < panel->n; i++)
            if (drawn(panel, i))
                fprintf(out, "%.9g %.9g\n", 1e3 * panel->measured[i], 1e3 * panel->predicted[i]);
        fputs("EOD\n", out);
    }
    fprintf(out, "set multiplot layout 1,%zu title ", p->n);
    gnuplot_put_quoted(out, p->title);
    fprintf(out,
            "\nset grid lc rgb '#dddddd' lt 1\nset border 3 lc rgb '#555555'\nset tics nomirror\n"
            "set logscale xy 10\nset format xy '%%g'\nset size square\nset xrange [%.9g:%.9g]\n"
            "set yrange [%.9g:%.9g]\nset xlabel 'measured [ms]'\nset ylabel 'predicted [ms]'\n"
            "set key bottom right Left reverse samplen 2\n",
            p->low, p->high, p->low, p->high);
    for (size_t k = 0; k < p->n; k++) {
        fputs("set title ", out);
        gnuplot_put_quoted(out, p->panel[k].title);
        fprintf(out,
                "\nplot x with lines lw 2 lc rgb '#555555' title 'equal', \\\n"
                "  1.2*x with lines dashtype 2 lc rgb '#999999' title '20 %% more, less', \\\n"
                "  0.8*x with lines dashtype 2 lc rgb '#999999' notitle, \\\n"
                "  $model%zu using 1:2 with points pt 7 ps 0.45 lc rgb '#aa0072B2' notitle\n",
                k + 1);
    }
    fputs("unset multiplot\n", out);
}

lm_status plot_scatter(const char *path, const char *title, const scatter_panel *panel, size_t n,
                       bool keep_script, lm_error *err)
{
    picture p = { title, panel, n, HUGE_VAL, 0 };

    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < panel[k].n; i++)
            if (drawn(&panel[k], i)) {
                p.low  = fmin(p.low, 1e3 * fmin(panel[k].predicted[i], panel[k].measured[i]));
                p.high = fmax(p.high, 1e3 * fmax(panel[k].predicted[i], panel[k].measured[i]));
            }
    if (p.high <= 0)
        return lm_error_set(err, LM_E_ARG, "%s: there is nothing to draw", path);
    p.low /= 1.5;
    p.high *= 1.5;
    return gnuplot_draw(path, (gnuplot_size){ 100 + 460 * (double)n, 540 }, put_script, &p,
                        keep_script, err);
}
