/* What steps tell whose gradients went in buckets. */
#include "fit/exposed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "sync/buckets.h"

/* Of a network without layers: as many as its bytes fill, and the small first one. */
static size_t messages_of(const point *pt)
{
    return (size_t)ceil(pt->load.bytes / (double)pt->row->bucket_bytes) + 1;
}

static lm_status schedule_of(const points *p, const calibration *cal, const point *pt,
                             const gradient_schedule **out, gradient_schedule **own, lm_error *err)
{
    const observation *row = pt->row;
    lm_status          status;

    *own = NULL;
    if (row->kind == OBS_NETWORK)
        return workloads_gradients(p->loads, row->name, row->input, row->dtype, row->batch,
                                   &cal->settings, out, err);
    status =
        gradient_schedule_even((uint64_t)pt->load.bytes, row->dtype, messages_of(pt), own, err);
    *out = *own;
    return status;
}

static sync_policy policy_of(const observation *row)
{
    /* without layers the pieces are the buckets */
    const uint64_t limit = row->kind == OBS_NETWORK ? (uint64_t)row->bucket_bytes : 1;

    return (sync_policy){ .rule         = SYNC_DDP,
                          .first_bytes  = buckets_first_limit(limit),
                          .limit_bytes  = limit,
                          .accumulation = 1 };
}

static allreduce where(const observation *row)
{
    const int64_t hosts = row->hosts > 1 ? row->hosts : 1;

    return (allreduce){ 0, hosts, (row->ranks + hosts - 1) / hosts };
}

/* With its buckets, to be cleared. */
static lm_status predict_buckets(const points *p, const calibration *cal, const char *model,
                                 const point *pt, double alone, exposed_step *out, lm_error *err)
{
    const sync_policy        policy = policy_of(pt->row);
    const allreduce          at     = where(pt->row);
    exposed_step             s      = { .passes = overlapped_passes(cal, model, &pt->load) };
    const gradient_schedule *schedule;
    gradient_schedule       *own;
    lm_status                status = schedule_of(p, cal, pt, &schedule, &own, err);
    double                   factor;
    sync_setting             how;

    if (status)
        return status;
    if (isnan(alone))
        alone = s.passes.backward;
    /* gradients are ready by prices, the pass takes what it takes */
    factor = alone / s.passes.backward;
    how    = (sync_setting){ &policy, at.nodes, at.devices, factor, 1 };

    status = overlapped_sync(cal, model, schedule, pt->row->batch, &how, s.passes.backward,
                             s.passes.forward + alone, &s.sync, err);
    gradient_schedule_free(own);
    if (status)
        return status;
    s.step = s.passes.forward + s.sync.backward + s.sync.exposed + s.sync.copy + s.sync.straggler +
             s.passes.update;
    *out = s;
    return LM_OK;
}

lm_status exposed_predict(const points *p, const calibration *cal, const char *model,
                          const point *pt, double alone, exposed_step *out, lm_error *err)
{
    const lm_status status = predict_buckets(p, cal, model, pt, alone, out, err);

    if (!status) {
        free(out->sync.bucket);
        out->sync.bucket = NULL;
    }
    return status;
}

/* ---- what messages and the pass cost each other -------------------------------------------------
 */

static bool same_but_buckets(const observation *a, const observation *b, int64_t ranks)
{
    return observation_of_network(b) && b->ranks == ranks && a->batch == b->batch &&
           a->dtype == b->dtype && !strcmp(a->name, b->name) && !strcmp(a->input, b->input);
}

/* A time as it was measured beside no message, on so many ranks. */
static double measured_alone(const points *p, const point *pt, phase f, int64_t ranks)
{
    double sum = 0;
    size_t n   = 0;

    for (size_t i = 0; i < p->n_points; i++) {
        const double seconds = p->point[i].seconds[f];

        if (!isnan(seconds) && same_but_buckets(pt->row, p->point[i].row, ranks)) {
            sum += seconds;
            n++;
        }
    }
    return n ? sum / (double)n : NAN;
}

