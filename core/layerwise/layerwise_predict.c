/* Learned models of single layers: predictions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "layerwise/layerwise_model.h"

static const layerwise_task *find_task(const layerwise_model *m, const char *name,
                                       layerwise_target target)
{
    for (size_t i = 0; i < m->n_tasks; i++)
        if (m->task[i].target == target && !strcmp(m->task[i].name, name))
            return &m->task[i];
    return NULL;
}

/* Features in use, out of all of a case: by name, as a file may be of another version. */
static lm_status map_features(const layerwise_task *t, const layerwise_range *all, size_t n,
                              size_t at[LAYERWISE_FEATURES], lm_error *err)
{
    for (size_t k = 0, next = 0; k < t->n_features; k++) {
        if (t->feature[k].sort == LAYERWISE_WORD) {
            at[k] = n;
            continue;
        }
        for (at[k] = next; at[k] < n && strcmp(all[at[k]].name, t->feature[k].name) != 0;)
            at[k]++;
        if (at[k] == n)
            return lm_error_set(err, LM_E_NOTFOUND,
                                "'%s' has no feature '%s' that comes next: learned by another "
                                "version? fit the observations again",
                                t->name, t->feature[k].name);
        next = at[k] + 1;
    }
    return LM_OK;
}

/* Factor by which a value leaves the learned range; NAN: the model cannot predict there. */
static double leaves(const layerwise_range *f, double x)
{
    if (f->sort == LAYERWISE_WORD) /* a word that no learned device had has no prediction */
        return 1;
    if (f->sort == LAYERWISE_MHZ && !(x > 0)) /* a flag tells whether it is held */
        return 1;
    if (f->sort == LAYERWISE_FLAG || f->sort == LAYERWISE_MHZ)
        return x >= f->low && x <= f->high ? 1 : NAN;
    if (x > f->high)
        return f->high > 0 ? x / f->high : HUGE_VAL;
    return x < f->low ? (x > 0 ? f->low / x : HUGE_VAL) : 1;
}

static lm_status lacks(const layerwise_range *f, const device *on, lm_error *err)
{
    return on ? lm_error_set(
                    err, LM_E_NOTFOUND,
                    "it was learned from several devices, by their %s, which the datasheet of %s "
                    "(%s:%d) lacks: add it to a file of datasheets (--devices)",
                    f->name, on->name, on->path, on->line)
              : lm_error_set(
                    err, LM_E_NOTFOUND,
                    "it was learned from several devices and needs %s of this one: name the device (--device)",
                    f->name);
}

double layerwise_value(const layerwise_range *f, const double *row, size_t at, const device *on)
{
    char word[LAYERWISE_NAME], name[LAYERWISE_NAME];

    if (f->sort != LAYERWISE_WORD)
        return row[at];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(f->name, "."), f->name);
    if (!on)
        return NAN;
    return layerwise_device_word(word, on, name) && !strcmp(name, f->name);
}

/* The features in use; *beyond NAN: the model has no prediction. */
static lm_status take_features(const layerwise_task *t, const double *all, const size_t *at,
                               const device *on, double *x, double *beyond, lm_error *err)
{
    *beyond = 1;
    for (size_t k = 0; k < t->n_features; k++) {
        const layerwise_range *f = &t->feature[k];

        x[k] = layerwise_value(f, all, at[k], on);
        if (isnan(x[k]))
            return lacks(f, on, err);
        if (!isnan(*beyond)) {
            const double by = leaves(f, x[k]);

            *beyond = isnan(by) ? NAN : fmax(*beyond, by);
        }
    }
    return LM_OK;
}

layerwise_clocks layerwise_clocks_of(const layerwise_model *m)
{
    layerwise_clocks found = { 0, HUGE_VAL };

    for (size_t t = 0; t < m->n_tasks; t++)
        for (size_t k = 0; k < m->task[t].n_features; k++) {
            const layerwise_range *f = &m->task[t].feature[k];

            if (f->sort != LAYERWISE_MHZ || !(f->high > 0))
                continue;
            found.low  = fmax(found.low, f->low);
            found.high = fmin(found.high, f->high);
        }
    return found.low > 0 && found.low <= found.high ? found : (layerwise_clocks){ 0, 0 };
}

double layerwise_clock_near(const layerwise_model *m, double mhz)
{
    const layerwise_clocks taught = layerwise_clocks_of(m);

    if (!m->kind->clocks || isnan(mhz))
        return mhz;
    return taught.high > 0 ? fmin(fmax(mhz, taught.low), taught.high) : (double)NAN;
}

static bool knows(const layerwise_task *t, const device *on)
{
    bool found = !t->n_devices || !on;

    for (size_t i = 0; i < t->n_devices && !found; i++)
        found = !strncmp(t->device[i], on->name, LAYERWISE_NAME - 1);
    return found;
}

