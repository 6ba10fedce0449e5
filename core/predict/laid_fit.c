/* Fits a machine file to whole steps under layouts. */
#include "predict/laid_fit.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "observe/doubts.h"
#include "observe/judge.h"
#include "predict/laid_rows.h"
#include "solve/factors.h"
#include "solve/folds.h"
#include "solve/robust.h"

#define TURNS   6    /* maximum number of iterations */
#define SETTLED 5e-3 /* largest change of a factor that ends the iterations */
#define STEP    1e-3 /* change of a factor for its slope */

/* Relative residual above which errors count linearly. Runs beside a full memory or on a congested
 * network take several times as long. Of 0.3, 0.1 and 0.05, it leaves the least errors of networks
 * left out of fits to published runs, together with 0.05. */
#define HUBER 0.1

/* Largest share of messages in a step, and of waits for a host of LAID_HOST_MOST, that tells of kernels
 * alone. */
#define KERNELS_MESSAGES 0.1
#define KERNELS_WAITS    0.01
#define TELLING          0.05 /* least share of a step that tells of its kernels' price */

typedef struct laid_fitting {
    const observations *obs;
    workloads          *loads;
    const interconnect *link;
    calibration        *cal;
    laid_row           *all; /* rows of the file */
    size_t              n_all;
    laid_row           *row; /* rows of the fit */
    size_t              n, groups;
    bool                few; /* too few networks to leave one out */
    laid_prices         prices;
    host_time           host; /* host before the fit */
    double              factor[N_LAID_FACTORS];
    double             *seconds; /* predicted with these factors, one a row */
    double             *slope;   /* n x N_LAID_FACTORS */
    lm_error           *err;
} laid_fitting;

/* ---- rows ---- */

/* Groups to leave out: networks, or single steps if networks are too few. */
static void find_groups(laid_fitting *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n; i++) {
        const char *mine = *f->row[i].of->group ? f->row[i].of->group : f->row[i].of->name;
        size_t      k    = 0;

        while (k < i &&
               strcmp(mine, *f->row[k].of->group ? f->row[k].of->group : f->row[k].of->name) != 0)
            k++;
        f->row[i].group = k < i ? f->row[k].group : n++;
    }
    f->few = n < INTERVAL_GROUPS;
    for (size_t i = 0; i < f->n && f->few; i++)
        f->row[i].group = i;
    f->groups = f->few ? f->n : n;
}

static lm_status open_rows(laid_fitting *f)
{
    const size_t n      = laid_rows_count(f->obs);
    lm_status    status = LM_OK;

    if (n < LAID_LEAST)
        return lm_error_set(f->err, LM_E_ARG,
                            "%s: %zu steps under layouts, a fit to them takes %d or more",
                            f->obs->path, n, LAID_LEAST);
    f->all     = calloc(n, sizeof *f->all);
    f->row     = calloc(n, sizeof *f->row);
    f->seconds = malloc(n * sizeof *f->seconds);
    f->slope   = malloc(n * N_LAID_FACTORS * sizeof *f->slope);
    if (!f->all || !f->row || !f->seconds || !f->slope)
        return no_memory(f->err);
    for (size_t i = 0; i < f->obs->n_rows && !status; i++)
        if (laid_row_is(&f->obs->row[i]))
            status = laid_row_open(f->obs, &f->obs->row[i], f->cal, f->loads, f->link,
                                   &f->all[f->n_all++], f->err);
    f->n = f->n_all;
    memcpy(f->row, f->all, f->n * sizeof *f->row);
    if (!status)
        find_groups(f);
    return status;
}

static lm_status count_row(const laid_fitting *f, const laid_row *r, full_workload *out)
{
    const workload_name of = predictor_workload(&r->who, PROGRAM_TRAINING);

    return workloads_full(f->loads, &of, r->setup.batch, &f->cal->settings, r->setup.optimizer, out,
                          f->err);
}

/* Are all networks of the steps networks of tokens? */
static lm_status of_tokens(const laid_fitting *f, bool *out)
{
    full_workload counted;
    lm_status     status = LM_OK;

    *out = true;
    for (size_t i = 0; i < f->n && *out && !status; i++)
        if (!(status = count_row(f, &f->row[i], &counted)))
            *out = counted.load.tokens;
    return status;
}

