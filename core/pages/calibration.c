/* Quality of each machine's calibration. */
#include <math.h>

#include "pages/page_parts.h"

/* Intervals of a step's parts, in their order. */
static const struct {
    size_t      slot;
    const char *name;
} shown[] = {
    { PHASE_INFERENCE, "inference" }, { PHASE_FORWARD, "forward" },
    { PHASE_BACKWARD, "backward" },   { PHASE_UPDATE, "update" },
    { PHASE_SYNC, "all-reduce" },     { PHASE_GRAD, "sync and update" },
    { PHASE_STEP, "step, 1 node" },   { PHASE_STEP_MANY, "step, several" },
};

#define N_SHOWN (sizeof shown / sizeof shown[0])

/* Learned models of layers have only the intervals of all-reduces, from the machine file. */
static const interval *interval_of(const page_machine *m, size_t i)
{
    if (m->who->by->from_layers && shown[i].slot != PHASE_SYNC)
        return &interval_unknown;
    return &calibration_intervals(m->who->cal, predictor_sync_model(m->who))->of[shown[i].slot];
}

static bool any_interval(const page *p, size_t i)
{
    for (size_t k = 0; k < p->n_machines; k++)
        if (interval_known(interval_of(&p->machine[k], i)))
            return true;
    return false;
}

static size_t rows_of(const page *p, size_t row[N_SHOWN])
{
    size_t n = 0;

    for (size_t i = 0; i < N_SHOWN; i++)
        if (any_interval(p, i))
            row[n++] = i;
    return n;
}

/* The largest distance of an interval's end from 1, as a ratio. */
static double farthest(const page *p)
{
    double most = 1.1;

    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < N_SHOWN; i++) {
            const interval *x = interval_of(&p->machine[k], i);

            if (interval_known(x))
                most = fmax(most, fmax(x->high, 1 / x->low));
        }
    return most;
}

/* Tics with room for their numbers. */
static const char *ratio_tics(double far)
{
    if (far < 1.35)
        return "0.8, 0.9, 1, 1.1, 1.25";
    if (far < 2.5)
        return "0.5, 0.67, 0.8, 1, 1.25, 1.5, 2";
    if (far < 6)
        return "0.2, 0.33, 0.5, 1, 2, 3, 5";
    return "0.001, 0.01, 0.1, 1, 10, 100, 1000";
}

/* The height of a machine's bar in a row. */
static double height(const page *p, size_t row, size_t machine)
{
    return (double)row - 0.3 + 0.6 * ((double)machine + 0.5) / (double)p->n_machines;
}

static void put_hints(FILE *out, const page *p, const size_t *row, size_t n)
{
    if (!p->hints)
        return;
    chart_hints_begin(out);
    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < n; i++) {
            const interval *x = interval_of(&p->machine[k], row[i]);

            if (!interval_known(x))
                continue;
            fprintf(out, "%.6g %.6g ", sqrt(x->low * x->high), height(p, i, k));
            html_hint(out, "%s, %s: %.3g to %.3g", p->machine[k].label, shown[row[i]].name, x->low,
                      x->high);
            putc('\n', out);
        }
    chart_hints_end(out);
}

