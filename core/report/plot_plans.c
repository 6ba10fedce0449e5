/* Time against cost of plans. */
#include "report/plot_plans.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "report/gnuplot.h"

/* Colours that the colour-blind can tell apart (Okabe & Ito 2008), and marks. */
static const char *const colours[] = { "#0072B2", "#D55E00", "#009E73",
                                       "#CC79A7", "#E69F00", "#56B4E9" };
static const int         marks[]   = { 7, 5, 9, 13, 11, 15 };

#define N_COLOURS (sizeof colours / sizeof colours[0])

static double cost_of(const plans_picture *p, const plan *x)
{
    return *p->currency ? plan_cost(x, p->machines, &p->view) : plan_device_hours(x, &p->view);
}

static int by_time(const void *a, const void *b)
{
    const plan  *x = *(plan *const *)a, *y = *(plan *const *)b;
    const double s = x->run.seconds[TIME_EXPECTED], z = y->run.seconds[TIME_EXPECTED];

    return (s > z) - (s < z);
}

/* An axis, logarithmic if values differ much. */
typedef struct axis {
    double low, high;
    bool   log;
} axis;

#define LOG_FROM 20   /* times the least value */
#define APART    0.03 /* share of the axis: nearer points have one label */

static axis axis_of(double low, double high)
{
    const bool by_log = high > LOG_FROM * low;

    return (axis){ by_log ? low / 1.2 : 0, by_log ? high * 1.2 : high * 1.08, by_log };
}

/* 0 at the low end of the axis, 1 at the high end. */
static double place_on(const axis *a, double value)
{
    return a->log ? log(value / a->low) / log(a->high / a->low)
                  : (value - a->low) / (a->high - a->low);
}

/* The data of the picture. */
typedef struct drawing {
    const plans_picture *of;
    const plan         **row; /* room for all plans */
    axis                 x, y;
} drawing;

static void put_line(FILE *out, const plans_picture *p, const plan *x, bool labelled)
{
    const double low = x->run.seconds[TIME_LOW], high = x->run.seconds[TIME_HIGH],
                 hours = plan_seconds(x, &p->view) / 3600;

    fprintf(out, "%.9g %.9g ", hours, cost_of(p, x));
    if (isnan(low) || isnan(high))
        fprintf(out, "%.9g %.9g", hours, hours);
    else
        fprintf(out, "%.9g %.9g", low / 3600, high / 3600);
    if (labelled)
        fprintf(out, " %lld", (long long)x->setup.nodes);
    else
        fputs(" \"\"", out);
    fprintf(out, " %lld %lld\n", (long long)x->setup.nodes, (long long)x->setup.batch);
}

/* Plans of one machine: $best and $rest. gnuplot warns of empty blocks, so each has a NaN. */
static void put_data(FILE *out, const drawing *d, size_t machine)
{
    const plans_picture *p   = d->of;
    const plan         **row = d->row;

    for (int rest = 0; rest < 2; rest++) {
        size_t n    = 0;
        double last = -1; /* place of the last label */

        fprintf(out, "$%s%zu << EOD\n# hours %s low high label nodes batch\n",
                rest ? "rest" : "best", machine, *p->currency ? p->currency : "device_hours");
        for (size_t i = 0; i < p->set->n; i++)
            if (p->set->plan[i].machine == machine && p->set->plan[i].dominated == (rest > 0))
                row[n++] = &p->set->plan[i];
        qsort(row, n, sizeof *row, by_time);
        for (size_t i = 0; i < n; i++) {
            const double place    = place_on(&d->x, plan_seconds(row[i], &p->view) / 3600);
            const bool   labelled = place - last > APART;

            put_line(out, p, row[i], labelled);
            last = labelled ? place : last;
        }
        if (!n)
            fputs("NaN NaN NaN NaN \"\" 0 0\n", out);
        fputs("EOD\n", out);
    }
}

/* Has the machine a plan that no other dominates? gnuplot 5.4 crashes on labels without a place. */
static bool has_best(const plans_picture *p, size_t machine)
{
    for (size_t i = 0; i < p->set->n; i++)
        if (p->set->plan[i].machine == machine && !p->set->plan[i].dominated)
            return true;
    return false;
}

