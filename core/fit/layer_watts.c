/* Powers of single layers. */
#include "fit/layer_watts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "device/power_fit.h"
#include "fit/singles.h"
#include "learn/boost.h"
#include "single/model.h"

#define AT_LIMIT  0.02
#define MANY      0.05
#define LIMIT_AT  0.99
#define FACTOR_AT 0.001 /* quantiles that bound the learned values */

/* Shallow trees: time and counts explain most of the power. */
static const boost_options growth = { .trees     = 400,
                                      .depth     = 6,
                                      .rate      = 0.06,
                                      .rows      = 0.8,
                                      .features  = 0.6,
                                      .leaf_rows = 3,
                                      .l2        = 1,
                                      .seed      = 1 };

enum {
    MODELLED,
    SECONDS,
    SHARES,
    PHASES  = SHARES + N_TERM_BOUNDS, /* forward, backward, update, evaluation */
    CLASSES = PHASES + 4,
    KINDS   = CLASSES + FIRST_LAUNCH, /* bytes by kind of kernel */
    SIZES   = KINDS + N_WORK_KINDS,
    N_SIZES = 17,
    N_FOUND = SIZES + N_SIZES
};

_Static_assert(N_FOUND == LAYER_WATTS_FEATURES, "features of powers");

typedef struct watt_row {
    layer_time time;
    double     watts;
    size_t     point;
    phase      phase;
    power_load load;
    double     seconds; /* predicted; NAN: no price */
} watt_row;

typedef struct watt_rows {
    watt_row   *row;
    size_t      n;
    bool       *in;
    double     *x, *y, *room;
    power_row  *power;
    layer_time *time;
} watt_rows;

static void watt_rows_free(watt_rows *w)
{
    free_all(w->row, w->in, w->x, w->y, w->room, w->power, w->time);
}

lm_status watts_limit(const double *watts, size_t n, double *out, lm_error *err)
{
    double *room = malloc((n + 1) * sizeof *room);
    size_t  near = 0;
    double  high;

    *out = NAN;
    if (!room)
        return no_memory(err);
    memcpy(room, watts, n * sizeof *room);
    high = n ? stats_quantile(room, n, LIMIT_AT) : (double)NAN;
    for (size_t i = 0; i < n; i++)
        near += fabs(watts[i] / high - 1) <= AT_LIMIT;
    if (n && (double)near >= MANY * (double)n)
        *out = high;
    free(room);
    return LM_OK;
}

static lm_status gather(const points *p, watt_rows *out, lm_error *err)
{
    const size_t most = p->n_points * N_PHASES + 1;

    *out = (watt_rows){ .row   = malloc(most * sizeof *out->row),
                        .in    = malloc(most),
                        .x     = malloc(most * LAYER_WATTS_FEATURES * sizeof *out->x),
                        .y     = malloc(most * sizeof *out->y),
                        .room  = malloc(most * sizeof *out->room),
                        .power = malloc(most * sizeof *out->power),
                        .time  = malloc(most * sizeof *out->time) };
    if (!out->row || !out->in || !out->x || !out->y || !out->room || !out->power || !out->time)
        return no_memory(err);
    for (size_t i = 0; i < p->n_points; i++)
        for (size_t k = 0; k < N_SINGLES_PHASES; k++) {
            const point *pt = &p->point[i];
            const phase  f  = singles_phases[k];

            if (!pt->shape || isnan(point_seconds(pt, f)) || !(pt->watts[f] > 0))
                continue;
            out->row[out->n++] =
                (watt_row){ .time  = { pt->shape, singles_run(pt, f, p->multiprocessors),
                                       point_seconds(pt, f) },
                            .watts = pt->watts[f],
                            .point = i,
                            .phase = f };
        }
    return LM_OK;
}

/* Logarithm; 0 for a count that is absent. */
static double size_of(double x)
{
    return x > 1 ? log(x) : 0;
}

static void add_sizes(const layer_shape *s, double *x)
{
    const bool  conv = s->kind == SHAPE_CONV;
    kernel_work sum  = { 0 };

    for (work_kind k = 0; k < N_WORK_KINDS && s->work; k++) {
        const kernel_work *w = &s->work->of[k][LM_FORWARD];

        sum.bytes += w->bytes;
        sum.flops += w->flops;
        sum.rows += w->rows;
        sum.launches += w->launches;
    }
    x[0]  = size_of(s->inputs);
    x[1]  = size_of(s->outputs);
    x[2]  = size_of(s->weights);
    x[3]  = size_of(s->work ? sum.flops : shape_flops(s));
    x[4]  = size_of(s->work ? sum.bytes : shape_bytes(s) + 4 * s->weights);
    x[5]  = x[3] - x[4];
    x[6]  = size_of((double)s->n);
    x[7]  = size_of((double)s->c_in);
    x[8]  = size_of((double)s->c_out);
    x[9]  = size_of((double)s->groups);
    x[10] = conv ? size_of((double)lm_volume(s->window)) : 0;
    x[11] = conv ? size_of((double)lm_volume(s->stride)) : 0;
    x[12] = conv ? size_of((double)lm_volume(s->in)) : 0;
    x[13] = conv ? size_of((double)lm_volume(s->out)) : size_of(sum.rows);
    x[14] = sum.launches;
    x[15] = s->bias;
    x[16] = s->groups > 0 ? size_of((double)s->c_in / (double)s->groups) : 0;
}

