/* Learning from pairs of runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/random.h"
#include "base/stats.h"
#include "crossgpu/crossgpu.h"

#define FOLDS   5
#define CLEARLY 0.05

/* ---- trees ----------------------------------------------------------------------------------- */

/* Many small steps: there are some hundred to a few thousand rows in few groups. */
static learner_options trees_options(uint64_t seed)
{
    learner_options o = learner_usual(LEARNER_XGBOOST, true);

    o.boost.trees    = 300;
    o.boost.depth    = 4;
    o.boost.rate     = 0.06;
    o.boost.features = 0.5;
    o.boost.seed     = seed;
    return o;
}

static lm_status grow(const selection *rows, uint64_t seed, learner **out, lm_error *err)
{
    const learner_options o = trees_options(seed);
    const size_t          m = pairs_n_features(rows->p);
    double               *x = malloc(rows->n * m * sizeof *x), *y = malloc(rows->n * sizeof *y);
    const learner_rows    all    = { .x = x, .y = y, .n = rows->n, .n_features = m };
    lm_status             status = x && y ? LM_OK : no_memory(err);

    for (size_t i = 0; i < rows->n && !status; i++) {
        pairs_features(rows->p, selected(rows, i), x + i * m);
        y[i] = exp(selected(rows, i)->log_ratio);
    }
    if (!status)
        status = learner_train(&all, &o, out, err);
    free(x);
    free(y);
    return status;
}

/* Rows for cross-validation: their groups are left out in FOLDS random parts. */
typedef struct leaving {
    const selection        *rows;
    const crossgpu_options *o;
    folds                   by;
    size_t                 *of, *at; /* of each row: its part; scratch */
    double                 *x;       /* of one row; scratch */
    double                 *left;    /* out: residual of each row; NAN: none */
} leaving;

static lm_status leaving_new(const selection *rows, const crossgpu_options *o, leaving *l,
                             lm_error *err)
{
    const pairs *p    = rows->p;
    size_t      *part = malloc((p->n_groups + 1) * sizeof *part);

    *l = (leaving){ .rows = rows,
                    .o    = o,
                    .of   = malloc((rows->n + 1) * sizeof *l->of),
                    .at   = malloc((rows->n + 1) * sizeof *l->at),
                    .x    = malloc(pairs_n_features(p) * sizeof *l->x) };
    if (!part || !l->of || !l->at || !l->x) {
        free(part);
        return no_memory(err);
    }
    random_deal(part, p->n_groups, FOLDS, o->seed);
    for (size_t i = 0; i < rows->n; i++)
        l->of[i] = part[selected(rows, i)->group];
    l->by = (folds){ .of = l->of, .rows = rows->n, .n = FOLDS };
    free(part);
    return LM_OK;
}

static void leaving_free(leaving *l)
{
    free_all(l->of, l->at, l->x);
}

/* Residuals of all parts into left[], by a method that learns from rows. */
static lm_status leave_parts(leaving *l, fold_fit method, double *left, lm_error *err)
{
    l->left = left;
    for (size_t i = 0; i < l->rows->n; i++)
        left[i] = NAN;
    return folds_leave_out(&l->by, method, l, err);
}

/* The rows that a turn keeps; `at` holds them. */
static selection staying(const selection *rows, const fold_turn *t, size_t *at)
{
    return (selection){ rows->p, at, folds_copy(t, true, rows->at, sizeof *at, at) };
}

/* Residuals of the trees for one part's rows, grown on the others. */
static lm_status leave_trees(void *context, const fold_turn *t, lm_error *err)
{
    const leaving   *l      = context;
    const selection *rows   = l->rows;
    const selection  others = staying(rows, t, l->at);
    learner         *grown  = NULL;
    lm_status        status = others.n ? grow(&others, l->o->seed, &grown, err) : LM_OK;

    for (size_t i = 0; i < rows->n && grown && !status; i++) {
        double said;

        if (!fold_out(t, i))
            continue;
        pairs_features(rows->p, selected(rows, i), l->x);
        if (!(status = crossgpu_trees(grown, l->x, &said, err)))
            l->left[i] = selected(rows, i)->log_ratio - said;
    }
    learner_free(grown);
    return status;
}

