/* PALEO's model on observations. */
#include "models/paleo_points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "network/autocast.h"
#include "network/single.h"

/* Observations do not name their link: the percent of this one is fitted. */
#define LINK 1e9

/* Counts of the last network, because files list the points of a network together. PALEO's counts
 * are linear in the batch, so batches 1 and 2 give all others. */
typedef struct counted {
    const registry    *reg;
    const observation *row; /* NULL: none yet */
    network           *net;
    paleo_counts       one, two;
} counted;

static lm_status count_at(const counted *c, int64_t batch, paleo_counts *out, lm_error *err)
{
    const bind_options with   = { .batch = batch,
                                  .dtype = c->row->dtype,
                                  .mixed = autocast_of_settings(c->row->settings),
                                  .on    = c->row->on,
                                  .input = *c->row->input ? c->row->input : NULL };
    bound_network     *bound  = NULL;
    lm_status          status = bind_network(c->net, c->reg, &with, &bound, err);

    if (!status)
        *out = paleo_of_network(bound);
    bound_network_free(bound);
    return status;
}

static lm_status count_anew(counted *c, const observation *row, lm_error *err)
{
    const bool same   = c->row && !strcmp(c->row->name, row->name);
    lm_status  status = LM_OK;

    c->row = NULL;
    if (!same) {
        network_free(c->net);
        c->net = NULL;
        status = network_open(row->name, c->reg, NULL, &c->net, err);
    }
    if (status)
        return status;
    c->row = row;
    if ((status = count_at(c, 1, &c->one, err)) || (status = count_at(c, 2, &c->two, err)))
        c->row = NULL;
    return status;
}

static double line(double one, double two, int64_t batch)
{
    return one + (double)(batch - 1) * (two - one);
}

/* Counts of a single layer. Each row has another one, so nothing is kept. */
static lm_status counts_of_layer(const registry *reg, const observation *row, paleo_counts *out,
                                 lm_error *err)
{
    network       *net    = NULL;
    bound_network *bound  = NULL;
    lm_status      status = row_bind_layer(row, reg, &net, &bound, err);

    if (!status)
        *out = paleo_of_network(bound);
    bound_network_free(bound);
    network_free(net);
    return status;
}

static lm_status counts_of(counted *c, const observation *row, paleo_counts *out, lm_error *err)
{
    if (row->kind == OBS_LAYER)
        return counts_of_layer(c->reg, row, out, err);
    if (!c->row || strcmp(c->row->name, row->name) != 0 || c->row->dtype != row->dtype ||
        strcmp(c->row->input, row->input) != 0) {
        const lm_status status = count_anew(c, row, err);

        if (status)
            return status;
    }
    *out = c->one;
    for (int pass = 0; pass < LM_N_PASSES; pass++) {
        out->pass[pass].flops = line(c->one.pass[pass].flops, c->two.pass[pass].flops, row->batch);
        out->pass[pass].bytes = line(c->one.pass[pass].bytes, c->two.pass[pass].bytes, row->batch);
    }
    return LM_OK;
}

/* Times at 100 % of every peak; NAN for what the point does not have. */
static lm_status times_of(counted *c, const point *pt, const device *of, paleo_scheme scheme,
                          paleo_times *out, lm_error *err)
{
    paleo_platform at     = { .peak      = device_peak(of, pt->row->dtype),
                              .bandwidth = of->figure[DEVICE_BANDWIDTH],
                              .link      = LINK,
                              .ppp_comp  = 1,
                              .ppp_comm  = 1,
                              .scheme    = scheme };
    paleo_counts   counts = { .param_bytes = pt->load.bytes };
    lm_status      status = LM_OK;

    *out = (paleo_times){ NAN, NAN, NAN, NAN, NAN };
    if (pt->row->kind == OBS_COLLECTIVE) {
        out->sync = paleo_step(&counts, &at, pt->row->ranks).sync;
        return LM_OK;
    }
    if (pt->row->kind != OBS_NETWORK && pt->row->kind != OBS_LAYER)
        return LM_OK;
    if (isnan(at.peak) || isnan(at.bandwidth))
        return lm_error_set(err, LM_E_NOTFOUND, "%s:%d: '%.60s' has no %s", of->path, of->line,
                            of->name,
                            isnan(at.peak) ? text_dtype_name(pt->row->dtype) : "bandwidth");
    status = counts_of(c, pt->row, &counts, err);
    if (!status)
        *out = paleo_step(&counts, &at, pt->row->ranks);
    return status;
}

/* The part of a measured time that scales with each percent of peak; false: it was not measured, or
 * has no such part. */
static bool tells(const point *pt, const paleo_times *t, phase f, paleo_point *out)
{
    const bool parts = !isnan(pt->seconds[PHASE_FORWARD]);

    *out = (paleo_point){ .measured = pt->seconds[f] };
    if (isnan(pt->seconds[f]))
        return false;
    if (f == PHASE_FORWARD || f == PHASE_INFERENCE) {
        out->computed = t->forward;
    } else if (f == PHASE_BACKWARD) {
        out->computed = t->backward;
    } else if (f == PHASE_SYNC) {
        out->sent = t->sync;
    } else if (f == PHASE_STEP && !parts) { /* else the parts count */
        out->computed = t->forward + t->backward;
        out->fixed    = t->update;
        out->sent     = t->sync;
    }
    return out->computed + out->sent > 0; /* false for NAN */
}