static void put_limits(FILE *out, const plans_picture *p)
{
    if (!isinf(p->limits.seconds))
        fprintf(
            out,
            "set arrow 1 from first %.9g,graph 0 to first %.9g,graph 1 nohead dashtype 3 lw 2 lc "
            "rgb '#555555'\nset label 1 ' deadline' at first %.9g,graph 0.97 textcolor rgb '#555555'\n",
            p->limits.seconds / 3600, p->limits.seconds / 3600, p->limits.seconds / 3600);
    if (!isinf(p->limits.cost))
        fprintf(
            out,
            "set arrow 2 from graph 0,first %.9g to graph 1,first %.9g nohead dashtype 3 lw 2 lc "
            "rgb '#555555'\nset label 2 ' budget' at graph 0.01,first %.9g offset 0,0.6 textcolor rgb "
            "'#555555'\n",
            p->limits.cost, p->limits.cost, p->limits.cost);
}

/* Both axes end just beyond the plans and the limits; gnuplot would end them at powers of ten. */
static void find_axes(drawing *d)
{
    const plans_picture *p    = d->of;
    double               x[2] = { HUGE_VAL, 0 }, y[2] = { HUGE_VAL, 0 };

    for (size_t i = 0; i < p->set->n; i++) {
        const plan  *q   = &p->set->plan[i];
        const double low = q->run.seconds[TIME_LOW], high = q->run.seconds[TIME_HIGH],
                     now = plan_seconds(q, &p->view), cost = cost_of(p, q);

        x[0] = fmin(x[0], (isnan(low) ? now : fmin(low, now)) / 3600);
        x[1] = fmax(x[1], (isnan(high) ? now : fmax(high, now)) / 3600);
        y[0] = fmin(y[0], cost);
        y[1] = fmax(y[1], cost);
    }
    if (!isinf(p->limits.seconds)) {
        x[0] = fmin(x[0], p->limits.seconds / 3600);
        x[1] = fmax(x[1], p->limits.seconds / 3600);
    }
    if (!isinf(p->limits.cost)) {
        y[0] = fmin(y[0], p->limits.cost);
        y[1] = fmax(y[1], p->limits.cost);
    }
    d->x = axis_of(x[0], x[1]);
    d->y = axis_of(y[0], y[1]);
}

static void put_axis(FILE *out, char name, const axis *a)
{
    if (a->log)
        fprintf(out, "set logscale %c\nset m%ctics 10\n", name, name);
    fprintf(out, "set %crange [%.9g:%.9g]\n", name, a->low, a->high);
}

static void put_script(FILE *out, const void *what)
{
    const drawing       *d = what;
    const plans_picture *p = d->of;

    for (size_t m = 0; m < p->n_machines; m++)
        put_data(out, d, m);
    fputs("set title ", out);
    gnuplot_put_quoted(out, p->title);
    fputs(
        "\nset grid lc rgb '#dddddd' lt 1\nset border 3 lc rgb '#555555'\nset tics nomirror\n"
        "set lmargin 12\nset format xy '%g'\nset key outside top center horizontal Left reverse samplen 2 width 2\n"
        "set xlabel 'time of the run [h]'\nset ylabel ",
        out);
    if (*p->currency)
        fprintf(out, "'cost [%s]'\n", p->currency);
    else
        fputs("'device-hours'\n", out);
    put_axis(out, 'x', &d->x);
    put_axis(out, 'y', &d->y);
    put_limits(out, p);
    for (size_t m = 0; m < p->n_machines; m++) {
        const char *colour = colours[m % N_COLOURS];
        const int   mark   = marks[m % N_COLOURS];

        fprintf(out, "%s$rest%zu using 1:2 with points pt %d ps 0.4 lc rgb '#bbbbbb' notitle, \\\n",
                m ? "  " : "plot ", m, mark);
        fprintf(
            out,
            "  $best%zu using 1:2:3:4 with xerrorbars pt %d ps 0.3 lc rgb '%s' lw 1 notitle, \\\n",
            m, mark, colour);
        if (has_best(p, m))
            fprintf(
                out,
                "  $best%zu using 1:2:5 with labels offset 0,0.7 font ',9' textcolor rgb '#555555' notitle, \\\n",
                m);
        fprintf(out, "  $best%zu using 1:2 with linespoints lw 2 pt %d ps 0.7 lc rgb '%s' title ",
                m, mark, colour);
        gnuplot_put_quoted(out, p->names[m]);
        fputs(m + 1 < p->n_machines ? ", \\\n" : "\n", out);
    }
}

lm_status plot_plans(const char *path, const plans_picture *picture, bool keep_script,
                     lm_error *err)
{
    drawing   d = { .of = picture, .row = calloc(picture->set->n + 1, sizeof *d.row) };
    lm_status status;

    if (!d.row)
        return no_memory(err);
    find_axes(&d);
    status = gnuplot_draw(path, (gnuplot_size){ 900, 600 }, put_script, &d, keep_script, err);
    free(d.row);
    return status;
}
