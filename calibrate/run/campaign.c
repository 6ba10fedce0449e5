/* A calibration run: the points of a sweep, measured one by one on all ranks. */
#include "run/campaign.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "formats/formats.h"
#include "layers/loader.h"
#include "measure/clock.h"
#include "measure/power_meter.h"
#include "ranks/pulse.h"
#include "ranks/watchdog.h"

bool campaign_root(const campaign *c)
{
    return world_rank(c->everyone) == 0;
}

/* ---- backends ---- */

static const backend_type *find_backend(const char *name)
{
    for (size_t i = 0; backends[i]; i++)
        if (!strcmp(backends[i]->name, name))
            return backends[i];
    return NULL;
}

static lm_status unknown_backend(const char *name, lm_error *err)
{
    char known[120] = "";

    for (size_t i = 0; backends[i]; i++) {
        const size_t n = strlen(known);

        snprintf(known + n, sizeof known - n, " %s", backends[i]->name);
    }
    return lm_error_set(err, LM_E_NOTFOUND, "this build has no backend '%.40s' (it has:%s)", name,
                        known);
}

static lm_status open_backend(const campaign *c, const char *name, backend **out, lm_error *err)
{
    const backend_type  *type   = find_backend(name);
    const backend_config config = { c->everyone, c->plan->threads, c->plan->sim };
    lm_status            status;

    status = type ? type->open(&config, out, err) : unknown_backend(name, err);
    if (status)
        lm_error_prefix(err, "%s", c->plan->path);
    return status;
}

/* The first point on several ranks; NULL: there is none. */
static const sweep_point *with_ranks(const sweep *plan)
{
    for (size_t i = 0; i < plan->n_points; i++)
        if (plan->point[i].row.ranks > 1)
            return &plan->point[i];
    return NULL;
}

/* Points on several ranks need a backend for their all-reduce. */
static lm_status check_ranks(const sweep *plan, lm_error *err)
{
    const sweep_point *p = with_ranks(plan);

    return p ? lm_error_set(err, LM_E_ARG,
                            "%s: points on %lld ranks need 'collective = mpi' in [sweep]",
                            plan->path, (long long)p->row.ranks)
             : LM_OK;
}

/* Abilities of the sweep's compute backend: only the backend knows whether ranks are real. */
static lm_status ask_backend(void *context, const char *compute, sweep_limits *out, lm_error *err)
{
    const campaign     *c    = context;
    const backend_type *type = find_backend(compute);

    if (!type)
        return unknown_backend(compute, err);
    *out =
        (sweep_limits){ .job = type->virtual || !c->everyone ? NULL : world_placement(c->everyone),
                        .settings = type->settings,
                        .verifies = type->try_kernel != NULL,
                        .on       = type->on_gpu || type->virtual ? AUTOCAST_GPU : AUTOCAST_CPU };
    return LM_OK;
}

static lm_status open_sweep(campaign *c, const char *path, lm_error *err)
{
    const lm_status status = sweep_load(path, c->reg, c->loads, ask_backend, c, &c->plan, err);

    if (status || find_backend(c->plan->compute)->virtual || c->plan->collective)
        return status;
    return check_ranks(c->plan, err);
}

/* A simulated machine does not change unless it is told to: anchors are measured only on
 * request. */
static lm_status open_trust(campaign *c, lm_error *err)
{
    trust_limits limits = c->plan->trust;

    if (limits.anchor_share < 0)
        limits.anchor_share = c->b.compute->type->virtual ? 0 : 0.03;
    c->trust = trust_new(&limits, c->plan->n_points);
    return c->trust ? LM_OK : no_memory(err);
}

lm_status campaign_open(campaign *c, world *everyone, const char *sweep_path,
                        const char *const *plugin, size_t n_plugins, lm_error *err)
{
    lm_status status;

    *c     = (campaign){ .everyone = everyone, .file = { .fd = -1 } };
    status = registry_new(&c->reg, err);
    if (!status)
        registry_set_formats(c->reg, network_formats);
    if (!status)
        status = loader_open_all(c->reg, plugin, n_plugins, err);
    if (!status)
        status = workloads_new(c->reg, &c->loads, err);
    c->member = calloc(everyone ? (size_t)world_size(everyone) : 1, sizeof *c->member);
    if (!status && !c->member)
        status = no_memory(err);
    if (!status)
        status = open_sweep(c, sweep_path, err);
    c->b.reg  = c->reg;
    c->b.plan = c->plan;
    return status;
}

