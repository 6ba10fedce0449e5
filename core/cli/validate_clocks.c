/* layermeter validate --phase clocks. */
#include "cli/cmd_validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "fit/power_rows.h"

typedef enum what { POWER, ENERGY, TIME, N_WHAT } what;

static const char *const what_names[N_WHAT] = { "power", "energy", "time" };

/* By the model alone, and carried over from the same at another clock, where it was measured so. */
typedef enum by { BY_MODEL, CARRIED, N_BY } by;

static const char *by_name(by b)
{
    return b == CARRIED ? "carried" : model_at(0);
}

/* Measured and predicted: W, J, s. NAN: nothing to carry over. */
typedef struct answer {
    double measured[N_WHAT], predicted[N_BY][N_WHAT];
} answer;

static double seconds_at(const points *p, const power_place *at)
{
    return p->point[at->point].seconds[at->phase];
}

static void predict(const power_state *s, double seconds, double out[N_WHAT])
{
    out[POWER]  = s->watts;
    out[TIME]   = seconds * s->stretch;
    out[ENERGY] = out[POWER] * out[TIME];
}

static bool held(const observation *row)
{
    return !isnan(observation_held_mhz(row));
}

/* Settings but for the clock: the words of one that the other lacks. */
static bool has_words(const char *of, const char *in)
{
    for (const char *w = of; *(w += strspn(w, " ")); w += strcspn(w, " ")) {
        const size_t n     = strcspn(w, " ");
        bool         found = !strncmp(w, OBSERVATION_CLOCK, strlen(OBSERVATION_CLOCK));

        for (const char *v = in; !found && *(v += strspn(v, " ")); v += strcspn(v, " "))
            found = strcspn(v, " ") == n && !strncmp(v, w, n);
        if (!found)
            return false;
    }
    return true;
}

/* The same, but that nobody held the clock. */
static bool same_unheld(const observation *a, const observation *b)
{
    observation like = *b;

    like.settings = a->settings;
    return !held(b) && configuration_same(a, &like) && has_words(a->settings, b->settings) &&
           has_words(b->settings, a->settings);
}

/* Row `i`'s counterpart at the usual clock; rows->n: there is none. */
static size_t counterpart(const points *p, const power_rows *r, size_t i)
{
    const observation *row = p->point[r->at[i].point].row;
    size_t             k   = 0;

    if (!held(row))
        return r->n;
    while (k < r->n &&
           (r->at[k].phase != r->at[i].phase || !same_unheld(row, p->point[r->at[k].point].row)))
        k++;
    return k;
}

static answer answer_of(const points *p, const power_model *m, const power_rows *r, size_t i)
{
    const power_row  *row   = &r->row[i];
    const power_state s     = power_held(m, &row->load, row->mhz, NAN);
    const size_t      usual = counterpart(p, r, i);
    answer            a     = { .predicted[CARRIED] = { NAN, NAN, NAN } };

    a.measured[POWER]  = row->watts;
    a.measured[TIME]   = seconds_at(p, &r->at[i]);
    a.measured[ENERGY] = row->watts * a.measured[TIME];
    predict(&s, r->at[i].seconds, a.predicted[BY_MODEL]);
    if (usual < r->n && power_clocks_known(m)) {
        const power_model own   = power_as_measured(m, &row->load, r->row[usual].watts);
        const power_state there = power_held(&own, &row->load, row->mhz, NAN);

        predict(&there, seconds_at(p, &r->at[usual]), a.predicted[CARRIED]);
    }
    return a;
}

static bool any_carried(const answer *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isfinite(a[i].predicted[CARRIED][POWER]))
            return true;
    return false;
}

static void each_columns(table *t, by last)
{
    static const char *const key[N_WHAT]    = { "power_w", "energy_j", "time_ms" };
    static const char *const unit[N_WHAT]   = { "W", "J", "ms" };
    static const int         digits[N_WHAT] = { 1, -1, TABLE_MS(3) };

    table_column(t, "network", "network", 0);
    table_column(t, "phase", "phase", 0);
    table_column(t, "input", "input", 0);
    table_column(t, "batch", "batch", 0);
    table_column(t, "clock_mhz", "clock [MHz]", 0);
    for (what w = 0; w < N_WHAT; w++) {
        char name[60], title[60];

        snprintf(title, sizeof title, "measured [%s]", unit[w]);
        table_column(t, key[w], title, digits[w]);
        for (by b = 0; b <= last; b++) {
            snprintf(name, sizeof name, "%s_%s", by_name(b), key[w]);
            snprintf(title, sizeof title, "%s [%s]", by_name(b), unit[w]);
            table_column(t, name, title, digits[w]);
            snprintf(name, sizeof name, "%s_%s_error_percent", by_name(b), what_names[w]);
            table_column(t, name, "error [%]", 1);
        }
    }
}

static void add_each(const points *p, const power_rows *r, const answer *a, table *t)
{
    const by last = any_carried(a, r->n) ? CARRIED : BY_MODEL;

    each_columns(t, last);
    for (size_t i = 0; i < r->n; i++) {
        const observation *row = p->point[r->at[i].point].row;

        table_text(t, row->name);
        table_text(t, phase_name(r->at[i].phase));
        table_text(t, row->input);
        table_count(t, (uint64_t)row->batch);
        table_real(t, r->row[i].mhz);
        for (what w = 0; w < N_WHAT; w++) {
            const double factor = w == TIME ? 1e3 : 1;

            table_real(t, factor * a[i].measured[w]);
            for (by b = 0; b <= last; b++) {
                table_real(t, factor * a[i].predicted[b][w]);
                table_real(t, 100 * (a[i].predicted[b][w] / a[i].measured[w] - 1));
            }
        }
    }
}

/* Of a group; of n_groups: all of them. */
static void add_group(const points *p, const power_rows *r, const answer *a, size_t group, what w,
                      by b, double *room, table *t)
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
    table_text(t, what_names[w]);
    table_text(t, by_name(b));
    table_count(t, n);
    table_real(t, e.r2);
    table_real(t, e.nrmse);
    table_real(t, 100 * e.mape);
    table_real(t, 100 * e.median_ape);
}

static void add_groups(const points *p, const power_rows *r, const answer *a, double *room,
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
        for (what w = 0; w < N_WHAT; w++)
            for (by b = 0; b < N_BY; b++)
                add_group(p, r, a, g, w, b, room, t);
}

lm_status validate_clocks(const points *p, const calibration *cal, const char *path, bool each,
                          table *t, lm_error *err)
{
    power_rows r    = { 0 };
    answer    *a    = NULL;
    double    *room = NULL;
    lm_status  status;

    if (!cal || !cal->power)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "--phase clocks is of a machine file (--machine) whose power was "
                            "measured: fit observations with the column power_w");
    if ((status = power_rows_from(p, cal, NAN, &r, err)))
        return status;
    a    = malloc((r.n + 1) * sizeof *a);
    room = malloc((2 * r.n + 1) * sizeof *room);
    if (!a || !room)
        status = no_memory(err);
    else if (!r.n)
        status =
            lm_error_set(err, LM_E_NOTFOUND,
                         "%s: no power of one device that the machine file has prices for", path);
    for (size_t i = 0; i < r.n && !status; i++)
        a[i] = answer_of(p, cal->power, &r, i);
    if (!status && each)
        add_each(p, &r, a, t);
    else if (!status)
        add_groups(p, &r, a, room, t);
    free(room);
    free(a);
    power_rows_free(&r);
    return status;
}
