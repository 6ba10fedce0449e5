/* Sections of learned models of single layers, instead of sections on coefficients. */
#include <math.h>

#include "models/learned.h"
#include "pages/page_parts.h"

bool page_learned(const page *p)
{
    return p->machine[0].who->by->from_layers;
}

static const layerwise_model *model_of(const page_machine *m)
{
    return learned_model_of(m->who);
}

/* A task, or a phase of it. Only the interval of a phase is known. */
typedef struct task_row {
    const char *name;
    int64_t     rows, held; /* -1: not known */
    double      mape, low, high;
    int64_t     groups;
} task_row;

static const field task_fields[] = {
    { "task", .page = "layers", FIELD_AT(task_row, name) },
    { "rows", .page = "times", FIELD_AT(task_row, rows) },
    { "held", .page = "left out to judge it", FIELD_AT(task_row, held) },
    { "mape", .page = "off on these [%]", FIELD_AT(task_row, mape), IN_PERCENT },
    { "low", .page = "low", FIELD_AT(task_row, low), WITH_DIGITS(3) },
    { "high", .page = "high", FIELD_AT(task_row, high), WITH_DIGITS(3) },
    { "groups", .page = "groups behind the interval", FIELD_AT(task_row, groups) },
    { 0 },
};

static void put_task(field_rows *rows, task_row r, const interval *x)
{
    const bool known = interval_known(x);

    r.low    = known ? x->low : NAN;
    r.high   = known ? x->high : NAN;
    r.groups = known ? (int64_t)x->groups : -1;
    field_row(rows, &r);
}

static table *tasks_table(const page *p, const page_machine *m)
{
    const layerwise_model *model = model_of(m);
    field_rows             rows  = page_rows(p, task_fields, 0, NULL);
    char                   text[LAYERWISE_TASK_TEXT];

    for (size_t i = 0; i < model->n_tasks; i++) {
        const layerwise_task *x    = &model->task[i];
        const int64_t         held = (int64_t)x->judged.held;

        put_task(&rows,
                 (task_row){ .name = layerwise_task_text(model->kind, x, text),
                             .rows = (int64_t)x->judged.seen + held,
                             .held = held,
                             .mape = x->judged.mape },
                 &x->interval);
        for (phase f = 0; f < N_PHASES; f++) {
            if (!interval_known(&x->of_phase[f]))
                continue;
            snprintf(text, sizeof text, "%s: %s", x->name, phase_name(f));
            put_task(&rows, (task_row){ .name = text, .rows = -1, .held = -1, .mape = NAN },
                     &x->of_phase[f]);
        }
    }
    return rows.t;
}

void page_learned_calibration(const page *p, FILE *out)
{
    for (size_t k = 0; k < p->n_machines; k++) {
        fputs("<h3>", out);
        html_textf(out, "What %s learned on %s", p->machine[k].who->model, p->machine[k].label);
        fputs("</h3>\n", out);
        page_table(tasks_table(p, &p->machine[k]), out);
    }
    html_paragraph(
        out, "Errors are means of |predicted - measured| / measured on layers that were "
             "left out, intervals the central 90 %% of measured / predicted on groups of layers "
             "that were left out.");
}

void page_learned_provenance(const page_machine *m, FILE *out)
{
    const device          *on    = learned_device_of(m->who);
    const layerwise_model *model = model_of(m);
    const char            *path  = calibration_learned_path(m->who->cal, m->who->model);
    size_t                 rows  = 0;

    for (size_t i = 0; i < model->n_tasks; i++)
        rows += model->task[i].judged.seen + model->task[i].judged.held;
    fputs("<p>Learned model <code>", out);
    html_text(out, path ? path : m->who->model);
    fputs("</code>: ", out);
    html_textf(out, "%s, %s, of %zu times of single layers in %zu task%s%s%s.", model->kind->name,
               model->kind->doc, rows, model->n_tasks, model->n_tasks == 1 ? "" : "s",
               on ? "; this device by the datasheet of " : "", on ? on->name : "");
    fputs("</p>\n", out);
}