static lm_status predict_row(laid_fitting *f, size_t i, double *out)
{
    prediction      p;
    const lm_status status = predict_laid_out(&f->row[i].who, &f->row[i].setup, &p, NULL, f->err);

    if (status)
        lm_error_prefix(f->err, "%s:%d", f->obs->path, f->row[i].of->line);
    else
        *out = p.step;
    return status;
}

static double measured(const laid_fitting *f, size_t i)
{
    return f->row[i].of->seconds;
}

static double mape_of(const laid_fitting *f, const double *seconds)
{
    double sum = 0;

    for (size_t i = 0; i < f->n; i++)
        sum += fabs(seconds[i] / measured(f, i) - 1) / (double)f->n;
    return sum;
}

/* ---- steps that tell of kernels alone ---- */

static lm_status predict_with(laid_fitting *f, size_t i, double messages, double host, double *out)
{
    double factor[N_LAID_FACTORS];

    memcpy(factor, f->factor, sizeof factor);
    for (int k = LAID_WITHIN_STEPS; k <= LAID_BETWEEN_BYTES; k++)
        factor[k] *= messages;
    factor[LAID_HOST] = host / LAID_LAUNCH;
    laid_prices_put(&f->prices, factor);
    return predict_row(f, i, out);
}

static lm_status pick_kernels(laid_fitting *f)
{
    double    step, silent, waiting;
    lm_status status = LM_OK;

    f->n = 0;
    for (size_t i = 0; i < f->n_all && !status; i++) {
        f->row[f->n] = f->all[i];
        if (!(status = predict_with(f, f->n, 1, 0, &step)) &&
            !(status = predict_with(f, f->n, 0, 0, &silent)) &&
            !(status = predict_with(f, f->n, 1, LAID_HOST_MOST, &waiting)))
            f->n +=
                step - silent < KERNELS_MESSAGES * step && waiting - step < KERNELS_WAITS * step;
    }
    if (status)
        return status;
    if (f->n < LAID_LEAST)
        return lm_error_set(
            f->err, LM_E_ARG,
            "%s: messages or the host lengthen all but %zu of %zu steps, and prices of kernels take %d without: leave out --kernels",
            f->obs->path, f->n, f->n_all, LAID_LEAST);
    find_groups(f);
    return LM_OK;
}

/* ---- doubtful times ---- */

/* Refuses a step that takes more FLOP/s than any device can do. */
static lm_status check_rate(const laid_fitting *f, const laid_row *r)
{
    full_workload counted;
    lm_status     status = count_row(f, r, &counted);
    double        rate;

    if (status)
        return status;
    rate = phase_flops(&counted.load.counts, PHASE_STEP) * (double)r->setup.sync.accumulation *
           (double)step_setup_replicas(&r->setup) / (double)step_setup_ranks(&r->setup) /
           r->of->seconds;
    return rate <= DOUBT_FLOPS
               ? LM_OK
               : lm_error_set(f->err, LM_E_ARG,
                              "%s:%d: a step of %.3g s takes %.2g FLOP/s of each device, more than "
                              "any device can do: are the times in seconds?",
                              f->obs->path, r->of->line, r->of->seconds, rate);
}

/* Refuses a step that differs from its prediction by DOUBT_DECADES more than most steps do. */
static lm_status check_times(const laid_fitting *f)
{
    double   *ratio  = malloc(f->n * sizeof *ratio);
    lm_status status = ratio ? LM_OK : no_memory(f->err);
    double    usual;

    for (size_t i = 0; i < f->n && !status; i++) {
        ratio[i] = log10(measured(f, i) / f->seconds[i]);
        status   = check_rate(f, &f->row[i]);
    }
    usual = status ? 0 : stats_quantile(ratio, f->n, 0.5);
    free(ratio);
    for (size_t i = 0; i < f->n && !status; i++)
        if (fabs(log10(measured(f, i) / f->seconds[i]) - usual) > DOUBT_DECADES)
            status = lm_error_set(f->err, LM_E_ARG,
                                  "%s:%d: a step of %.3g s, which takes %.3g s by the other rows: "
                                  "is it in seconds?",
                                  f->obs->path, f->row[i].of->line, measured(f, i),
                                  f->seconds[i] * pow(10, usual));
    return status;
}

/* ---- turns ---- */

/* Start value of the host's seconds per kernel: the largest that makes no step longer than
 * measured. */
