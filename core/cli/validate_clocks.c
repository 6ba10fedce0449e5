/* layermeter validate --phase clocks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "cli/cmd_validate.h"

static const char *const figure_names[N_CLOCK_FIGURES] = { "power", "energy", "time" };

static const char *by_name(clock_basis b)
{
    return b == CLOCK_CARRIED ? "carried" : DEFAULT_MODEL;
}

static bool any_carried(const clock_answer *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isfinite(a[i].predicted[CLOCK_CARRIED][CLOCK_POWER]))
            return true;
    return false;
}

static void each_columns(table *t, clock_basis last)
{
    static const char *const key[N_CLOCK_FIGURES]    = { "power_w", "energy_j", "time_ms" };
    static const char *const unit[N_CLOCK_FIGURES]   = { "W", "J", "ms" };
    static const int         digits[N_CLOCK_FIGURES] = { 1, -1, TABLE_MS(3) };

    table_column(t, "network", "network", 0);
    table_column(t, "phase", "phase", 0);
    table_column(t, "input", "input", 0);
    table_column(t, "batch", "batch", 0);
    table_column(t, "clock_mhz", "clock [MHz]", 0);
    for (clock_figure w = 0; w < N_CLOCK_FIGURES; w++) {
        char name[60], title[60];

        snprintf(title, sizeof title, "measured [%s]", unit[w]);
        table_column(t, key[w], title, digits[w]);
        for (clock_basis b = 0; b <= last; b++) {
            snprintf(name, sizeof name, "%s_%s", by_name(b), key[w]);
            snprintf(title, sizeof title, "%s [%s]", by_name(b), unit[w]);
            table_column(t, name, title, digits[w]);
            snprintf(name, sizeof name, "%s_%s_error_percent", by_name(b), figure_names[w]);
            table_column(t, name, "error [%]", 1);
        }
    }
}

static void add_each(const points *p, const power_rows *r, const clock_answer *a, table *t)
{
    const clock_basis last = any_carried(a, r->n) ? CLOCK_CARRIED : CLOCK_BY_MODEL;

    each_columns(t, last);
    for (size_t i = 0; i < r->n; i++) {
        const observation *row = p->point[r->at[i].point].row;

        table_text(t, row->name);
        table_text(t, phase_name(r->at[i].phase));
        table_text(t, row->input);
        table_count(t, (uint64_t)row->batch);
        table_real(t, r->row[i].mhz);
        for (clock_figure w = 0; w < N_CLOCK_FIGURES; w++) {
            const double factor = w == CLOCK_TIME ? 1e3 : 1;

            table_real(t, factor * a[i].measured[w]);
            for (clock_basis b = 0; b <= last; b++) {
                table_real(t, factor * a[i].predicted[b][w]);
                table_real(t, 100 * (a[i].predicted[b][w] / a[i].measured[w] - 1));
            }
        }
    }
}

/* Of a group; of n_groups: all of them. */
static void add_group(const points *p, const power_rows *r, const clock_answer *a, size_t group,
                      clock_figure w, clock_basis b, double *room, table *t)
{
    double      *measured = room, *predicted = room + r->n;
    stats_errors e;
    size_t       n = 0;

    for (size_t i = 0; i < r->n; i++) {
        if ((group < p->n_groups && r->row[i].group != group) || isnan(a[i].predicted[b][w]))
            continue;
        measured[n]    = a[i].measured[w];
        predicted[n++] = a[i].predicted[b][w];
    }
    if (!n)
        return;
    e = stats_compare(predicted, measured, n);
    table_text(t, group < p->n_groups ? p->group[group] : "(all)");
    table_text(t, figure_names[w]);
    table_text(t, by_name(b));
    table_count(t, n);
    table_real(t, e.r2);
    table_real(t, e.nrmse);
    table_real(t, 100 * e.mape);
    table_real(t, 100 * e.median_ape);
}

static void add_groups(const points *p, const power_rows *r, const clock_answer *a, double *room,
                       table *t)
{
    table_column(t, "group", "group", 0);
    table_column(t, "phase", "phase", 0);
    table_column(t, "model", "model", 0);
    table_column(t, "points", "points", 0);
    table_column(t, "r2", "R2", 4);
    table_column(t, "nrmse", "NRMSE", 3);
    table_column(t, "mape_percent", "MAPE [%]", 1);
    table_column(t, "median_ape_percent", "median [%]", 1);
    for (size_t g = 0; g <= p->n_groups; g++)
        for (clock_figure w = 0; w < N_CLOCK_FIGURES; w++)
            for (clock_basis b = 0; b < N_CLOCK_BASES; b++)
                add_group(p, r, a, g, w, b, room, t);
}

lm_status validate_clocks(const points *p, const calibration *cal, const char *path, bool each,
                          table *t, lm_error *err)
{
    clock_answers a;
    double       *room   = NULL;
    lm_status     status = clock_answers_of(p, cal, path, &a, err);

    if (!status && !(room = malloc(2 * a.rows.n * sizeof *room)))
        status = no_memory(err);
    if (!status && each)
        add_each(p, &a.rows, a.answer, t);
    else if (!status)
        add_groups(p, &a.rows, a.answer, room, t);
    free(room);
    clock_answers_free(&a);
    return status;
}
