/* A power model from measured powers. */
#include "energy/power_fit.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "solve/nnls.h"

/* Unknowns: idle power, the addition of each bound, and the part of traffic that no clock
 * changes. */
enum { AT_REST, BOUNDS, MEMORY = BOUNDS + N_TERM_BOUNDS, N_UNKNOWNS };

/* Clocks this much apart are two. */
#define CLOCK_APART 1.02
/* Clocks with this ratio tell the part that follows the clock. */
#define CLOCK_SPREAD 1.1
#define KNEES        40
#define SLOPES       6
#define SLOPE_STEP   0.25
#define SLOPE_CLOCKS 4
#define EM_STEPS     100

#define NO_GROUP ((size_t)-1)

typedef struct fitting {
    const power_row *row;
    size_t           n;
    power_model      m;            /* what is known so far */
    bool             idle, clocks; /* told, and: do clocks differ? */
    double *expected; /* watts by row: measured; for rows at the limit the watts without it */
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
    /* part of what traffic draws, whose other part is a cache's */
    x[MEMORY] = f->clocks ? memory + g * (r->load.share[BOUND_TRAFFIC] - memory) : 0;
}

/* One solution for the expected watts, without the rows of group `without`. */
static lm_status solve(const fitting *f, size_t without, double x[N_UNKNOWNS], lm_error *err)
{
    double gram[N_UNKNOWNS * N_UNKNOWNS] = { 0 }, h[N_UNKNOWNS] = { 0 };
    double rest = f->idle ? f->m.idle_w : 0;

    for (size_t i = 0; i < f->n; i++) {
        const power_row *r = &f->row[i];
        const double     w = 1 / (r->watts * r->watts);
        double           a[N_UNKNOWNS];

        if (r->group == without)
            continue;
        regressors(f, r, a);
        for (size_t k = 0; k < N_UNKNOWNS; k++) {
            h[k] += w * a[k] * (f->expected[i] - rest);
            for (size_t l = 0; l < N_UNKNOWNS; l++)
                gram[k * N_UNKNOWNS + l] += w * a[k] * a[l];
        }
    }
    for (size_t k = 0; k < N_UNKNOWNS; k++)
        x[k] = 0;
    return nnls_solve(gram, h, N_UNKNOWNS, x, err);
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

/* Of what traffic adds to a device at rest, memory's part is not more than half. */
static void limit_memory(power_model *m)
{
    const double rest = isfinite(m->idle_w) ? m->idle_w : 0;

    m->memory_w = fmin(m->memory_w, (m->bound_w[BOUND_TRAFFIC] - rest) / 2);
}

static lm_status fit_without(fitting *f, size_t without, lm_error *err)
{
    double    x[N_UNKNOWNS];
    bool      any    = false;
    lm_status status = LM_OK;

    for (size_t i = 0; i < f->n; i++) {
        f->expected[i] = f->row[i].watts;
        any |= at_cap(f, &f->row[i]);
    }
    for (int step = 0; step < (any ? EM_STEPS : 1) && !status; step++) {
        if (!(status = solve(f, without, x, err)))
            take(f, x);
        for (size_t i = 0; i < f->n; i++)
            if (at_cap(f, &f->row[i]))
                f->expected[i] = fmax(f->row[i].watts, row_draw(f, &f->row[i]));
    }
    return status;
}

/* The knee that leaves least, and with enough clocks the slope above it. */
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
            if ((status = fit_without(f, NO_GROUP, err)))
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

/* How many clocks there are; their range into the model. `room` holds n. */
static size_t count_clocks(fitting *f, double *room)
{
    size_t n = 0, apart = 0;

    for (size_t i = 0; i < f->n; i++)
        if (isfinite(f->row[i].mhz))
            room[n++] = f->row[i].mhz;
    if (!n)
        return 0;
    f->m.low_mhz  = stats_quantile(room, n, 0); /* sorts */
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

static double mean_error(const fitting *f, const double *ratio)
{
    double sum = 0;

    for (size_t i = 0; i < f->n; i++)
        sum += fabs(1 / ratio[i] - 1);
    return sum / (double)f->n;
}

static size_t count_groups(const fitting *f)
{
    size_t most = 0;

    for (size_t i = 0; i < f->n; i++)
        most = f->row[i].group > most ? f->row[i].group : most;
    return most + 1;
}

/* Errors of the model, and of groups left out; `ratio` holds n: measured over predicted. */
static lm_status judge(fitting *f, double *ratio, lm_error *err)
{
    const power_model whole  = f->m;
    power_model       out    = whole;
    const size_t      groups = count_groups(f);
    lm_status         status = LM_OK;

    for (size_t i = 0; i < f->n; i++)
        ratio[i] = f->row[i].watts / predicted(f, &f->row[i]);
    out.mape = mean_error(f, ratio);
    for (size_t g = 0; g < groups && !status; g++) {
        bool any = false;

        for (size_t i = 0; i < f->n; i++)
            any |= f->row[i].group == g;
        out.groups += any;
        if (!any || groups < 2)
            continue;
        status = fit_without(f, g, err);
        for (size_t i = 0; i < f->n; i++)
            if (f->row[i].group == g)
                ratio[i] = f->row[i].watts / predicted(f, &f->row[i]);
        f->m = whole;
    }
    if (out.groups > 1)
        out.held_out_mape = mean_error(f, ratio);
    out.low  = stats_quantile(ratio, f->n, 0.05);
    out.high = stats_quantile(ratio, f->n, 0.95);
    f->m     = out;
    return status;
}

lm_status power_fit(const power_row *row, size_t n, const power_model *told, power_model *out,
                    lm_error *err)
{
    fitting   f    = { .row = row, .n = n, .m = power_unknown, .idle = isfinite(told->idle_w) };
    double   *room = malloc((n + 1) * sizeof *room);
    size_t    n_clocks;
    lm_status status = LM_OK;

    f.expected = malloc((n + 1) * sizeof *f.expected);
    if (!room || !f.expected)
        status = no_memory(err);
    else if (n < POWER_LEAST_ROWS)
        status =
            lm_error_set(err, LM_E_ARG, "%zu powers, a fit needs %d or more", n, POWER_LEAST_ROWS);
    if (!status) {
        f.m.idle_w   = told->idle_w;
        f.m.cap_w    = told->cap_w;
        f.m.top_mhz  = told->top_mhz;
        f.m.knee_mhz = told->knee_mhz;
        f.m.slope    = told->slope;
        f.m.memory_w = told->memory_w;
        f.m.rows     = n;
        n_clocks     = count_clocks(&f, room);
        f.clocks     = n_clocks && f.m.high_mhz > CLOCK_SPREAD * f.m.low_mhz;
        if (f.clocks && isnan(told->knee_mhz))
            status = find_knee(&f, n_clocks, err);
    }
    if (!status)
        status = fit_without(&f, NO_GROUP, err);
    if (!status && !f.clocks)
        limit_memory(&f.m);
    if (!status)
        status = judge(&f, room, err);
    if (!status)
        *out = f.m;
    free(f.expected);
    free(room);
    return status;
}
