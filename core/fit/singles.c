/* Points of single layers as rows of the model of single layers. */
#include "fit/singles.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/settings.h"
#include "single/busy.h"
#include "single/whole.h"

const phase singles_phases[N_SINGLES_PHASES] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE,
                                                 PHASE_INFERENCE, PHASE_STEP };

layer_run singles_run(const point *pt, phase f, double multiprocessors)
{
    return (layer_run){ .forward    = f == PHASE_FORWARD || f == PHASE_INFERENCE || f == PHASE_STEP,
                        .backward   = f == PHASE_BACKWARD || f == PHASE_STEP,
                        .update     = f == PHASE_UPDATE || f == PHASE_STEP,
                        .evaluation = f == PHASE_INFERENCE,
                        .alone      = true,
                        .input_gradient  = true,
                        .trains_inputs   = setting_is(pt->row->settings, "trains", "inputs"),
                        .optimizer       = *pt->row->optimizer ? pt->row->optimizer : "momentum",
                        .multiprocessors = multiprocessors };
}

lm_status singles_load(layer_asker *by, const layer_shape *s, const layer_run *run, power_load *out,
                       double *seconds, lm_error *err)
{
    layer_busy      busy;
    const lm_status status = layer_busy_of(by, s, run, &busy, err);
    double          waits, all;

    *out     = (power_load){ .join = busy.join };
    *seconds = status ? (double)NAN : busy.seconds;
    if (!(*seconds > 0))
        return status;
    waits                        = fmax(busy.seconds - busy.arithmetic - busy.traffic, 0);
    all                          = busy.arithmetic + busy.traffic + waits;
    out->share[BOUND_ARITHMETIC] = busy.arithmetic / all;
    out->share[BOUND_TRAFFIC]    = busy.traffic / all;
    out->share[BOUND_LAUNCH]     = waits / all;
    out->more                    = (busy.traffic - busy.memory) / all;
    return LM_OK;
}

/* Times of all points, and their points. */
typedef struct times {
    layer_time *time;
    size_t     *point;
    phase      *phase;
    size_t      n;
} times;

static void times_free(times *t)
{
    free_all(t->time, t->point, t->phase);
}

/* Number of times of products with few rows. */
static size_t count_dense(const point *pt)
{
    size_t n = 0;

    if (pt->shape && layer_class_of(pt->shape) == LAYER_DENSE)
        for (size_t k = 0; k < N_SINGLES_PHASES; k++)
            if (!isnan(point_seconds(pt, singles_phases[k])))
                n++;
    return n;
}

/* Gathers the times of one class, or of all (N_LAYER_CLASSES). Steps are left out: they are sums of
 * their phases. */
static lm_status gather(const points *p, size_t class, times *out, lm_error *err)
{
    const size_t most  = p->n_points * N_PHASES + 1;
    size_t       dense = 0;

    *out = (times){ malloc(most * sizeof *out->time), malloc(most * sizeof *out->point),
                    malloc(most * sizeof *out->phase), 0 };
    if (!out->time || !out->point || !out->phase) {
        times_free(out);
        *out = (times){ .n = 0 };
        return no_memory(err);
    }
    for (size_t i = 0; i < p->n_points; i++)
        dense += count_dense(&p->point[i]);
    for (size_t i = 0; i < p->n_points; i++)
        for (size_t k = 0; k < N_SINGLES_PHASES; k++) {
            const point *pt = &p->point[i];
            const phase  f  = singles_phases[k];

            if (!pt->shape || isnan(point_seconds(pt, f)) ||
                (class < N_LAYER_CLASSES && layer_class_among(pt->shape, dense) != class))
                continue;
            out->time[out->n]    = (layer_time){ pt->shape, singles_run(pt, f, p->multiprocessors),
                                                 point_seconds(pt, f) };
            out->point[out->n]   = i;
            out->phase[out->n++] = f;
        }
    return LM_OK;
}

lm_status singles_fit(const points *p, layer_model *out, lm_error *err)
{
    times     t;
    lm_status status = gather(p, N_LAYER_CLASSES, &t, err);

    if (status)
        return status;
    status = layer_model_fit(t.time, t.n, out, err);
    times_free(&t);
    return status;
}

lm_status singles_learn_pool(const points *const *p, layer_model *const *m, size_t n,
                             residual_trees *judged, lm_error *err)
{
    times          *t      = calloc(n + 1, sizeof *t);
    learned_source *from   = calloc(n + 1, sizeof *from);
    lm_status       status = t && from ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n && !status; i++) {
        status  = gather(p[i], N_LAYER_CLASSES, &t[i], err);
        from[i] = (learned_source){ t[i].time, t[i].n, m[i] };
    }
    if (!status)
        status = learned_fit_pool(from, n, judged, err);
    for (size_t i = 0; i < n && t; i++)
        times_free(&t[i]);
    free(from);
    free(t);
    return status;
}

/* Predicts by the prices of the rows and their residuals. */
static lm_status predict_row(const times *t, size_t i, const layer_rows *r,
                             const residual_trees *learned, double *out, lm_error *err)
{
    double     more   = 0;
    priced_row row    = { .shape   = t->time[i].shape,
                          .run     = &t->time[i].run,
                          .rows    = &r->rows,
                          .at      = i,
                          .columns = &r->columns,
                          .seconds = rows_priced(&r->rows, i, &r->columns) };
    lm_status  status = LM_OK;

    if (learned)
        status = residual_of(learned, &row, &more, err);
    *out = row.seconds * exp(more);
    return status;
}

