/* The program of a rank, priced by the coefficients of a machine. */
#include "fit/priced_program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "fit/shared.h"

struct priced_program {
    rank_program            *program;
    const calibration       *cal;
    const char              *model;
    interconnect             link;
    const gradient_schedule *gradients; /* only compared, with its batch, and never read: it may be
                                         * freed already */
    int64_t                  batch;     /* batch of its schedule; 0: any */
    bool                     told;      /* the caller gave the ready times of gradients */
    double                   cold;      /* overlap's `cold` behind the kept prices */
};

/* ---- passes ----------------------------------------------------------------------------------- */

/* The form whose prices describe the backward pass. */
static size_t backward_form(const calibration *cal, const char *model)
{
    const size_t own = form_find(model, PHASE_BACKWARD);

    return own < n_forms && cal->fitted[own].present ? own : form_find(model, PHASE_STEP);
}

/* Is it a term of bytes of weights, of a pass or an update? None of them depends on the batch, so
 * whole steps give their sum only. They share one price. */
static bool is_of_weights(uint32_t term)
{
    return term_of_weights(term) ||
           (term_of_update(term) && term_family_of(term) == FAMILY_TRAFFIC);
}

/* The part of a step to which a term belongs. */
static double *part_of(uint32_t term, step_passes *of)
{
    return term_of_update(term)            ? &of->update
           : term_pass(term) == LM_FORWARD ? &of->forward
                                           : &of->backward;
}

/* Largest traffic of a pass per byte of weights, in counted bytes of activations. Under autocast a
 * weight of 4 bytes is read, cast to 2 bytes and read again: 8 bytes. Its gradient is written in 2
 * bytes, cast, and added to one of 4: 16 bytes. An activation that counts as 4 bytes has 2. */
static double most_of(uint32_t term)
{
    return term_pass(term) == LM_GRAD_WEIGHT ? 8 : 4;
}

/* Divides a whole step by the passes of its terms. Seconds of weights beyond the largest traffic of
 * passes belong to the update. */
static void divide_terms(const contribution *found, size_t n, step_passes *out)
{
    step_passes bytes = { .update = 0 }, most = { .update = 0 };
    double      tied = 0, all, seconds = 0, count = 0, price;

    for (size_t k = 0; k < n; k++) {
        const uint32_t term = found[k].regressor;

        if (is_of_weights(term)) {
            *part_of(term, &bytes) += found[k].count;
            *part_of(term, &most) += most_of(term) * found[k].count;
            tied += found[k].seconds;
        } else {
            *part_of(term, out) += found[k].seconds;
        }
        if (!is_of_weights(term) && term_family_of(term) == FAMILY_TRAFFIC) {
            seconds += found[k].seconds;
            count += found[k].count;
        }
    }
    all   = bytes.forward + bytes.backward + bytes.update;
    price = seconds > 0 ? seconds / count : INFINITY;
    if (!(all > 0))
        return;
    bytes.forward  = fmin(tied * bytes.forward / all, price * most.forward);
    bytes.backward = fmin(tied * bytes.backward / all, price * most.backward);
    out->forward += bytes.forward;
    out->backward += bytes.backward;
    out->update += tied - bytes.forward - bytes.backward;
}

/* Divides a whole step into passes. */
static void divide(const calibration *cal, size_t form_at, const workload *load, step_passes *out)
{
    contribution found[MAX_CONTRIBUTIONS];
    const size_t n     = calibration_contributions(cal, form_at, load, found);
    double       whole = n ? 0 : NAN;

    if (n && !forms[form_at].n_features && !counted_only(load)) {
        divide_terms(found, n, out);
        return;
    }
    for (size_t k = 0; k < n; k++)
        whole += found[k].seconds;
    out->backward = BACKWARD_SHARE * whole;
    out->forward  = whole - out->backward;
}

step_passes step_passes_of(const calibration *cal, const char *model, const workload *load)
{
    const size_t backward = form_find(model, PHASE_BACKWARD), whole = form_find(model, PHASE_STEP);
    step_passes  p = { .update = 0 };

    p.told_apart = backward < n_forms && cal->fitted[backward].present;
    if (p.told_apart) {
        p.forward  = calibration_seconds(cal, form_find(model, PHASE_FORWARD), load);
        p.backward = calibration_seconds(cal, backward, load);
        p.update   = calibration_seconds(cal, form_find(model, PHASE_UPDATE), load);
    } else if (whole < n_forms && cal->fitted[whole].present) {
        divide(cal, whole, load, &p);
    } else {
        p.forward = p.backward = p.update = NAN;
    }
    return p;
}

/* ---- when gradients are ready ----------------------------------------------------------------- */

/* Seconds from the start of the pass until each gradient is ready. If the schedule is even: spread
 * over a pass of one second. */
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
            price[t] =
                laid_factors_price(&cal->by_steps, s->tokens, f->part, t, here->term[t].value);
        gradient_schedule_by_terms(s, batch, price, ready);
    }
}

static lm_status check(const calibration *cal, const char *model, lm_error *err)
{
    const size_t by = backward_form(cal, model);

    if (form_find(model, PHASE_SYNC) == n_forms)
        return lm_error_set(
            err, LM_E_UNSUPPORTED,
            "model '%s' cannot separate the all-reduce from the update, or the part that "
            "overlaps with the backward pass: use --model %s, or --sync once",
            model, DEFAULT_MODEL);
    if (by == n_forms || !cal->fitted[by].present)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "the calibration does not tell when gradients are ready: measure "
                            "networks with their backward pass, or take --sync once");
    return LM_OK;
}

