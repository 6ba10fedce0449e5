/* Gradient synchronisation beside the backward pass. */
#include "fit/overlapped.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "fit/shared.h"
#include "sync/buckets.h"

/* A bucket at all batches that a schedule is of. */
typedef struct planned_bucket {
    overlap_bucket is;          /* bytes and layers */
    double         ready, more; /* s into a pass with one sample, and for each more; at any batch
                                   where the pass has ended: HUGE_VAL */
} planned_bucket;

struct overlap_plan {
    const calibration       *cal;
    const char              *model;
    const gradient_schedule *schedule; /* only to know it again, with its batch: it may be gone */
    int64_t                  batch;    /* its own; 0: of any */
    bool                     even;
    bool                     told; /* when gradients are ready, by none of the machine's prices */
    sync_policy              policy;
    planned_bucket          *bucket;
    size_t                   n;
    overlap_bucket          *running; /* as many, for one run */
    /* Of the messages of the last run, in their order: bounds ask for the same again. */
    struct {
        double bytes, seconds;
    } * paid;
    size_t  n_paid;
    int64_t nodes, devices; /* that they are of */
    double  cold;
};

/* Room for the gradients of a network. */
typedef struct room {
    bucket_tensor *tensor;
    bucket_span   *span;
    double        *ready, *later; /* with one sample, with two */
} room;

static void room_free(room *r)
{
    free(r->tensor);
    free(r->span);
    free(r->ready);
    free(r->later);
    *r = (room){ .tensor = NULL };
}

static bool room_new(size_t n, room *r)
{
    *r = (room){ calloc(n + 1, sizeof *r->tensor), calloc(n + 1, sizeof *r->span),
                 calloc(n + 1, sizeof *r->ready), calloc(n + 1, sizeof *r->later) };
    if (r->tensor && r->span && r->ready && r->later)
        return true;
    room_free(r);
    return false;
}

/* The form whose prices say what the backward pass does. */
static size_t backward_form(const calibration *cal, const char *model)
{
    const size_t own = form_find(model, PART_BACKWARD);

    return own < n_forms && cal->fitted[own].present ? own : form_find(model, PART_STEP);
}

/* A whole step, divided by passes. */
static void divide(const calibration *cal, size_t form_at, const workload *load, step_passes *out)
{
    const bool   terms = !forms[form_at].n_features && !counted_only(load);
    contribution found[MAX_CONTRIBUTIONS];
    const size_t n     = calibration_contributions(cal, form_at, load, found);
    double       whole = n ? 0 : NAN;

    for (size_t k = 0; k < n; k++) {
        whole += found[k].seconds;
        if (terms && term_pass(found[k].regressor) != LM_FORWARD)
            out->backward += found[k].seconds;
    }
    if (!terms)
        out->backward = BACKWARD_SHARE * whole;
    out->forward = whole - out->backward;
}

step_passes overlapped_passes(const calibration *cal, const char *model, const workload *load)
{
    const size_t backward = form_find(model, PART_BACKWARD), whole = form_find(model, PART_STEP);
    step_passes  p = { .update = 0 };

    p.told_apart = backward < n_forms && cal->fitted[backward].present;
    if (p.told_apart) {
        p.forward  = calibration_seconds(cal, form_find(model, PART_FORWARD), load);
        p.backward = calibration_seconds(cal, backward, load);
        p.update   = calibration_seconds(cal, form_find(model, PART_UPDATE), load);
    } else if (whole < n_forms && cal->fitted[whole].present) {
        divide(cal, whole, load, &p);
    } else {
        p.forward = p.backward = p.update = NAN;
    }
    return p;
}

/* Of each gradient, in seconds of a pass; evenly, it takes one. */
static void find_ready(const calibration *cal, size_t form_at, const gradient_schedule *s,
                       int64_t batch, double *ready)
{
    const form   *f    = &forms[form_at];
    const fitted *here = &cal->fitted[form_at];
    double        price[N_TERMS];

    if (s->even) {
        gradient_schedule_evenly(s, 1, ready);
        return;
    }
    if (f->n_features) {
        for (size_t k = 0; k < f->n_features; k++)
            price[k] = here->coefficient[k].value;
        gradient_schedule_by_features(s, batch, f->feature, price, f->n_features, ready);
    } else {
        for (size_t t = 0; t < N_TERMS; t++)
            price[t] = here->term[t].value;
        gradient_schedule_by_terms(s, batch, price, ready);
    }
}

