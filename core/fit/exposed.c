/* What steps tell whose gradients went in buckets. */
#include "fit/exposed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "fit/shared.h"
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

/* On as many ranks of a host as the point's. */
static step_passes passes_of(const calibration *cal, const char *model, const point *pt)
{
    const int64_t devices = shared_devices(pt->row);
    step_passes   s       = overlapped_passes(cal, model, &pt->load);

    if (s.told_apart) {
        s.forward *= shared_times(cal, model, PART_FORWARD, devices);
        s.backward *= shared_times(cal, model, PART_BACKWARD, devices);
        s.update *= shared_times(cal, model, PART_UPDATE, devices);
    }
    return s;
}

/* What is asked of the recurrence at a point. */
typedef struct question {
    step_passes              passes;
    sync_policy              policy;
    sync_setting             how;     /* but for its policy */
    double                   compute; /* that ranks wait for */
    const gradient_schedule *schedule;
    gradient_schedule       *own; /* the schedule, to be freed; NULL: it is another's */
} question;

static lm_status ask(const points *p, const calibration *cal, const char *model, const point *pt,
                     double alone, question *out, lm_error *err)
{
    const allreduce at = where(pt->row);
    question        q  = { .passes = passes_of(cal, model, pt), .policy = policy_of(pt->row) };

    if (isnan(alone))
        alone = q.passes.backward;
    /* gradients are ready by prices, the pass takes what it takes */
    q.how     = (sync_setting){ NULL, at.nodes, at.devices, alone / q.passes.backward, 1 };
    q.compute = q.passes.forward + alone;
    *out      = q;
    return schedule_of(p, cal, pt, &out->schedule, &out->own, err);
}

/* With its buckets, to be cleared. */
static lm_status predict_buckets(const points *p, const calibration *cal, const char *model,
                                 const point *pt, double alone, exposed_step *out, lm_error *err)
{
    exposed_step s;
    question     q;
    lm_status    status = ask(p, cal, model, pt, alone, &q, err);

    if (status)
        return status;
    s.passes     = q.passes;
    q.how.policy = &q.policy;
    status = overlapped_sync(cal, model, q.schedule, pt->row->batch, &q.how, s.passes.backward,
                             q.compute, &s.sync, err);
    gradient_schedule_free(q.own);
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
        const double together = p->point[i].together[f];
        const double seconds  = isnan(together) ? p->point[i].seconds[f] : together;

        if (!isnan(seconds) && same_but_buckets(pt->row, p->point[i].row, ranks)) {
            sum += seconds;
            n++;
        }
    }
    return n ? sum / (double)n : NAN;
}

/* What a step computes where nothing is all-reduced beside it: as it was measured on the same ranks
 * (`slowest`: by the slowest of them) or on one, else as it is predicted. */
static step_passes passes_alone(const points *p, const calibration *cal, const char *model,
                                const point *pt, bool *slowest)
{
    step_passes  s    = passes_of(cal, model, pt);
    const phase  f    = s.told_apart ? PHASE_BACKWARD : PHASE_STEP;
    const double same = s.told_apart ? measured_alone(p, pt, f, pt->row->ranks) : NAN;
    const double one  = isnan(same) ? measured_alone(p, pt, f, 1) : same;

    *slowest = !isnan(same);
    if (isnan(one))
        return s;
    if (s.told_apart) {
        s.backward = isnan(same)
                         ? one * shared_times(cal, model, PART_BACKWARD, shared_devices(pt->row))
                         : same;
    } else { /* divided as it is predicted */
        const double times = one / (s.forward + s.backward);

        s.forward *= times;
        s.backward *= times;
    }
    return s;
}

/* One step, as measured. */
typedef struct trial {
    double step; /* the scale of errors */
    double more; /* what it took beyond its passes alone */
    double exposed;
    double bytes;
    double alone;   /* the backward pass */
    bool   slowest; /* the passes are the slowest rank's already */

    question      asked;
    overlap_plan *plan;
    int64_t       batch;
} trial;

