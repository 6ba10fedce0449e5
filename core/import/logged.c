/* Rows of what a run logged. */
#include "import/logged.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/names.h"
#include "base/no_memory.h"

#define TIMES_MAX 1000000
/* A clock of whole seconds tells a time to a hundredth once so many have passed. */
#define COARSE 100

#define TAGS_MAX 4096

typedef struct point {
    size_t tag;
    double step, clock;
} point;

typedef struct value {
    size_t metric;
    double seconds;
} value;

struct logged {
    const char           *path;
    const extrap_options *given;
    log_rows             *out;
    point                *point;
    value                *value;
    size_t                n_points, point_room, n_values, value_room;
    names                 tags;
    char                 *tag[TAGS_MAX];
    size_t                n_of[TAGS_MAX]; /* points of each */
    size_t                n_tags;
    bool                  fine; /* the clock has parts of a second */
};

lm_status logged_open(const char *path, const extrap_options *given, log_rows *out, logged **made,
                      lm_error *err)
{
    logged *l = calloc(1, sizeof *l);

    if (!l)
        return no_memory(err);
    *l    = (logged){ .path = path, .given = given, .out = out };
    *made = l;
    return LM_OK;
}

void logged_close(logged *l)
{
    if (!l)
        return;
    for (size_t t = 0; t < l->n_tags; t++)
        free(l->tag[t]);
    names_free(&l->tags);
    free(l->point);
    free(l->value);
    free(l);
}

size_t logged_metrics(const logged *l)
{
    return l->given->metrics.n;
}

size_t logged_metric(const logged *l, const char *name)
{
    size_t m = 0;

    while (m < l->given->metrics.n && strcmp(l->given->metrics.name[m].theirs, name) != 0)
        m++;
    return m;
}

/* Number of a tag; TAGS_MAX: one too many. */
static lm_status number_of(logged *l, const char *tag, size_t *out, lm_error *err)
{
    *out = names_find(&l->tags, tag);
    if (*out != NAMES_NONE)
        return LM_OK;
    *out = l->n_tags;
    if (l->n_tags == TAGS_MAX)
        return LM_OK;
    if (!(l->tag[l->n_tags] = strdup(tag)))
        return no_memory(err);
    return names_add(&l->tags, l->tag[l->n_tags++], *out) ? LM_OK : no_memory(err);
}

lm_status logged_point(logged *l, const char *tag, double step, double clock, lm_error *err)
{
    size_t          t;
    const lm_status status = number_of(l, tag, &t, err);

    if (status)
        return status;
    if (!isfinite(step) || !isfinite(clock) || l->n_points == TIMES_MAX || t == TAGS_MAX) {
        l->out->n_broken++;
        return LM_OK;
    }
    if (!array_grow(&l->point, l->n_points, &l->point_room, sizeof *l->point))
        return no_memory(err);
    l->point[l->n_points++] = (point){ t, step, clock };
    l->n_of[t]++;
    l->fine = l->fine || clock != floor(clock);
    return LM_OK;
}

