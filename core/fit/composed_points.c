/* Whole networks of observations, composed of single layers. */
#include "fit/composed_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "device/power_fit.h"
#include "fit/layer_watts.h"
#include "single/learned.h"
#include "single/whole.h"

/* Networks and the seconds of their layers; `seconds` NAN: not measured. */
typedef struct composing {
    composed_row *step, *inference;
    double (*by)[2][N_RESOURCES]; /* seconds on the device, of a step and of inference */
    size_t *point;
    bool   *in;
    size_t  n;
} composing;

static void composing_free(composing *c)
{
    free_all(c->step, c->inference, c->point, c->by, c->in);
}

/* A network as the sum of its layers, in training or in evaluation mode. */
static lm_status add_mode(const points *p, size_t at, bool evaluation, layer_asker *by_layer,
                          composed_row *to, double by[N_RESOURCES], lm_error *err)
{
    const observation  *row = p->point[at].row;
    const workload_name of  = row_workload(row, evaluation);
    bound_network      *bound;
    whole_seconds       found;
    lm_status           status = workloads_bind_at(p->loads, &of, row->batch, &bound, err);

    if (status)
        return status;
    status = whole_predict(by_layer, bound, *row->optimizer ? row->optimizer : "momentum",
                           WHOLE_LEARNED_STEPS, &found, err);
    bound_network_free(bound);
    if (status)
        return status;
    memcpy(to->part, found.part, sizeof found.part);
    memcpy(by, found.by, sizeof found.by);
    to->seconds = point_seconds(&p->point[at], evaluation ? PHASE_INFERENCE : PHASE_STEP);
    return LM_OK;
}

static lm_status add_network(const points *p, size_t at, layer_asker *by, composing *to,
                             lm_error *err)
{
    const size_t n      = to->n;
    lm_status    status = add_mode(p, at, false, by, &to->step[n], to->by[n][0], err);

    if (!status)
        status = add_mode(p, at, true, by, &to->inference[n], to->by[n][1], err);
    if (status == LM_E_NOTFOUND)
        return lm_error_set(err, LM_OK, "%s", "");
    if (!status)
        to->point[to->n++] = at;
    return status;
}

static lm_status gather(const points *p, const layer_model *m, composing *out, lm_error *err)
{
    const size_t n      = p->n_points + 1;
    layer_asker  by     = layer_asker_of(m);
    lm_status    status = learned_check(m, err);

    *out = (composing){ malloc(n * sizeof *out->step),
                        malloc(n * sizeof *out->inference),
                        malloc(n * sizeof *out->by),
                        malloc(n * sizeof *out->point),
                        malloc(n),
                        0 };
    if (!status && (!out->step || !out->inference || !out->by || !out->point || !out->in))
        status = no_memory(err);
    for (size_t i = 0; i < p->n_points && !status; i++)
        if (p->point[i].row->kind == OBS_NETWORK && p->point[i].row->ranks < 2)
            status = add_network(p, i, &by, out, err);
    layer_asker_free(&by);
    if (status)
        composing_free(out);
    return status;
}

/* Fits to the networks of a turn; NULL: to all networks. */
static lm_status fit_one(composing *c, const composed_row *row, const fold_turn *t,
                         composed_factors *out, lm_error *err)
{
    for (size_t i = 0; i < c->n; i++)
        c->in[i] = row[i].seconds > 0 && (!t || fold_in(t, c->point[i]));
    return composed_fit(row, c->in, c->n, out, err);
}

static lm_status fit_both(composing *c, const fold_turn *t, composed_set *out, lm_error *err)
{
    const lm_status status = fit_one(c, c->step, t, &out->step, err);

    return status ? status : fit_one(c, c->inference, t, &out->inference, err);
}

static void predict(const composing *c, const composed_set *f, const fold_turn *t, double *seconds)
{
    for (size_t i = 0; i < c->n; i++) {
        double *to = seconds + c->point[i] * N_PHASES;

        if (t && !fold_out(t, c->point[i]))
            continue;
        to[PHASE_STEP]      = composed_seconds(&f->step, c->step[i].part);
        to[PHASE_INFERENCE] = composed_seconds(&f->inference, c->inference[i].part);
    }
}

lm_status composed_calibrate(const points *p, const layer_model *m, composed_set *out,
                             lm_error *err)
{
    composing c;
    lm_status status = gather(p, m, &c, err);

    if (status)
        return status;
    status = fit_both(&c, NULL, out, err);
    composing_free(&c);
    return status;
}