static lm_status begin_host(laid_fitting *f)
{
    double    least  = INFINITY, factor[N_LAID_FACTORS];
    lm_status status = LM_OK;

    for (int k = 0; k < N_LAID_FACTORS; k++)
        factor[k] = f->factor[k];
    factor[LAID_HOST] = 1 / LAID_LAUNCH; /* a second per kernel: the host dominates */
    laid_prices_put(&f->prices, factor);
    for (size_t i = 0; i < f->n && !status; i++) {
        double seconds = NAN;

        status = predict_row(f, i, &seconds);
        least  = fmin(least, measured(f, i) / seconds);
    }
    f->factor[LAID_HOST] = least / LAID_LAUNCH;
    return status;
}

static lm_status predict_rows(laid_fitting *f)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < f->n && !status; i++)
        status = predict_row(f, i, &f->seconds[i]);
    return status;
}

static lm_status predict_all(laid_fitting *f)
{
    laid_prices_put(&f->prices, f->factor);
    return predict_rows(f);
}

/* The error of the machine file, with the host that it knows. */
static lm_status judge_before(laid_fitting *f, double *mape)
{
    lm_status status;

    laid_prices_put(&f->prices, f->factor);
    f->cal->host = f->host;
    if (!(status = predict_rows(f)))
        *mape = mape_of(f, f->seconds);
    return status;
}

/* Number of factors that the fit sets, from the first. */
static int free_factors(const laid_fitting *f)
{
    return f->prices.kernels ? LAID_MOVES : N_LAID_FACTORS;
}

/* Is the factor on TELLING of a step or more in two groups? Leaving one out then shows its error. */
static bool told_twice(const laid_fitting *f, int k)
{
    size_t first = SIZE_MAX;

    for (size_t i = 0; i < f->n; i++) {
        if (f->slope[i * N_LAID_FACTORS + (size_t)k] * f->factor[k] < TELLING * f->seconds[i])
            continue;
        if (first != SIZE_MAX && f->row[i].group != first)
            return true;
        first = f->row[i].group;
    }
    return false;
}

static double *slope_of(const laid_fitting *f, size_t i, int k)
{
    return &f->slope[i * N_LAID_FACTORS + (size_t)k];
}

static lm_status find_slope(laid_fitting *f, int k)
{
    const double more = STEP * fmax(1, f->factor[k]);
    double       factor[N_LAID_FACTORS];
    lm_status    status = LM_OK;
    bool         tells;

    memcpy(factor, f->factor, sizeof factor);
    factor[k] += more;
    laid_prices_put(&f->prices, factor);
    for (size_t i = 0; i < f->n && !status; i++) {
        double seconds = NAN;

        status             = predict_row(f, i, &seconds);
        *slope_of(f, i, k) = (seconds - f->seconds[i]) / more;
    }
    tells = status || !f->prices.kernels || told_twice(f, k);
    for (size_t i = 0; i < f->n && !tells; i++)
        *slope_of(f, i, k) = 0; /* keeps the machine file's price */
    return status;
}

static lm_status find_slopes(laid_fitting *f)
{
    lm_status status = predict_all(f);

    memset(f->slope, 0, f->n * N_LAID_FACTORS * sizeof *f->slope);
    for (int k = 0; k < free_factors(f) && !status; k++)
        status = find_slope(f, k);
    laid_prices_put(&f->prices, f->factor);
    return status;
}

/* Factors by the slopes, of rows that a fold takes; t NULL: of all. */
static lm_status solve(const laid_fitting *f, const fold_turn *t, double *factor, lm_error *err)
{
    double       ridge[N_LAID_FACTORS];
    factors_rows all;
    lm_status    status = factors_rows_new(N_LAID_FACTORS, f->n, &all, err);

    for (int k = 0; k < N_LAID_FACTORS; k++)
        ridge[k] = k < LAID_STARTS ? FACTORS_RIDGE : FACTORS_RIDGE / 1000; /* no price to keep */
    memcpy(factor, f->factor, N_LAID_FACTORS * sizeof *factor);
    for (size_t i = 0; i < f->n && !status; i++) {
        const double *slope = f->slope + i * N_LAID_FACTORS;
        double        rest  = f->seconds[i];

        if (t && !fold_in(t, i))
            continue;
        for (size_t k = 0; k < N_LAID_FACTORS; k++)
            rest -= slope[k] * f->factor[k];
        factors_rows_add(&all, slope, rest, measured(f, i));
    }
    if (!status)
        status = factors_rows_fit(&all, ridge, HUBER, factor, err);
    for (int k = free_factors(f); k < N_LAID_FACTORS; k++)
        factor[k] = f->factor[k];
    factors_rows_free(&all);
    return status;
}

