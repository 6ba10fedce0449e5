/* Answers about collectives. */
#include "report/collectives/view.h"

#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "report/chart.h"
#include "report/gnuplot.h"

/* ---- the table ------------------------------------------------------------------------------- */

/* "bytes x4, nodes x2" */
static const char *beyond_of(const void *record, size_t i, char *room)
{
    const collective_answer *a = &((const asked_collective *)record)->of;

    (void)i;
    *room = '\0';
    for (size_t k = 0; k < a->n_beyond; k++) {
        text_add(room, FIELD_TEXT_MAX, "%s%s", k ? ", " : "", a->beyond[k].what);
        if (a->beyond[k].factor > 0)
            text_add(room, FIELD_TEXT_MAX, " x%.3g", a->beyond[k].factor);
    }
    return room;
}

COUNT_OF(bytes_of, asked_collective, r->call.bytes)
COUNT_OF(groups_of, asked_collective, r->call.groups > 1 ? r->call.groups : 1)

#define IN_GB_S .unit = "GB/s", .per = 1e9, .digits = TABLE_POSITIVE(2)

const field collective_fields[] = {
    { "bytes", .title = "bytes", .count = bytes_of, .help = "of the message, S" },
    { "nodes", .title = "nodes", FIELD_AT(asked_collective, call.nodes),
      .help = "what a network connects" },
    { "devices_per_node", .title = "x devices", FIELD_AT(asked_collective, call.devices),
      .help = "of each node" },
    { "groups", .title = "groups", .count = groups_of, .when = COLLECTIVE_GROUPS,
      .help = "on the same nodes, whose messages travel at once" },
    { "ms", .title = "time [ms]", FIELD_AT(asked_collective, of.seconds), .unit = "ms",
      .times = 1e3, .digits = TABLE_MS(3), .help = "of one collective" },
    { "low_ms", .title = "low", FIELD_AT(asked_collective, low), .unit = "ms", .times = 1e3,
      .digits = TABLE_MS(3), .help = "end of the central 90 % of measured times" },
    { "high_ms", .title = "high", FIELD_AT(asked_collective, high), .unit = "ms", .times = 1e3,
      .digits = TABLE_MS(3), .help = "the other end" },
    { "algorithm_gb_per_s", .title = "algorithm [GB/s]", FIELD_AT(asked_collective, rate), IN_GB_S,
      .help = "bytes over time" },
    { "bus_gb_per_s", .title = "bus [GB/s]", FIELD_AT(asked_collective, bus_rate), IN_GB_S,
      .help = "the same times what a rank of a ring sends of a byte" },
    { "beyond", .title = "beyond", .text = beyond_of,
      .help = "what leaves the measured range, by which factor; what is assumed" },
    { 0 },
};

/* ---- the picture ----------------------------------------------------------------------------- */

typedef struct drawing {
    const char             *title;
    const asked_collective *row;
    size_t                  n, curves;
} drawing;

static const gnuplot_size size = { 720, 480 };

static bool same_curve(const asked_collective *a, const asked_collective *b)
{
    return a->call.nodes == b->call.nodes && a->call.devices == b->call.devices;
}

/* Rows of the curve that begins at `from`. */
static size_t curve_length(const drawing *d, size_t from)
{
    size_t n = 1;

    while (from + n < d->n && same_curve(&d->row[from], &d->row[from + n]))
        n++;
    return n;
}

static size_t count_curves(const drawing *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n; i += curve_length(d, i))
        n++;
    return n;
}

/* Columns: bytes, time, low, high, time within the measured range, beyond it. */
static void put_data(FILE *out, const drawing *d)
{
    size_t k = 0;

    for (size_t i = 0; i < d->n; k++) {
        const size_t end = i + curve_length(d, i);

        fprintf(out, "$m%zu << EOD\n# bytes ms low_ms high_ms within beyond\n", k);
        for (; i < end; i++) {
            const asked_collective *r      = &d->row[i];
            const double            ms     = r->of.seconds > 0 ? 1e3 * r->of.seconds : (double)NAN;
            const bool              beyond = r->of.n_beyond > 0;

            fprintf(out, "%.9g %.9g %.9g %.9g %.9g %.9g\n", r->call.bytes, ms, 1e3 * r->low,
                    1e3 * r->high, beyond ? (double)NAN : ms, beyond ? ms : (double)NAN);
        }
        fputs("EOD\n", out);
    }
}

static void put_axes(FILE *out, const drawing *d)
{
    double bytes[2] = { HUGE_VAL, 0 }, ms[2] = { HUGE_VAL, 0 };

    for (size_t i = 0; i < d->n; i++) {
        const asked_collective *r = &d->row[i];

        if (!(r->of.seconds > 0)) /* one rank */
            continue;
        bytes[0] = fmin(bytes[0], r->call.bytes);
        bytes[1] = fmax(bytes[1], r->call.bytes);
        ms[0]    = fmin(ms[0], 1e3 * fmin(r->of.seconds, isnan(r->low) ? r->of.seconds : r->low));
        ms[1]    = fmax(ms[1], 1e3 * fmax(r->of.seconds, isnan(r->high) ? r->of.seconds : r->high));
    }
    chart_log_axis(out, 'x', bytes[0], bytes[1]);
    chart_log_axis(out, 'y', ms[0], ms[1]);
    fputs("set xlabel 'bytes'\nset ylabel 'time [ms]'\n", out);
}

static void put_script(FILE *out, const void *what)
{
    const drawing *d = what;
    size_t         k = 0;

    put_data(out, d);
    chart_begin(out, d->title, size, d->curves, 3);
    put_axes(out, d);
    fputs("plot \\\n", out);
    for (size_t i = 0; i < d->n; i += curve_length(d, i), k++)
        if (!isnan(d->row[i].low))
            chart_band(out, k, 3, 4);
    k = 0;
    for (size_t i = 0; i < d->n; i += curve_length(d, i), k++) {
        char label[80];

        snprintf(label, sizeof label, "%lld node%s of %lld", (long long)d->row[i].call.nodes,
                 d->row[i].call.nodes == 1 ? "" : "s", (long long)d->row[i].call.devices);
        chart_curve(out, k, label, 2, 5, 6);
    }
    fputs("  NaN notitle\n", out);
}

lm_status plot_collectives(const char *path, const char *title, const asked_collective *row,
                           size_t n, bool keep_script, lm_error *err)
{
    drawing d = { title, row, n, 0 };

    d.curves = count_curves(&d);
    if (!n || d.curves > CHART_CURVES)
        return lm_error_set(err, LM_E_ARG, "%s: %zu curves: a picture has 1 to %d", path, d.curves,
                            CHART_CURVES);
    return gnuplot_draw(path, size, put_script, &d, keep_script, err);
}