static void features(const watt_row *r, double modelled, double *x)
{
    const layer_run   *run = &r->time.run;
    const layer_shape *s   = r->time.shape;

    memset(x, 0, LAYER_WATTS_FEATURES * sizeof *x);
    x[MODELLED] = log(modelled);
    x[SECONDS]  = log(r->seconds);
    memcpy(x + SHARES, r->load.share, sizeof r->load.share);
    x[PHASES]     = run->forward;
    x[PHASES + 1] = run->backward;
    x[PHASES + 2] = run->update;
    x[PHASES + 3] = run->evaluation;
    if (layer_class_of(s) < FIRST_LAUNCH)
        x[CLASSES + layer_class_of(s)] = 1;
    for (work_kind k = 0; k < N_WORK_KINDS && s->work; k++)
        x[KINDS + k] = size_of(s->work->of[k][LM_FORWARD].bytes);
    add_sizes(s, x + SIZES);
}

/* Load of a row. Seconds of traffic beyond the memory's own time count as waiting: small kernels
 * take as long as the host needs for them, and meanwhile the device draws little. */
static lm_status load_of(layer_asker *by, watt_row *r, lm_error *err)
{
    power_load     *load   = &r->load;
    const lm_status status = singles_load(by, r->time.shape, &r->time.run, load, &r->seconds, err);

    if (!status && load->more > 0) {
        load->share[BOUND_TRAFFIC] -= load->more;
        load->share[BOUND_LAUNCH] += load->more;
        load->more = 0;
    }
    return status;
}

/* Prices of the training rows, or the given ones; loads of all rows, and the power model of the
 * training rows. */
static lm_status model(watt_rows *w, const layer_model *given, power_model *out, lm_error *err)
{
    power_model told = power_unknown;
    layer_model own  = { 0 };
    layer_asker by   = layer_asker_of(given ? given : &own);
    size_t      n = 0, powers = 0;
    lm_status   status;

    for (size_t i = 0; i < w->n; i++)
        if (w->in[i]) {
            w->room[n]   = w->row[i].watts;
            w->time[n++] = w->row[i].time;
        }
    status = watts_limit(w->room, n, &told.cap_w, err);
    if (!status && !given)
        status = layer_model_fit(w->time, n, &own, err);
    if (status)
        return status;
    for (size_t i = 0; i < w->n && !status; i++) {
        status = load_of(&by, &w->row[i], err);
        if (w->in[i] && w->row[i].seconds > 0)
            w->power[powers++] = (power_row){ w->row[i].load, w->row[i].watts, NAN, 0 };
    }
    layer_asker_free(&by);
    if (!given)
        layer_model_free(&own);
    return status ? status : power_fit(w->power, powers, &told, out, err);
}

/* Trees on the residuals of the power model on the training rows. */
static lm_status learn(watt_rows *w, layer_watts *to, lm_error *err)
{
    learn_rows seen = { .x = w->x, .y = w->y, .n_features = LAYER_WATTS_FEATURES };
    lm_status  status;

    for (size_t i = 0; i < w->n; i++) {
        const double modelled = power_usual(&to->base, &w->row[i].load).watts;

        if (!w->in[i] || !(w->row[i].seconds > 0) || !(modelled > 0))
            continue;
        features(&w->row[i], modelled, w->x + seen.n * LAYER_WATTS_FEATURES);
        w->y[seen.n++] = log(w->row[i].watts / modelled);
    }
    if (seen.n < LAYER_WATTS_ROWS)
        return LM_OK;
    status = boost_train(&seen, NULL, &growth, &to->grown, err);
    memcpy(w->room, w->y, seen.n * sizeof *w->room);
    to->low  = stats_quantile(w->room, seen.n, FACTOR_AT);
    to->high = stats_quantile(w->room, seen.n, 1 - FACTOR_AT);
    return status;
}

void layer_watts_free(layer_watts *w)
{
    if (!w)
        return;
    trees_free(w->grown);
    free(w);
}

/* Watts of a row whose load is known. */
static double told_of(const layer_watts *w, const watt_row *r)
{
    double told = power_usual(&w->base, &r->load).watts, x[LAYER_WATTS_FEATURES];

    if (w->grown && told > 0) {
        features(r, told, x);
        told *= exp(fmin(w->high, fmax(w->low, trees_predict(w->grown, x))));
    }
    return told > w->base.cap_w ? w->base.cap_w : told;
}

