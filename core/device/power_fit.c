/* A power model from measured powers. */
#include "device/power_fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "solve/folds.h"
#include "solve/robust.h"

/* Unknowns: idle power, the addition of each bound, and the part of traffic that no clock
 * changes. */
enum { AT_REST, BOUNDS, MEMORY = BOUNDS + N_TERM_BOUNDS, N_UNKNOWNS };

/* Clocks with this ratio count as different. */
#define CLOCK_APART 1.02
/* Two clocks with this ratio determine the part that follows the clock. */
#define CLOCK_SPREAD 1.1
#define KNEES        40
#define SLOPES       6
#define SLOPE_STEP   0.25
#define SLOPE_CLOCKS 4
#define EM_STEPS     100

typedef struct fitting {
    const power_row *row;
    size_t           n;
    power_model      m;            /* known so far */
    bool             idle, clocks; /* idle: given; clocks: they differ */
    double     *expected; /* watts by row: measured; for rows at the limit the watts without it */
    double     *a, *b;    /* system of equations */
    double     *ratio;    /* measured over predicted */
    robust_work work;
} fitting;

static bool at_cap(const fitting *f, const power_row *r)
{
    return isnan(r->mhz) && r->watts >= POWER_AT_CAP * f->m.cap_w;
}

static void regressors(const fitting *f, const power_row *r, double x[N_UNKNOWNS])
{
    const double g      = f->clocks && isfinite(r->mhz) ? power_dynamic(&f->m, r->mhz) : 1;
    const double memory = power_memory_share(&r->load);

    x[AT_REST] = f->clocks && !f->idle ? 1 : 0;
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        x[BOUNDS + k] = g * r->load.share[k];
    /* the part of the traffic's power that is the memory's; the rest is a cache's */
    x[MEMORY] = f->clocks ? memory + g * (r->load.share[BOUND_TRAFFIC] - memory) : 0;
}

/* Solves for the expected watts with the rows of a turn. */
static lm_status solve(fitting *f, const fold_turn *t, double x[N_UNKNOWNS], lm_error *err)
{
    const double   rest = f->idle ? f->m.idle_w : 0;
    robust_problem p    = {
           .a = f->a, .b = f->b, .places = N_UNKNOWNS, .n = N_UNKNOWNS, .huber = INFINITY
    };

    for (size_t i = 0; i < f->n; i++) {
        double *a = f->a + p.rows * N_UNKNOWNS;

        if (t && !fold_in(t, i))
            continue;
        regressors(f, &f->row[i], a);
        for (size_t k = 0; k < N_UNKNOWNS; k++)
            a[k] /= f->row[i].watts;
        f->b[p.rows++] = (f->expected[i] - rest) / f->row[i].watts;
    }
    for (size_t k = 0; k < N_UNKNOWNS; k++)
        x[k] = 0;
    return robust_solve(&p, x, &f->work, err);
}

static void take(fitting *f, const double x[N_UNKNOWNS])
{
    power_model *m = &f->m;

    if (f->clocks && !f->idle)
        m->idle_w = x[AT_REST];
    if (f->clocks)
        m->memory_w = x[MEMORY];
    for (term_bound k = 0; k < N_TERM_BOUNDS; k++)
        m->bound_w[k] = x[BOUNDS + k] + (isfinite(m->idle_w) ? m->idle_w : 0);
    m->bound_w[BOUND_TRAFFIC] += x[MEMORY];
}

static double row_draw(const fitting *f, const power_row *r)
{
    return power_draw(&f->m, &r->load, f->clocks ? r->mhz : (double)NAN);
}

/* Relative, squared, on average; a row at the limit misses it from below only. */
static double loss(const fitting *f)
{
    double sum = 0;

    for (size_t i = 0; i < f->n; i++) {
        const double miss = row_draw(f, &f->row[i]) / f->row[i].watts - 1;

        sum += at_cap(f, &f->row[i]) && miss > 0 ? 0 : miss * miss;
    }
    return sum / (double)f->n;
}

/* The memory's part is at most half of what traffic adds to the idle power. */
static void limit_memory(power_model *m)
{
    const double rest = isfinite(m->idle_w) ? m->idle_w : 0;

    m->memory_w = fmin(m->memory_w, (m->bound_w[BOUND_TRAFFIC] - rest) / 2);
}

static lm_status fit_rows(fitting *f, const fold_turn *t, lm_error *err)
{
    double    x[N_UNKNOWNS];
    bool      any    = false;
    lm_status status = LM_OK;

    for (size_t i = 0; i < f->n; i++) {
        f->expected[i] = f->row[i].watts;
        any |= at_cap(f, &f->row[i]);
    }
    for (int step = 0; step < (any ? EM_STEPS : 1) && !status; step++) {
        if (!(status = solve(f, t, x, err)))
            take(f, x);
        for (size_t i = 0; i < f->n; i++)
            if (at_cap(f, &f->row[i]))
                f->expected[i] = fmax(f->row[i].watts, row_draw(f, &f->row[i]));
    }
    return status;
}