/* Bytes of one as it travels; 0 as the policy's type: the weights' own. */
static uint64_t sent(const sync_policy *p, uint64_t bytes, lm_dtype dtype)
{
    return p->dtype ? bytes / lm_dtype_bytes(dtype) * lm_dtype_bytes(p->dtype) : bytes;
}

static size_t spans(const sync_policy *p, const gradient_schedule *s, room *r)
{
    const bool own = p->rule == SYNC_DDP; /* cast on the way */

    for (size_t i = 0; i < s->n; i++) {
        const scheduled_gradient *g = &s->gradient[i];

        r->tensor[i] = own ? (bucket_tensor){ g->bytes, g->dtype }
                           : (bucket_tensor){ sent(p, g->bytes, g->dtype), LM_F32 };
    }
    switch (p->rule) {
    case SYNC_DDP: return buckets_make(r->tensor, s->n, p->first_bytes, p->limit_bytes, r->span);
    case SYNC_ONCE: return buckets_make(r->tensor, s->n, UINT64_MAX, UINT64_MAX, r->span);
    default: return buckets_make(r->tensor, s->n, 1, 1, r->span); /* each by itself */
    }
}

/* When a bucket is ready grows with the batch as the counts do, by equal steps. */
static void fill(overlap_plan *plan, const gradient_schedule *s, const room *r)
{
    const sync_policy *p = &plan->policy;

    for (size_t i = 0; i < plan->n; i++) {
        const size_t   first = r->span[i].first, last = r->span[i].last;
        const uint64_t bytes = r->span[i].bytes;

        plan->bucket[i] = (planned_bucket){
            .is = { .bytes = (double)(p->rule == SYNC_DDP ? sent(p, bytes, s->gradient[first].dtype)
                                                          : bytes),
                    .first_layer = s->gradient[last].layer,
                    .last_layer  = s->gradient[first].layer },
            .ready = p->rule == SYNC_ONCE ? HUGE_VAL : r->ready[last],
            .more  = p->rule == SYNC_ONCE ? 0 : r->later[last] - r->ready[last],
        };
    }
}

/* One message: neither nodes nor the rest change within a step. */
typedef struct pricing {
    overlap_plan *plan;
    allreduce     of;
    double        factor;
    size_t        at; /* messages so far */
} pricing;

static double price(void *context, double bytes)
{
    pricing      *p    = context;
    overlap_plan *plan = p->plan;
    const size_t  at   = p->at++;

    if (at >= plan->n_paid || plan->paid[at].bytes != bytes) {
        p->of.bytes          = bytes;
        plan->paid[at].bytes = bytes;
        plan->paid[at].seconds =
            (plan->policy.rule == SYNC_ONCE ? calibration_allreduce
                                            : calibration_bucket)(plan->cal, plan->model, &p->of);
        plan->n_paid = at + 1;
    }
    return p->factor * plan->paid[at].seconds;
}

static lm_status check(const calibration *cal, const char *model, lm_error *err)
{
    const size_t by = backward_form(cal, model);

    if (form_find(model, PART_SYNC) == n_forms)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "model '%s' does not tell the all-reduce from the update, nor what of "
                            "it the backward pass hides: take --model %s, or --sync once",
                            model, model_at(0));
    if (by == n_forms || !cal->fitted[by].present)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "nothing is calibrated that says when gradients are ready: measure "
                            "networks with their backward pass, or take --sync once");
    return LM_OK;
}

