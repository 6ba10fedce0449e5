/* Fits a machine file to whole steps under layouts. */
#include "predict/laid_fit.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "predict/laid_out.h"
#include "predict/recompute.h"
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

static const char *const names[N_LAID_FACTORS] = {
    [LAID_PRODUCTS]      = "products",
    [LAID_ATTENTION]     = "attention",
    [LAID_MOVES]         = "other kernels",
    [LAID_UPDATE]        = "update",
    [LAID_WITHIN_STEPS]  = "steps of messages within a node",
    [LAID_WITHIN_BYTES]  = "bytes of messages within a node",
    [LAID_BETWEEN_STEPS] = "steps of messages between nodes",
    [LAID_BETWEEN_BYTES] = "bytes of messages between nodes",
    [LAID_STARTS]        = "kernels",
    [LAID_HOST]          = "launches",
};

const char *laid_factor_name(laid_factor k)
{
    return names[k];
}

/* Forms of the default model for passes and updates. */
static const phase told[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_STEP };

#define N_TOLD (sizeof told / sizeof told[0])

/* A step, ready to be predicted. */
typedef struct laid_row {
    const observation *of;
    predictor          who;
    step_setup         setup;
    size_t             group;
} laid_row;

typedef struct laid_fitting {
    const observations *obs;
    workloads          *loads;
    const interconnect *link;
    calibration        *cal;
    laid_row           *row;
    size_t              n, groups;
    bool                few;          /* too few networks to leave one out */
    double             *base[N_TOLD]; /* prices of terms before the fit */
    collective_model   *collectives;  /* of messages before the fit */
    host_time           host;         /* host before the fit */
    double              factor[N_LAID_FACTORS];
    double             *seconds; /* predicted with these factors, one a row */
    double             *slope;   /* n x N_LAID_FACTORS */
    lm_error           *err;
} laid_fitting;

/* ---- what a factor is on ---- */

/* The factor of a term; N_LAID_FACTORS: none. */
static laid_factor factor_of_term(size_t term)
{
    if (term_of_update(term))
        return LAID_UPDATE;
    switch (term_slot(term)) {
    case SLOT_GEMM_FLOPS:
    case SLOT_GEMM_WEIGHTS:
    case SLOT_GEMV_WEIGHTS:
    case SLOT_GEMM_BYTES: return LAID_PRODUCTS;
    case SLOT_ATTENTION_FLOPS:
    case SLOT_ATTENTION_BYTES: return LAID_ATTENTION;
    case SLOT_NORM_BYTES:
    case SLOT_NORM_AFTER_BYTES:
    case SLOT_MAP_BYTES:
    case SLOT_MAP_AFTER_BYTES:
    case SLOT_MAP_ELEMENTS:
    case SLOT_NORM_PLANES: return LAID_MOVES;
    default: /* open: terms that transformers do not have */ return N_LAID_FACTORS;
    }
}

static bool counts_bytes(sync_column c)
{
    return c != SYNC_START && c != SYNC_STEPS && c != SYNC_DEVICES;
}

static void scale_fabric(const fabric_model *from, fabric f, const double *factor, fabric_model *to)
{
    const double steps = factor[f == FABRIC_ONE ? LAID_WITHIN_STEPS : LAID_BETWEEN_STEPS];
    const double bytes = factor[f == FABRIC_ONE ? LAID_WITHIN_BYTES : LAID_BETWEEN_BYTES];

    for (size_t k = 0; k < from->n_planes; k++)
        for (sync_column c = 0; c < N_SYNC_COLUMNS; c++)
            to->plane[k].price[c] = from->plane[k].price[c] * (counts_bytes(c) ? bytes : steps);
    for (size_t k = 0; k < BASELINE_COLUMNS; k++) /* 1, log2 n, S log2 n */
        to->baseline[BASELINE_LOG2][k] = from->baseline[BASELINE_LOG2][k] * (k < 2 ? steps : bytes);
}

