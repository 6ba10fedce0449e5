/* All-reduces from their exposed parts behind backward passes. */
#include "fit/exposed/parts.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"

/* Rounds of pricing what was hidden. Prices settle in the first EXPOSED_TURNS rounds. Later a step
 * may be late by the prices of one round and not by those of the next: prices then go in circles, or
 * end where rounding leads them. So the best of the later rounds is taken. */
#define EXPOSED_ROUNDS 40
#define EXPOSED_TURNS  6
#define EXPOSED_STAYS  1e-6
/* Below this share of the backward pass, what is left is the last message alone. */
#define EXPOSED_LITTLE 0.1

typedef struct estimating {
    const points    *p;
    calibration     *cal;
    const char      *model;
    collective_time *row;   /* of the steps whose messages were late ... */
    collective_time *bound; /* ... and of the others, which say less */
    size_t           n, n_bound;
    bool             slows; /* the slowdown is fitted, too; else it is 0 */
    int64_t          below; /* steps on fewer hosts than this are fitted to */
} estimating;

static void add(collective_time *row, size_t *n, const point *pt, double bytes, double seconds,
                double messages)
{
    collective_time *to = &row[(*n)++];

    *to = (collective_time){ exposed_where(pt->row), ALGORITHM_DEFAULT, seconds / messages };
    to->of.bytes = bytes / messages;
}

/* Before the first prices: the whole pass hides messages, or only the last message is exposed. */
static void add_first(estimating *e, const point *pt, double exposed, double backward)
{
    const double messages = (double)exposed_messages(pt);

    if (exposed > EXPOSED_LITTLE * backward)
        add(e->row, &e->n, pt, pt->load.bytes, exposed + backward * (1 - 1 / messages), messages);
    else
        add(e->bound, &e->n_bound, pt, pt->load.bytes, exposed * messages, messages);
}

/* Measured exposed seconds, and seconds that the prices hide. */
static void add_step(estimating *e, const point *pt, double exposed, const exposed_step *s)
{
    const step_times *t        = &s->times;
    const double      messages = (double)t->n;

    if (s->late)
        add(e->row, &e->n, pt, s->bytes, exposed + t->sync - t->exposed, messages);
    else if (t->exposed > 0)
        add(e->bound, &e->n_bound, pt, s->bytes, t->sync * exposed / t->exposed, messages);
}

static lm_status estimate(estimating *e, lm_error *err)
{
    e->n = e->n_bound = 0;
    for (size_t i = 0; i < e->p->n_points; i++) {
        const point *pt      = &e->p->point[i];
        const double exposed = point_in_buckets(pt) ? exposed_left(e->p, pt) : (double)NAN;
        exposed_step s;
        lm_status    status;
        bool         slowest;

        if (isnan(exposed) || !(pt->load.bytes > 0) || pt->row->hosts >= e->below)
            continue;
        if (!e->cal->collectives) {
            const double backward = exposed_alone(e->p, e->cal, e->model, pt, &slowest).backward;

            if (!isnan(backward))
                add_first(e, pt, exposed, backward);
            continue;
        }
        status =
            exposed_predict(e->p, e->cal, e->model, pt,
                            exposed_alone(e->p, e->cal, e->model, pt, &slowest).backward, &s, err);
        if (status)
            return status;
        if (!isnan(s.times.exposed) && s.times.n)
            add_step(e, pt, exposed, &s);
    }
    return LM_OK;
}

/* Upper bounds count if nothing else is known of the fabric. */
static void take_bounds(estimating *e)
{
    bool known[N_FABRICS] = { false };

    for (size_t i = 0; i < e->n; i++)
        known[fabric_of(&e->row[i].of)] = true;
    for (size_t i = 0; i < e->n_bound; i++)
        if (!known[fabric_of(&e->bound[i].of)])
            e->row[e->n++] = e->bound[i];
}

static double total(const collective_time *row, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += row[i].seconds;
    return sum;
}