/* What a step computes where nothing is all-reduced beside it: as it was measured on the same ranks
 * or on one, else as it is predicted. */
static step_passes passes_alone(const points *p, const calibration *cal, const char *model,
                                const point *pt)
{
    step_passes  s    = overlapped_passes(cal, model, &pt->load);
    const phase  f    = s.told_apart ? PHASE_BACKWARD : PHASE_STEP;
    const double same = s.told_apart ? measured_alone(p, pt, f, pt->row->ranks) : NAN;
    const double one  = isnan(same) ? measured_alone(p, pt, f, 1) : same;

    if (isnan(one))
        return s;
    if (s.told_apart) {
        s.backward = one;
    } else { /* divided as it is predicted */
        const double times = one / (s.forward + s.backward);

        s.forward *= times;
        s.backward *= times;
    }
    return s;
}

/* One step, as measured and as predicted. */
typedef struct trial {
    double step;    /* measured: the scale of errors */
    double grown;   /* what the passes took beyond what they take alone */
    double exposed; /* measured */
    double bytes;
    double alone; /* the backward pass */
} trial;

/* False: it does not say enough. */
static bool trial_of(const points *p, const calibration *cal, const char *model, const point *pt,
                     trial *out)
{
    const double     *m = pt->beside;
    const step_passes s = passes_alone(p, cal, model, pt);

    *out       = (trial){ .step    = m[PHASE_STEP],
                          .exposed = m[PHASE_SYNC],
                          .bytes   = pt->load.bytes,
                          .alone   = s.backward };
    out->grown = isnan(m[PHASE_BACKWARD])
                     ? m[PHASE_STEP] - m[PHASE_SYNC] - s.forward - s.backward - s.update
                     : m[PHASE_BACKWARD] - s.backward;
    return !isnan(out->step + out->grown);
}

/* Sums of squares of relative errors. */
typedef struct sums {
    double grown_beside, beside_beside; /* of the slowdown, by the clock */
    double rest_bytes, bytes_bytes;     /* of the copy */
    double squares;                     /* of what was exposed, and of the step */
    double steps;                       /* of the step alone */
    size_t n;
} sums;

static bool fewer(int64_t hosts, int64_t than)
{
    return hosts < than;
}

static bool as_many(int64_t hosts, int64_t as)
{
    return hosts >= as;
}

/* Steps on some numbers of hosts, by the constants that the calibration has. */
static lm_status try_constants(const points *p, const calibration *cal, const char *model,
                               bool (*takes)(int64_t, int64_t), int64_t hosts, sums *out,
                               lm_error *err)
{
    sums      s      = { .n = 0 };
    lm_status status = LM_OK;

    for (size_t i = 0; i < p->n_points && !status; i++) {
        const point *pt = &p->point[i];
        exposed_step found;
        trial        t;
        double       w, rest, off, clock;

        if (!point_in_buckets(pt) || !(pt->load.bytes > 0) || !takes(pt->row->hosts, hosts) ||
            !trial_of(p, cal, model, pt, &t))
            continue;
        status = exposed_predict(p, cal, model, pt, t.alone, &found, err);
        if (status || isnan(found.sync.exposed))
            continue;
        w     = 1 / (t.step * t.step);
        off   = t.exposed - found.sync.exposed;
        rest  = t.grown - cal->overlapping.slowdown * found.sync.beside + off;
        clock = found.sync.beside * (1 + cal->overlapping.slowdown);
        s.grown_beside += w * t.grown * clock;
        s.beside_beside += w * clock * clock;
        s.rest_bytes += w * rest * t.bytes;
        s.bytes_bytes += w * t.bytes * t.bytes;
        rest -= cal->overlapping.copy * t.bytes;
        s.squares += w * (rest * rest + off * off);
        s.steps += w * rest * rest;
        s.n++;
    }
    *out = s;
    return status;
}

static double not_below_0(double above, double below)
{
    return below > 0 && above > 0 ? above / below : 0;
}

/* Of the time beside messages a pass may lose so much, and no more: what it took beyond that has
 * another reason. */
