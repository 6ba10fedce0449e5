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

static void put_interval(table *t, const interval *i)
{
    const bool known = interval_known(i);

    table_real(t, known ? i->low : NAN);
    table_real(t, known ? i->high : NAN);
    table_real(t, known ? (double)i->groups : NAN);
}

/* Phases of a task with intervals of their own. */
static void put_phases(table *t, const layerwise_task *x)
{
    for (phase f = 0; f < N_PHASES; f++)
        if (interval_known(&x->of_phase[f])) {
            char text[LAYERWISE_TASK_TEXT];

            snprintf(text, sizeof text, "%s: %s", x->name, phase_name(f));
            table_text(t, text);
            for (int i = 0; i < 3; i++)
                table_real(t, NAN);
            put_interval(t, &x->of_phase[f]);
        }
}

static table *tasks_table(const page_machine *m)
{
    const layerwise_model *model = model_of(m);
    table                 *t     = table_new();
    char                   text[LAYERWISE_TASK_TEXT];

    table_column(t, "task", "layers", 0);
    table_column(t, "rows", "times", 0);
    table_column(t, "held", "left out to judge it", 0);
    table_column(t, "mape", "off on these [%]", 1);
    table_column(t, "low", "low", 3);
    table_column(t, "high", "high", 3);
    table_column(t, "groups", "groups behind the interval", 0);
    for (size_t i = 0; i < model->n_tasks; i++) {
        const layerwise_task *x = &model->task[i];

        table_text(t, layerwise_task_text(model->kind, x, text));
        table_count(t, x->judged.seen + x->judged.held);
        table_count(t, x->judged.held);
        table_real(t, 100 * x->judged.mape);
        put_interval(t, &x->interval);
        put_phases(t, x);
    }
    return t;
}

void page_learned_calibration(const page *p, FILE *out)
{
    for (size_t k = 0; k < p->n_machines; k++) {
        table *t = tasks_table(&p->machine[k]);

        fputs("<h3>", out);
        html_textf(out, "What %s learned on %s", p->machine[k].who->model, p->machine[k].label);
        fputs("</h3>\n", out);
        table_html(t, out);
        table_free(t);
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