/* By the machine's prices; or, if it is `told`, by seconds at one batch. */
static lm_status plan_new(const overlap_plan *of, const gradient_schedule *schedule,
                          const double *told, overlap_plan **out, lm_error *err)
{
    overlap_plan *plan = NULL;
    room          r    = { .tensor = NULL };

    if (!room_new(schedule->n, &r) || !(plan = calloc(1, sizeof *plan)))
        goto no_memory;
    *plan         = *of;
    plan->n       = spans(&plan->policy, schedule, &r);
    plan->bucket  = calloc(plan->n + 1, sizeof *plan->bucket);
    plan->running = calloc(plan->n + 1, sizeof *plan->running);
    plan->paid    = calloc(plan->n + 1, sizeof *plan->paid);
    if (!plan->bucket || !plan->running || !plan->paid)
        goto no_memory;
    if (told) {
        memcpy(r.ready, told, schedule->n * sizeof *told);
        memcpy(r.later, told, schedule->n * sizeof *told);
    } else {
        const size_t  backward = backward_form(of->cal, of->model);
        const int64_t first    = schedule->batch ? schedule->batch : 1;

        find_ready(of->cal, backward, schedule, first, r.ready);
        find_ready(of->cal, backward, schedule, schedule->batch ? first : 2, r.later);
    }
    fill(plan, schedule, &r);
    room_free(&r);
    *out = plan;
    return LM_OK;
no_memory:
    room_free(&r);
    overlap_plan_free(plan);
    return no_memory(err);
}

lm_status overlap_plan_of(const calibration *cal, const char *model,
                          const gradient_schedule *schedule, const sync_policy *policy,
                          overlap_plan **out, lm_error *err)
{
    const overlap_plan of     = { .cal      = cal,
                                  .model    = model,
                                  .schedule = schedule,
                                  .batch    = schedule->batch,
                                  .even     = schedule->even,
                                  .policy   = *policy };
    const lm_status    status = check(cal, model, err);

    return status ? status : plan_new(&of, schedule, NULL, out, err);
}

lm_status overlap_plan_told(const calibration *cal, const char *model,
                            const gradient_schedule *schedule, int64_t batch, const double *ready,
                            const sync_policy *policy, overlap_plan **out, lm_error *err)
{
    const overlap_plan of = { .cal      = cal,
                              .model    = model,
                              .schedule = schedule,
                              .batch    = batch,
                              .told     = true,
                              .policy   = *policy };

    return plan_new(&of, schedule, ready, out, err);
}

void overlap_plan_free(overlap_plan *p)
{
    if (!p)
        return;
    free(p->bucket);
    free(p->running);
    free(p->paid);
    free(p);
}

bool overlap_plan_holds(const overlap_plan *p, const gradient_schedule *schedule,
                        const sync_policy *policy)
{
    const sync_policy *own = &p->policy;

    return p->schedule == schedule && (p->told || p->batch == schedule->batch) &&
           own->rule == policy->rule && own->dtype == policy->dtype &&
           own->first_bytes == policy->first_bytes && own->limit_bytes == policy->limit_bytes &&
           own->cycle_seconds == policy->cycle_seconds;
}

/* Does it gather gradients in buffers of its own? */
static bool copied(const sync_policy *p)
{
    return p->rule == SYNC_DDP || p->rule == SYNC_FUSION;
}

/* How much later the last message ends behind a pass than where nobody computed. */
static double latency_behind(const overlap_constants *c, double pass)
{
    return c->lag > 0 ? fmin(c->latency, c->lag * pass) : c->latency;
}

/* Of how many ranks do the passes hold the slowest? */
static double slowest_of(const overlap_plan *plan, const sync_setting *s)
{
    const sharing *shared = &plan->cal->shared;

    return !plan->told && shared->n && sharing_known(shared, s->devices) ? (double)s->devices : 1;
}

/* By how much longer than its prices say a pass is beside those of other ranks of its host. */
static double shared_by(const overlap_plan *plan, const sync_setting *s)
{
    return plan->told ? 1 : shared_times(plan->cal, plan->model, PART_BACKWARD, s->devices);
}

