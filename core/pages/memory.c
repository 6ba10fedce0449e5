/* Memory of a device over a step, and its contents. */
#include <math.h>
#include <string.h>

#include "pages/page_parts.h"
#include "plan/limits.h"

/* Groups of parts, in the order of stacking. Gradients have the colour of those that travel; no other
 * group has that of a part of a step. */
static const struct {
    const char *name, *brief, *colour;
    unsigned    parts; /* of memory_part, a bit each */
} groups[] = {
    { "weights", "weights", "#555555",
      1u << MEMORY_WEIGHTS | 1u << MEMORY_FROZEN | 1u << MEMORY_COPIES | 1u << MEMORY_GATHERED },
    { "optimizer", "optimizer", "#aaaaaa", 1u << MEMORY_OPTIMIZER | 1u << MEMORY_MASTERS },
    { "gradients and buckets", "gradients", NULL, 1u << MEMORY_GRADIENTS | 1u << MEMORY_BUCKETS },
    { "KV cache", "KV cache", "#6A3D9A", 1u << MEMORY_CACHE },
    { "activations and inputs", "activations", "#009E73",
      1u << MEMORY_INPUTS | 1u << MEMORY_ACTIVATIONS | 1u << MEMORY_SAVED },
    { "gradients of activations", "activation gradients", "#88CCAA", 1u << MEMORY_BACKWARD },
    { "workspace", "workspace", "#882255", 1u << MEMORY_WORKSPACE | 1u << MEMORY_OVERHEAD },
};

#define N_GROUPS (sizeof groups / sizeof groups[0])

static const char *group_colour(size_t group)
{
    return groups[group].colour ? groups[group].colour : chart_part_colour(CHART_SYNC);
}

static double group_bytes(const uint64_t bytes[MEMORY_N_PARTS], size_t group)
{
    double sum = 0;

    for (size_t i = 0; i < MEMORY_N_PARTS; i++)
        if (groups[group].parts & 1u << i)
            sum += (double)bytes[i];
    return sum;
}

/* There are more layers than pixels: each column shows the fullest moment of its stretch. */
#define COLUMNS 220

static size_t stretch_of(const page *p)
{
    return p->n_moments / COLUMNS + 1;
}

static double live(const memory_moment *m)
{
    double sum = 0;

    for (size_t g = 0; g < N_GROUPS; g++)
        sum += group_bytes(m->part, g);
    return sum;
}

static const memory_moment *fullest(const page *p, size_t begin)
{
    const size_t         ends = begin + stretch_of(p);
    const memory_moment *most = &p->moment[begin];

    for (size_t i = begin + 1; i < p->n_moments && i < ends; i++)
        if (live(&p->moment[i]) > live(most))
            most = &p->moment[i];
    return most;
}

/* A decimal unit that gives the peak a few digits. */
static double unit_of(double bytes, const char **name)
{
    *name = bytes >= 1e9 ? "GB" : bytes >= 1e6 ? "MB" : "kB";
    return bytes >= 1e9 ? 1e9 : bytes >= 1e6 ? 1e6 : 1e3;
}

static const char *size_text(uint64_t bytes, char *buffer, size_t size)
{
    const char  *name;
    const double unit = unit_of((double)bytes, &name);

    snprintf(buffer, size, "%.3g %s", (double)bytes / unit, name);
    return buffer;
}

/* First moment of the backward pass; n_moments: there is none. */
static size_t turn_of(const page *p)
{
    size_t i = 0;

    while (i < p->n_moments && p->moment[i].pass != TIMELINE_TURN)
        i++;
    return i;
}

static void put_data(FILE *out, const page *p, double unit)
{
    fputs("$live << EOD\n", out);
    for (size_t i = 0; i < p->n_moments; i += stretch_of(p)) {
        const memory_moment *m   = fullest(p, i);
        double               sum = 0;

        fprintf(out, "%zu", i);
        for (size_t g = 0; g < N_GROUPS; g++) {
            sum += group_bytes(m->part, g);
            fprintf(out, " %.6g", sum / unit);
        }
        fputc('\n', out);
    }
    fputs("EOD\n", out);
}

static bool group_seen(const page *p, size_t group)
{
    for (size_t i = 0; i < p->n_moments; i++)
        if (group_bytes(p->moment[i].part, group) > 0)
            return true;
    return false;
}

/* A limit far above the curve would flatten it. */
static bool limit_drawn(const page *p)
{
    return p->memory && p->memory < 2 * p->use.peak;
}

/* Hints are this far apart, in columns. */
#define HINT_STRETCH 6

static void put_hints(FILE *out, const page *p, double unit, const char *name)
{
    const size_t stretch = stretch_of(p);
    const size_t apart   = p->n_moments / stretch > 40 ? HINT_STRETCH * stretch : stretch;

    if (!p->hints)
        return;
    chart_hints_begin(out);
    for (size_t i = 0; i < p->n_moments; i += apart) {
        const memory_moment *m     = fullest(p, i);
        double               below = 0;

        for (size_t g = 0; g < N_GROUPS; g++) {
            const double bytes = group_bytes(m->part, g);

            if (bytes > 0) {
                fprintf(out, "%zu %.6g ", i, (below + bytes / 2) / unit);
                html_hint(out, "%s in the %s pass: %.3g of %.3g %s", groups[g].name,
                          timeline_pass_name(m->pass), bytes / unit, live(m) / unit, name);
                putc('\n', out);
            }
            below += bytes;
        }
    }
    chart_hints_end(out);
}