typedef struct trials {
    trial *of;
    size_t n;
} trials;

static double either(double measured, double predicted)
{
    return isnan(measured) ? predicted : measured;
}

/* False: it does not say enough. */
static bool trial_of(const points *p, const calibration *cal, const char *model, const point *pt,
                     trial *out)
{
    const double *m = pt->beside;
    bool          slowest;
    step_passes   s = passes_alone(p, cal, model, pt, &slowest);

    s.forward = either(m[PHASE_FORWARD], s.forward);
    s.update  = either(m[PHASE_UPDATE], s.update);
    *out      = (trial){ .step    = m[PHASE_STEP],
                         .more    = m[PHASE_STEP] - s.forward - s.backward - s.update,
                         .exposed = m[PHASE_SYNC],
                         .bytes   = pt->load.bytes,
                         .alone   = s.backward,
                         .slowest = slowest };
    return !isnan(out->more + out->exposed);
}

/* Sums of squares of relative errors. */
typedef struct sums {
    double grown_beside, beside_beside; /* of the slowdown, by the clock */
    double rest_bytes, bytes_bytes;     /* of the copy, beyond the one that there is */
    double squares;                     /* of what was exposed, and of the step */
    double steps;                       /* of the step alone */
    size_t n;
} sums;

static void add_trial(const calibration *cal, const trial *t, const overlap *o, sums *to)
{
    const double w     = 1 / (t->step * t->step);
    const double clock = o->beside * (1 + cal->overlapping.slowdown);
    const double off   = t->exposed - o->exposed - o->wait;
    const double rest =
        t->more - (o->backward - t->alone) - o->copy - o->exposed - (t->slowest ? 0 : o->straggler);

    to->grown_beside += w * (t->more - t->exposed) * clock;
    to->beside_beside += w * clock * clock;
    to->rest_bytes += w * rest * t->bytes;
    to->bytes_bytes += w * t->bytes * t->bytes;
    to->squares += w * (rest * rest + off * off);
    to->steps += w * rest * rest;
    to->n++;
}

static bool fewer(int64_t hosts, int64_t than)
{
    return hosts < than;
}

static bool as_many(int64_t hosts, int64_t as)
{
    return hosts >= as;
}

static void trials_free(trials *t)
{
    for (size_t i = 0; i < t->n; i++) {
        overlap_plan_free(t->of[i].plan);
        gradient_schedule_free(t->of[i].asked.own);
    }
    free(t->of);
}

/* Steps on some numbers of hosts: passes are the calibration's as it is. */
static lm_status trials_new(const points *p, const calibration *cal, const char *model,
                            bool (*takes)(int64_t, int64_t), int64_t hosts, trials *out,
                            lm_error *err)
{
    trials    all    = { calloc(p->n_points + 1, sizeof *all.of), 0 };
    lm_status status = all.of ? LM_OK : lm_error_set(err, LM_E_NOMEM, "out of memory");

    for (size_t i = 0; i < p->n_points && !status; i++) {
        const point *pt = &p->point[i];
        trial       *t  = &all.of[all.n];

        if (!point_in_buckets(pt) || !(pt->load.bytes > 0) || !takes(pt->row->hosts, hosts) ||
            !trial_of(p, cal, model, pt, t))
            continue;
        t->batch = pt->row->batch;
        if (!(status = ask(p, cal, model, pt, t->alone, &t->asked, err))) {
            all.n++;
            status =
                overlap_plan_of(cal, model, t->asked.schedule, &t->asked.policy, &t->plan, err);
        }
    }
    if (status)
        trials_free(&all);
    else
        *out = all;
    return status;
}

/* By the constants that the calibration has. */
static sums try_constants(const trials *t, const calibration *cal)
{
    sums s = { .n = 0 };

    for (size_t i = 0; i < t->n; i++) {
        const trial *one = &t->of[i];
        overlap      o;

        overlap_plan_sums(one->plan, one->batch, &one->asked.how, one->asked.passes.backward,
                          one->asked.compute, &o);
        if (!isnan(o.exposed))
            add_trial(cal, one, &o, &s);
    }
    return s;
}