static double loss(const laid_fitting *f)
{
    double sum = 0;

    for (size_t i = 0; i < f->n; i++)
        sum += robust_loss(fabs(f->seconds[i] / measured(f, i) - 1), HUBER);
    for (int k = 0; k < LAID_STARTS; k++)
        sum += FACTORS_RIDGE * (f->factor[k] - 1) * (f->factor[k] - 1) / 2;
    return sum;
}

/* One iteration: a step towards the solution, halved until the loss falls, because the overlap may
 * change on the way. */
static lm_status turn(laid_fitting *f, bool *settled)
{
    const double was = loss(f);
    double       from[N_LAID_FACTORS], to[N_LAID_FACTORS], far = 0;
    lm_status    status = solve(f, NULL, to, f->err);

    memcpy(from, f->factor, sizeof from);
    for (double share = 1; !status; share /= 2) {
        far = 0;
        for (int k = 0; k < N_LAID_FACTORS; k++) {
            f->factor[k] = from[k] + share * (to[k] - from[k]);
            far          = fmax(far, fabs(f->factor[k] - from[k]));
        }
        status = predict_all(f);
        if (status || loss(f) <= was || far < SETTLED)
            break;
    }
    if (!status && loss(f) > was) {
        memcpy(f->factor, from, sizeof from);
        status = predict_all(f);
    }
    *settled = far < SETTLED;
    return status;
}

/* ---- what leaving out shows ---- */

typedef struct leaving {
    const laid_fitting *f;
    double             *factor; /* N_LAID_FACTORS of each group, without it */
} leaving;

static lm_status fit_without(void *context, const fold_turn *t, lm_error *err)
{
    const leaving *l = context;

    return solve(l->f, t, l->factor + t->fold * N_LAID_FACTORS, err);
}

/* Seconds of each step by the factors of all groups but its own. The slopes come from all rows. */
static lm_status tell_left_out(laid_fitting *f, const folds *by, double *seconds)
{
    leaving   l      = { f, malloc(f->groups * N_LAID_FACTORS * sizeof *l.factor) };
    lm_status status = l.factor ? folds_leave_out(by, fit_without, &l, f->err) : no_memory(f->err);

    for (size_t g = 0; g < f->groups && !status; g++) {
        laid_prices_put(&f->prices, l.factor + g * N_LAID_FACTORS);
        for (size_t i = 0; i < f->n && !status; i++)
            if (f->row[i].group == g)
                status = predict_row(f, i, &seconds[i]);
    }
    laid_prices_put(&f->prices, f->factor);
    free(l.factor);
    return status;
}

/* Stores the networks for which single steps were left out. */
static lm_status keep_networks(laid_fitting *f)
{
    char name[PATH_MAX];

    for (size_t i = 0; i < f->n && f->few && !f->prices.kernels; i++) {
        laid_steps *to = &f->cal->laid;

        if (network_name_key(f->row[i].of->name, name, sizeof name) &&
            !(to->n_networks && laid_steps_hold(to, name)) && !laid_steps_add(to, name))
            return no_memory(f->err);
    }
    return LM_OK;
}

static lm_status judge(laid_fitting *f, laid_fit *out)
{
    double   *seconds = malloc(f->n * sizeof *seconds);
    size_t   *group   = malloc(f->n * sizeof *group);
    residual *r       = malloc(f->n * sizeof *r);
    folds     by      = { .of = group, .rows = f->n, .n = f->groups };
    interval  i       = interval_unknown;
    lm_status status  = seconds && group && r ? LM_OK : no_memory(f->err);

    for (size_t k = 0; k < f->n && !status; k++)
        group[k] = f->row[k].group;
    if (!status && !(status = tell_left_out(f, &by, seconds))) {
        out->mape = mape_of(f, seconds);
        for (size_t k = 0; k < f->n; k++)
            r[k] = (residual){ .ratio = seconds[k] > 0 ? measured(f, k) / seconds[k] : HUGE_VAL,
                               .group = group[k] };
        status = interval_bounds(r, f->n, &i, f->err);
    }
    if (!status && f->prices.kernels && f->few)
        laid_steps_widen(&i.low, &i.high, LAID_FRAMEWORKS);
    if (!status) {
        const bool known = i.groups >= INTERVAL_GROUPS && isfinite(i.low) && isfinite(i.high);

        f->cal->host.mape = out->mape;
        laid_steps_free(&f->cal->laid);
        f->cal->laid = (laid_steps){ .rows    = f->n,
                                     .mape    = out->mape,
                                     .low     = i.low,
                                     .high    = i.high,
                                     .groups  = known ? i.groups : 0,
                                     .kernels = f->prices.kernels };
        status       = keep_networks(f);
    }
    free(seconds);
    free(group);
    free(r);
    return status;
}