static layerwise_answer answer_of(const layerwise_task *t, phase f, const device *on, double value,
                                  double beyond)
{
    const bool      seen  = knows(t, on);
    const interval *of    = seen ? layerwise_interval(t, f) : &t->unseen;
    const double    wider = interval_grown(of, log2(beyond));
    const bool      known = interval_known(of) && isfinite(wider);

    return (layerwise_answer){ .value  = value,
                               .low    = known ? value * of->low / wider : (double)NAN,
                               .high   = known ? value * of->high * wider : (double)NAN,
                               .beyond = beyond,
                               .unseen = !seen };
}

/* The task of a case and its features in use; *t NULL: the model does not know such a case. */
static lm_status look(const layerwise_model *m, const layerwise_case *c, layerwise_target target,
                      const layerwise_task **t, double x[LAYERWISE_FEATURES], double *beyond,
                      lm_error *err)
{
    char               name[LAYERWISE_NAME];
    layerwise_features f = { .n = 0 };
    layerwise_range    all[LAYERWISE_FEATURES];
    double             value[LAYERWISE_FEATURES];
    size_t             at[LAYERWISE_FEATURES];
    lm_status          status;

    *t = NULL;
    if (!m->kind->task(c, name) || !(*t = find_task(m, name, target)))
        return LM_OK;
    m->kind->features(c, &f);
    for (size_t k = 0; k < f.n; k++) {
        strcpy(all[k].name, f.of[k].name);
        value[k] = f.of[k].value;
    }
    if ((status = map_features(*t, all, f.n, at, err)) ||
        (status = take_features(*t, value, at, c->on, x, beyond, err)))
        return status;
    if (isnan(*beyond))
        *t = NULL;
    return LM_OK;
}

lm_status layerwise_predict(const layerwise_model *m, const layerwise_case *c,
                            layerwise_target target, layerwise_answer *out, lm_error *err)
{
    const layerwise_task *t;
    double                x[LAYERWISE_FEATURES], by, y;
    lm_status             status = look(m, c, target, &t, x, &by, err);

    *out = (layerwise_answer){ NAN, NAN, NAN, 1, false };
    if (status || !t || (status = m->kind->learner->predict(t->learned, x, 1, &y, err)))
        return status;
    *out = answer_of(t, c->phase, c->on, y, by);
    return LM_OK;
}

lm_status layerwise_decide(const layerwise_model *m, const layerwise_case *c,
                           layerwise_target target, layerwise_decision *out, lm_error *err)
{
    const layerwise_learner *by = m->kind->learner;
    double                   beyond;
    lm_status                status = look(m, c, target, &out->task, out->x, &beyond, err);

    if (status || !out->task ||
        (status = by->predict(out->task->learned, out->x, 1, &out->value, err)))
        return status;
    if (!by->decide)
        return lm_error_set(err, LM_E_UNSUPPORTED, "no trees decide what %s says", m->kind->name);
    return by->decide(out->task->learned, out->x, &out->way, err);
}

lm_status layerwise_predict_lot(const layerwise_model *m, const layerwise_lot *lot,
                                bool (*wanted)(const void *context, size_t from),
                                const void *context, layerwise_answer *out, lm_error *err)
{
    const layerwise_task *t = find_task(m, lot->task, lot->target);
    size_t                at[LAYERWISE_FEATURES], n = 0;
    size_t               *row;
    double               *x, *y, *beyond;
    lm_status             status;

    if (!t)
        return LM_OK;
    if ((status = map_features(t, lot->feature, lot->n_features, at, err)))
        return status;
    row    = malloc((lot->n + 1) * sizeof *row);
    x      = malloc((lot->n * t->n_features + 1) * sizeof *x);
    y      = malloc((lot->n + 1) * sizeof *y);
    beyond = malloc((lot->n + 1) * sizeof *beyond);
    if (!row || !x || !y || !beyond)
        status = no_memory(err);
    for (size_t i = 0; i < lot->n && !status; i++) {
        if (wanted && !wanted(context, lot->from[i]))
            continue;
        status = take_features(t, lot->x + i * lot->n_features, at, lot->on[i],
                               x + n * t->n_features, &beyond[n], err);
        row[n] = i;
        n += isnan(beyond[n]) ? 0 : 1;
    }
    if (!status)
        status = m->kind->learner->predict(t->learned, x, n, y, err);
    for (size_t i = 0; i < n && !status; i++)
        out[row[i]] = answer_of(t, lot->when[row[i]], lot->on[row[i]], y[i], beyond[i]);
    free_all(row, x, y, beyond);
    return status;
}