static lm_status try_once(const points *p, const calibration *cal, const char *model,
                          bool (*takes)(int64_t, int64_t), int64_t hosts, sums *out, lm_error *err)
{
    trials          t;
    const lm_status status = trials_new(p, cal, model, takes, hosts, &t, err);

    if (status)
        return status;
    *out = try_constants(&t, cal);
    trials_free(&t);
    return LM_OK;
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

/* With the copy that goes with them. */
static sums try_with(const trials *t, double slowdown, double stretch, double surcharge,
                     calibration *cal)
{
    overlap_constants *c = &cal->overlapping;
    sums               s;

    c->slowdown  = slowdown;
    c->stretch   = stretch;
    c->surcharge = surcharge;
    c->copy      = 0;
    s            = try_constants(t, cal);
    c->rows      = s.n;
    c->copy      = not_below_0(s.rest_bytes, s.bytes_bytes);
    return try_constants(t, cal);
}

/* Powers of sqrt(2) that are tried as the slowdown. */
#define EXPOSED_LOWEST  -8
#define EXPOSED_HIGHEST 6

/* The best of a family: a core that both share does less of a message the more it does of the pass,
 * else the message goes on as if it were alone. Its squares. */
static double try_family(const trials *t, bool shares, double surcharge, calibration *cal)
{
    overlap_constants best  = cal->overlapping;
    double            least = INFINITY;

    for (int k = EXPOSED_LOWEST - !shares; k <= EXPOSED_HIGHEST; k++) {
        const double slowdown = k < EXPOSED_LOWEST ? 0 : pow(2, k / 2.0);
        const sums   s        = try_with(t, slowdown, shares ? 1 / slowdown : 0, surcharge, cal);

        if (s.squares < least) {
            least = s.squares;
            best  = cal->overlapping;
        }
    }
    cal->overlapping = best;
    return least;
}

static void fit_trials(const trials *t, calibration *cal)
{
    static const double surcharge[] = { 0, 0.25, 0.5, 1, 2 };
    overlap_constants   best        = cal->overlapping;
    double              least       = INFINITY;

    for (size_t k = 0; k < sizeof surcharge / sizeof surcharge[0]; k++)
        for (int shares = 0; shares < 2; shares++) {
            const double here = try_family(t, shares, surcharge[k], cal);

            if (here < least * (k ? EXPOSED_GAIN_MORE : shares ? EXPOSED_GAIN : 1)) {
                best  = cal->overlapping;
                least = here;
            }
        }
    cal->overlapping = best;
}

lm_status exposed_fit_constants(const points *p, const char *model, calibration *cal, lm_error *err)
{
    trials          t;
    const lm_status status = trials_new(p, cal, model, fewer, INT64_MAX, &t, err);

    if (status)
        return status;
    if (try_constants(&t, cal).n >= EXPOSED_LEAST)
        fit_trials(&t, cal);
    trials_free(&t);
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
        bool         slowest;

        if (!point_in_buckets(pt) || isnan(pt->beside[PHASE_SYNC]) || !(pt->load.bytes > 0) ||
            pt->row->hosts >= e->below)
            continue;
        if (!e->cal->allreduces) {
            const double backward = passes_alone(e->p, e->cal, e->model, pt, &slowest).backward;

            if (!isnan(backward))
                add_first(e, pt, backward);
            continue;
        }
        status =
            predict_buckets(e->p, e->cal, e->model, pt,
                            passes_alone(e->p, e->cal, e->model, pt, &slowest).backward, &s, err);
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
    status = try_once(e->p, e->cal, e->model, fewer, e->below, &s, err);
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
        status = try_once(e->p, e->cal, e->model, as_many, hosts, &s, err);
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