/* Sets the prices of the machine file: prices before the fit, times these factors. */
static void put_factors(const laid_fitting *f, const double *factor)
{
    for (size_t i = 0; i < N_TOLD; i++) {
        fitted *of = &f->cal->fitted[form_find(DEFAULT_MODEL, told[i])];

        for (size_t t = 0; t < N_TERMS && f->base[i]; t++) {
            const laid_factor k = factor_of_term(t);

            of->term[t].value = f->base[i][t] * (k < N_LAID_FACTORS ? factor[k] : 1);
            if (term_family_of(t) == FAMILY_LAUNCHES && !term_of_update(t))
                of->term[t].value += factor[LAID_STARTS] * LAID_START;
        }
    }
    for (size_t i = 0; f->collectives && i < f->collectives->n; i++)
        for (fabric k = 0; k < N_FABRICS; k++)
            scale_fabric(&f->collectives->algorithm[i].of[k], k, factor,
                         &f->cal->collectives->algorithm[i].of[k]);
    f->cal->host = (host_time){ .rows      = factor[LAID_HOST] > 0 ? f->n : 0,
                                .seconds   = factor[LAID_HOST] * LAID_LAUNCH,
                                .mape      = NAN,
                                .queue     = true,
                                .foreach   = true,
                                .laid      = true,
                                .framework = HOST_OF_LAYOUTS };
}

static lm_status keep_base(laid_fitting *f)
{
    for (size_t i = 0; i < N_TOLD; i++) {
        const fitted *of = &f->cal->fitted[form_find(DEFAULT_MODEL, told[i])];

        if (!of->present)
            continue;
        if (!(f->base[i] = malloc(N_TERMS * sizeof *f->base[i])))
            return no_memory(f->err);
        for (size_t t = 0; t < N_TERMS; t++)
            f->base[i][t] = of->term[t].value;
    }
    if (f->cal->collectives && !(f->collectives = collective_copy(f->cal->collectives)))
        return no_memory(f->err);
    return LM_OK;
}

/* ---- rows ---- */

static bool laid(const observation *r)
{
    return *r->layout && !r->skipped;
}

size_t laid_fit_rows(const observations *obs)
{
    size_t n = 0;

    for (size_t i = 0; i < obs->n_rows; i++)
        n += laid(&obs->row[i]);
    return n;
}

lm_dtype laid_fit_dtype(const observations *obs)
{
    for (size_t i = 0; i < obs->n_rows; i++)
        if (laid(&obs->row[i]))
            return settings_product_dtype(obs->row[i].settings, obs->row[i].dtype);
    return 0;
}

static lm_status check_alone(const observations *obs, lm_error *err)
{
    for (size_t i = 0; i < obs->n_rows; i++)
        if (!*obs->row[i].layout && !obs->row[i].skipped)
            return lm_error_set(
                err, LM_E_ARG,
                "%s:%d: no layout, and other rows have one: fit these by themselves, "
                "and steps under layouts --from their machine file",
                obs->path, obs->row[i].line);
    return LM_OK;
}

static sync_policy policy_of(const observation *r)
{
    sync_policy p = step_setup_of(1, 1).sync;

    if (r->bucket_bytes > 0)
        p = (sync_policy){ .rule        = SYNC_DDP,
                           .first_bytes = SYNC_DDP_FIRST_BYTES,
                           .limit_bytes = (uint64_t)r->bucket_bytes };
    return p;
}

/* The column `batch` is the micro-batch. The layout may repeat it. */
static lm_status read_setup(const observation *r, step_setup *out, lm_error *err)
{
    layout     l = layout_plain();
    step_setup s = step_setup_of(r->batch, r->hosts);
    lm_status  status;

    if ((status = layout_parse(r->layout, &l, err)))
        return status;
    if (r->ranks % r->hosts)
        return lm_error_set(err, LM_E_ARG, "ranks: %lld do not divide among %lld hosts",
                            (long long)r->ranks, (long long)r->hosts);
    if (l.micro_batch && l.micro_batch != r->batch)
        return lm_error_set(err, LM_E_ARG, "layout: mb%lld, and the column batch says %lld",
                            (long long)l.micro_batch, (long long)r->batch);
    if (l.batch_tokens)
        return lm_error_set(err, LM_E_ARG, "layout: gb%lldtokens: a row counts samples",
                            (long long)l.batch_tokens);
    s.devices           = r->ranks / r->hosts;
    s.sync              = policy_of(r);
    s.sync.accumulation = l.accumulation ? l.accumulation : 1;
    s.layout            = l;
    s.laid_out          = true;
    if (!l.accumulation && l.global_batch)
        s.sync.accumulation = l.global_batch / step_setup_replicas(&s) / r->batch;
    if ((status = optimizer_parse(observation_optimizer(r), &s.optimizer, err)))
        return status;
    *out = s;
    return LM_OK;
}

