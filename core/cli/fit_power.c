/* layermeter fit of measured powers. */
#include "cli/cmd_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "fit/forms.h"
#include "fit/power_rows.h"
#include "observe/variants.h"

/* Means over repetitions pass a board's limit by so much at most. */
#define CAP_PASSED 1.2

static bool any_power(const observations *obs)
{
    for (size_t i = 0; i < obs->n_rows; i++)
        if (obs->row[i].power_w > 0)
            return true;
    return false;
}

/* `where` without its clock, in place; false: it names none. */
static bool drop_clock(char *where)
{
    char *word = strstr(where, OBSERVATION_CLOCK);

    if (!word || (word > where && !strchr(" ,\t", word[-1])))
        return false;
    memset(word, ' ', strcspn(word, " ,\t"));
    return true;
}

/* Points at every clock, into `all`; false: `p` has them. */
static lm_status other_clocks(const observations *obs, workloads *loads, const char *where,
                              points *all, bool *found, lm_error *err)
{
    char     *rest = where ? strdup(where) : NULL;
    lm_status status;

    *found = rest && drop_clock(rest);
    if (where && !rest)
        return no_memory(err);
    if (!*found) {
        free(rest);
        return LM_OK;
    }
    status = points_from(obs, loads, all, err);
    if (!status && *(rest + strspn(rest, " ,\t")))
        status = points_where(all, rest, err);
    free(rest);
    return status;
}

/* What options tell stands before what the file does. */
static lm_status tell(const char *name, const power_choice *told, const calibration *cal,
                      power_model *out, lm_error *err)
{
    const lm_status status = power_told(cal, name, out, err);

    if (!status && name && isnan(out->cap_w) && isnan(out->top_mhz))
        fprintf(stderr,
                "layermeter: --device: no datasheet has a limit or a clock of '%s', which powers "
                "are then without ('layermeter devices' lists those that have)\n",
                name);
    if (isfinite(told->model.idle_w))
        out->idle_w = told->model.idle_w;
    if (isfinite(told->cap_w))
        out->cap_w = told->cap_w;
    out->knee_mhz = told->model.knee_mhz;
    return status;
}

static void say(const observations *obs, const power_rows *rows, const calibration *cal)
{
    if (rows->unused)
        fprintf(
            stderr,
            "layermeter: %s: %zu power%s not used: of several ranks, or of what has no prices\n",
            obs->path, rows->unused, rows->unused == 1 ? " is" : "s are");
    if (rows->odd)
        fprintf(stderr,
                "layermeter: %s:%d: %zu power%s left out here and behind: a twentieth or twenty "
                "times of what the others are, or at eight times their clock\n",
                obs->path, rows->odd_line, rows->odd, rows->odd == 1 ? " is" : "s are");
    if (rows->no_rest)
        fprintf(
            stderr,
            "layermeter: %s: what the file says is drawn at rest (idle_power) is left out: most "
            "powers at work are below it\n",
            obs->path);
    if (!cal->power)
        fprintf(stderr, "layermeter: %s: %zu powers, a model of them takes %d or more\n", obs->path,
                rows->n, POWER_LEAST_ROWS);
    else if (!power_clocks_known(cal->power))
        fprintf(
            stderr,
            "layermeter: %s: power is known at one clock only: for others tell --idle-power and "
            "--voltage-knee, or measure at several\n",
            obs->path);
}

/* A device at rest draws less than one that works, and one that works not more than its limit. */
static lm_status check_told(const power_choice *told, const power_rows *rows, lm_error *err)
{
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < rows->n; i++) {
        least = fmin(least, rows->row[i].watts);
        most  = fmax(most, rows->row[i].watts);
    }
    if (told->model.idle_w > least)
        return lm_error_set(err, LM_E_ARG,
                            "--idle-power: %.4g W at rest, but at work it drew as little as %.4g W",
                            told->model.idle_w, least);
    if (told->cap_w * CAP_PASSED < most)
        return lm_error_set(err, LM_E_ARG,
                            "--power-cap: the limit is %.4g W, but it drew as much as %.4g W",
                            told->cap_w, most);
    return LM_OK;
}

lm_status fit_power(const observations *obs, workloads *loads, const points *p, const char *where,
                    const char *name, const power_choice *told, calibration *cal, lm_error *err)
{
    points      all  = { 0 };
    power_rows  rows = { 0 };
    power_model from;
    double      usual_mhz;
    bool        more   = false;
    lm_status   status = LM_OK;

    if (!any_power(obs) || power_doubted(p)) /* which is said with the other doubts */
        return LM_OK;
    if ((status = tell(name, told, cal, &from, err)))
        return status;
    status = other_clocks(obs, loads, where, &all, &more, err);
    if (!status)
        status = power_usual_clock(p, &usual_mhz, err);
    if (!status)
        status = power_calibrate(more ? &all : p, usual_mhz, &from, cal, &rows, err);
    if (!status)
        status = check_told(told, &rows, err);
    if (status)
        lm_error_prefix(err, "%s", obs->path);
    else
        say(obs, &rows, cal);
    power_rows_free(&rows);
    if (more)
        points_free(&all);
    return status;
}

void add_power(table *t, const power_model *m)
{
    size_t used = m->memory_w > 0;

    used += isfinite(m->idle_w) != 0;
    used += isfinite(m->knee_mhz) != 0;
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        used += m->bound_w[k] > 0;
    table_text(t, model_at(0));
    table_text(t, "power");
    table_count(t, m->rows);
    table_count(t, used);
    table_text(t, "");
    for (int i = 0; i < 4; i++) /* condition, R2, RMSE in ms, NRMSE */
        table_real(t, NAN);
    table_real(t, 100 * m->mape);
    table_real(t, 100 * m->held_out_mape);
}