/* Times are worth having without. */
static lm_status open_power(campaign *c, lm_error *err)
{
    lm_error        why;
    const lm_status status = power_meter_open(c->b.compute, &c->b.power, &why);

    if (status == LM_E_NOMEM)
        return lm_error_set(err, status, "%s", why.text);
    if (status)
        snprintf(c->no_power, sizeof c->no_power, "%.299s", why.text);
    return LM_OK;
}

/* What the device lacks is said before anything is measured. */
static lm_status check_settings(const campaign *c, lm_error *err)
{
    const backend *b      = c->b.compute;
    lm_status      status = LM_OK;

    for (size_t i = 0; i < c->plan->n_points && b->type->follows && !status; i++)
        if ((status = b->type->follows(b, &c->plan->point[i].how, err)))
            lm_error_prefix(err, "%s", c->plan->path);
    return status;
}

/* On one GPU a sweep's 'collective = nccl' asks for nothing: it need not be in the build. */
lm_status campaign_connect(campaign *c, lm_error *err)
{
    lm_status status = open_backend(c, c->plan->compute, &c->b.compute, err);

    if (!status)
        status = check_settings(c, err);
    if (!status && c->plan->collective &&
        (find_backend(c->plan->collective) || with_ranks(c->plan)))
        status = open_backend(c, c->plan->collective, &c->b.collective, err);
    if (!status)
        status = open_trust(c, err);
    c->b.trust = c->trust;
    if (!status && !c->b.compute->type->virtual)
        status = open_power(c, err);
    return status;
}

lm_status campaign_verify(campaign *c, lm_error *err)
{
    if (!c->plan->verify)
        return LM_OK;
    c->b.verified = &c->verified;
    return verdicts_make(&c->b, c->everyone, &c->verified, err);
}

void campaign_close(campaign *c)
{
    power_meter_close(c->b.power);
    if (c->b.compute)
        c->b.compute->type->close(c->b.compute);
    if (c->b.collective)
        c->b.collective->type->close(c->b.collective);
    chooser_free(c->pick);
    output_close(&c->file);
    trust_free(c->trust);
    if (c->b.verified)
        verdicts_free(&c->verified);
    trust_summary_free(&c->seen);
    free(c->member);
    sweep_free(c->plan);
    workloads_free(c->loads);
    registry_free(c->reg);
}

/* ---- points ---- */

/* Simulated ranks are no processes: the existing processes stand for all. */
static void choose_ranks(campaign *c, const sweep_point *p)
{
    const placement *all = world_placement(c->everyone);
    const bool virtual   = c->b.compute->type->virtual != 0;

    if (p->devices && !virtual)
        placement_choose(all, (int)p->row.hosts, (int)p->devices, c->member);
    else
        for (int r = 0; r < all->n_ranks; r++)
            c->member[r] = virtual || r < p->row.ranks;
}

/* One point on the ranks it asks for; the others sleep. */
static lm_status measure(campaign *c, sweep_point *p, point_result *out, lm_error *err)
{
    world    *group = NULL;
    lm_status status;

    choose_ranks(c, p);
    status = world_split(c->everyone, c->member, &group, err);
    if (!status && group)
        status = harness_measure(&c->b, group, p, out, err);
    if (group)
        harness_lost(&c->b, group, status, err);
    world_free(group);
    world_wait(c->everyone);
    return status;
}

/* Limits for the watchdog. */
static void announce(const campaign *c, const sweep_point *p)
{
    char           text[160];
    watchdog_point w       = { .number = c->at, .total = c->plan->n_points, .text = text };
    double         message = 0;

    if (p->row.kind == OBS_NETWORK)
        message = (double)p->counts.param_bytes;
    else if (p->row.kind == OBS_COLLECTIVE)
        message = (double)p->row.bytes;
    w.exchange_seconds =
        watchdog_exchange_seconds(message, c->b.collective && c->b.collective->type->on_gpu);
    print_point(&p->row, text, sizeof text);
    watchdog_begin(&w);
}

/* Seconds that a simulated machine would have been busy. */
static double simulated(const sweep *plan, const point_result *r)
{
    double seconds = 0;

    for (phase f = 0; f < N_PHASES; f++)
        if (r->phase[f].measured && f != PHASE_STEP)
            seconds += r->phase[f].median * (double)(plan->stop.warmup + r->phase[f].repeats);
    return seconds;
}