lm_status logged_value(logged *l, size_t metric, double seconds, lm_error *err)
{
    if (!(seconds > 0 && isfinite(seconds)) || l->n_values == TIMES_MAX) {
        l->out->n_broken++;
        return LM_OK;
    }
    if (!array_grow(&l->value, l->n_values, &l->value_room, sizeof *l->value))
        return no_memory(err);
    l->value[l->n_values++] = (value){ metric, seconds };
    return LM_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static lm_status add_row(logged *l, const char *metric, double *seconds, size_t n, lm_error *err)
{
    const extrap_series series = { .name   = extrap_renamed(&l->given->regions, LOGGED_STEP),
                                   .metric = metric,
                                   .said   = l->given->fixed };
    observation         row;
    bool                none;
    lm_status           status = extrap_row(&series, l->given, seconds, n, &row, &none, err);

    if (status)
        lm_error_prefix(err, "%s", l->path);
    return status ? status : log_add(l->out, &row, err);
}

/* Keeps the points of the tag that has the most; of several the first. */
static void keep_one_tag(logged *l)
{
    size_t most = 0, n = 0;

    for (size_t t = 1; t < l->n_tags; t++)
        most = l->n_of[t] > l->n_of[most] ? t : most;
    for (size_t i = 0; i < l->n_points; i++)
        if (l->point[i].tag == most)
            l->point[n++] = l->point[i];
    l->n_points = n;
}

/* Seconds of a step between two points; a clock of whole seconds waits for COARSE of them. A new
 * piece begins where the run or its clock starts again. */
static size_t step_seconds(const logged *l, double *seconds)
{
    const double least = l->fine ? 0 : COARSE;
    size_t       n     = 0;

    for (size_t i = 0, k = 1; k < l->n_points; k++) {
        const double steps = l->point[k].step - l->point[i].step;
        const double spent = l->point[k].clock - l->point[i].clock;

        if (l->point[k].step < l->point[k - 1].step || spent < 0) {
            i = k;
        } else if (steps > 0 && spent > 0 && spent >= least) {
            seconds[n++] = spent / steps;
            i            = k;
        }
    }
    return n;
}

static lm_status add_steps(logged *l, double *seconds, lm_error *err)
{
    const char *said = l->given->fixed.text[EXTRAP_PHASE];
    size_t      n;

    keep_one_tag(l);
    if ((n = step_seconds(l, seconds)))
        return add_row(l, said ? said : "step", seconds, n, err);
    return lm_error_set(err, LM_E_ARG,
                        "%s: %zu points, between which no time can be told: steps must rise, and a "
                        "clock of whole seconds must run for %d; or give --metric COLUMN=step",
                        l->path, l->n_points, COARSE);
}

static lm_status add_values(logged *l, double *seconds, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t m = 0; m < l->given->metrics.n && !status; m++) {
        size_t n = 0;

        for (size_t i = 0; i < l->n_values; i++)
            if (l->value[i].metric == m)
                seconds[n++] = l->value[i].seconds;
        status = n ? add_row(l, l->given->metrics.name[m].theirs, seconds, n, err)
                   : lm_error_set(err, LM_E_NOTFOUND, "%s: no value of '%.60s' in it", l->path,
                                  l->given->metrics.name[m].theirs);
    }
    return status;
}

static lm_status check_network(const logged *l, const registry *reg, lm_error *err)
{
    const char *name = extrap_renamed(&l->given->regions, LOGGED_STEP);
    network    *net  = NULL;
    lm_status   status;

    if (!strcmp(name, LOGGED_STEP))
        return lm_error_set(err, LM_E_ARG,
                            "%s: steps, but of which network? Give --region " LOGGED_STEP
                            "=NETWORK --fixed batch=N",
                            l->path);
    if ((status = network_open(name, reg, NULL, &net, err)))
        lm_error_prefix(err, "%s: region '" LOGGED_STEP "'", l->path);
    network_free(net);
    return status;
}

lm_status logged_rows(logged *l, const registry *reg, const char *nothing, lm_error *err)
{
    double   *seconds;
    lm_status status;

    if (!l->n_points && !l->given->metrics.n)
        return lm_error_set(err, LM_E_SYNTAX, "%s: %s", l->path, nothing);
    if ((status = check_network(l, reg, err)))
        return status;
    if (!(seconds = calloc(l->n_points + l->n_values + 1, sizeof *seconds)))
        return no_memory(err);
    status = l->given->metrics.n ? add_values(l, seconds, err) : add_steps(l, seconds, err);
    free(seconds);
    l->out->statistics = l->given->metrics.n
                             ? "seconds: the median of the values that were logged"
                             : "seconds: the median of the times between logged steps, over the "
                               "steps between them";
    return status;
}
