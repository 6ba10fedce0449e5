/* The whole page: order of sections, pictures, and functions that sections share. */
#include "pages/page.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "pages/page_parts.h"

/* ---- shared by sections ---- */

bool page_known(const scale_point *x)
{
    return !isnan(x->step.step);
}

const scale_point *page_point(const page *p, const page_machine *m, int64_t nodes)
{
    for (size_t i = 0; i < p->n_nodes; i++)
        if (p->nodes[i] == nodes && page_known(&m->point[i]))
            return &m->point[i];
    return NULL;
}

const char *page_nodes(int64_t nodes, char *buffer, size_t size)
{
    snprintf(buffer, size, "%lld node%s", (long long)nodes, nodes == 1 ? "" : "s");
    return buffer;
}

static const char *grouped(int64_t nodes, char *buffer, size_t size)
{
    return text_grouped((uint64_t)nodes, buffer, size);
}

const char *page_turning(const turning_point *t, char *buffer, size_t size)
{
    char low[32], high[32], nodes[32];

    if (t->nodes < 0)
        snprintf(buffer, size, "not known");
    else if (!t->nodes)
        snprintf(buffer, size, "%s nodes and more", grouped(TURNING_LIMIT, nodes, sizeof nodes));
    else if (t->low < 1 || (t->low == t->nodes && t->high == t->nodes))
        snprintf(buffer, size, "%s node%s", grouped(t->nodes, nodes, sizeof nodes),
                 t->nodes == 1 ? "" : "s");
    else
        snprintf(buffer, size, "%s node%s (%s%s%s)", grouped(t->nodes, nodes, sizeof nodes),
                 t->nodes == 1 ? "" : "s", grouped(t->low, low, sizeof low),
                 t->high > 0 ? " to " : " or more",
                 t->high > 0 ? grouped(t->high, high, sizeof high) : "");
    return buffer;
}

int page_decimals(const page *p)
{
    double least = INFINITY;

    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < p->n_nodes; i++)
            least = fmin(least, p->machine[k].point[i].step.step);
    return least >= 1 ? 0 : least >= 0.1 ? 1 : least >= 0.01 ? 2 : least >= 1e-3 ? 3 : 4;
}

/* "weak scaling, batch 32 of each device, ...": the question in one line. */
static void page_asked(const page *p, char *buffer, size_t size)
{
    const scale_question *q = &p->question;
    char                  sync[SYNC_POLICY_TEXT];

    if (p->batch) {
        snprintf(buffer, size, "batches of %lld to %lld on ", (long long)p->batch[0],
                 (long long)p->batch[p->n_nodes - 1]);
        if (p->layout)
            text_add(buffer, size, "%lld devices by %s",
                     (long long)(p->nodes[0] * q->setup.devices), p->layout);
        else
            text_add(buffer, size, "one device");
        return;
    }
    snprintf(buffer, size, "%s scaling, ", scaling_kind_name(q->kind));

    if (q->kind == SCALING_WEAK)
        text_add(buffer, size, p->layout ? "micro-batch %lld" : "batch %lld of each device",
                 (long long)q->setup.batch);
    else
        text_add(buffer, size, "batch %lld of all devices together", (long long)q->global_batch);
    if (q->kind == SCALING_GLOBAL)
        text_add(buffer, size, ", at most %lld of a device at once", (long long)q->setup.batch);
    if (q->setup.devices > 1)
        text_add(buffer, size, ", %lld devices a node", (long long)q->setup.devices);
    if (p->layout)
        text_add(buffer, size, ", layout %s", p->layout);
    text_add(buffer, size, ", gradients: %s, optimizer: %s",
             sync_policy_print(&q->setup.sync, sync), optimizer_name(q->setup.optimizer));
}

/* ---- points ---- */

page_row page_row_of(const page *p, const page_machine *m, const scale_point *x)
{
    const step_watts none = { &power_unknown, false, NAN };
    page_row         r    = { .step = step_row_of(x, &none), .p = p, .m = m };

    r.step.machine = m->label;
    r.step.sync    = p->question.setup.sync;
    r.step.tokens  = p->tokens;
    r.step.turning = m->turning;
    return r;
}

static unsigned spread_of_page(const page *p)
{
    unsigned facts = 0;

    for (size_t k = 0; k < p->n_machines; k++)
        facts |= step_spread_fact(&p->machine[k].point[0].step);
    return facts;
}

field_rows page_rows(const page *p, const field *fields, unsigned facts, const void *whole)
{
    return field_rows_of(&(field_view){
        .fields = fields, .in = IN_PAGE, .facts = facts, .whole = whole, .ms = page_decimals(p) });
}

