/* Power, energy and time at each clock. */
#include "judge/clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

static double seconds_at(const points *p, const power_place *at)
{
    return p->point[at->point].seconds[at->phase];
}

static void predict(const power_state *s, double seconds, double out[N_CLOCK_FIGURES])
{
    out[CLOCK_POWER]  = s->watts;
    out[CLOCK_TIME]   = seconds * s->stretch;
    out[CLOCK_ENERGY] = out[CLOCK_POWER] * out[CLOCK_TIME];
}

static bool held(const observation *row)
{
    return !isnan(observation_held_mhz(row));
}

/* Settings without the clock: the words of one that the other lacks. */
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

/* The same settings without a held clock. */
static bool same_unheld(const observation *a, const observation *b)
{
    observation like = *b;

    like.settings = a->settings;
    return !held(b) && configuration_same(a, &like) && has_words(a->settings, b->settings) &&
           has_words(b->settings, a->settings);
}

/* The counterpart of row `i` at the usual clock; rows->n: there is none. */
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

static clock_answer answer_of(const points *p, const power_model *m, const power_rows *r, size_t i)
{
    const power_row  *row   = &r->row[i];
    const power_state s     = power_held(m, &row->load, row->mhz, NAN);
    const size_t      usual = counterpart(p, r, i);
    clock_answer      a     = { .predicted[CLOCK_CARRIED] = { NAN, NAN, NAN } };

    a.measured[CLOCK_POWER]  = row->watts;
    a.measured[CLOCK_TIME]   = seconds_at(p, &r->at[i]);
    a.measured[CLOCK_ENERGY] = row->watts * a.measured[CLOCK_TIME];
    predict(&s, r->at[i].seconds, a.predicted[CLOCK_BY_MODEL]);
    if (usual < r->n && power_clocks_known(m)) {
        const power_model own   = power_as_measured(m, &row->load, r->row[usual].watts);
        const power_state there = power_held(&own, &row->load, row->mhz, NAN);

        predict(&there, seconds_at(p, &r->at[usual]), a.predicted[CLOCK_CARRIED]);
    }
    return a;
}

lm_status clock_answers_of(const points *p, const calibration *cal, const char *path,
                           clock_answers *out, lm_error *err)
{
    lm_status status;

    *out = (clock_answers){ .answer = NULL };
    if (!cal || !cal->power)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "--phase clocks is of a machine file (--machine) whose power was "
                            "measured: fit observations with the column power_w");
    if ((status = power_rows_from(p, cal, NAN, &out->rows, err)))
        return status;
    if (!out->rows.n)
        return lm_error_set(err, LM_E_NOTFOUND,
                            "%s: no power of one device that the machine file has coefficients for",
                            path);
    if (!(out->answer = malloc(out->rows.n * sizeof *out->answer)))
        return no_memory(err);
    for (size_t i = 0; i < out->rows.n; i++)
        out->answer[i] = answer_of(p, cal->power, &out->rows, i);
    return LM_OK;
}

void clock_answers_free(clock_answers *a)
{
    power_rows_free(&a->rows);
    free(a->answer);
}