#define EXPOSED_MOST_LOST 0.9

static double slowdown_of(const sums *s)
{
    const double lost = fmin(EXPOSED_MOST_LOST, not_below_0(s->grown_beside, s->beside_beside));

    return lost / (1 - lost);
}

/* The slowdown and the copy that go with the stretch that the calibration has; they stay after a
 * few turns. */
#define EXPOSED_TURNS 6

static lm_status settle(const points *p, calibration *cal, const char *model, sums *out,
                        lm_error *err)
{
    overlap_constants *c = &cal->overlapping;

    c->slowdown = c->copy = 0;
    for (int turn = 0; turn <= EXPOSED_TURNS; turn++) {
        const lm_status status = try_constants(p, cal, model, fewer, INT64_MAX, out, err);

        if (status || turn == EXPOSED_TURNS)
            return status;
        c->slowdown = slowdown_of(out);
        c->copy     = not_below_0(out->rest_bytes, out->bytes_bytes);
    }
    return LM_OK;
}

/* The normal distribution's quantile p in [0.5, 1), by Newton's method on libm's erfc(). */
static double normal_quantile(double p)
{
    double z = 0;

    for (int i = 0; i < 20; i++)
        z += (p - erfc(-z / sqrt(2)) / 2) * sqrt(2 * acos(-1)) * exp(z * z / 2);
    return z;
}

/* Mean of the i-th smallest of n normal values, in sigma (Blom 1958). */
static double normal_order(double i, double n)
{
    return normal_quantile((i - 0.375) / (n + 0.25));
}

/* By how many sigma the 95th percentile of n repetitions, linear between two of them
 * (stats_quantile()), lies above their median in the mean: of three it is all but the longest. */
static double sigmas(int64_t repeats)
{
    const double n = (double)repeats, at = 1 + 0.95 * (n - 1), below = floor(at);

    if (!repeats) /* not said: many */
        return normal_quantile(0.95);
    return (1 - (at - below)) * normal_order(below, n) +
           (at - below) * normal_order(below + 1 > n ? n : below + 1, n);
}

#define EXPOSED_REPEATS 3

static double spread_at(const point *pt)
{
    const observation *row = pt->row;

    if (!observation_of_network(row) || row->ranks > 1 || isnan(row->p95_seconds) ||
        (row->repeats && row->repeats < EXPOSED_REPEATS))
        return NAN;
    return fmax(0, row->p95_seconds / row->seconds - 1) / sigmas(row->repeats);
}

lm_status exposed_fit_straggler(const points *p, overlap_constants *out, lm_error *err)
{
    double *spread = malloc((p->n_points + 1) * sizeof *spread);
    size_t  n      = 0;

    if (!spread)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    for (size_t i = 0; i < p->n_points; i++)
        if (!isnan(spread_at(&p->point[i])))
            spread[n++] = spread_at(&p->point[i]);
    out->spreads   = n < EXPOSED_LEAST ? 0 : n;
    out->straggler = n < EXPOSED_LEAST ? 0 : stats_quantile(spread, n, 0.5);
    free(spread);
    return LM_OK;
}

lm_status exposed_fit_constants(const points *p, const char *model, calibration *cal, lm_error *err)
{
    static const double stretch[] = { 0, 0.25, 0.5, 1, 2, 4, 8, 16 };
    overlap_constants   best      = cal->overlapping;
    sums                s;
    double              least  = INFINITY;
    lm_status           status = try_constants(p, cal, model, fewer, INT64_MAX, &s, err);

    if (status || s.n < EXPOSED_LEAST)
        return status;
    for (size_t i = 0; i < sizeof stretch / sizeof stretch[0]; i++) {
        cal->overlapping.stretch = stretch[i];
        if ((status = settle(p, cal, model, &s, err)))
            return status;
        if (s.squares < (i ? least : INFINITY) * (best.stretch > 0 ? 1 : EXPOSED_GAIN) || !i) {
            best  = cal->overlapping;
            least = s.squares;
        }
    }
    best.rows        = s.n;
    cal->overlapping = best;
    return LM_OK;
}