/* ---- how much of each ------------------------------------------------------------------------ */

/* The learners' residuals, weighted by their shares; NAN if a learner with a share has none. */
static double left_by(double *const left[N_BY], const double share[N_BY], size_t i)
{
    double sum = 0;

    for (size_t k = 0; k < N_BY; k++)
        sum += share[k] > 0 ? share[k] * left[k][i] : 0;
    return sum;
}

/* Mean relative error; NAN: nothing to judge by. */
static double error_of(double *const left[N_BY], const double share[N_BY], size_t n)
{
    double sum = 0;
    size_t k   = 0;

    for (size_t i = 0; i < n; i++) {
        const double over = left_by(left, share, i);

        if (isnan(over))
            continue;
        sum += fabs(exp(-over) - 1);
        k++;
    }
    return k ? sum / (double)k : NAN;
}

/* The mean of all learners, unless other quarters are clearly better: a choice on few groups is
 * partly luck. Without any residuals `share` stays. */
static void best_shares(double *const left[N_BY], size_t n, double share[N_BY])
{
    double least = (1 - CLEARLY) * error_of(left, share, n);

    for (int a = 0; a <= 4; a++)
        for (int b = 0; a + b <= 4; b++) {
            const double now[N_BY] = {
                [BY_NEAREST] = a / 4.0, [BY_PARTS] = b / 4.0, [BY_TREES] = (4 - a - b) / 4.0
            };
            const double error = error_of(left, now, n);

            if (error < least) {
                least = error;
                memcpy(share, now, sizeof now);
            }
        }
}

/* ---- intervals ------------------------------------------------------------------------------- */

static lm_status interval_of(const selection *rows, const double *left, interval *out,
                             lm_error *err)
{
    residual *r      = malloc((rows->n + 1) * sizeof *r);
    size_t    n      = 0;
    lm_status status = r ? LM_OK : no_memory(err);

    for (size_t i = 0; i < rows->n && r; i++)
        if (!isnan(left[i]))
            r[n++] = (residual){ .ratio = exp(left[i]), .group = selected(rows, i)->group };
    *out = interval_unknown;
    if (!status && n)
        status = interval_bounds(r, n, out, err);
    free(r);
    return status;
}

/* Rows, each listed twice: by its source, then by its target. */
typedef struct gpu_leaving {
    const selection *rows;
    size_t          *at; /* scratch */
    residual        *r[N_UNKNOWN];
    size_t           n[N_UNKNOWN];
} gpu_leaving;

/* Residuals for one GPU that was left out, as target and as source. */
static lm_status leave_gpu(void *context, const fold_turn *t, lm_error *err)
{
    gpu_leaving     *l      = context;
    const selection *rows   = l->rows;
    const pairs     *p      = rows->p;
    const size_t     m      = space_n_run(&p->s);
    selection        others = { .p = p, .at = l->at };
    bounds           b;
    lm_status        status;

    for (size_t i = 0; i < rows->n; i++)
        if (fold_in(t, i) && fold_in(t, rows->n + i))
            l->at[others.n++] = rows->at[i];
    if (!others.n || (status = bounds_fit(&others, &b, err)))
        return others.n ? status : LM_OK;
    for (size_t i = 0; i < rows->n; i++) {
        const pair_row   *row  = selected(rows, i);
        const size_t      from = row->pair / p->n_gpus, to = row->pair % p->n_gpus;
        const unknown_gpu what = fold_out(t, rows->n + i) ? UNKNOWN_TARGET : UNKNOWN_SOURCE;

        if (fold_out(t, i) || fold_out(t, rows->n + i))
            l->r[what][l->n[what]++] = (residual){
                .ratio = exp(row->log_ratio - bounds_log_ratio(&b, &p->s, p->x + row->from * m,
                                                               &p->gpu[from], &p->gpu[to])),
                .group = t->fold
            };
    }
    bounds_free(&b);
    return LM_OK;
}

/* Each GPU left out in turn and known by its datasheet alone. As a target, its seconds are mixed by
 * metrics of other GPUs; as a source, by its own. These errors differ. */
