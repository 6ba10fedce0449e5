/* Suggested points, printed. */
#include "cli/suggest_print.h"

#include <math.h>
#include <stdio.h>

/* An interval that keeps more than this share of its width has not been narrowed. */
#define HARDLY 0.98

static void add_columns(const suggest_answer *a, table *t)
{
    table_column(t, "point", "point", 0);
    table_column(t, "network", "network", 0);
    table_column(t, "input", "input", 0);
    table_column(t, "batch", "batch", 0);
    table_column(t, "ranks", "ranks", 0);
    table_column(t, "step_ms", "step [ms]", TABLE_MS(2));
    table_column(t, "seconds", "measure [s]", 2);
    table_column(t, "total_seconds", "in all [s]", 2);
    for (size_t k = 0; k < a->n_asked; k++) {
        char key[300], title[300];

        snprintf(key, sizeof key, "%.200s_percent", a->asked[k]);
        snprintf(title, sizeof title, "%.200s +- [%%]", a->asked[k]);
        table_column(t, key, title, 1);
    }
}

/* Half of it, in percent. */
static double half_width(const suggest_answer *a, size_t after, size_t k)
{
    return 50 * a->s->width[after * a->n_asked + k];
}

static void add_widths(const suggest_answer *a, table *t, size_t after)
{
    for (size_t k = 0; k < a->n_asked; k++)
        table_real(t, half_width(a, after, k));
}

/* Row 0 is what is known now. */
static double add_rows(const suggest_answer *a, table *t)
{
    double total = 0;

    table_count(t, 0);
    table_text(t, "");
    table_text(t, "");
    for (int empty = 0; empty < 4; empty++)
        table_real(t, NAN);
    table_real(t, 0);
    add_widths(a, t, 0);
    for (size_t i = 0; i < a->s->n; i++) {
        const size_t     at = a->s->at[i];
        const candidate *c  = &a->c->item[at];

        total += a->cost[at];
        table_count(t, i + 1);
        table_text(t, c->name);
        table_text(t, c->input);
        table_count(t, (uint64_t)c->batch);
        table_count(t, (uint64_t)c->ranks);
        table_real(t, 1e3 * a->step[at]);
        table_real(t, a->cost[at]);
        table_real(t, total);
        add_widths(a, t, i + 1);
    }
    return total;
}

/* What is left where nothing more can be learned is told as well. */
static void print_gain(const suggest_answer *a, size_t k, double total, FILE *out)
{
    const double before = half_width(a, 0, k), after = half_width(a, a->s->n, k);

    if (after > HARDLY * before)
        fprintf(
            out,
            "%zu point%s in %.3g s would hardly narrow the interval of %s, +-%.3g %%: what is left is how "
            "much networks and repetitions differ from any formula\n",
            a->s->n, a->s->n == 1 ? "" : "s", total, a->asked[k], before);
    else
        fprintf(
            out,
            "%zu point%s in %.3g s would narrow the interval of %s from +-%.3g %% to +-%.3g %%\n",
            a->s->n, a->s->n == 1 ? "" : "s", total, a->asked[k], before, after);
}

static void print_words(const suggest_answer *a, double total, FILE *out)
{
    for (size_t k = 0; k < a->n_asked; k++)
        print_gain(a, k, total, out);
    if (a->s->n_refused)
        fprintf(out, "%zu point%s that would tell more %s not fit into %s\n", a->s->n_refused,
                a->s->n_refused == 1 ? "" : "s", a->s->n_refused == 1 ? "does" : "do", a->memory);
    if (!a->n_learned)
        fprintf(
            out, "%s: times, costs and intervals are guesses %s\n",
            a->measured
                ? "no time of a network's forward or backward pass, update or all-reduce is known"
                : "nothing is measured yet",
            a->machine ? "around the machine file's" : "of a CPU core's");
    if (a->sweep)
        fprintf(out, "to measure them: layermeter calibrate %s -o FOLDER (a new one)\n", a->sweep);
}

lm_status suggest_print(const suggest_answer *a, format f, lm_error *err)
{
    table    *t = table_new();
    double    total;
    lm_status status;

    add_columns(a, t);
    total  = add_rows(a, t);
    status = table_print(t, f, stdout, err);
    table_free(t);
    if (!status)
        print_words(a, total, f == FORMAT_TABLE ? stdout : stderr);
    return status;
}