/* ---- all-reduces from what was left of them -----------------------------------------------------
 */

/* Rounds of pricing what was hidden; prices stay as they are long before. */
#define EXPOSED_ROUNDS 40
#define EXPOSED_STAYS  1e-6
/* Below this share of the backward pass, what is left is the last message alone. */
#define EXPOSED_LITTLE 0.1

typedef struct estimating {
    const points   *p;
    calibration    *cal;
    const char     *model;
    allreduce_time *row;   /* of the steps whose messages were late ... */
    allreduce_time *bound; /* ... and of the others, which say less */
    size_t          n, n_bound;
    bool            slows; /* the slowdown is fitted, too; else it is 0 */
    int64_t         below; /* steps on fewer hosts than this are fitted to */
} estimating;

static void add(allreduce_time *row, size_t *n, const point *pt, double bytes, double seconds,
                double messages)
{
    allreduce_time *to = &row[(*n)++];

    *to          = (allreduce_time){ where(pt->row), ALGORITHM_DEFAULT, seconds / messages };
    to->of.bytes = bytes / messages;
}

/* Before there are prices: all of the pass hides something, or only the last message shows. */
static void add_first(estimating *e, const point *pt, double backward)
{
    const double exposed  = pt->beside[PHASE_SYNC];
    const double messages = (double)messages_of(pt);

    if (exposed > EXPOSED_LITTLE * backward)
        add(e->row, &e->n, pt, pt->load.bytes, exposed + backward * (1 - 1 / messages), messages);
    else
        add(e->bound, &e->n_bound, pt, pt->load.bytes, exposed * messages, messages);
}

/* What was exposed and what the prices hide. */
static void add_step(estimating *e, const point *pt, const exposed_step *s)
{
    const overlap *o       = &s->sync;
    const double   exposed = pt->beside[PHASE_SYNC], messages = (double)o->n;
    const bool     late  = o->bucket[o->n - 1].start > o->bucket[o->n - 1].ready * (1 + 1e-9);
    double         bytes = 0;

    for (size_t i = 0; i < o->n; i++)
        bytes += o->bucket[i].bytes;
    if (late)
        add(e->row, &e->n, pt, bytes, exposed + o->sync - o->exposed, messages);
    else if (o->exposed > 0)
        add(e->bound, &e->n_bound, pt, bytes, o->sync * exposed / o->exposed, messages);
}

static lm_status estimate(estimating *e, lm_error *err)
{
    e->n = e->n_bound = 0;
    for (size_t i = 0; i < e->p->n_points; i++) {
        const point *pt = &e->p->point[i];
        exposed_step s;
        lm_status    status;

        if (!point_in_buckets(pt) || isnan(pt->beside[PHASE_SYNC]) || !(pt->load.bytes > 0) ||
            pt->row->hosts >= e->below)
            continue;
        if (!e->cal->allreduces) {
            const double backward = passes_alone(e->p, e->cal, e->model, pt).backward;

            if (!isnan(backward))
                add_first(e, pt, backward);
            continue;
        }
        status = predict_buckets(e->p, e->cal, e->model, pt,
                                 passes_alone(e->p, e->cal, e->model, pt).backward, &s, err);
        if (status)
            return status;
        if (!isnan(s.sync.exposed) && s.sync.n)
            add_step(e, pt, &s);
        overlap_clear(&s.sync);
    }
    return LM_OK;
}

/* Upper bounds count on a fabric of which nothing else is known. */
static void take_bounds(estimating *e)
{
    bool known[N_FABRICS] = { false };

    for (size_t i = 0; i < e->n; i++)
        known[fabric_of(&e->row[i].of)] = true;
    for (size_t i = 0; i < e->n_bound; i++)
        if (!known[fabric_of(&e->bound[i].of)])
            e->row[e->n++] = e->bound[i];
}

static double total(const allreduce_time *row, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += row[i].seconds;
    return sum;
}