static lm_status unknown_intervals(const selection *rows, interval out[N_UNKNOWN], lm_error *err)
{
    const size_t n_gpus = rows->p->n_gpus, n = rows->n;
    residual    *room = malloc((2 * n + 1) * sizeof *room);
    size_t      *of   = malloc((3 * n + 1) * sizeof *of);
    gpu_leaving  l    = { rows, of + (of ? 2 * n : 0), { room, room + (room ? n : 0) }, { 0, 0 } };
    const folds  by   = { .of = of, .rows = 2 * n, .n = n_gpus };
    lm_status    status = room && of ? LM_OK : no_memory(err);

    for (size_t i = 0; i < n && !status; i++) {
        of[i]     = selected(rows, i)->pair / n_gpus;
        of[n + i] = selected(rows, i)->pair % n_gpus;
    }
    if (!status && n_gpus > 2)
        status = folds_leave_out(&by, leave_gpu, &l, err);
    for (size_t k = 0; k < N_UNKNOWN && !status; k++)
        if (l.n[k])
            status = interval_bounds(l.r[k], l.n[k], &out[k], err);
    free(room);
    free(of);
    return status;
}

/* ---- methods --------------------------------------------------------------------------------- */

/* Each of the three learners, and its residuals for rows that it did not see. */
static lm_status learn_each(const selection *rows, const crossgpu_options *o, crossgpu *c,
                            double *const left[N_BY], lm_error *err)
{
    leaving   l;
    lm_status status = leaving_new(rows, o, &l, err);

    if (!status)
        status = nearest_fit(rows, &l.by, &c->nearest, left[BY_NEAREST], err);
    if (!status)
        status = parts_fit(rows, &l.by, &c->parts, left[BY_PARTS], err);
    for (size_t i = 0; i < rows->n; i++)
        left[BY_TREES][i] = NAN;
    if (!status && learner_available(LEARNER_XGBOOST))
        status = leave_parts(&l, leave_trees, left[BY_TREES], err);
    leaving_free(&l);
    return status;
}

/* The mean of all that say something: without metrics all runs have the same parts. */
static void all_alike(const pairs *p, double share[N_BY])
{
    const bool says[N_BY] = { [BY_NEAREST] = true,
                              [BY_PARTS]   = p->s.n_metrics > 0,
                              [BY_TREES]   = learner_available(LEARNER_XGBOOST) };
    double     n          = 0;

    for (size_t k = 0; k < N_BY; k++)
        n += says[k] ? 1 : 0;
    for (size_t k = 0; k < N_BY; k++)
        share[k] = says[k] ? 1 / n : 0;
}

static lm_status learn_ours(const selection *rows, const crossgpu_options *o, crossgpu *c,
                            lm_error *err)
{
    double   *room = malloc((N_BY * rows->n + 1) * sizeof *room);
    double   *left[N_BY];
    lm_status status = room ? LM_OK : no_memory(err);

    for (size_t k = 0; k < N_BY && room; k++)
        left[k] = room + k * rows->n;
    all_alike(rows->p, c->share);
    if (!status && !(status = learn_each(rows, o, c, left, err))) {
        best_shares(left, rows->n, c->share);
        status = bounds_fit(rows, &c->bounds, err);
    }
    if (!status && c->share[BY_TREES] > 0)
        status = grow(rows, o->seed, &c->trees, err);
    if (!status && o->judge) {
        for (size_t i = 0; i < rows->n; i++)
            left[0][i] = left_by(left, c->share, i);
        if (!(status = interval_of(rows, left[0], &c->known, err)))
            status = unknown_intervals(rows, c->unknown, err);
    }
    free(room);
    return status;
}

static lm_status learn_medians(const selection *rows, crossgpu *c, lm_error *err)
{
    const size_t n_pairs = c->n_gpus * c->n_gpus;
    double      *some    = malloc((rows->n + 1) * sizeof *some);

    c->median = malloc(n_pairs * sizeof *c->median);
    if (!some || !c->median) {
        free(some);
        return no_memory(err);
    }
    for (size_t k = 0; k < n_pairs; k++) {
        size_t n = 0;

        for (size_t i = 0; i < rows->n; i++)
            if (selected(rows, i)->pair == k)
                some[n++] = selected(rows, i)->log_ratio;
        c->median[k] = n ? stats_quantile(some, n, 0.5) : NAN;
    }
    free(some);
    return LM_OK;
}

