/* A run that is watched. */
#include "watch/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/stats.h"
#include "base/text.h"
#include "epochs/follow.h"

/* Mean, and the sum of squares around it (Welford 1962). */
typedef struct moments {
    size_t n;
    double mean, squares, least;
} moments;

/* Means of what stands beside, weighed by time. */
typedef struct weighed {
    double sum, weight;
} weighed;

enum { N_MEANS = sizeof(watch_means) / sizeof(double) };

/* All steady ones of one scale. */
typedef struct collected {
    moments length;
    weighed mean[N_MEANS];
} collected;

struct watch_run {
    const watch_plan *plan;
    watch_taker       take;
    void             *context;
    epochs_follower  *epochs;
    watch_history    *history;
    collected         all[2], clean[2]; /* by scale; clean: nothing held the clock down */
    double            fastest, usual_mhz, neither;
    bool              said;
    watch_verdict     last; /* of a step */
};

static void add_moment(moments *m, double value)
{
    const double d = value - m->mean;

    m->n++;
    m->mean += d / (double)m->n;
    m->squares += d * (value - m->mean);
    m->least = m->n == 1 ? value : fmin(m->least, value);
}

/* watch_means has doubles alone: by number, for sums of all of them. */
static void collect(collected *c, double seconds, const watch_means *means)
{
    double value[N_MEANS];

    memcpy(value, means, sizeof value);
    add_moment(&c->length, seconds);
    for (size_t i = 0; i < N_MEANS; i++)
        if (!isnan(value[i])) {
            c->mean[i].sum += seconds * value[i];
            c->mean[i].weight += seconds;
        }
}

static watch_means collected_means(const collected *c)
{
    double      value[N_MEANS];
    watch_means out;

    for (size_t i = 0; i < N_MEANS; i++)
        value[i] = c->mean[i].weight > 0 ? c->mean[i].sum / c->mean[i].weight : (double)NAN;
    memcpy(&out, value, sizeof value);
    return out;
}

static watch_scale scale_of(const watch_plan *p, double seconds)
{
    const double of_epoch = fabs(log(seconds / p->epoch.expected)),
                 of_step  = fabs(log(seconds / p->step.expected));

    if (fmin(of_epoch, of_step) > log(WATCH_FAR))
        return WATCH_NEITHER;
    return of_epoch <= of_step ? WATCH_EPOCHS : WATCH_STEPS;
}

static watch_verdict judge(const watch_run *r, watch_scale scale, double seconds,
                           const watch_means *means)
{
    const watch_plan *p = r->plan;

    return watch_judge(seconds, scale == WATCH_EPOCHS ? &p->epoch : &p->step,
                       p->exposed / p->step.expected, p->nodes * p->devices, means, r->usual_mhz);
}

/* Of many steps those are told that differ from the one before. */
static bool is_news(watch_run *r, const watched *w)
{
    const bool news = w->scale != WATCH_STEPS || !w->judged || !r->said ||
                      w->verdict.finding != r->last.finding || w->verdict.cause != r->last.cause;

    if (w->judged) {
        r->last = w->verdict;
        r->said = true;
    }
    return news;
}

static lm_status take(void *context, const epoch *e, const epochs *all, lm_error *err)
{
    watch_run *r = context;
    watched    w = { .epoch = *e, .scale = scale_of(r->plan, all->steady) };

    if (w.scale == WATCH_NEITHER)
        r->neither = all->steady;
    w.judged = w.scale != WATCH_NEITHER && (e->kind == EPOCH_STEADY || e->kind == EPOCH_IRREGULAR);
    if (w.judged) {
        w.means     = watch_history_means(r->history, e->start, e->start + e->length);
        w.usual_mhz = r->usual_mhz;
        w.verdict   = judge(r, w.scale, e->length, &w.means);
        if (e->kind == EPOCH_STEADY)
            collect(&r->all[w.scale], e->length, &w.means);
        if (e->kind == EPOCH_STEADY && !watch_throttled(&w.means, r->usual_mhz))
            collect(&r->clean[w.scale], e->length, &w.means);
        if (e->length < r->fastest && !isnan(w.means.clock_mhz)) {
            r->fastest   = e->length;
            r->usual_mhz = w.means.clock_mhz;
        }
    }
    return is_news(r, &w) ? r->take(r->context, &w, err) : LM_OK;
}

