/* Whole networks of observations, composed of single layers. */
#include "fit/composed_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "single/whole.h"

/* Networks with what their layers take; `seconds` NAN: not measured. */
typedef struct composing {
    composed_row *step, *inference;
    size_t       *point;
    bool         *in;
    size_t        n;
} composing;

static void composing_free(composing *c)
{
    free(c->step);
    free(c->inference);
    free(c->point);
    free(c->in);
}

static lm_status add_network(const points *p, size_t at, layer_model *m, composing *to,
                             lm_error *err)
{
    const observation *row = p->point[at].row;
    bound_network     *bound;
    whole_seconds      found;
    lm_status          status =
        workloads_bind_at(p->loads, row->name, row->input, row->dtype, row->batch, &bound, err);

    if (status)
        return status;
    status = whole_predict(m, bound, *row->optimizer ? row->optimizer : "momentum",
                           WHOLE_LEARNED_STEPS, &found, err);
    bound_network_free(bound);
    if (status == LM_E_NOTFOUND)
        return lm_error_set(err, LM_OK, "%s", "");
    if (status)
        return status;
    memcpy(to->step[to->n].part, found.step, sizeof found.step);
    memcpy(to->inference[to->n].part, found.inference, sizeof found.inference);
    to->step[to->n].seconds      = point_seconds(&p->point[at], PART_STEP);
    to->inference[to->n].seconds = point_seconds(&p->point[at], PART_INFERENCE);
    to->point[to->n++]           = at;
    return LM_OK;
}

static lm_status gather(const points *p, layer_model *m, composing *out, lm_error *err)
{
    const size_t n      = p->n_points + 1;
    lm_status    status = LM_OK;

    *out = (composing){ malloc(n * sizeof *out->step), malloc(n * sizeof *out->inference),
                        malloc(n * sizeof *out->point), malloc(n), 0 };
    if (!out->step || !out->inference || !out->point || !out->in)
        status = no_memory(err);
    for (size_t i = 0; i < p->n_points && !status; i++)
        if (p->point[i].row->kind == OBS_NETWORK && p->point[i].row->ranks < 2)
            status = add_network(p, i, m, out, err);
    if (status)
        composing_free(out);
    return status;
}

/* Of networks outside of a fold. */
static lm_status fit_one(composing *c, const composed_row *row, const split *by, size_t fold,
                         composed_factors *out, lm_error *err)
{
    for (size_t i = 0; i < c->n; i++)
        c->in[i] = row[i].seconds > 0 && (!by || by->fold[c->point[i]] != fold);
    return composed_fit(row, c->in, c->n, out, err);
}

static lm_status fit_both(composing *c, const split *by, size_t fold, composed_set *out,
                          lm_error *err)
{
    const lm_status status = fit_one(c, c->step, by, fold, &out->step, err);

    return status ? status : fit_one(c, c->inference, by, fold, &out->inference, err);
}

static void predict(const composing *c, const composed_set *f, const split *by, size_t fold,
                    double *seconds)
{
    for (size_t i = 0; i < c->n; i++) {
        double *to = seconds + c->point[i] * N_PHASES;

        if (by && by->fold[c->point[i]] != fold)
            continue;
        to[PHASE_STEP]      = composed_seconds(&f->step, c->step[i].part);
        to[PHASE_INFERENCE] = composed_seconds(&f->inference, c->inference[i].part);
    }
}

lm_status composed_calibrate(const points *p, layer_model *m, composed_set *out, lm_error *err)
{
    composing c;
    lm_status status = gather(p, m, &c, err);

    if (status)
        return status;
    status = fit_both(&c, NULL, 0, out, err);
    composing_free(&c);
    return status;
}

lm_status composed_left_out(const points *p, layer_model *m, const split *by,
                            const composed_set *given, double *seconds, lm_error *err)
{
    composed_set f;
    composing    c;
    lm_status    status = gather(p, m, &c, err);

    if (status)
        return status;
    if (given) {
        predict(&c, given, NULL, 0, seconds);
    } else if (by->rule.kind == SPLIT_NONE) {
        if (!(status = fit_both(&c, NULL, 0, &f, err)))
            predict(&c, &f, NULL, 0, seconds);
    }
    for (size_t k = 0; k < by->n_folds && !given && !status; k++)
        if (!(status = fit_both(&c, by, k, &f, err)))
            predict(&c, &f, by, k, seconds);
    composing_free(&c);
    return status;
}