/* Residuals for one part's rows: everything is learned again from the others. */
static lm_status leave_method(void *context, const fold_turn *t, lm_error *err)
{
    const leaving         *l      = context;
    const pairs           *p      = l->rows->p;
    const selection        others = staying(l->rows, t, l->at);
    const crossgpu_options again  = { .method = l->o->method, .seed = l->o->seed };
    crossgpu              *c      = NULL;
    lm_status              status = others.n ? crossgpu_learn(&others, &again, &c, err) : LM_OK;

    for (size_t i = 0; i < l->rows->n && c; i++) {
        const pair_row     *row = selected(l->rows, i);
        crossgpu_prediction said;

        if (fold_out(t, i) && !crossgpu_predict(c, p->x + row->from * space_n_run(&p->s),
                                                &p->gpu[row->pair / p->n_gpus],
                                                &p->gpu[row->pair % p->n_gpus], &said, NULL))
            l->left[i] = log(p->r->run[row->to].seconds / said.seconds);
    }
    crossgpu_free(c);
    return status;
}

/* The interval of the other methods. */
static lm_status judge(const selection *rows, const crossgpu_options *o, crossgpu *c, lm_error *err)
{
    leaving   l;
    double   *left   = malloc((rows->n + 1) * sizeof *left);
    lm_status status = leaving_new(rows, o, &l, err);

    if (!status)
        status = left ? leave_parts(&l, leave_method, left, err) : no_memory(err);
    if (!status)
        status = interval_of(rows, left, &c->known, err);
    leaving_free(&l);
    free(left);
    return status;
}

static size_t count_groups(const selection *rows)
{
    size_t n = 0;

    for (size_t g = 0; g < rows->p->n_groups; g++)
        for (size_t i = 0; i < rows->n; i++)
            if (selected(rows, i)->group == g) {
                n++;
                break;
            }
    return n;
}

/* Copies the parts of the rows that predictions need. */
static lm_status copy_space(const pairs *p, crossgpu *c, lm_error *err)
{
    c->s        = p->s;
    c->s.metric = malloc((p->s.n_metrics + 1) * sizeof *c->s.metric);
    c->gpu      = malloc(p->n_gpus * sizeof *c->gpu);
    if (!c->s.metric || !c->gpu)
        return no_memory(err);
    memcpy(c->s.metric, p->s.metric, p->s.n_metrics * sizeof *c->s.metric);
    memcpy(c->gpu, p->gpu, p->n_gpus * sizeof *c->gpu);
    c->n_gpus = p->n_gpus;
    return LM_OK;
}

lm_status crossgpu_learn(const selection *rows, const crossgpu_options *o, crossgpu **out,
                         lm_error *err)
{
    static const learner_kind stack_of[N_CROSSGPU_METHODS] = {
        [CROSSGPU_STACKING] = N_LEARNERS,
        [CROSSGPU_FOREST]   = LEARNER_FOREST,
        [CROSSGPU_XGBOOST]  = LEARNER_XGBOOST,
        [CROSSGPU_BOOSTED]  = LEARNER_BOOSTED,
    };
    crossgpu *c      = calloc(1, sizeof *c);
    lm_status status = c ? copy_space(rows->p, c, err) : no_memory(err);

    if (!status) {
        c->method   = o->method;
        c->seed     = o->seed;
        c->n_rows   = rows->n;
        c->n_groups = count_groups(rows);
        c->known = c->unknown[UNKNOWN_TARGET] = c->unknown[UNKNOWN_SOURCE] = interval_unknown;
        if (o->method == CROSSGPU_LAYERMETER)
            status = learn_ours(rows, o, c, err);
        else if (o->method == CROSSGPU_PAIR_RATIO)
            status = learn_medians(rows, c, err);
        else
            status = stacking_fit(rows, stack_of[o->method], o->seed, &c->stack, err);
    }
    if (!status && o->judge && o->method != CROSSGPU_LAYERMETER)
        status = judge(rows, o, c, err);
    if (status)
        crossgpu_free(c);
    else
        *out = c;
    return status;
}