/* Watts of a layer; NAN where it has no price. */
static lm_status layer_watts_of(const layer_watts *w, layer_asker *by, const layer_shape *s,
                                const layer_run *run, double *watts, lm_error *err)
{
    watt_row        r      = { .time = { s, *run, NAN } };
    const lm_status status = load_of(by, &r, err);

    *watts = !status && r.seconds > 0 ? told_of(w, &r) : (double)NAN;
    return status;
}

lm_status layer_watts_fit(const points *p, const layer_model *m, layer_watts **out, lm_error *err)
{
    watt_rows    w;
    layer_watts *found  = calloc(1, sizeof *found);
    lm_status    status = gather(p, &w, err);

    *out = NULL;
    if (!status && !found)
        status = no_memory(err);
    for (size_t i = 0; i < w.n && !status; i++)
        w.in[i] = true;
    if (!status && w.n >= LAYER_WATTS_ROWS && !(status = model(&w, m, &found->base, err)))
        status = learn(&w, found, err);
    watt_rows_free(&w);
    if (!status && found->grown)
        *out = found;
    else
        layer_watts_free(found);
    return status;
}

/* Predicts powers of a fold by those of other folds. */
typedef struct leaving {
    watt_rows rows;
    bool      learned;
    double   *watts;
} leaving;

static lm_status tell(void *context, const fold_turn *t, lm_error *err)
{
    leaving    *l         = context;
    watt_rows  *w         = &l->rows;
    layer_watts by_others = { .grown = NULL };
    lm_status   status;

    for (size_t i = 0; i < w->n; i++)
        w->in[i] = fold_in(t, w->row[i].point);
    status = model(w, NULL, &by_others.base, err);
    if (!status && l->learned && boost_available())
        status = learn(w, &by_others, err);
    for (size_t i = 0; i < w->n && !status; i++) {
        const watt_row *r = &w->row[i];

        if (fold_out(t, r->point) && r->seconds > 0)
            l->watts[r->point * N_PHASES + r->phase] = told_of(&by_others, r);
    }
    trees_free(by_others.grown);
    return status;
}

lm_status layer_watts_left_out(const points *p, const split *by, bool learned, double *watts,
                               lm_error *err)
{
    folds     f      = split_folds(by, p);
    leaving   l      = { .learned = learned, .watts = watts };
    lm_status status = gather(p, &l.rows, err);

    f.silent = true;
    if (!status && l.rows.n)
        status = folds_leave_out(&f, tell, &l, err);
    watt_rows_free(&l.rows);
    return status;
}

#define MOST_WATTS 1e5

static void text(lines *l, void **both)
{
    layer_watts *w = *both = lines_made(l, *both, sizeof *w);
    double       cap;

    if (!w)
        return;
    if (!l->out)
        w->base = power_unknown;
    cap = w->base.cap_w > 0 ? w->base.cap_w : (double)NAN;
    LINE(l, "watts", ITEM_REALS(w->base.bound_w, N_TERM_BOUNDS, 0, MOST_WATTS));
    LINE(l, "cap", ITEM_KNOWN(&cap, 1, DBL_TRUE_MIN, MOST_WATTS));
    LINE(l, "held", ITEM_REAL(&w->low, -20, 20), ITEM_REAL(&w->high, -20, 20));
    lines_check(l, w->low <= w->high, "held between %g and %g", w->low, w->high);
    trees_text(l, &w->grown);
    if (l->out || l->status)
        return;
    w->base.cap_w = cap;
    lines_check(l, w->grown->n_features == LAYER_WATTS_FEATURES,
                "trees of %zu features, powers have %d", w->grown->n_features,
                (int)LAYER_WATTS_FEATURES);
}

static void release(void *what)
{
    layer_watts_free(what);
}

const kept_kind layer_watts_kept = { "learned model", text, release, NULL };

lm_status layer_watts_by_machine(const points *p, const calibration *cal, double *watts,
                                 lm_error *err)
{
    void       *w      = NULL;
    layer_asker by     = layer_asker_of(cal->layers);
    lm_status   status = LM_OK;

    if (cal->layers && calibration_learned_has(cal, LAYER_WATTS_NAME))
        status = calibration_learned_open(cal, LAYER_WATTS_NAME, &layer_watts_kept, &w, err);
    for (size_t i = 0; i < p->n_points && w && !status; i++)
        for (phase f = 0; f < N_PHASES && p->point[i].shape && !status; f++) {
            const layer_run run = singles_run(&p->point[i], f, p->multiprocessors);

            if (!isnan(p->point[i].seconds[f]))
                status =
                    layer_watts_of(w, &by, p->point[i].shape, &run, &watts[i * N_PHASES + f], err);
        }
    layer_asker_free(&by);
    layer_watts_free(w);
    return status;
}
