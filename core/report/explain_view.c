/* Contents of a predicted step, as a table. */
#include "report/explain_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/step_fields.h"

/* A row of the listing. */
typedef struct explained_row {
    const char  *name;
    explained    x;
    const phase *part; /* of the columns */
    double       step; /* s: rows are shares of this */
} explained_row;

/* What is listed. */
typedef struct listing {
    const explanation *e;
    explain_key        key;
    double             step;          /* s */
    phase              part[N_TIMES]; /* with columns; a whole step has step_ms */
    size_t             n_parts;
    program_kind       program; /* inference has no parts */
} listing;

static const char *keys(const void *whole, size_t i)
{
    return i ? NULL : explain_key_name(((const listing *)whole)->key);
}

static const char *parts(const void *whole, size_t i)
{
    const listing *l = whole;

    return i < l->n_parts ? phase_formula(l->part[i]) : NULL;
}

static const char *bounds(const void *whole, size_t i)
{
    (void)whole;
    return i < N_TERM_BOUNDS ? term_bound_name((term_bound)i) : NULL;
}

TEXT_OF(type, explained_row, r->x.type ? r->x.type : "")
REAL_OF(part, explained_row, r->x.part[r->part[i]])
REAL_OF(count, explained_row, r->x.unit ? r->x.count : NAN)
TEXT_OF(unit, explained_row, r->x.unit ? r->x.unit : "")
REAL_OF(price, explained_row, r->x.unit ? r->x.coefficient : NAN)
REAL_OF(percent, explained_row, 100 * r->x.seconds / r->step)
TEXT_OF(bound_by, explained_row, explained_bound(&r->x))
TEXT_OF(ledger_text, explained_row, ledger_print(&r->x.ledger, room))
REAL_OF(bound_seconds_of, explained_row, r->x.bound[i])
REAL_OF(certainty_seconds, explained_row, r->x.ledger.seconds[i])

enum explained_facts {
    BY_LAYER = 1,
    BY_TERM  = 2,
    PARTED   = 4,
    BOUNDED  = 8,
    TRAINS   = 16,
    INFERS   = 32
};

#define MS .unit = "ms", .times = 1e3, .digits = -1

static const field fields[] = {
    { "%s", .title = "%s", .each = keys, FIELD_AT(explained_row, name), .help = "what it is of" },
    { "type", .title = "type", .text = type, .when = BY_LAYER, .help = "of the layer",
      .yields = -2 },
    { "%s_ms", .title = "%s [ms]", .each = parts, .real = part, MS, .when = PARTED,
      .help = "that part of the step", .yields = -3 },
    { "count", .title = "count", .real = count, .digits = -1, .when = BY_TERM,
      .help = "of the regressor", .yields = -3 },
    { "unit", .title = "unit", .text = unit, .when = BY_TERM, .help = "that is counted",
      .yields = -3 },
    { "seconds_per_unit", .title = "s/unit", .real = price, IN_UNIT("s", -1), .when = BY_TERM,
      .help = "its coefficient", .yields = -4 },
    { "step_ms", .title = "step [ms]", FIELD_AT(explained_row, x.seconds), MS, .when = TRAINS,
      .help = "all parts together" },
    { "latency_ms", .title = "latency [ms]", FIELD_AT(explained_row, x.seconds), MS, .when = INFERS,
      .help = "share of the latency" },
    { "percent", .title = "%", .real = percent, IN_UNIT("%", 1), .help = "share of the whole" },
    { "bound", .title = "bound by", .text = bound_by, .when = BOUNDED,
      .help = "what most of it is bound by", .yields = -1 },
    { "ledger_percent", .title = LEDGER_TITLE, .text = ledger_text, .unit = "%",
      .help = "shares: measured, interpolated, extrapolated, assumed", .yields = -5 },
    { "%s_ms", .each = bounds, .real = bound_seconds_of, MS, .when = BOUNDED,
      .help = "what is bound so" },
    { "%s_ms", .each = certainty_each, .real = certainty_seconds, MS,
      .help = "what is so founded" },
    { 0 },
};

static unsigned facts_of(const listing *l)
{
    return (l->key == EXPLAIN_LAYER ? BY_LAYER : 0) | (l->key == EXPLAIN_TERM ? BY_TERM : PARTED) |
           (l->e->bounded ? BOUNDED : 0) | (l->program == PROGRAM_INFERENCE ? INFERS : TRAINS);
}

static void add_row(const listing *l, field_rows *rows, const char *name, const explained *x)
{
    const explained_row r = { name, *x, l->part, l->step };

    field_row(rows, &r);
}