/* Measures a point and writes it down; all ranks end together. */
static lm_status take(campaign *c, sweep_point *p, point_result *out, lm_error *err)
{
    lm_status status;
    double    told[2]; /* the outcome on all ranks, and the contents of rank 0's file */

    announce(c, p);
    status = measure(c, p, out, err);
    pulse_enter(PULSE_FREE); /* a file server may take its time */
    if (!status && campaign_root(c))
        status = output_write(&c->file, p, out, c->plan->threads, err);
    told[0] = -(double)status;
    told[1] = (double)output_points(&c->file);
    world_max(c->everyone, told, 2);
    if (told[0] > 0)
        return status ? status : lm_error_set(err, (lm_status)-told[0], WORLD_ELSEWHERE);
    watchdog_end((size_t)told[1]);
    if (campaign_root(c))
        trust_note(c->trust, (size_t)(p - c->plan->point), p, out);
    c->virtual_seconds += simulated(c->plan, out);
    c->n_measured += !out->again;
    c->n_skipped += !out->again && strcmp(out->status, "ok") != 0;
    return LM_OK;
}

/* ---- which ones ---- */

static lm_status learn_earlier(campaign *c, lm_error *err)
{
    observations *obs    = NULL;
    points        p      = { .n_points = 0 };
    lm_status     status = observations_load(c->file.path, &obs, err);

    if (!status)
        status = points_from(obs, c->loads, &p, err);
    if (!status)
        status = chooser_recall(c->pick, &p, err);
    points_free(&p);
    observations_free(obs);
    return status;
}

lm_status campaign_aim(campaign *c, const chooser_aim *aim, lm_error *err)
{
    return chooser_new(c->plan, c->loads, aim, &c->pick, err);
}

lm_status campaign_recall(campaign *c, lm_error *err)
{
    bool any = false;

    for (size_t i = 0; i < c->plan->n_points; i++) {
        const observation *row = &c->plan->point[i].row;
        const held_point  *h   = output_held(&c->file, row);

        if (h)
            trust_recall(c->trust, i, h->good ? 0 : h->tries, h->is_anchor);
        if (!output_has(&c->file, row))
            continue;
        chooser_drop(c->pick, i);
        any = true;
    }
    return any ? learn_earlier(c, err) : LM_OK;
}

bool campaign_virtual(const campaign *c)
{
    return find_backend(c->plan->compute)->virtual != 0;
}

double campaign_seconds(const campaign *c)
{
    return campaign_virtual(c) ? c->virtual_seconds
                               : clock_seconds_since(CLOCK_MONOTONIC, c->began);
}

/* Seconds of the budget left for measuring: the fit and the report need some, too. HUGE_VAL without
 * a budget. */
static double campaign_left(const campaign *c)
{
    /* fits, report, and a point that takes a little longer than it should */
    const double after = campaign_virtual(c) ? 0 : 1 + 0.02 * c->budget;

    return c->budget > 0 ? c->budget - after - campaign_seconds(c) : HUGE_VAL;
}

/* ---- again ---- */

/* Decisions of rank 0; the same on all ranks. */
typedef struct next_point {
    int64_t at;      /* -1: nothing more */
    double  seconds; /* left for it; 0: no limit */
} next_point;

/* Measures a point within the remaining time. */
static lm_status take_within(campaign *c, const next_point *what, point_result *r, lm_error *err)
{
    const stopping usual = c->plan->stop;
    lm_status      status;

    if (what->seconds > 0) {
        c->plan->stop.max_seconds = fmin(usual.max_seconds, what->seconds);
        c->plan->stop.cut_seconds = what->seconds;
    }
    c->at         = (size_t)what->at + 1;
    status        = take(c, &c->plan->point[what->at], r, err);
    c->plan->stop = usual;
    return status;
}

/* Choice of rank 0, on all ranks: `at`, or TRUST_NONE. */
static next_point choice(const campaign *c, size_t at)
{
    next_point mine = { -1, 0 };

    if (campaign_root(c) && at != TRUST_NONE)
        mine = (next_point){ (int64_t)at, c->budget > 0 ? campaign_left(c) : 0 };
    world_broadcast(c->everyone, &mine, sizeof mine);
    return mine;
}

static lm_status take_again(campaign *c, const next_point *what, uint32_t flags,
                            const progress *shown, lm_error *err)
{
    point_result r      = { .status = "ok", .flags = flags, .again = true };
    lm_status    status = take_within(c, what, &r, err);

    if (!status && campaign_root(c)) {
        progress_again(shown, flags & FLAG_ANCHOR ? "anchor" : "again", &c->plan->point[what->at],
                       &r);
        status = chooser_learn_again(c->pick, (size_t)what->at, &r, err);
    }
    return world_agree(c->everyone, status, err);
}

/* The anchor, if it is time for it, and there is time for it. *measured:
 * NULL, or whether it was. */
static lm_status keep_watch(campaign *c, bool closing, const progress *shown, bool *measured,
                            lm_error *err)
{
    size_t     at = campaign_root(c) ? trust_anchor_due(c->trust, closing) : TRUST_NONE;
    next_point next;

    if (at != TRUST_NONE && chooser_cost(c->pick, at) > campaign_left(c))
        at = TRUST_NONE;
    next = choice(c, at);
    if (measured)
        *measured = next.at >= 0;
    return next.at < 0 ? LM_OK : take_again(c, &next, FLAG_ANCHOR, shown, err);
}