static lm_status program_new(const priced_program *of, const gradient_times *ready,
                             const sync_policy *policy, priced_program **out, lm_error *err)
{
    priced_program *p      = calloc(1, sizeof *p);
    lm_status       status = p ? LM_OK : no_memory(err);

    if (!status) {
        *p     = *of;
        status = rank_program_of_gradients(of->gradients, ready, policy, &p->program, err);
    }
    if (status)
        free(p);
    else
        *out = p;
    return status;
}

lm_status priced_program_of(const calibration *cal, const char *model, const interconnect *link,
                            const gradient_schedule *gradients, const sync_policy *policy,
                            priced_program **out, lm_error *err)
{
    const priced_program of    = { .cal       = cal,
                                   .model     = model,
                                   .link      = link ? *link : (interconnect){ 0 },
                                   .gradients = gradients,
                                   .batch     = gradients->batch };
    const int64_t        batch = gradients->batch ? gradients->batch : 1;
    const size_t         by    = backward_form(cal, model);
    double              *ready;
    lm_status            status = check(cal, model, err);

    if (status)
        return status;
    if (!(ready = calloc(2 * gradients->n + 1, sizeof *ready)))
        return no_memory(err);
    find_ready(cal, by, gradients, batch, ready);
    find_ready(cal, by, gradients, gradients->batch ? batch : 2, ready + gradients->n);
    status = program_new(&of, &(gradient_times){ ready, ready + gradients->n }, policy, out, err);
    free(ready);
    return status;
}

lm_status priced_program_told(const calibration *cal, const char *model, const interconnect *link,
                              const gradient_schedule *gradients, int64_t batch,
                              const double *ready, const sync_policy *policy, priced_program **out,
                              lm_error *err)
{
    const priced_program of = { .cal       = cal,
                                .model     = model,
                                .link      = link ? *link : (interconnect){ 0 },
                                .gradients = gradients,
                                .batch     = batch,
                                .told      = true };

    return program_new(&of, &(gradient_times){ ready, ready }, policy, out, err);
}

lm_status priced_program_lay_out(priced_program *p, const layout *l, const bound_network *part,
                                 const layer_passes *work, double travels, lm_error *err)
{
    return rank_program_lay_out(p->program, l, part, work, travels, err);
}

lm_status priced_program_tasks(const priced_program *p, int64_t micro, pipeline_take take, void *by,
                               lm_error *err)
{
    return schedule_tasks(p->program, micro, take, by, err);
}

void priced_program_free(priced_program *p)
{
    if (p)
        rank_program_free(p->program);
    free(p);
}

bool priced_program_holds(const priced_program *p, const gradient_schedule *gradients,
                          int64_t batch, const sync_policy *policy)
{
    const sync_policy *own = &p->program->policy;

    return p->gradients == gradients && p->batch == (p->told ? batch : gradients->batch) &&
           own->rule == policy->rule && own->dtype == policy->dtype &&
           own->first_bytes == policy->first_bytes && own->limit_bytes == policy->limit_bytes &&
           own->cycle_seconds == policy->cycle_seconds;
}

/* ---- seconds ---------------------------------------------------------------------------------- */

typedef struct pricing {
    const priced_program    *by;
    const schedule_question *q;
} pricing;

static double price(void *context, const message *e, double bytes)
{
    const pricing        *m      = context;
    const rank_span      *span   = &m->q->group[e->group];
    const collective_call a      = { .kind    = e->kind,
                                     .bytes   = bytes,
                                     .nodes   = span->nodes,
                                     .devices = span->devices,
                                     .groups  = span->beside };
    const bool            bucket = e->rule == MESSAGE_BESIDE && e->kind == COLLECTIVE_ALLREDUCE;

    return (bucket ? calibration_bucket : calibration_collective)(m->by->cal, m->by->model,
                                                                  &m->by->link, &a);
}

/* Number of ranks whose slowest one the passes already include. */
static double slowest_of(const priced_program *p, int64_t devices)
{
    const sharing *shared = &p->cal->shared;

    return !p->told && shared->n && sharing_known(shared, devices) ? (double)devices : 1;
}

void priced_program_run(priced_program *p, const program_case *c, step_times *out)
{
    const overlap_constants *o = &p->cal->overlapping;
    const double             shared =
        p->told ? 1 : shared_times(p->cal, p->model, PHASE_BACKWARD, c->ranks.devices);
    schedule_question q = {
        .work    = c->work,
        .batch   = p->batch ? 1 : c->batch,
        .unit    = p->program->even ? c->work.backward / c->work.micro : shared,
        .group   = { [GROUP_DATA] = c->ranks },
        .pass    = c->pass,
        .message = c->message,
        .brief   = c->brief,
        .rules   = *o,
        .slowest = slowest_of(p, c->ranks.devices),
    };
    pricing m = { p, &q };

    if (c->group)
        memcpy(q.group, c->group, sizeof q.group);

    if (p->cold != o->cold)
        p->program->n_paid = 0; /* prices have changed */
    p->cold = o->cold;
    schedule_step(p->program, &q, price, &m, out);
}