/* What the pass grows by beside messages of these prices. */
static lm_status slow_down(estimating *e, lm_error *err)
{
    sums      s;
    lm_status status;

    if (!e->slows)
        return LM_OK;
    status = try_constants(e->p, e->cal, e->model, fewer, e->below, &s, err);
    if (!status && s.n >= EXPOSED_LEAST) {
        e->cal->overlapping.slowdown = slowdown_of(&s);
        e->cal->overlapping.rows     = s.n;
    }
    return status;
}

static lm_status iterate(estimating *e, lm_error *err)
{
    double before = 0;

    for (int round = 0; round < EXPOSED_ROUNDS; round++) {
        collective_model *found  = NULL;
        lm_status         status = estimate(e, err);
        double            now;

        if (status)
            return status;
        take_bounds(e);
        now = total(e->row, e->n);
        if (e->n < 2 || fabs(now - before) <= EXPOSED_STAYS * now)
            return LM_OK;
        before = now;
        if ((status = collective_fit(e->row, e->n, &found, err)))
            return status;
        if (!found->n) {
            collective_free(found);
            return LM_OK;
        }
        collective_free(e->cal->allreduces);
        e->cal->allreduces = found;
        if ((status = slow_down(e, err)))
            return status;
    }
    return LM_OK;
}

/* Prices, and the slowdown in the calibration, from steps on fewer hosts than `below`. */
static lm_status fit_below(estimating *e, bool slows, int64_t below, lm_error *err)
{
    lm_status status;

    e->slows           = slows;
    e->below           = below;
    e->cal->allreduces = NULL;

    e->cal->overlapping = (overlap_constants){ .straggler = e->cal->overlapping.straggler,
                                               .spreads   = e->cal->overlapping.spreads };
    if ((status = iterate(e, err))) {
        collective_free(e->cal->allreduces);
        e->cal->allreduces = NULL;
    }
    return status;
}

/* The largest number of hosts, if there are three. */
static int64_t largest(const points *p)
{
    int64_t seen[3] = { 0 };
    size_t  n       = 0;
    int64_t most    = 0;

    for (size_t i = 0; i < p->n_points; i++) {
        const int64_t hosts = p->point[i].row->hosts;
        size_t        k     = 0;

        if (!point_in_buckets(&p->point[i]))
            continue;
        while (k < n && seen[k] != hosts)
            k++;
        if (k == n && n < 3)
            seen[n++] = hosts;
        most = hosts > most ? hosts : most;
    }
    return n < 3 ? 0 : most;
}

/* Squares of the errors on the largest number of hosts, by a fit to the others. */
static lm_status squares_of_largest(estimating *e, bool slows, int64_t hosts, double *out,
                                    lm_error *err)
{
    sums      s      = { .n = 0 };
    lm_status status = fit_below(e, slows, hosts, err);

    if (!status && e->cal->allreduces)
        status = try_constants(e->p, e->cal, e->model, as_many, hosts, &s, err);
    collective_free(e->cal->allreduces);
    e->cal->allreduces = NULL;
    *out               = s.n ? s.steps : INFINITY;
    return status;
}

lm_status exposed_fit_allreduces(const points *p, const char *model, calibration *cal,
                                 lm_error *err)
{
    const int64_t hosts = largest(p);
    estimating    e     = { .p = p, .cal = cal, .model = model };
    double        alone = INFINITY, slowed = INFINITY;
    lm_status     status = LM_OK;

    e.row   = malloc((2 * p->n_points + 1) * sizeof *e.row);
    e.bound = malloc((p->n_points + 1) * sizeof *e.bound);
    if (!e.row || !e.bound)
        status = lm_error_set(err, LM_E_NOMEM, "out of memory");
    if (!status && hosts && !(status = squares_of_largest(&e, false, hosts, &alone, err)))
        status = squares_of_largest(&e, true, hosts, &slowed, err);
    if (!status)
        status = fit_below(&e, slowed < EXPOSED_GAIN * alone, INT64_MAX, err);
    free(e.row);
    free(e.bound);
    return status;
}