static void print_words(const listing *p, const explained *total, FILE *out)
{
    const ledger *l = &p->e->step.grounds.ledger;
    char          beyond[200];
    int           percent[N_CERTAINTIES];
    double        told = 0;

    if (p->e->ranks)
        fprintf(out, "rank %lld of %lld of the pipeline ends last: it has these layers\n",
                (long long)p->e->rank + 1, (long long)p->e->ranks);
    if (p->e->weight > 0)
        fprintf(
            out,
            "zb: %.3g ms of its backward passes are gradients of weights, run apart to fill waiting\n",
            1e3 * p->e->weight);
    if (p->e->bounded)
        fputs("bound by:", out);
    for (term_bound k = 0; k < N_TERM_BOUNDS && p->e->bounded; k++)
        told += total->bound[k];
    for (term_bound k = 0; k < N_TERM_BOUNDS && p->e->bounded; k++)
        fprintf(out, "%s %.0f %% %s", k ? "," : "", 100 * total->bound[k] / p->step,
                term_bound_name(k));
    if (p->e->bounded && total->seconds - told > 0.005 * p->step)
        fprintf(out, ", %.0f %% waiting", 100 * (total->seconds - told) / p->step);
    fputs(p->e->bounded ? "\nbasis:" : "basis:", out);
    ledger_percents(l, percent);
    for (certainty c = 0; c < N_CERTAINTIES; c++)
        fprintf(out, "%s %d %% %s", c ? "," : "", percent[c], certainty_name(c));
    fputc('\n', out);
    if (p->e->step.unsplit > 0)
        fprintf(out, "unsplit: %.3g %% of the FLOPs, in layers that each rank of tp computes\n",
                100 * p->e->step.unsplit);
    if (p->e->step.grounds.n_beyond)
        fprintf(out, "beyond the measurements: %s\n",
                grounds_beyond(&p->e->step.grounds, beyond, sizeof beyond));
}

static lm_status print_rows(const explained *row, size_t n, size_t top, const listing *p, format f,
                            lm_error *err)
{
    const field_view v = {
        .fields = fields, .in = field_place_of(f), .facts = facts_of(p), .whole = p
    };
    field_rows rows = field_rows_of(&v);
    lm_status  status;
    explained  rest = { .coefficient = NAN }, total = { .coefficient = NAN };
    size_t     shown = top && top < n ? top : n;
    char       name[60];

    for (size_t i = 0; i < n; i++) {
        explained_add(i < shown ? &total : &rest, &row[i]);
        if (i < shown)
            add_row(p, &rows, row[i].name, &row[i]);
    }
    if (shown < n) {
        explained_add(&total, &rest);
        snprintf(name, sizeof name, "(%zu more)", n - shown);
        add_row(p, &rows, name, &rest);
    }
    if (f == FORMAT_TABLE) /* readers of files can add up themselves */
        add_row(p, &rows, "(all)", &total);
    status = field_rows_print(&rows, f, stdout, LM_OK, err);
    if (status || f != FORMAT_TABLE)
        return status;
    putchar('\n');
    print_words(p, &total, stdout);
    return LM_OK;
}

lm_status explain_print(const predictor *who, const step_setup *s, explain_key key, size_t top,
                        format f, lm_error *err)
{
    explanation *e      = NULL;
    explained   *row    = NULL;
    size_t       n      = 0;
    lm_status    status = explain_step(who, s, &e, err);

    if (!status)
        status = explain_by(e, key, &row, &n, err);
    if (!status) {
        listing l = { .e = e, .key = key, .step = e->step.step, .program = s->program };

        for (size_t i = 0; i < e->n_parts && s->program == PROGRAM_TRAINING; i++)
            if (e->part[i] != PHASE_STEP)
                l.part[l.n_parts++] = e->part[i];
        status = print_rows(row, n, top, &l, f, err);
    }
    free(row);
    explanation_free(e);
    return status;
}

/* ---- how a tree decides ---- */

TEXT_OF(side, decision, !r->feature ? NULL : r->below ? "<" : ">=")
TEXT_OF(feature_asked, decision, r->feature)
TEXT_OF(unit_said, decision, r->watts ? "W" : "ms")
REAL_OF(tree_says, decision, r->says *(r->watts ? 1 : 1e3))
REAL_OF(all_say, decision, r->all *(r->watts ? 1 : 1e3))
COUNT_OF(tree_asked, decision, r->tree)
COUNT_OF(step_asked, decision, r->step)

static const field path_fields[] = {
    { "time", "time", FIELD_AT(decision, time), .help = "phase that is told" },
    { "by", "by", FIELD_AT(decision, by), .help = "what was learned, and the learner" },
    { "tree", "tree", .count = tree_asked,
      .help = "of the forest, the one whose answer is nearest to that of all" },
    { "step", "step", .count = step_asked, .help = "of the way down the tree; 0: it asks nothing" },
    { "feature", "feature", .text = feature_asked, .help = "that is asked about" },
    { "value", "value", FIELD_AT(decision, value), .digits = -1, .help = "of the layer" },
    { "side", "is", .text = side, .help = "of the threshold, on which the layer's value is" },
    { "threshold", "threshold", FIELD_AT(decision, threshold), .digits = -1,
      .help = "of the tree" },
    { "rows", "rows", FIELD_AT(decision, rows), .digits = -1,
      .help = "that the tree was grown on, for which this and all steps before it hold" },
    { "tree_says", "tree says", .real = tree_says, .digits = -1, .help = "at the end of its way" },
    { "all_say", "all say", .real = all_say, .digits = -1, .help = "all trees together" },
    { "unit", "unit", .text = unit_said, .help = "of both: ms or W" },
    { 0 },
};

static void add_decision(void *rows, const decision *d)
{
    field_row(rows, d);
}

lm_status explain_path_print(const predictor *who, const step_setup *s, const char *layer, format f,
                             lm_error *err)
{
    const field_view v      = { .fields = path_fields, .in = field_place_of(f) };
    field_rows       rows   = field_rows_of(&v);
    const lm_status  status = who->by->decide(who, s, layer, add_decision, &rows, err);

    return field_rows_print(&rows, f, stdout, status, err);
}