static lm_status open_row(laid_fitting *f, const observation *r, laid_row *out)
{
    lm_status status;

    *out     = (laid_row){ .of = r };
    out->who = (predictor){ .cal     = f->cal,
                            .loads   = f->loads,
                            .model   = DEFAULT_MODEL,
                            .network = r->name,
                            .input   = *r->input ? r->input : NULL,
                            .dtype   = f->cal->dtype ? f->cal->dtype : r->dtype,
                            .mixed   = calibration_mixed(f->cal),
                            .machine = f->obs->path,
                            .link    = *f->link };
    if ((status = read_setup(r, &out->setup, f->err)) ||
        (status = predictor_open(&out->who, &(model_source){ 0 }, f->err)) ||
        (strcmp(out->setup.layout.recompute, "none") != 0 &&
         (status = recompute_share(&out->who, &out->setup, out->setup.layout.recompute,
                                   &out->setup.again, f->err))))
        lm_error_prefix(f->err, "%s:%d", f->obs->path, r->line);
    return status;
}

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
    const size_t n      = laid_fit_rows(f->obs);
    lm_status    status = LM_OK;

    if (n < LAID_LEAST)
        return lm_error_set(f->err, LM_E_ARG,
                            "%s: %zu steps under layouts, a fit to them takes %d or more",
                            f->obs->path, n, LAID_LEAST);
    f->row     = calloc(n, sizeof *f->row);
    f->seconds = malloc(n * sizeof *f->seconds);
    f->slope   = malloc(n * N_LAID_FACTORS * sizeof *f->slope);
    if (!f->row || !f->seconds || !f->slope)
        return no_memory(f->err);
    for (size_t i = 0; i < f->obs->n_rows && !status; i++)
        if (laid(&f->obs->row[i]))
            status = open_row(f, &f->obs->row[i], &f->row[f->n++]);
    if (!status)
        find_groups(f);
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
    put_factors(f, factor);
    for (size_t i = 0; i < f->n && !status; i++) {
        double seconds = NAN;

        status = predict_row(f, i, &seconds);
        least  = fmin(least, measured(f, i) / seconds);
    }
    f->factor[LAID_HOST] = least / LAID_LAUNCH;
    return status;
}

static lm_status predict_all(laid_fitting *f)
{
    lm_status status = LM_OK;

    put_factors(f, f->factor);
    for (size_t i = 0; i < f->n && !status; i++)
        status = predict_row(f, i, &f->seconds[i]);
    return status;
}

static lm_status find_slopes(laid_fitting *f)
{
    lm_status status = predict_all(f);

    for (int k = 0; k < N_LAID_FACTORS && !status; k++) {
        double       factor[N_LAID_FACTORS];
        const double more = STEP * fmax(1, f->factor[k]);

        memcpy(factor, f->factor, sizeof factor);
        factor[k] += more;
        put_factors(f, factor);
        for (size_t i = 0; i < f->n && !status; i++) {
            double seconds = NAN;

            status                                   = predict_row(f, i, &seconds);
            f->slope[i * N_LAID_FACTORS + (size_t)k] = (seconds - f->seconds[i]) / more;
        }
    }
    put_factors(f, f->factor);
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
    double             *seconds;
} leaving;

static lm_status tell_group(void *context, const fold_turn *t, lm_error *err)
{
    const leaving  *l = context;
    double          factor[N_LAID_FACTORS];
    const lm_status status = solve(l->f, t, factor, err);

    for (size_t i = 0; i < l->f->n && !status; i++)
        for (size_t k = 0; k < N_LAID_FACTORS && fold_out(t, i); k++)
            l->seconds[i] += l->f->slope[i * N_LAID_FACTORS + k] * (factor[k] - l->f->factor[k]);
    return status;
}

static double mape_of(const laid_fitting *f, const double *seconds)
{
    double sum = 0;

    for (size_t i = 0; i < f->n; i++)
        sum += fabs(seconds[i] / measured(f, i) - 1) / (double)f->n;
    return sum;
}

/* Stores the networks for which single steps were left out. */
static lm_status keep_networks(laid_fitting *f)
{
    char name[PATH_MAX];

    for (size_t i = 0; i < f->n && f->few; i++) {
        laid_steps *to = &f->cal->laid;

        if (network_name_key(f->row[i].of->name, name, sizeof name) &&
            !(to->n_networks && laid_steps_hold(to, name)) && !laid_steps_add(to, name))
            return no_memory(f->err);
    }
    return LM_OK;
}