static void put_intervals(FILE *out, const void *what)
{
    const page_chart *c = what;
    const page       *p = c->page;
    size_t            row[N_SHOWN];
    const size_t      n = rows_of(p, row);

    const double far = 1.05 * farthest(p);

    page_begin_chart(c, 0, out);
    for (size_t k = 0; k < p->n_machines; k++) {
        fprintf(out, "$m%zu << EOD\n", k);
        for (size_t i = 0; i < n; i++) {
            const interval *x = interval_of(&p->machine[k], row[i]);
            const double    y = height(p, i, k);

            if (interval_known(x))
                fprintf(out, "%.6g %.6g %.6g %.6g\n", sqrt(x->low * x->high), y, x->low, x->high);
        }
        fputs("NaN NaN NaN NaN\nEOD\n", out);
    }
    put_hints(out, p, row, n);
    fputs("set ytics scale 0 (", out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s'%s' %zu", i ? ", " : "", shown[row[i]].name, i);
    fprintf(
        out,
        ")\nset yrange [%g:-0.6]\nset logscale x\nset format x '%%.3g'\n"
        "set xtics (%s)\nset xrange [%.6g:%.6g]\n"
        "set xlabel 'measured / predicted'\nunset grid\nset grid x lc rgb '#dddddd' lt 1\n"
        "set arrow 1 from first 1,graph 0 to first 1,graph 1 nohead lw 1.5 lc rgb '#555555'\nplot ",
        (double)n - 0.4, ratio_tics(far), 1 / far, far);
    for (size_t k = 0; k < p->n_machines; k++) {
        fprintf(out,
                "$m%zu using 1:2:3:4 with xerrorbars lw 3 dt %d pt %d ps 0.6 lc rgb '%s' title ", k,
                chart_dash(k), chart_marker(k, false), chart_colour(k));
        gnuplot_put_quoted(out, p->machine[k].label);
        fputs(", \\\n  ", out);
    }
    page_end_plot(out, p);
}

void page_calibration_charts(page *p)
{
    size_t       row[N_SHOWN];
    const size_t n = rows_of(p, row);
    page_chart  *c;

    if (!n)
        return;
    c = page_add_chart(p, "calibration", NULL,
                       (gnuplot_size){ 440, 150 + (double)n * (14 + 10 * (double)p->n_machines) },
                       put_intervals);
    snprintf(c->title, sizeof c->title, "Measured / predicted");
    snprintf(c->text, sizeof c->text,
             "Measured time over predicted time, of networks that were left out of the fit. Bars "
             "hold 9 of 10 values; at 1 the prediction is exact.");
}

/* ---- words ---- */

typedef struct part_row {
    const char *machine, *part;
    double      rows, rank, condition, mape, held_out, groups;
} part_row;

static const field part_fields[] = {
    { "machine", .page = "machine", FIELD_AT(part_row, machine) },
    { "part", .page = "part", FIELD_AT(part_row, part) },
    { "rows", .page = "rows", FIELD_AT(part_row, rows) },
    { "rank", .page = "rank", FIELD_AT(part_row, rank) },
    { "condition", .page = "condition", FIELD_AT(part_row, condition), WITH_DIGITS(-1) },
    { "mape", .page = "error of the fit [%]", FIELD_AT(part_row, mape), IN_PERCENT },
    { "held_out_mape", .page = "held out [%]", FIELD_AT(part_row, held_out), IN_PERCENT },
    { "groups", .page = "left out in turn", FIELD_AT(part_row, groups) },
    { 0 },
};

/* A file may not give the number. */
static double known(size_t n)
{
    return n ? (double)n : NAN;
}

/* A file that was carried over from others has formulas, but neither rows nor errors. */
static bool has_rows(const fitted *f)
{
    return f->present && (f->rows || !isnan(f->errors.mape));
}

static bool has_fits(const page *p)
{
    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t f = 0; f < n_forms; f++)
            if (has_rows(&p->machine[k].who->cal->fitted[f]))
                return true;
    return false;
}

static table *parts_table(const page *p)
{
    field_rows rows = page_rows(p, part_fields, 0, NULL);

    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < N_TIMES; i++) {
            const page_machine *m     = &p->machine[k];
            const phase         which = phases_shown[i];
            const size_t        at    = form_find(m->who->model, which);
            const fitted       *f     = at < n_forms ? &m->who->cal->fitted[at] : NULL;

            if (f && has_rows(f))
                field_row(&rows, &(part_row){ m->label, phase_formula(which), known(f->rows),
                                              known(f->rank), f->condition, f->errors.mape,
                                              f->held_out_groups ? f->held_out_mape : NAN,
                                              known(f->held_out_groups) });
        }
    return rows.t;
}

typedef struct interval_row {
    const char *machine, *of;
    interval    at;
} interval_row;

static const field interval_fields[] = {
    { "machine", .page = "machine", FIELD_AT(interval_row, machine) },
    { "of", .page = "of", FIELD_AT(interval_row, of) },
    { "low", .page = "low", FIELD_AT(interval_row, at.low), WITH_DIGITS(3) },
    { "high", .page = "high", FIELD_AT(interval_row, at.high), WITH_DIGITS(3) },
    { "groups", .page = "networks behind it", FIELD_AT(interval_row, at.groups) },
    { "per_octave", .page = "wider for each doubling beyond", FIELD_AT(interval_row, at.per_octave),
      WITH_DIGITS(3) },
    { 0 },
};

static table *intervals_table(const page *p)
{
    field_rows rows = page_rows(p, interval_fields, 0, NULL);

    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < N_SHOWN; i++) {
            const interval *x = interval_of(&p->machine[k], i);

            if (interval_known(x))
                field_row(&rows, &(interval_row){ p->machine[k].label, shown[i].name, *x });
        }
    return rows.t;
}

/* "2 to 8", "2". */
static const char *range_text(const sync_range *r, double unit, char *buffer, size_t size)
{
    if (r->low == r->high)
        snprintf(buffer, size, "%.3g", r->low / unit);
    else
        snprintf(buffer, size, "%.3g to %.3g", r->low / unit, r->high / unit);
    return buffer;
}

typedef struct fabric_row {
    const char            *machine, *where;
    const algorithm_model *a;
    const fabric_model    *x;
} fabric_row;