/* Predictions by networks of other folds. */
typedef struct leaving {
    const points *p;
    composing     c;
    double       *told;       /* seconds or watts, n_points x N_PHASES */
    power_row    *room;       /* rows of powers: both phases of all networks ... */
    double       *room_watts; /* ... and their watts */
} leaving;

static lm_status seconds_of_fold(void *context, const fold_turn *t, lm_error *err)
{
    leaving        *l = context;
    composed_set    f;
    const lm_status status = fit_both(&l->c, t, &f, err);

    if (!status)
        predict(&l->c, &f, t, l->told);
    return status;
}

lm_status composed_left_out(const points *p, const layer_model *m, const split *by,
                            const composed_set *given, double *seconds, lm_error *err)
{
    const folds f      = split_folds(by, p);
    leaving     l      = { .p = p, .told = seconds };
    lm_status   status = gather(p, m, &l.c, err);

    if (status)
        return status;
    if (given)
        predict(&l.c, given, NULL, seconds);
    else
        status = folds_leave_out(&f, seconds_of_fold, &l, err);
    composing_free(&l.c);
    return status;
}

/* ---- power ---- */

static const phase power_phases[2] = { PHASE_STEP, PHASE_INFERENCE };

/* Load of the device by the bounds of its kernels. In the rest of the time it waits for the
 * host. */
static power_load load_of(const double by[N_RESOURCES], const composed_factors *f,
                          const double parts[N_WHOLE_PARTS])
{
    const double all   = composed_seconds(f, parts);
    const double busy  = composed_device_seconds(f, parts);
    const double flops = by[RESOURCE_FLOPS] + by[RESOURCE_DEPTH];
    const double works = flops + by[RESOURCE_BANDWIDTH] + by[RESOURCE_HOST];
    power_load   out   = { .join = 1 };

    if (all > 0 && works > 0) {
        out.share[BOUND_ARITHMETIC] = busy / all * flops / works;
        out.share[BOUND_TRAFFIC]    = busy / all * by[RESOURCE_BANDWIDTH] / works;
    }
    out.share[BOUND_LAUNCH] = 1 - out.share[BOUND_ARITHMETIC] - out.share[BOUND_TRAFFIC];
    return out;
}

/* Load and watts of one network in one phase. */
static power_row power_of(const points *p, const composing *c, const composed_set *f, size_t i,
                          int k)
{
    const composed_factors *factors = k ? &f->inference : &f->step;
    const composed_row     *row     = k ? &c->inference[i] : &c->step[i];

    return (power_row){ .load  = load_of(c->by[i][k], factors, row->part),
                        .watts = p->point[c->point[i]].watts[power_phases[k]],
                        .mhz   = NAN };
}

static lm_status watts_of_fold(void *context, const fold_turn *t, lm_error *err)
{
    leaving     *l    = context;
    composing   *c    = &l->c;
    power_model  told = power_unknown, m;
    composed_set f;
    size_t       n      = 0;
    lm_status    status = fit_both(c, t, &f, err);

    for (size_t i = 0; i < c->n && !status; i++)
        for (int k = 0; k < 2; k++) {
            l->room[n] = power_of(l->p, c, &f, i, k);
            if (l->room[n].watts > 0 && fold_in(t, c->point[i])) {
                l->room_watts[n] = l->room[n].watts;
                n++;
            }
        }
    if (status || (status = watts_limit(l->room_watts, n, &told.cap_w, err)) ||
        (status = power_fit(l->room, n, &told, &m, err)))
        return status;
    for (size_t i = 0; i < c->n; i++)
        for (int k = 0; k < 2; k++)
            if (fold_out(t, c->point[i])) {
                const power_row r = power_of(l->p, c, &f, i, k);

                l->told[c->point[i] * N_PHASES + power_phases[k]] = power_usual(&m, &r.load).watts;
            }
    return LM_OK;
}

lm_status composed_watts_left_out(const points *p, const layer_model *m, const split *by,
                                  double *watts, lm_error *err)
{
    folds     f      = split_folds(by, p);
    leaving   l      = { .p = p, .told = watts };
    lm_status status = gather(p, m, &l.c, err);

    if (status)
        return status;
    f.silent     = true;
    l.room       = malloc((2 * l.c.n + 1) * sizeof *l.room);
    l.room_watts = malloc((2 * l.c.n + 1) * sizeof *l.room_watts);
    status = l.room && l.room_watts ? folds_leave_out(&f, watts_of_fold, &l, err) : no_memory(err);
    free(l.room);
    free(l.room_watts);
    composing_free(&l.c);
    return status;
}