/* Held-out errors, with an approximation: slopes come from all rows. Only the factors exclude the
 * group left out. */
static lm_status judge(laid_fitting *f, laid_fit *out)
{
    double   *seconds = malloc(f->n * sizeof *seconds);
    size_t   *group   = malloc(f->n * sizeof *group);
    residual *r       = malloc(f->n * sizeof *r);
    leaving   l       = { f, seconds };
    folds     by      = { .of = group, .rows = f->n, .n = f->groups };
    interval  i       = interval_unknown;
    lm_status status  = seconds && group && r ? LM_OK : no_memory(f->err);

    for (size_t k = 0; k < f->n && !status; k++) {
        group[k]   = f->row[k].group;
        seconds[k] = f->seconds[k];
    }
    if (!status && !(status = folds_leave_out(&by, tell_group, &l, f->err))) {
        out->mape = mape_of(f, seconds);
        for (size_t k = 0; k < f->n; k++)
            r[k] = (residual){ .ratio = seconds[k] > 0 ? measured(f, k) / seconds[k] : HUGE_VAL,
                               .group = group[k] };
        status = interval_bounds(r, f->n, &i, f->err);
    }
    if (!status) {
        const bool known = i.groups >= INTERVAL_GROUPS && isfinite(i.low) && isfinite(i.high);

        f->cal->host.mape = out->mape;
        laid_steps_free(&f->cal->laid);
        f->cal->laid = (laid_steps){ .rows   = f->n,
                                     .mape   = out->mape,
                                     .low    = i.low,
                                     .high   = i.high,
                                     .groups = known ? i.groups : 0 };
        status       = keep_networks(f);
    }
    free(seconds);
    free(group);
    free(r);
    return status;
}

static lm_status run(laid_fitting *f, laid_fit *out)
{
    bool      settled = false;
    lm_status status;

    for (int k = 0; k < N_LAID_FACTORS; k++)
        f->factor[k] = 1;
    f->factor[LAID_STARTS] = 0;
    f->factor[LAID_HOST]   = f->host.laid ? f->host.seconds / LAID_LAUNCH : 0;
    if ((status = predict_all(f)))
        return status;
    out->mape_before = mape_of(f, f->seconds);
    if (!f->host.laid && (status = begin_host(f)))
        return status;
    for (out->rounds = 0; out->rounds < TURNS && !settled && !status; out->rounds++)
        if (!(status = find_slopes(f)))
            status = turn(f, &settled);
    if (!status && !(status = find_slopes(f)))
        status = judge(f, out);
    if (status)
        return status;
    out->mape_fitted = mape_of(f, f->seconds);
    out->rows        = f->n;
    out->groups      = f->groups;
    memcpy(out->factor, f->factor, sizeof out->factor);
    return LM_OK;
}

static const interconnect none_told = { .name = NULL };

lm_status laid_fit_steps(const observations *obs, workloads *loads, const interconnect *link,
                         calibration *cal, laid_fit *out, lm_error *err)
{
    laid_fitting f = {
        .obs = obs, .loads = loads, .link = link, .cal = cal, .host = cal->host, .err = err
    };
    lm_status status;

    *out = (laid_fit){ .mape = NAN };
    if (link->bytes_per_second > 0) { /* the file gets the user's link, corrected by the fit */
        collective_take_link(cal->collectives, link, laid_fit_rows(obs));
        f.link = &none_told;
    }
    if (!(status = check_alone(obs, err)) && !(status = keep_base(&f)) && !(status = open_rows(&f)))
        status = run(&f, out);
    if (status) {
        double none[N_LAID_FACTORS];

        for (int k = 0; k < N_LAID_FACTORS; k++)
            none[k] = 1;
        none[LAID_STARTS] = 0;
        none[LAID_HOST]   = 0;
        put_factors(&f, none);
        cal->host = f.host;
    }
    for (size_t i = 0; i < f.n; i++)
        predictor_close(&f.row[i].who);
    for (size_t i = 0; i < N_TOLD; i++)
        free(f.base[i]);
    collective_free(f.collectives);
    free(f.row);
    free(f.seconds);
    free(f.slope);
    return status;
}