TEXT_OF(mb_text, fabric_row, range_text(&r->x->bytes, 1e6, room, FIELD_TEXT_MAX))
TEXT_OF(nodes_text, fabric_row, range_text(&r->x->nodes, 1, room, FIELD_TEXT_MAX))
TEXT_OF(devices_text, fabric_row, range_text(&r->x->devices, 1, room, FIELD_TEXT_MAX))
COUNT_OF(rows_behind, fabric_row, r->x->rows)
REAL_OF(mape_of, fabric_row, r->x->errors.mape)

static const char *algorithm_text(const void *record, size_t i, char *room)
{
    const algorithm_model *a = ((const fabric_row *)record)->a;

    (void)i;
    if (a->kind == COLLECTIVE_ALLREDUCE) /* needs no name */
        return a->name;
    snprintf(room, FIELD_TEXT_MAX, "%s %s", collective_types[a->kind].title, a->name);
    return room;
}

static const field fabric_fields[] = {
    { "machine", .page = "machine", FIELD_AT(fabric_row, machine) },
    { "algorithm", .page = "algorithm", .text = algorithm_text },
    { "fabric", .page = "", FIELD_AT(fabric_row, where) },
    { "rows", .page = "rows", .count = rows_behind },
    { "mb", .page = "MB", .text = mb_text },
    { "nodes", .page = "nodes", .text = nodes_text },
    { "devices", .page = "devices a node", .text = devices_text },
    { "mape", .page = "error of the fit [%]", .real = mape_of, IN_PERCENT },
    { 0 },
};

/* Quality of the measured collectives, if there are any. */
static void put_collectives(const page *p, FILE *out)
{
    field_rows rows = page_rows(p, fabric_fields, 0, NULL);
    bool       any  = false;

    for (size_t k = 0; k < p->n_machines; k++) {
        const collective_model *c = p->machine[k].who->cal->collectives;

        for (size_t i = 0; c && i < c->n; i++)
            for (fabric f = FABRIC_ONE; f < N_FABRICS; f++) {
                const fabric_row r = { p->machine[k].label,
                                       f == FABRIC_ONE ? "within a node" : "between nodes",
                                       &c->algorithm[i], &c->algorithm[i].of[f] };

                if (r.x->rows)
                    field_row(&rows, &r);
                any |= r.x->rows > 0;
            }
    }
    if (any)
        page_numbers(rows.t, "All-reduces that were measured", out);
    else
        table_free(rows.t);
}

/* Continued jobs: their intervals are those of other jobs. */
static void put_curves(const page_machine *m, FILE *out)
{
    const job_curves *all = &m->who->cal->curves;

    for (size_t i = 0; i < all->n; i++)
        html_paragraph(
            out,
            "%s: a curve continues %zu steps of %s, on up to %.0f devices of %.0f host%s, to more. "
            "It is %.2g %% off on these steps. Its bounds are the errors of other jobs.",
            m->label, all->of[i].rows, all->of[i].network, all->of[i].ranks, all->of[i].hosts,
            all->of[i].hosts > 1 ? "s" : "", 100 * all->of[i].mape);
}

void page_calibration_write(const page *p, FILE *out)
{
    size_t row[N_SHOWN];

    if (rows_of(p, row)) {
        fputs("<div class=\"charts\">\n", out);
        page_figure(p, "calibration", out);
        fputs("</div>\n", out);
    }
    for (size_t k = 0; k < p->n_machines; k++) {
        size_t known = 0;

        for (size_t i = 0; i < N_SHOWN; i++)
            known += interval_known(interval_of(&p->machine[k], i));
        if (p->machine[k].who->cal->transferred)
            html_paragraph(out,
                           "%s of %s was measured. Its errors are those of the machines that it is "
                           "carried over from; its intervals are wider, because devices differ.",
                           calibration_told(p->machine[k].who->cal, "corrected_by") ? "Little"
                                                                                    : "Nothing",
                           p->machine[k].label);
        put_curves(&p->machine[k], out);
        if (!known && !page_learned(p) && !p->machine[k].who->cal->curves.n)
            html_paragraph(
                out,
                "%s: intervals are not known. They need three networks or more, each left out "
                "in turn.",
                p->machine[k].label);
    }
    if (page_learned(p)) {
        page_learned_calibration(p, out);
    } else if (has_fits(p)) {
        fputs("<h3>Fits, part by part</h3>\n", out);
        html_paragraph(
            out, "Errors are means of |predicted - measured| / measured. Held out: networks that "
                 "were left out of the fit, each in turn.");
        page_table(parts_table(p), out);
    }
    if (rows_of(p, row))
        page_numbers(intervals_table(p), "Intervals in numbers", out);
    put_collectives(p, out);
}