/* The knee with the least error, and with enough clocks the slope above it. */
static lm_status find_knee(fitting *f, size_t n_clocks, lm_error *err)
{
    const int slopes = n_clocks >= SLOPE_CLOCKS ? SLOPES : 1;
    double    least = HUGE_VAL, knee = NAN, slope = 1;
    lm_status status = LM_OK;

    for (int i = 0; i <= KNEES && !status; i++)
        for (int k = 0; k < slopes && !status; k++) {
            double now;

            f->m.knee_mhz = f->m.low_mhz + i * (f->m.top_mhz - f->m.low_mhz) / KNEES;
            f->m.slope    = slopes > 1 ? SLOPE_STEP * (k + 1) : 1;
            if ((status = fit_rows(f, NULL, err)))
                break;
            now = loss(f);
            if (now < least) {
                least = now;
                knee  = f->m.knee_mhz;
                slope = f->m.slope;
            }
        }
    f->m.knee_mhz = knee;
    f->m.slope    = slope;
    return status;
}

/* Counts the clocks, and stores their range in the model. `room` holds n. */
static size_t count_clocks(fitting *f, double *room)
{
    size_t n = 0, apart = 0;

    for (size_t i = 0; i < f->n; i++)
        if (isfinite(f->row[i].mhz))
            room[n++] = f->row[i].mhz;
    if (!n)
        return 0;
    f->m.low_mhz  = stats_quantile(room, n, 0); /* sorts `room` */
    f->m.high_mhz = stats_quantile(room, n, 1);
    if (!(f->m.top_mhz >= f->m.high_mhz))
        f->m.top_mhz = f->m.high_mhz;
    for (size_t i = 0, last = 0; i < n; i++)
        if (!i || room[i] > CLOCK_APART * room[last]) {
            apart++;
            last = i;
        }
    return apart;
}

static double predicted(const fitting *f, const power_row *r)
{
    const double watts = row_draw(f, r);

    return watts > f->m.cap_w ? f->m.cap_w : watts;
}

static double mean_error(const fitting *f)
{
    double sum = 0;

    for (size_t i = 0; i < f->n; i++)
        sum += fabs(1 / f->ratio[i] - 1);
    return sum / (double)f->n;
}

/* Predicts rows, or those that a turn leaves out. */
static void compare(fitting *f, const fold_turn *t)
{
    for (size_t i = 0; i < f->n; i++)
        if (!t || fold_out(t, i))
            f->ratio[i] = f->row[i].watts / predicted(f, &f->row[i]);
}

static lm_status without_group(void *context, const fold_turn *t, lm_error *err)
{
    fitting          *f      = context;
    const power_model whole  = f->m;
    const lm_status   status = fit_rows(f, t, err);

    compare(f, t);
    f->m = whole;
    return status;
}

/* Errors of the model, and of groups left out. */
static lm_status judge(fitting *f, lm_error *err)
{
    size_t   *group  = malloc((f->n + 1) * sizeof *group);
    bool     *seen   = NULL;
    folds     by     = { .of = group, .rows = f->n };
    lm_status status = group ? LM_OK : no_memory(err);

    compare(f, NULL);
    f->m.mape = mean_error(f);
    for (size_t i = 0; i < f->n && !status; i++) {
        group[i] = f->row[i].group;
        by.n     = group[i] >= by.n ? group[i] + 1 : by.n;
    }
    if (!status && !(seen = calloc(by.n + 1, sizeof *seen)))
        status = no_memory(err);
    for (size_t i = 0; i < f->n && !status; i++) {
        f->m.groups += !seen[group[i]];
        seen[group[i]] = true;
    }
    if (!status && by.n > 1)
        status = folds_leave_out(&by, without_group, f, err);
    if (f->m.groups > 1)
        f->m.held_out_mape = mean_error(f);
    f->m.low  = stats_quantile(f->ratio, f->n, 0.05);
    f->m.high = stats_quantile(f->ratio, f->n, 0.95);
    free(group);
    free(seen);
    return status;
}

static lm_status fit(fitting *f, lm_error *err)
{
    const size_t n_clocks = count_clocks(f, f->ratio);
    lm_status    status   = LM_OK;

    f->clocks = n_clocks && f->m.high_mhz > CLOCK_SPREAD * f->m.low_mhz;
    if (f->clocks && isnan(f->m.knee_mhz))
        status = find_knee(f, n_clocks, err);
    if (!status)
        status = fit_rows(f, NULL, err);
    if (!status && !f->clocks)
        limit_memory(&f->m);
    return status ? status : judge(f, err);
}

lm_status power_fit(const power_row *row, size_t n, const power_model *told, power_model *out,
                    lm_error *err)
{
    fitting   f    = { .row = row, .n = n, .m = power_unknown, .idle = isfinite(told->idle_w) };
    double   *room = malloc(((N_UNKNOWNS + 3) * n + 1) * sizeof *room);
    lm_status status;

    f.m.idle_w   = told->idle_w;
    f.m.cap_w    = told->cap_w;
    f.m.top_mhz  = told->top_mhz;
    f.m.knee_mhz = told->knee_mhz;
    f.m.slope    = told->slope;
    f.m.memory_w = told->memory_w;
    f.m.rows     = n;
    f.a          = room;
    f.b          = room + N_UNKNOWNS * n;
    f.expected   = f.b + n;
    f.ratio      = f.expected + n;
    if (!room)
        status = no_memory(err);
    else if (n < POWER_LEAST_ROWS)
        status =
            lm_error_set(err, LM_E_ARG, "%zu powers, a fit needs %d or more", n, POWER_LEAST_ROWS);
    else
        status = fit(&f, err);
    if (!status)
        *out = f.m;
    robust_work_free(&f.work);
    free(room);
    return status;
}