/* A point that was disturbed. What is left goes into repetitions, preparing them and warming up:
 * in the same proportion as so far. */
static next_point choose_retry(const campaign *c)
{
    const double timed = c->timed_seconds, all = c->point_seconds;
    const double share = timed > 0 && all > timed ? timed / all : 1;

    return choice(c,
                  campaign_root(c) ? trust_retry(c->trust, share * campaign_left(c)) : TRUST_NONE);
}

static lm_status retry_all(campaign *c, const progress *shown, lm_error *err)
{
    for (;;) {
        const next_point next = choose_retry(c);
        bool             measured;
        lm_status        status;

        if (next.at < 0)
            return LM_OK;
        if ((status = keep_watch(c, false, shown, &measured, err)))
            return status;
        if (measured && c->budget > 0)
            continue;
        if ((status = take_again(c, &next, 0, shown, err)))
            return status;
    }
}

lm_status campaign_conclude(campaign *c, const progress *shown, lm_error *err)
{
    lm_status status = retry_all(c, shown, err);

    if (!status)
        status = keep_watch(c, true, shown, NULL, err);
    if (status)
        return status;
    if ((status = trust_summarise(c->trust, c->everyone, &c->seen, err)))
        return status;
    if (campaign_root(c))
        status = output_review(&c->file, &c->seen.found, err);
    if (!status && campaign_root(c))
        status = chooser_settle(c->pick, err);
    return world_agree(c->everyone, status, err);
}

/* ---- run ---- */

/* Seconds that the anchor's last repetition will take. */
static double closing_seconds(const campaign *c)
{
    const size_t at = trust_anchor_due(c->trust, true);

    return at == TRUST_NONE ? 0 : chooser_cost(c->pick, at);
}

static next_point decide(campaign *c)
{
    next_point next = { -1, 0 };

    if (!campaign_root(c)) /* others may not see the file */
        return next;
    if (c->budget > 0) {
        /* up to a tenth for what must be measured again */
        const double left =
            campaign_left(c) - closing_seconds(c) - fmin(c->doubtful_seconds, 0.1 * c->budget);
        /* the time on a real machine is a guess: half as much again must fit */
        const double safe = campaign_virtual(c) ? left : left / 1.5;
        const size_t at =
            c->n_measured < CAMPAIGN_MOST ? chooser_next(c->pick, safe) : CHOOSER_NONE;

        if (at != CHOOSER_NONE)
            next = (next_point){ (int64_t)at, left };
        return next;
    }
    while (c->next < c->plan->n_points && output_has(&c->file, &c->plan->point[c->next].row))
        c->next++;
    if (c->next < c->plan->n_points)
        next.at = (int64_t)c->next++;
    return next;
}

static double seconds_left(const campaign *c)
{
    const double all = chooser_cost_left(c->pick, NULL);

    return fmin(all, campaign_left(c));
}

/* Measures what was decided, within the time there is, and learns from it. */
static lm_status carry_out(campaign *c, const next_point *what, const progress *shown,
                           lm_error *err)
{
    const double before = campaign_seconds(c);
    const size_t at     = (size_t)what->at;
    sweep_point *p      = &c->plan->point[at];
    point_result r      = { .status = "ok" };
    lm_status    status = take_within(c, what, &r, err);
    double       seconds;

    if (status || !campaign_root(c))
        return status;
    seconds = campaign_seconds(c) - before;
    c->point_seconds += seconds;
    c->timed_seconds += r.spent;
    if (r.flags & FLAGS_PASSING)
        c->doubtful_seconds += seconds;
    status = chooser_learn(c->pick, at, &r, seconds, err);
    if (!status)
        progress_point(shown, c->budget > 0 ? c->n_measured : at + 1,
                       c->budget > 0 ? 0 : c->plan->n_points, p, &r, seconds_left(c));
    return status;
}

lm_status campaign_measure(campaign *c, const progress *shown, lm_error *err)
{
    for (;;) {
        next_point next = decide(c);
        bool       measured;
        lm_status  status;

        world_broadcast(c->everyone, &next, sizeof next);
        if (next.at < 0)
            return LM_OK;
        if ((status = keep_watch(c, false, shown, &measured, err)))
            return status;
        if (measured && c->budget > 0) /* there is less time than there was */
            continue;
        if ((status = world_agree(c->everyone, carry_out(c, &next, shown, err), err)))
            return status;
    }
}