/* Times of a class, by fits to those of other folds. */
typedef struct leaving {
    size_t class;
    const times *t;
    layer_rows   rows;
    bool        *in;
    bool         learn;
    double      *seconds;
} leaving;

static lm_status predict_fold(void *context, const fold_turn *f, lm_error *err)
{
    leaving        *l       = context;
    const times    *t       = l->t;
    residual_trees *learned = NULL;
    size_t          count;
    lm_status       status;

    for (size_t i = 0; i < t->n; i++)
        l->in[i] = fold_in(f, t->point[i]);
    status = l->learn ? residual_learn(l->class, &(residual_source){ &l->rows, l->in, NULL }, 1,
                                       &learned, NULL, err)
                      : layer_rows_fit(&l->rows, l->in, &count, err);
    if (!status && learned)
        status = residual_space_columns(&learned->space, &l->rows.columns, err);
    for (size_t i = 0; i < t->n && !status; i++)
        if (fold_out(f, t->point[i]))
            status = predict_row(t, i, &l->rows, learned,
                                 &l->seconds[t->point[i] * N_PHASES + t->phase[i]], err);
    residual_free(learned);
    return status;
}

static lm_status predict_class(const points *p, const split *by, size_t class, bool learn,
                               double *seconds, lm_error *err)
{
    folds     f = split_folds(by, p);
    times     t;
    leaving   l      = { .class = class, .t = &t, .learn = learn, .seconds = seconds };
    lm_status status = gather(p, class, &t, err);

    if (status)
        return status;
    f.silent = true;
    if (!(status = layer_rows_new(layer_classes[class], t.time, t.n, &l.rows, err))) {
        l.in   = malloc(t.n + 1);
        status = l.in ? folds_leave_out(&f, predict_fold, &l, err) : no_memory(err);
        free(l.in);
        layer_rows_free(&l.rows);
    }
    times_free(&t);
    return status;
}

lm_status singles_left_out(const points *p, const split *by, bool learned, double *seconds,
                           lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t c = 0; c < FIRST_LAUNCH && !status; c++)
        status = predict_class(p, by, c, learned, seconds, err);
    return status;
}

/* A network by its layers, in training or as a forward pass in evaluation mode. A network with a
 * layer without a price has no prediction: NAN. */
static lm_status whole_of(const points *p, size_t at, bool evaluated, layer_asker *by, bool learned,
                          whole_seconds *out, lm_error *err)
{
    const observation  *row  = p->point[at].row;
    const workload_name of   = row_workload(row, evaluated);
    const char         *step = *row->optimizer ? row->optimizer : "momentum";
    bound_network      *bound;
    lm_status           status = workloads_bind_at(p->loads, &of, row->batch, &bound, err);

    if (status)
        return status;
    status = whole_predict(by, bound, evaluated ? "" : step, learned, out, err);
    bound_network_free(bound);
    if (status == LM_E_NOTFOUND) {
        out->forward = out->backward = out->update = NAN;
        return lm_error_set(err, LM_OK, "%s", "");
    }
    return status;
}

static lm_status whole_network(const points *p, size_t at, layer_asker *by, bool learned,
                               double *seconds, lm_error *err)
{
    whole_seconds found;
    lm_status     status = whole_of(p, at, false, by, learned, &found, err);

    if (!status) {
        seconds[PHASE_FORWARD]  = found.forward;
        seconds[PHASE_BACKWARD] = found.backward;
        seconds[PHASE_UPDATE]   = found.update;
        seconds[PHASE_STEP]     = found.forward + found.backward + found.update;
        status                  = whole_of(p, at, true, by, learned, &found, err);
    }
    if (!status)
        seconds[PHASE_INFERENCE] = found.forward;
    return status;
}

static lm_status single_layer(const point *pt, layer_asker *by, bool learned, double *seconds,
                              lm_error *err)
{
    lm_status status = LM_OK;

    for (phase f = 0; f < N_PHASES && !status; f++) {
        const layer_run run = singles_run(pt, f, by->m->multiprocessors);
        double          t   = NAN;

        if (learned)
            status = learned_seconds(by, pt->shape, &run, &t, err);
        else
            t = layer_model_seconds(by, pt->shape, &run);
        if (!isnan(t))
            seconds[f] = t;
    }
    return status;
}

lm_status singles_by_model(const points *p, const layer_model *m, bool learned, double *seconds,
                           lm_error *err)
{
    layer_asker by     = layer_asker_of(m);
    lm_status   status = LM_OK;

    for (size_t i = 0; i < p->n_points && !status; i++)
        if (p->point[i].shape)
            status = single_layer(&p->point[i], &by, learned, seconds + i * N_PHASES, err);
        else if (p->point[i].row->kind == OBS_NETWORK && layer_model_any(m))
            status = whole_network(p, i, &by, learned, seconds + i * N_PHASES, err);
    layer_asker_free(&by);
    return status;
}