table *page_points(const page *p, const field *fields)
{
    const field_view v    = { .fields = fields,
                              .from   = step_fields,
                              .in     = IN_PAGE,
                              .facts  = STEP_COMPARED | STEP_WHOLE |
                                       step_program_fact(p->question.setup.program) |
                                       spread_of_page(p) | (p->tokens ? STEP_TOKENS : 0) |
                                       (p->question.dataset ? STEP_EPOCHS : 0),
                              .ms = page_decimals(p) };
    field_rows       rows = field_rows_of(&v);

    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < p->n_nodes; i++)
            if (page_known(&p->machine[k].point[i])) {
                const page_row r = page_row_of(p, &p->machine[k], &p->machine[k].point[i]);

                field_row(&rows, &r);
            }
    return rows.t;
}

/* ---- pictures ---- */

const char *page_chart_name(const page *p, const char *kind, const page_machine *m, char *buffer,
                            size_t size)
{
    snprintf(buffer, size, "%s-%zu", kind, (size_t)(m - p->machine) + 1);
    return buffer;
}

page_chart *page_add_chart(page *p, const char *name, const page_machine *m, gnuplot_size size,
                           gnuplot_writer *writer)
{
    page_chart *c = &p->chart[p->n_charts++];

    *c = (page_chart){ .size = size, .writer = writer, .page = p, .machine = m };
    snprintf(c->name, sizeof c->name, "%s", name);
    return c;
}

void page_begin_chart(const page_chart *c, size_t more, FILE *out)
{
    size_t longest = more ? 6 : 0;

    for (size_t k = 0; k < c->page->n_machines; k++) {
        const size_t n = strlen(c->page->machine[k].label);

        longest = n > longest ? n : longest;
    }
    chart_begin_wide(out, c->title, c->size, c->page->n_machines + more, longest);
}

void page_band(FILE *out, size_t k, size_t known, int at, int low, int high)
{
    if (known > 1)
        chart_band(out, k, low, high);
    else if (known)
        chart_bar(out, k, at, low, high);
}

const char *page_band_words(const size_t *known, size_t n, const char *say, char *buffer,
                            size_t size)
{
    size_t most = 0;

    for (size_t k = 0; k < n; k++)
        most = known[k] > most ? known[k] : most;
    snprintf(buffer, size, " %s%s", most > 1 ? "Bands" : "Bars", say);
    return most ? buffer : "";
}

void page_point_hints(FILE *out, const page *p, page_teller *tell)
{
    char text[200];

    if (!p->hints)
        return;
    chart_hints_begin(out);
    for (size_t k = 0; k < p->n_machines; k++)
        for (size_t i = 0; i < p->n_nodes; i++) {
            const page_machine *m = &p->machine[k];
            const page_row      r = page_row_of(p, m, &m->point[i]);
            double              y;

            if (!page_known(&m->point[i]))
                continue;
            tell(&r, &y, text, sizeof text);
            if (isnan(y))
                continue;
            fprintf(out, "%lld %.9g ", (long long)(p->batch ? p->batch[i] : p->nodes[i]), y);
            html_hint(out, "%s, %s %lld: %s", m->label, p->batch ? "batch" : "nodes",
                      (long long)(p->batch ? p->batch[i] : p->nodes[i]), text);
            putc('\n', out);
        }
    chart_hints_end(out);
}

void page_end_plot(FILE *out, const page *p)
{
    if (p->hints)
        chart_hints(out);
    else
        fputs("  NaN notitle\n", out);
}

void page_figure(const page *p, const char *name, FILE *out)
{
    const page_chart *c = p->chart, *end = c + p->n_charts;

    while (c < end && strcmp(c->name, name))
        c++;
    if (c == end)
        return;
    fputs("<figure>\n", out);
    if (c->svg)
        html_svg(out, c->svg, c->name, c->title, c->text);
    fputs("<figcaption>", out);
    html_text(out, c->text);
    fputs("</figcaption>\n</figure>\n", out);
}

void page_table(table *t, FILE *out)
{
    table_html(t, out);
    table_free(t);
}

void page_numbers(table *t, const char *summary, FILE *out)
{
    fputs("<details><summary>", out);
    html_text(out, summary);
    fputs("</summary>\n", out);
    page_table(t, out);
    fputs("</details>\n", out);
}

static void picture_of(const page_chart *c, gnuplot_picture *out)
{
    *out = (gnuplot_picture){ c->size, c->writer, c };
}

lm_status page_draw(page *p, lm_error *err)
{
    gnuplot_picture picture[PAGE_CHARTS];
    char           *svg[PAGE_CHARTS];
    lm_status       status;

    for (size_t i = 0; i < p->n_charts; i++)
        picture_of(&p->chart[i], &picture[i]);
    p->hints = true;
    status   = gnuplot_svg(picture, p->n_charts, svg, err);
    p->hints = false;
    for (size_t i = 0; i < p->n_charts && !status; i++)
        p->chart[i].svg = svg[i];
    return status;
}

