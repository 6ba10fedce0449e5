/* What a predicted step is made of, as a table; and the ledger beside predictions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"

void ledger_column(table *t)
{
    table_column(t, "ledger_percent", LEDGER_TITLE, 0);
}

void ledger_hidden_columns(table *t)
{
    for (certainty c = 0; c < N_CERTAINTIES; c++)
        table_column(t, certainty_name(c), NULL, 3);
}

void ledger_cell(table *t, const ledger *l)
{
    char text[LEDGER_TEXT];

    table_text(t, ledger_print(l, text));
}

void ledger_hidden_cells(table *t, const ledger *l)
{
    for (certainty c = 0; c < N_CERTAINTIES; c++)
        table_real(t, ledger_share(l, c));
}

/* What is printed, and what all rows are shares of. */
typedef struct listing {
    const explanation *e;
    explain_key        key;
    table             *t;
    double             step;
} listing;

/* Is the part a column of its own? Of whole steps the step's says it. */
static bool shows(const listing *p, size_t i)
{
    return p->key != EXPLAIN_TERM && p->e->part[i] != PHASE_STEP;
}

static void add_columns(const listing *p)
{
    char key[40], title[40];

    table_column(p->t, explain_key_name(p->key), explain_key_name(p->key), 0);
    if (p->key == EXPLAIN_LAYER)
        table_column(p->t, "type", "type", 0);
    for (size_t i = 0; i < p->e->n_parts; i++) {
        if (!shows(p, i))
            continue;
        snprintf(key, sizeof key, "%s_ms", phase_formula(p->e->part[i]));
        snprintf(title, sizeof title, "%s [ms]", phase_formula(p->e->part[i]));
        table_column(p->t, key, title, -1);
    }
    if (p->key == EXPLAIN_TERM) {
        table_column(p->t, "count", "count", -1);
        table_column(p->t, "unit", "unit", 0);
        table_column(p->t, "seconds_per_unit", "s/unit", -1);
    }
    table_column(p->t, "step_ms", "step [ms]", -1);
    table_column(p->t, "percent", "%", 1);
    if (p->e->bounded)
        table_column(p->t, "bound", "bound by", 0);
    ledger_column(p->t);
    for (term_bound k = 0; k < N_TERM_BOUNDS && p->e->bounded; k++) {
        snprintf(key, sizeof key, "%s_ms", term_bound_name(k));
        table_column(p->t, key, NULL, -1);
    }
    for (certainty c = 0; c < N_CERTAINTIES; c++) {
        snprintf(key, sizeof key, "%s_ms", certainty_name(c));
        table_column(p->t, key, NULL, -1);
    }
}

static void add_row(const listing *p, const char *name, const explained *x)
{
    table_text(p->t, name);
    if (p->key == EXPLAIN_LAYER)
        table_text(p->t, x->type ? x->type : "");
    for (size_t i = 0; i < p->e->n_parts; i++)
        if (shows(p, i))
            table_real(p->t, 1e3 * x->part[p->e->part[i]]);
    if (p->key == EXPLAIN_TERM) {
        table_real(p->t, x->unit ? x->count : NAN);
        table_text(p->t, x->unit ? x->unit : "");
        table_real(p->t, x->unit ? x->coefficient : NAN);
    }
    table_real(p->t, 1e3 * x->seconds);
    table_real(p->t, 100 * x->seconds / p->step);
    if (p->e->bounded)
        table_text(p->t, term_bound_name(explained_bound(x)));
    ledger_cell(p->t, &x->ledger);
    for (term_bound k = 0; k < N_TERM_BOUNDS && p->e->bounded; k++)
        table_real(p->t, 1e3 * x->bound[k]);
    for (certainty c = 0; c < N_CERTAINTIES; c++)
        table_real(p->t, 1e3 * x->ledger.seconds[c]);
}

static void print_words(const listing *p, const explained *total, FILE *out)
{
    const ledger *l = &p->e->step.grounds.ledger;
    char          beyond[200];
    int           percent[N_CERTAINTIES];

    if (p->e->bounded)
        fputs("bound by:", out);
    for (term_bound k = 0; k < N_TERM_BOUNDS && p->e->bounded; k++)
        fprintf(out, "%s %.0f %% %s", k ? "," : "", 100 * total->bound[k] / p->step,
                term_bound_name(k));
    fputs(p->e->bounded ? "\nledger:" : "ledger:", out);
    ledger_percents(l, percent);
    for (certainty c = 0; c < N_CERTAINTIES; c++)
        fprintf(out, "%s %d %% %s", c ? "," : "", percent[c], certainty_name(c));
    fputc('\n', out);
    if (p->e->step.grounds.n_beyond)
        fprintf(out, "beyond: %s\n", grounds_beyond(&p->e->step.grounds, beyond, sizeof beyond));
}

static lm_status print_rows(const explained *row, size_t n, size_t top, listing *p, format f,
                            lm_error *err)
{
    explained rest = { .coefficient = NAN }, total = { .coefficient = NAN };
    size_t    shown = top && top < n ? top : n;
    char      name[60];

    add_columns(p);
    for (size_t i = 0; i < n; i++) {
        explained_add(i < shown ? &total : &rest, &row[i]);
        if (i < shown)
            add_row(p, row[i].name, &row[i]);
    }
    if (shown < n) {
        explained_add(&total, &rest);
        snprintf(name, sizeof name, "(%zu more)", n - shown);
        add_row(p, name, &rest);
    }
    if (f != FORMAT_TABLE) /* who reads these can add */
        return table_print(p->t, f, stdout, err);
    add_row(p, "(all)", &total);
    if (table_print(p->t, f, stdout, err))
        return err->code;
    putchar('\n');
    print_words(p, &total, stdout);
    return LM_OK;
}

lm_status print_explanation(const predictor *who, const step_setup *s, explain_key key, size_t top,
                            format f, lm_error *err)
{
    explanation *e      = NULL;
    explained   *row    = NULL;
    listing      p      = { .key = key, .t = table_new() };
    size_t       n      = 0;
    lm_status    status = explain_step(who, s, &e, err);

    if (!status)
        status = explain_by(e, key, &row, &n, err);
    if (!status) {
        p.e    = e;
        p.step = e->step.step;
        status = print_rows(row, n, top, &p, f, err);
    }
    table_free(p.t);
    free(row);
    explanation_free(e);
    return status;
}