lm_status watch_run_new(const watch_plan *plan, watch_taker taker, void *context, watch_run **out,
                        lm_error *err)
{
    watch_run *r = calloc(1, sizeof *r);
    lm_status  status;

    if (!r)
        return no_memory(err);
    *r     = (watch_run){ .plan      = plan,
                          .take      = taker,
                          .context   = context,
                          .fastest   = INFINITY,
                          .usual_mhz = NAN,
                          .neither   = NAN };
    status = epochs_follower_new(EPOCHS_LAYERMETER, take, r, &r->epochs, err);
    if (!status)
        status = watch_history_new(&r->history, err);
    if (status)
        watch_run_free(r);
    else
        *out = r;
    return status;
}

void watch_run_free(watch_run *r)
{
    if (!r)
        return;
    epochs_follower_free(r->epochs);
    watch_history_free(r->history);
    free(r);
}

lm_status watch_run_add(watch_run *r, double time, float value, const float beside[N_BESIDE],
                        lm_error *err)
{
    watch_history_add(r->history, time, beside, epochs_follower_period(r->epochs));
    return epochs_follower_add(r->epochs, time, value, err);
}

double watch_run_interval(const watch_run *r)
{
    return epochs_follower_interval(r->epochs);
}

lm_status watch_run_end(watch_run *r, watch_summary *out, lm_error *err)
{
    const lm_status   status = epochs_follower_end(r->epochs, err);
    const watch_scale scale  = r->all[WATCH_EPOCHS].length.n ? WATCH_EPOCHS : WATCH_STEPS;
    const moments     m      = r->all[scale].length;
    const collected  *clean  = &r->clean[scale];
    const double      reach =
        m.n > 2 ? stats_student90(m.n - 1) * sqrt(m.squares / (double)(m.n - 1) / (double)m.n)
                     : (double)NAN;

    if (status)
        return status;
    if (!m.n && !isnan(r->neither))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "something repeats every %.4g s: neither the plan's epoch (%.4g s) nor "
                            "its step (%.4g s)",
                            r->neither, r->plan->epoch.expected, r->plan->step.expected);
    if (!m.n)
        return lm_error_set(err, LM_E_NOTFOUND, "no epoch is like another: nothing to compare");
    *out         = (watch_summary){ .scale       = scale,
                                    .n           = m.n,
                                    .mean        = m.mean,
                                    .low         = m.mean - reach,
                                    .high        = m.mean + reach,
                                    .least       = m.least,
                                    .n_clean     = clean->length.n,
                                    .clean       = clean->length.mean,
                                    .clean_least = clean->length.least,
                                    .clean_means = collected_means(clean),
                                    .means       = collected_means(&r->all[scale]),
                                    .usual_mhz   = r->usual_mhz };
    out->verdict = judge(r, scale, m.mean, &out->means);
    return LM_OK;
}

/* ---- as an observation -------------------------------------------------------------------------
 */

static lm_status check_row(const watch_plan *p, lm_error *err)
{
    if (!p->plain)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "no observation: a row cannot say --set or --grad-dtype");
    if (p->micro_steps > 1)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "no observation: a row cannot say that gradients are accumulated");
    if (strcmp(p->sync, "once") != 0 && strncmp(p->sync, "ddp", 3) != 0)
        return lm_error_set(err, LM_E_UNSUPPORTED, "no observation: a row cannot say --sync %.40s",
                            p->sync);
    return LM_OK;
}

lm_status watch_observation(const watch_plan *p, const watch_summary *s, observation *out,
                            lm_error *err)
{
    /* steps of an epoch, with the evaluation counted as so many of them */
    const bool      clean  = s->n_clean >= 2;
    const double    steps  = s->scale == WATCH_STEPS ? 1 : p->epoch.expected / p->step.expected;
    const lm_status status = check_row(p, err);

    if (status)
        return status;
    *out              = observation_blank;
    out->kind         = OBS_NETWORK;
    out->phase        = PHASE_STEP;
    out->name         = p->network;
    out->input        = p->input;
    out->optimizer    = p->optimizer;
    out->batch        = p->batch;
    out->ranks        = p->nodes * p->devices;
    out->hosts        = p->nodes;
    out->bucket_bytes = p->bucket_bytes;
    out->repeats = (int64_t)(clean ? s->n_clean : s->n) * (s->scale == WATCH_STEPS ? 1 : p->steps);
    out->seconds = (clean ? s->clean : s->mean) / steps;
    out->min_seconds = (clean ? s->clean_least : s->least) / steps;
    out->clock_mhz   = clean ? s->clean_means.clock_mhz : s->means.clock_mhz;
    out->power_w     = clean ? s->clean_means.watts : s->means.watts;
    out->flags       = clean || !watch_throttled(&s->means, s->usual_mhz) ? "" : "throttled";
    return text_dtype(p->dtype, &out->dtype, err);
}