/* Growth of the backward pass beside messages of these prices. */
static lm_status slow_down(estimating *e, lm_error *err)
{
    exposed_sums s;
    lm_status    status;

    if (!e->slows)
        return LM_OK;
    status = exposed_try(e->p, e->cal, e->model, exposed_fewer, e->below, &s, err);
    if (!status && s.n >= EXPOSED_LEAST) {
        e->cal->overlapping.slowdown = exposed_slowdown(&s);
        e->cal->overlapping.rows     = s.n;
    }
    return status;
}

/* The best of the rounds. */
typedef struct best_round {
    collective_model *collectives; /* may be the calibration's */
    overlap_constants overlapping;
    double            squares;
} best_round;

static void replace(estimating *e, best_round *best, collective_model *by)
{
    if (e->cal->collectives != best->collectives)
        collective_free(e->cal->collectives);
    e->cal->collectives = by;
}

/* Judged by the squared errors of the steps behind the prices. */
static lm_status remember(const estimating *e, best_round *best, lm_error *err)
{
    exposed_sums    s;
    const lm_status status = exposed_try(e->p, e->cal, e->model, exposed_fewer, e->below, &s, err);

    if (status || !s.n || s.squares / (double)s.n >= best->squares)
        return status;
    collective_free(best->collectives);
    *best = (best_round){ e->cal->collectives, e->cal->overlapping, s.squares / (double)s.n };
    return LM_OK;
}

/* New prices, from the seconds that the last prices hide. *stays: they are the same, or there are
 * none. */
static lm_status price_again(estimating *e, best_round *best, double *before, bool *stays,
                             lm_error *err)
{
    collective_model *found  = NULL;
    lm_status         status = estimate(e, err);
    double            now;

    if (status)
        return status;
    take_bounds(e);
    now    = total(e->row, e->n);
    *stays = e->n < 2 || fabs(now - *before) <= EXPOSED_STAYS * now;
    if (*stays || (status = collective_fit_planes(e->row, e->n, &found, err)))
        return status;
    *before = now;
    *stays  = !found->n;
    if (*stays) {
        collective_free(found);
        return LM_OK;
    }
    replace(e, best, found);
    return slow_down(e, err);
}

static lm_status iterate(estimating *e, lm_error *err)
{
    best_round best   = { .squares = INFINITY };
    double     before = 0;
    bool       stays  = false;
    lm_status  status = LM_OK;

    for (int round = 0; round < EXPOSED_ROUNDS && !stays && !status; round++) {
        status = price_again(e, &best, &before, &stays, err);
        if (!status && !stays && round >= EXPOSED_TURNS)
            status = remember(e, &best, err);
    }
    if (!status && best.collectives && best.collectives != e->cal->collectives) {
        replace(e, &best, best.collectives);
        e->cal->overlapping = best.overlapping;
    } else if (best.collectives != e->cal->collectives) {
        collective_free(best.collectives);
    }
    return status;
}

/* Prices, and the slowdown in the calibration, from steps on fewer hosts than `below`. */
static lm_status fit_below(estimating *e, bool slows, int64_t below, lm_error *err)
{
    lm_status status;

    e->slows            = slows;
    e->below            = below;
    e->cal->collectives = NULL;

    e->cal->overlapping = (overlap_constants){ .straggler = e->cal->overlapping.straggler,
                                               .spreads   = e->cal->overlapping.spreads };
    if ((status = iterate(e, err))) {
        collective_free(e->cal->collectives);
        e->cal->collectives = NULL;
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
    exposed_sums s      = { .n = 0 };
    lm_status    status = fit_below(e, slows, hosts, err);

    if (!status && e->cal->collectives)
        status = exposed_try(e->p, e->cal, e->model, exposed_as_many, hosts, &s, err);
    collective_free(e->cal->collectives);
    e->cal->collectives = NULL;
    *out                = s.n ? s.steps : INFINITY;
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
        status = no_memory(err);
    if (!status && hosts && !(status = squares_of_largest(&e, false, hosts, &alone, err)))
        status = squares_of_largest(&e, true, hosts, &slowed, err);
    if (!status)
        status = fit_below(&e, slowed < EXPOSED_GAIN * alone, INT64_MAX, err);
    free(e.row);
    free(e.bound);
    return status;
}