/* Predicts all phases of a point with the percents of its fold. */
static void predict(const point *pt, const paleo_times *t, double comp, double comm,
                    double seconds[N_PHASES])
{
    const double sync = t->sync > 0 ? t->sync / comm : t->sync;

    for (phase f = 0; f < N_PHASES; f++)
        seconds[f] = NAN;
    seconds[PHASE_FORWARD]   = t->forward / comp;
    seconds[PHASE_INFERENCE] = seconds[PHASE_FORWARD];
    seconds[PHASE_BACKWARD]  = t->backward / comp;
    seconds[PHASE_UPDATE]    = t->update;
    seconds[PHASE_SYNC]      = pt->row->ranks > 1 ? sync : NAN;
    seconds[PHASE_STEP] =
        seconds[PHASE_FORWARD] + seconds[PHASE_BACKWARD] + seconds[PHASE_UPDATE] + sync;
}

/* Predictions of points by the percents of other points. */
typedef struct leaving {
    const points      *p;
    const paleo_times *t;
    paleo_point       *row; /* memory for all points */
    double (*seconds)[N_PHASES];
} leaving;

static lm_status predict_fold(void *context, const fold_turn *f, lm_error *err)
{
    const leaving *l    = context;
    double         comp = NAN, comm = NAN;
    size_t         n = 0;
    lm_status      status;

    for (size_t i = 0; i < l->p->n_points; i++)
        for (phase w = 0; w < N_PHASES && fold_in(f, i); w++)
            n += tells(&l->p->point[i], &l->t[i], w, &l->row[n]);
    status = paleo_fit(l->row, n, &comp, &comm, err);
    for (size_t i = 0; i < l->p->n_points && !status; i++)
        if (fold_out(f, i))
            predict(&l->p->point[i], &l->t[i], comp, comm, l->seconds[i]);
    return status;
}

lm_status paleo_predict_points(const points *p, const split *by, const registry *reg,
                               const device *of, paleo_scheme scheme, double (*seconds)[N_PHASES],
                               lm_error *err)
{
    paleo_times *t      = malloc((p->n_points + 1) * sizeof *t);
    paleo_point *row    = malloc((p->n_points * N_PHASES + 1) * sizeof *row);
    counted      c      = { .reg = reg };
    leaving      l      = { p, t, row, seconds };
    folds        f      = split_folds(by, p);
    lm_status    status = t && row ? LM_OK : no_memory(err);

    f.all    = !by->n_folds;
    f.silent = true; /* folds with too few points, or without a solution, are skipped */
    for (size_t i = 0; i < p->n_points && !status; i++) {
        for (phase w = 0; w < N_PHASES; w++)
            seconds[i][w] = NAN;
        status = times_of(&c, &p->point[i], of, scheme, &t[i], err);
    }
    if (!status)
        status = folds_leave_out(&f, predict_fold, &l, err);
    network_free(c.net);
    free(row);
    free(t);
    return status;
}

static void fill(const point *pt, const double seconds[N_PHASES], double to[N_TIMES])
{
    const double grad = seconds[PHASE_UPDATE] + (pt->row->ranks > 1 ? seconds[PHASE_SYNC] : 0);

    for (phase q = 0; q < N_TIMES; q++)
        to[q] = NAN;
    to[PHASE_FORWARD]       = seconds[PHASE_FORWARD];
    to[PHASE_BACKWARD]      = seconds[PHASE_BACKWARD];
    to[PHASE_UPDATE]        = seconds[PHASE_UPDATE];
    to[PHASE_SYNC]          = seconds[PHASE_SYNC];
    to[PHASE_GRAD]          = grad;
    to[PHASE_BACKWARD_GRAD] = seconds[PHASE_BACKWARD] + grad;
    to[PHASE_STEP]          = seconds[PHASE_STEP];
    to[PHASE_INFERENCE]     = seconds[PHASE_INFERENCE];
}

lm_status compare_paleo(const points *p, const split *by, const registry *reg, const device *of,
                        comparison *out, lm_error *err)
{
    double(*seconds)[N_PHASES] = malloc((p->n_points + 1) * sizeof *seconds);
    lm_status status           = seconds ? LM_OK : no_memory(err);

    /* the scheme matters to the fit only if numbers of nodes differ */
    if (!status)
        status = paleo_predict_points(p, by, reg, of, PALEO_TREE, seconds, err);
    for (size_t i = 0; i < p->n_points && !status; i++) {
        for (phase w = 0; w < N_TIMES; w++)
            out[i].part[w] = NAN;
        for (phase q = 0; q < N_TIMES; q++)
            out[i].low[q] = out[i].high[q] = NAN;
        compare_measured(&p->point[i], &out[i]);
        fill(&p->point[i], seconds[i], out[i].predicted);
    }
    free(seconds);
    return status;
}