/* File of a picture: FOLDER/NAME.svg, PATH-NAME.svg, or PATH. malloc'ed. */
static char *path_of(const char *path, const char *name)
{
    const char  *ending = gnuplot_ending(path);
    const size_t room   = strlen(path) + strlen(name) + 8;
    char        *out    = malloc(room);

    if (!out)
        return NULL;
    if (!ending)
        snprintf(out, room, "%s/%s.svg", path, name);
    else if (!strcmp(ending, ".pdf"))
        snprintf(out, room, "%s", path);
    else
        snprintf(out, room, "%.*s-%s%s", (int)(strlen(path) - strlen(ending)), path, name, ending);
    return out;
}

static lm_status make_folder(const char *path, lm_error *err)
{
    struct stat s;

    if (!mkdir(path, 0777) || (errno == EEXIST && !stat(path, &s) && S_ISDIR(s.st_mode)))
        return LM_OK;
    return lm_error_set(err, LM_E_IO, "%s: %s", path,
                        errno == EEXIST ? "expected a folder or a name ending in .svg, .png or .pdf"
                                        : strerror(errno));
}

lm_status page_plot(const page *p, const char *path, lm_error *err)
{
    gnuplot_picture picture[PAGE_CHARTS];
    char           *file[PAGE_CHARTS] = { NULL };
    lm_status       status            = LM_OK;

    if (!gnuplot_ending(path))
        status = make_folder(path, err);
    for (size_t i = 0; i < p->n_charts && !status; i++) {
        picture_of(&p->chart[i], &picture[i]);
        file[i] = path_of(path, p->chart[i].name);
        if (!file[i])
            status = no_memory(err);
    }
    if (!status)
        status = gnuplot_draw_all((const char *const *)file, picture, p->n_charts, err);
    for (size_t i = 0; i < p->n_charts; i++)
        free(file[i]);
    return status;
}

/* ---- the page ---- */

/* Sections in the order of a planner's questions. */
static const struct {
    const char *id, *title;
    void (*write)(const page *p, FILE *out);
    bool trains, infers; /* on pages of training, of inference */
} sections[] = {
    { "summary", "In short", page_summary_write, true, true },
    { "scaling", "More nodes", page_scaling_write, true, false },
    { "batches", "Latency and throughput", page_batches_write, false, true },
    { "step", "What a step is made of", page_step_write, true, false },
    { "pass", "What a pass is made of", page_pass_write, false, true },
    { "overlap", "One step in time", page_overlap_write, true, false },
    { "memory", "Memory of a device", page_memory_write, true, true },
    { "cost", "Time and cost of a run", page_cost_write, true, false },
    { "calibration", "How good the calibration is", page_calibration_write, true, true },
    { "assumptions", "What is assumed", page_assumptions_write, true, true },
    { "provenance", "Where the figures come from", page_provenance_write, true, true },
};

#define N_SECTIONS (sizeof sections / sizeof sections[0])

static bool has_section(const page *p, size_t i)
{
    return p->batch ? sections[i].infers : sections[i].trains;
}

static void put_head(const page *p, const char *title, FILE *out)
{
    char asked[240 + LAYOUT_TEXT];

    page_asked(p, asked, sizeof asked);
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
          out);
    html_text(out, title);
    fputs("</title>\n", out);
    page_style(out);
    fputs("</head>\n<body>\n<header>\n<h1>", out);
    html_text(out, title);
    fputs("</h1>\n<p class=\"asked\">", out);
    html_textf(out, "Predicted %s of %s%s%s: %s.",
               p->passes  ? "decoding"
               : p->batch ? "inference"
                          : "training time",
               p->network, p->net->set ? " with " : "", p->net->set ? p->net->set : "", asked);
    fputs("</p>\n<nav aria-label=\"sections\">", out);
    for (size_t i = 0; i < N_SECTIONS; i++)
        if (has_section(p, i))
            fprintf(out, "<a href=\"#%s\">%s</a>%s", sections[i].id, sections[i].title,
                    i + 1 < N_SECTIONS ? " " : "");
    fputs("</nav>\n</header>\n<main>\n", out);
}

void page_write(const page *p, FILE *out)
{
    put_head(p, p->title ? p->title : p->net->name, out);
    for (size_t i = 0; i < N_SECTIONS; i++) {
        if (!has_section(p, i))
            continue;
        fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", sections[i].id, sections[i].title);
        sections[i].write(p, out);
        fputs("</section>\n", out);
    }
    fputs("</main>\n", out);
    if (p->command) {
        fputs("<footer><p>Made by <code>", out);
        html_text(out, p->command);
        fputs("</code></p></footer>\n", out);
    }
    fputs("</body>\n</html>\n", out);
}