static void put_memory(FILE *out, const void *what)
{
    const page_chart *c    = what;
    const page       *p    = c->page;
    const size_t      turn = turn_of(p);
    const char       *name;
    const double      unit = unit_of((double)p->use.peak, &name);
    const double      last = (double)(p->n_moments - 1);

    chart_begin(out, c->title, c->size, limit_drawn(p) ? 7 : 6, 2);
    put_data(out, p, unit);
    put_hints(out, p, unit, name);
    fprintf(out,
            "set xrange [0:%g]\nset xtics ('forward' 0, 'backward' %zu, 'update' %g)\n"
            "set xtics scale 0.6\nset xlabel 'layers in the order they run'\n"
            "set ylabel 'live memory [%s]'\nset yrange [0:*]\nunset grid\n"
            "set grid y lc rgb '#dddddd' lt 1\n",
            last, turn, last, name);
    if (limit_drawn(p)) {
        fprintf(out, "set yrange [0:%.6g]\n",
                1.1 * fmax((double)p->memory, (double)p->use.peak) / unit);
    }
    fputs("plot ", out);
    for (size_t g = N_GROUPS; g-- > 0;) /* the fullest group first, the others over it */
        if (group_seen(p, g))
            fprintf(
                out,
                "$live using 1:%zu with filledcurves y=0 fc rgb '%s' fs solid title '%s', \\\n  ",
                g + 2, group_colour(g), groups[g].brief);
    if (limit_drawn(p))
        fprintf(out, "%.6g with lines dt 2 lw 2 lc rgb '#000000' title 'the device has', \\\n  ",
                (double)p->memory / unit);
    fprintf(out, "$live using 1:%zu with lines lw 1 lc rgb '#1b1b1b' notitle, \\\n", N_GROUPS + 1);
    page_end_plot(out, p);
}

/* The place of the peak, in words. */
static void put_peak(const page *p, char *buffer, size_t size)
{
    const char *layer = p->use.layer;

    if (layer)
        snprintf(buffer, size, "in the %s pass of layer %s", timeline_pass_name(p->use.pass),
                 layer);
    else
        snprintf(buffer, size, "in the %s",
                 p->use.pass == TIMELINE_UPDATE ? "update" : "turn from forward to backward");
}

void page_memory_charts(page *p)
{
    page_chart *c = page_add_chart(p, "memory", NULL, (gnuplot_size){ 440, 350 }, put_memory);
    char        size[32], peak[200];

    put_peak(p, peak, sizeof peak);
    snprintf(c->title, sizeof c->title, "Memory over a step");
    snprintf(c->text, sizeof c->text, "Memory of a device during a %s. The peak is %s, %s.",
             p->batch ? "forward pass"
                      : "step, from the first layer of the forward pass to the update",
             size_text(p->use.peak, size, sizeof size), peak);
}

typedef struct peak_row {
    const char *what;
    double      size, share;
} peak_row;

static const field peak_fields[] = {
    { "what", .page = "at the peak", FIELD_AT(peak_row, what) },
    { "size", .page = "%s", FIELD_AT(peak_row, size), WITH_DIGITS(2), .each = field_named },
    { "percent", .page = "%", FIELD_AT(peak_row, share), IN_PERCENT },
    { 0 },
};

static table *peak_table(const page *p)
{
    const char  *name;
    const double peak = (double)p->use.peak;
    const double unit = unit_of(peak, &name);
    field_rows   rows = page_rows(p, peak_fields, 0, name);

    for (size_t g = 0; g < N_GROUPS; g++) {
        const double bytes = group_bytes(p->use.part, g);

        if (group_seen(p, g))
            field_row(&rows, &(peak_row){ groups[g].name, bytes / unit, bytes / peak });
    }
    field_row(&rows, &(peak_row){ "together", peak / unit, 1 });
    return rows.t;
}

void page_memory_write(const page *p, FILE *out)
{
    const memory_types types = limits_types_of(p->machine[0].who, &p->question.setup);
    char               as[MEMORY_TYPES_TEXT];
    const room_verdict verdict =
        room_judge((double)p->use.peak, (double)p->memory, false, ROOM_RESERVED);
    char peak[200], size[32], room[32], needs[ROOM_TEXT];

    put_peak(p, peak, sizeof peak);
    if (p->layout)
        html_paragraph(out, "Element types: %s.", memory_types_print(&types, as));
    if (p->layout && p->question.setup.layout.pp > 1)
        html_paragraph(out, "The figures are those of stage %lld of %lld, which needs most.",
                       (long long)p->rank + 1, (long long)p->question.setup.layout.pp);
    html_paragraph(out, "A device needs %s at batch %lld; the peak is %s.",
                   size_text(p->use.peak, size, sizeof size),
                   (long long)p->machine[0].apart->step.batch, peak);
    if (p->memory)
        html_paragraph(out, "%s, of the %s of the device: %s.",
                       room_needs((double)p->use.peak, false, ROOM_RESERVED, needs),
                       size_text(p->memory, room, sizeof room), room_verdict_words(verdict));
    fputs("<div class=\"charts\">\n", out);
    page_figure(p, "memory", out);
    fputs("<div>\n", out);
    page_table(peak_table(p), out);
    fputs("</div>\n</div>\n", out);
    html_paragraph(
        out, "Not counted: the device's context, the allocator's rounding, scratch of libraries "
             "(see 'layermeter memory').");
}
