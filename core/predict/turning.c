/* The turning point of a curve. */
#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "fit/shared.h"
#include "predict/predict.h"
#include "predict/scaling.h"

/* All-reduces as predicted, or at one end of their interval. */
typedef enum { SYNC_PREDICTED, SYNC_SLOW, SYNC_FAST, N_SYNC_CASES } sync_case;

/* Every number of nodes up to here is tried: two nodes are special, and so are halving
 * algorithms. */
#define EACH 4

/* A predicted step, kept because the three searches of a curve repeat many steps. */
typedef struct known_step {
    int64_t nodes, devices, batch, micro; /* nodes 0: none */
    double  passes, seconds[N_SYNC_CASES];
} known_step;

#define KNOWN 1024 /* a power of two */

typedef struct search {
    scale_curve *curve;
    sync_case    which;
    double       least; /* doubling pays if it scales the seconds by this at most */
    known_step  *known; /* KNOWN of them, by hash; a new one replaces the old one at its place */
    lm_error    *err;
    lm_status    status;
} search;

/* Seconds of the passes of one device, on a node shared with others. */
static double shared(const search *f, const prediction *p)
{
    const predictor *who     = f->curve->who;
    const int64_t    devices = f->curve->q.setup.devices;

    return p->forward * shared_times(who->cal, who->model, PHASE_FORWARD, devices) +
           p->backward * shared_times(who->cal, who->model, PHASE_BACKWARD, devices);
}

/* Predicts or finds a step. After a failure the result is meaningless. */
static const known_step *step_at(search *f, int64_t nodes, int64_t devices, int64_t batch,
                                 int64_t micro)
{
    const uint64_t hash = (uint64_t)nodes * 0x9E3779B97F4A7C15u ^
                          (uint64_t)batch * 0xC2B2AE3D27D4EB4Fu ^
                          (uint64_t)micro * 0x165667B19E3779F9u ^ (uint64_t)devices;
    known_step *k = &f->known[hash >> 32 & (KNOWN - 1)];
    step_setup  s = f->curve->q.setup;
    prediction  p = { .step = NAN };

    if (f->status ||
        (k->nodes == nodes && k->devices == devices && k->batch == batch && k->micro == micro))
        return k;
    s.nodes             = nodes;
    s.devices           = devices;
    s.batch             = batch;
    s.sync.accumulation = micro;
    f->status           = predict_seconds(f->curve->who, &s, &p, f->err);
    *k = (known_step){ nodes, devices, batch, micro, shared(f, &p), { p.step, p.slow, p.fast } };
    return k;
}

static double seconds_on(search *f, int64_t nodes, int64_t batch, int64_t micro)
{
    return step_at(f, nodes, f->curve->q.setup.devices, batch, micro)->seconds[f->which];
}

/* Seconds of the passes of a single device. */
static double passes_of(search *f, int64_t batch, int64_t micro)
{
    return step_at(f, 1, 1, batch, micro)->passes;
}

static step_setup setup_at(search *f, int64_t nodes)
{
    step_setup s = f->curve->q.setup;

    if (!f->status)
        f->status = scale_setup(&f->curve->q, nodes, &s, f->err);
    return s;
}

/* Least and most samples of a micro-step for any number of nodes between those of two setups. If
 * the number of micro-steps changes, a micro-step has at least half of the largest batch. */
static int64_t least_batch(const search *f, const step_setup *few, const step_setup *many)
{
    const int64_t half = (f->curve->q.setup.batch + 1) / 2;

    return few->sync.accumulation == many->sync.accumulation || many->batch < half ? many->batch
                                                                                   : half;
}

static int64_t most_batch(const search *f, const step_setup *few, const step_setup *many)
{
    return few->sync.accumulation == many->sync.accumulation ? few->batch : f->curve->q.setup.batch;
}

/* Seconds of a step: passes of one setup, communication of so many nodes beside `batch` samples. */
static double put_together(search *f, const step_setup *passes, int64_t nodes, int64_t batch)
{
    const int64_t micro = passes->sync.accumulation;

    if (passes->batch == batch)
        return seconds_on(f, nodes, batch, micro);
    return passes_of(f, passes->batch, micro) + seconds_on(f, nodes, batch, 1) -
           passes_of(f, batch, 1);
}

/* Is there possibly a number of nodes from `low` to `high` at which doubling does not pay? Exact if
 * low == high. A bound else: passes are longest with the fewest nodes; communication is longest
 * with the most nodes and the fewest samples to hide behind. */
static bool may_turn(search *f, int64_t low, int64_t high)
{
    const step_setup a = setup_at(f, low), b = setup_at(f, high);
    const step_setup a2 = setup_at(f, 2 * low), b2 = setup_at(f, 2 * high);
    double           now, twice;

    if (f->status)
        return false;
    now   = put_together(f, &b, low, most_batch(f, &a, &b));
    twice = put_together(f, &a2, 2 * high, least_batch(f, &a2, &b2));
    return !f->status && !(twice <= now * f->least);
}

/* The smallest number of nodes from `low` to `high` at which doubling does not pay; 0: none. */
static int64_t find(search *f, int64_t low, int64_t high)
{
    int64_t middle, found;

    if (!may_turn(f, low, high))
        return 0;
    if (low == high)
        return low;
    middle = (int64_t)sqrt((double)low * (double)high);
    found  = find(f, low, middle);
    return found || f->status ? found : find(f, middle + 1, high);
}

static lm_status turn(search *f, sync_case which, int64_t *out)
{
    int64_t found = 0;

    f->which = which;
    for (int64_t n = 1; n <= EACH && !found && !f->status; n++)
        found = find(f, n, n);
    if (!found && !f->status)
        found = find(f, EACH + 1, TURNING_LIMIT);
    *out = found;
    return f->status;
}

lm_status scale_curve_turning(scale_curve *c, turning_point *out, lm_error *err)
{
    /* weak scaling doubles the samples; else the same samples take less time */
    search            f  = { .curve = c,
                             .least = c->q.kind == SCALING_WEAK ? 2 / (1 + TURNING_GAIN_WEAK)
                                                                : 1 - TURNING_GAIN_STRONG,
                             .known = calloc(KNOWN, sizeof *f.known),
                             .err   = err };
    turning_point     at = { 0, -1, -1 };
    step_setup        two;
    const known_step *k;

    if (!f.known)
        return no_memory(err);
    two = setup_at(&f, 2);
    k   = step_at(&f, 2, two.devices, two.batch, two.sync.accumulation);
    if (!f.status && !isnan(k->seconds[SYNC_SLOW] + k->seconds[SYNC_FAST]) &&
        !turn(&f, SYNC_SLOW, &at.low))
        turn(&f, SYNC_FAST, &at.high);
    if (!f.status && !turn(&f, SYNC_PREDICTED, &at.nodes))
        *out = at;
    free(f.known);
    return f.status;
}

lm_status scale_turning_point(const predictor *who, const scale_question *q, int64_t *out,
                              lm_error *err)
{
    scale_curve   curve;
    turning_point at;
    lm_status     status = scale_curve_begin(who, q, &curve, err);

    if (!status)
        status = scale_curve_turning(&curve, &at, err);
    if (!status)
        *out = at.nodes;
    return status;
}