/* Turns until the factors settle. */
static lm_status settle(laid_fitting *f, laid_fit *out)
{
    bool      settled = false;
    lm_status status  = LM_OK;

    for (out->rounds = 0; out->rounds < TURNS && !settled && !status; out->rounds++)
        if (!(status = find_slopes(f)))
            status = turn(f, &settled);
    return status;
}

static lm_status begin(laid_fitting *f, laid_fit *out)
{
    lm_status status;

    for (int k = 0; k < N_LAID_FACTORS; k++)
        f->factor[k] = 1;
    f->factor[LAID_STARTS] = 0;
    f->factor[LAID_HOST]   = f->host.laid ? f->host.seconds[HOST_FORWARD] / LAID_LAUNCH : 0;
    if ((f->prices.kernels && (status = pick_kernels(f))) ||
        (status = judge_before(f, &out->mape_before)) || (status = predict_all(f)) ||
        (status = check_times(f)))
        return status;
    return f->host.laid || f->prices.kernels ? LM_OK : begin_host(f);
}

static lm_status run(laid_fitting *f, laid_fit *out)
{
    lm_status status = begin(f, out);

    if (!status)
        status = settle(f, out);
    if (!status && !(status = find_slopes(f)))
        status = judge(f, out);
    if (status)
        return status;
    out->rows        = f->n;
    out->groups      = f->groups;
    memcpy(out->factor, f->factor, sizeof out->factor);
    return LM_OK;
}

static const interconnect none_told = { .name = NULL };

lm_status laid_fit_steps(const observations *obs, workloads *loads, const interconnect *link,
                         bool kernels, calibration *cal, laid_fit *out, lm_error *err)
{
    laid_fitting f = {
        .obs = obs, .loads = loads, .link = link, .cal = cal, .host = cal->host, .err = err
    };
    bool      tokens;
    lm_status status;

    *out = (laid_fit){ .mape = NAN };
    if (link->bytes_per_second > 0) { /* the file gets the user's link, corrected by the fit */
        collective_take_link(cal->collectives, link, laid_rows_count(obs));
        f.link = &none_told;
    }
    if (!(status = laid_rows_alone(obs, err)) && !(status = open_rows(&f)) &&
        !(status = of_tokens(&f, &tokens)) &&
        !(status = laid_prices_keep(cal, laid_rows_count(obs), kernels, tokens, &f.prices, err)))
        status = run(&f, out);
    if (status && f.prices.cal)
        laid_prices_restore(&f.prices);
    if (status || kernels)
        cal->host = f.host;
    for (size_t i = 0; i < f.n_all; i++)
        predictor_close(&f.all[i].who);
    laid_prices_free(&f.prices);
    free(f.all);
    free(f.row);
    free(f.seconds);
    free(f.slope);
    return status;
}

/* "63 steps under layouts: products x0.56, ..." */
static bool note_kernels(const laid_fit *f, calibration *to)
{
    char text[300];

    snprintf(text, sizeof text, "%zu steps under layouts:", f->rows);
    for (int k = 0; k < N_LAID_KERNELS; k++)
        text_add(text, sizeof text, "%s %s x%.3g", k ? "," : "", laid_factor_name(k), f->factor[k]);
    return calibration_note(to, "kernels_by", text);
}

lm_status laid_fit_keep(const laid_fit *f, const observations *obs, calibration *from,
                        calibration *to, lm_error *err)
{
    to->by_steps = from->by_steps;
    laid_steps_free(&to->laid);
    to->laid   = from->laid;
    from->laid = (laid_steps){ .rows = 0 };
    return note_kernels(f, to) && calibration_note_origin(to, obs->provenance, obs->n_provenance)
               ? LM_OK
               : no_memory(err);
}