static void run(overlap_plan *plan, int64_t batch, const sync_setting *s, double backward,
                double compute, bool sums, overlap *out)
{
    const sync_policy *p      = &plan->policy;
    const double       ranks  = (double)s->nodes * (double)s->devices;
    const double       more   = plan->batch || plan->even ? 0 : (double)(batch - 1);
    const calibration *cal    = plan->cal;
    const double       unit   = plan->even ? backward : shared_by(plan, s);
    const double       beside = p->rule == SYNC_ONCE ? 1 : 1 + cal->overlapping.surcharge;
    pricing            paid   = { plan, { 0, s->nodes, s->devices }, s->message * beside, 0 };
    overlap_rules      rules  = { .backward = s->pass * backward,
                                  .slowdown = cal->overlapping.slowdown,
                                  .stretch  = cal->overlapping.stretch };
    overlap_times      times;
    double             late;

    *out = (overlap){ .bucket = plan->running, .backward = rules.backward };
    if (ranks <= 1)
        return;
    if (plan->nodes != s->nodes || plan->devices != s->devices ||
        plan->cold != cal->overlapping.cold)
        plan->n_paid = 0;
    plan->nodes   = s->nodes;
    plan->devices = s->devices;
    plan->cold    = cal->overlapping.cold;
    for (size_t i = 0; i < plan->n; i++) {
        const double ready = unit * (plan->bucket[i].ready + more * plan->bucket[i].more);

        /* the pass copies what it hands over */
        out->copy += copied(p) ? cal->overlapping.copy * plan->bucket[i].is.bytes : 0;
        plan->running[i]       = plan->bucket[i].is;
        plan->running[i].ready = s->pass * (ready < backward ? ready : backward) + out->copy;
    }
    rules.backward += out->copy;
    if (p->rule == SYNC_FUSION) {
        rules.wait         = p->cycle_seconds / 2; /* in the mean */
        rules.fusion_bytes = (double)p->limit_bytes;
    }
    out->n = plan->n;
    if (sums && p->rule != SYNC_FUSION && rules.slowdown == 0 && rules.stretch == 0)
        times = overlap_sums(plan->running, plan->n, &rules, price, &paid);
    else
        times = overlap_run(plan->running, &out->n, &rules, price, &paid);
    out->backward  = times.backward - out->copy;
    out->beside    = times.beside;
    late           = p->rule == SYNC_ONCE ? 0 : latency_behind(&cal->overlapping, out->backward);
    out->sync      = times.sync + late;
    out->exposed   = (p->rule == SYNC_ONCE ? times.sync : times.exposed) + late;
    out->wait      = cal->overlapping.straggler * compute * sqrt(2 * log(ranks));
    out->straggler = out->wait * (1 - sqrt(log(slowest_of(plan, s)) / log(ranks)));
}

void overlap_plan_run(overlap_plan *p, int64_t batch, const sync_setting *s, double backward,
                      double compute, overlap *out)
{
    run(p, batch, s, backward, compute, false, out);
}

void overlap_plan_sums(overlap_plan *p, int64_t batch, const sync_setting *s, double backward,
                       double compute, overlap *out)
{
    run(p, batch, s, backward, compute, true, out);
    out->bucket = NULL;
}

lm_status overlapped_sync(const calibration *cal, const char *model,
                          const gradient_schedule *schedule, int64_t batch, const sync_setting *s,
                          double backward, double compute, overlap *out, lm_error *err)
{
    overlap_plan *plan   = NULL;
    lm_status     status = overlap_plan_of(cal, model, schedule, s->policy, &plan, err);

    if (status)
        return status;
    overlap_plan_run(plan, batch, s, backward, compute, out);
    plan->running = NULL; /* the caller's now */
    overlap_plan_free(plan);
    return LM_OK;
}

void overlap_clear(overlap *o)
{
    free(o->bucket);
    *o = (overlap){ .bucket = NULL };
}

lm_status overlap_copy(const overlap *from, overlap *out, lm_error *err)
{
    overlap_bucket *bucket = malloc((from->n + 1) * sizeof *bucket);

    if (!bucket)
        return no_memory(err);
    memcpy(bucket, from->bucket, from->n * sizeof *bucket);
    *out        = *from;
    out->bucket = bucket;
    return LM_OK;
}
