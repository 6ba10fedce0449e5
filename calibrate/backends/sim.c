/* Simulated hardware: times from known coefficients, with seeded noise. A fit must find these coefficients again, so this backend tests
 * the whole chain. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "fit/calibration.h"
#include "machine/machine.h"
#include "measure/backend.h"
#include "observe/points.h"

typedef struct sim_backend {
    backend      base; /* first */
    sim_config   config;
    calibration *cal;
    double       now; /* seconds measured so far */
} sim_backend;

typedef struct sim_work {
    double   seconds[N_PHASES]; /* without noise */
    uint64_t state; /* state of the generator, from the point: a continued run measures the same
                     * values; equal on every rank */
    int64_t  ranks;
    double  *done; /* by number of kernels: finished share of the backward pass */
    size_t   n_backward;
    gradient_bucket *gradient;
    size_t           n_gradients;
} sim_work;

/* splitmix64 (Steele et al. 2014) */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Standard normal, by Box & Muller. */
static double next_normal(uint64_t *state)
{
    const double u = ((double)(next_random(state) >> 11) + 0.5) / 9007199254740992.0;
    const double v = (double)(next_random(state) >> 11) / 9007199254740992.0;

    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static lm_status part_seconds(const sim_backend *b, phase which, const workload *load, double *out,
                              lm_error *err)
{
    const double seconds = calibration_seconds(b->cal, form_find(b->config.model, which), load);

    if (isnan(seconds))
        return lm_error_set(err, LM_E_NOTFOUND, "%s: has no %s.%s", b->config.machine,
                            b->config.model, phase_formula(which));
    if (seconds <= 0)
        return lm_error_set(err, LM_E_ARG, "%s: %s.%s gives a time of %g s", b->config.machine,
                            b->config.model, phase_formula(which), seconds);
    *out = seconds;
    return LM_OK;
}

/* Seconds of a collective: all-reduces by the model, other kinds by fits. */
static lm_status collective_part(const sim_backend *b, const bench_case *what, const workload *load,
                                 double *out, lm_error *err)
{
    const observation    *row   = what->point;
    const int64_t         hosts = row->hosts > 0 ? row->hosts : 1;
    const collective_call asked = { what->collective, load->bytes, hosts, row->ranks / hosts, 1 };
    collective_answer     found;
    lm_status             status;

    if (what->collective == COLLECTIVE_ALLREDUCE)
        return part_seconds(b, PHASE_SYNC, load, out, err);
    if (!(status = collective_ask(b->cal->collectives, NULL, NULL, &asked, &found, err)))
        *out = found.seconds;
    return status;
}

/* Seconds of the gradients by the model: all-reduce and update, separate or together. */
static lm_status grad_seconds(const sim_backend *b, const workload *load, sim_work *w,
                              lm_error *err)
{
    const bool many = load->nodes > 1;
    double     both;
    lm_status  status;

    if (form_find(b->config.model, PHASE_UPDATE) < n_forms) {
        status = part_seconds(b, PHASE_UPDATE, load, &w->seconds[PHASE_UPDATE], err);
        if (!status && many)
            status = part_seconds(b, PHASE_SYNC, load, &w->seconds[PHASE_SYNC], err);
        return status;
    }
    status = part_seconds(b, PHASE_GRAD_ONE, load, &w->seconds[PHASE_UPDATE], err);
    if (status || !many)
        return status;
    if ((status = part_seconds(b, PHASE_GRAD, load, &both, err)))
        return status;
    if (both <= w->seconds[PHASE_UPDATE]) /* an arbitrary split: only the sum is modelled */
        w->seconds[PHASE_UPDATE] = both / 2;
    w->seconds[PHASE_SYNC] = both - w->seconds[PHASE_UPDATE];
    return LM_OK;
}

/* Seconds of a single kernel by [sim]'s rates. */
static double one_kernel(const sim_backend *b, const lm_kernel *kernel)
{
    const lm_work k = lm_kernel_work(kernel);

    return b->config.launch_seconds + (double)k.flops / b->config.flops_per_second +
           (double)(k.read_bytes + k.written_bytes) / b->config.bytes_per_second;
}

static void kernel_seconds(const sim_backend *b, const bench_case *what, sim_work *w)
{
    for (phase p = 0; p < N_PHASES; p++)
        for (size_t i = 0; i < what->n_kernels[p]; i++)
            w->seconds[p] += one_kernel(b, &what->kernels[p][i]);
}

/* Divides the backward pass among its kernels in proportion to their times alone. */
static lm_status share_backward(const sim_backend *b, const bench_case *what, sim_work *w,
                                lm_error *err)
{
    const size_t n   = what->n_kernels[PHASE_BACKWARD];
    double       sum = 0;

    w->n_backward  = n;
    w->n_gradients = what->n_gradients;
    w->done        = calloc(n + 1, sizeof *w->done);
    w->gradient    = calloc(w->n_gradients + 1, sizeof *w->gradient);
    if (!w->done || !w->gradient)
        return no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const lm_kernel *k = &what->kernels[PHASE_BACKWARD][i];

        w->done[i + 1] = sum += k->repeat * one_kernel(b, k);
    }
    for (size_t i = 1; i <= n && sum > 0; i++)
        w->done[i] /= sum;
    for (size_t i = 0; i < w->n_gradients; i++)
        w->gradient[i] = (gradient_bucket){ .bytes = what->gradients[i].bytes,
                                            .dtype = what->gradients[i].dtype,
                                            .needs = what->gradients[i].end };
    return LM_OK;
}

/* Terms of one phase's kernels, for models of terms. */
static term_vector phase_terms(const sim_backend *b, const bench_case *what, phase p,
                               term_item *room)
{
    double     sum[N_TERMS] = { 0 };
    term_chain chain        = { .backward = p == PHASE_BACKWARD, .samples = what->point->batch };

    for (size_t i = 0; i < what->n_kernels[p]; i++)
        terms_add(&what->kernels[p][i], &b->cal->settings, &chain, sum);
    return terms_pack(sum, room);
}

static void sim_release(backend *self, void *work)
{
    sim_work *w = work;

    (void)self;
    if (!w)
        return;
    free_all(w->done, w->gradient, w);
}

/* Phase that stands for a forward pass: that of training if evaluation was not measured. */
static phase forward_of(const sim_backend *b, const bench_case *what)
{
    const size_t at = form_find(b->config.model, PHASE_INFERENCE);

    return what->evaluation && at < n_forms && b->cal->fitted[at].present ? PHASE_INFERENCE
                                                                          : PHASE_FORWARD;
}

static lm_status sim_prepare(backend *self, const bench_case *what, void **work, lm_error *err)
{
    const sim_backend *b = (const sim_backend *)self;
    sim_work          *w = calloc(1, sizeof *w);
    workload  load = { .nodes = (double)what->point->ranks, .bytes = (double)what->point->bytes };
    term_item forward[N_TERMS], backward[N_TERMS];
    lm_status status = LM_OK;

    if (!w)
        return no_memory(err);
    w->ranks = what->point->ranks;
    w->state = b->config.seed ^ configuration_hash(what->point);
    if (what->point->kind == OBS_KERNEL || what->point->kind == OBS_LAYER) {
        kernel_seconds(b, what, w);
    } else if (what->point->kind == OBS_COLLECTIVE) {
        status = collective_part(b, what, &load, &w->seconds[PHASE_SYNC], err);
    } else {
        load.counts   = *what->metrics;
        load.bytes    = (double)what->metrics->param_bytes;
        load.forward  = phase_terms(b, what, PHASE_FORWARD, forward);
        load.backward = phase_terms(b, what, PHASE_BACKWARD, backward);
        status = part_seconds(b, forward_of(b, what), &load, &w->seconds[PHASE_FORWARD], err);
        if (status || what->evaluation)
            goto out;
        if (!status)
            status = part_seconds(b, PHASE_BACKWARD, &load, &w->seconds[PHASE_BACKWARD], err);
        if (!status)
            status = grad_seconds(b, &load, w, err);
        if (!status)
            status = share_backward(b, what, w, err);
    }
out:
    if (status) {
        sim_release(self, w);
        return status;
    }
    *work = w;
    return LM_OK;
}

/* A time with noise; at least a tenth, so that it stays positive. */
static double noisy(const sim_backend *b, sim_work *w, double seconds)
{
    if (b->config.noise > 0)
        seconds *= fmax(0.1, 1 + b->config.noise * next_normal(&w->state));
    return seconds;
}

/* Adds drift, and the share of another program, to a time. */
static void let_time_pass(sim_backend *b, backend_time *t)
{
    const sim_config *c    = &b->config;
    const bool        busy = b->now >= c->busy_from && b->now < c->busy_until;

    t->wall *= fmax(0.1, 1 + c->drift * b->now);
    if (c->busy_until > c->busy_from)
        t->cpu = t->wall;
    if (busy)
        t->wall *= 2;
    b->now += t->wall;
}

static lm_status sim_run(backend *self, void *work, phase part_of_step, backend_time *out,
                         lm_error *err)
{
    sim_work *w = work;

    (void)err;
    *out = (backend_time){ noisy((sim_backend *)self, w, w->seconds[part_of_step]), NAN };
    let_time_pass((sim_backend *)self, out);
    return LM_OK;
}

static lm_status sim_gradients(backend *self, void *work, const gradient_bucket **out, size_t *n,
                               lm_error *err)
{
    const sim_backend *b = (const sim_backend *)self;
    const sim_work    *w = work;

    if (form_find(b->config.model, PHASE_SYNC) == n_forms)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "model '%s' knows no all-reduce apart from the update: its buckets "
                            "cannot be simulated",
                            b->config.model);
    *out = w->gradient;
    *n   = w->n_gradients;
    return LM_OK;
}

/*
 * One communication stream reduces the buckets in order. Bucket j starts when it is complete (r_j)
 * and the one before is reduced: e_j = max(e_{j-1}, r_j) + C_j, with its all-reduce C_j. The
 * exposed part is e_J - T_bwd.
 */
static lm_status exposed_seconds(sim_backend *b, sim_work *w, const step_sync *sync,
                                 double backward, double *out, lm_error *err)
{
    double end = 0, slower = noisy(b, w, 1);

    for (size_t i = 0; i < sync->n_buckets; i++) {
        const workload load = { .nodes = (double)w->ranks, .bytes = (double)sync->bucket[i].bytes };
        const double   ready   = backward * w->done[sync->bucket[i].needs];
        double         seconds = 0;
        lm_status      status  = part_seconds(b, PHASE_SYNC, &load, &seconds, err);

        if (status)
            return status;
        end = fmax(end, ready) + slower * seconds;
    }
    *out = fmax(0, end - backward);
    return LM_OK;
}

static lm_status sim_run_step(backend *self, void *work, const step_sync *sync, step_time *out,
                              lm_error *err)
{
    sim_backend *b        = (sim_backend *)self;
    sim_work    *w        = work;
    double       exposed  = 0;
    lm_status    status   = LM_OK;
    const double forward  = noisy(b, w, w->seconds[PHASE_FORWARD]);
    const double backward = noisy(b, w, w->seconds[PHASE_BACKWARD]);

    if (sync)
        status = exposed_seconds(b, w, sync, backward, &exposed, err);
    if (status)
        return status;
    *out = (step_time){ .forward  = { forward, NAN },
                        .backward = { backward, NAN },
                        .exposed  = { exposed, NAN },
                        .update   = { noisy(b, w, w->seconds[PHASE_UPDATE]), NAN } };
    let_time_pass(b, &out->forward);
    let_time_pass(b, &out->backward);
    let_time_pass(b, &out->exposed);
    let_time_pass(b, &out->update);
    return LM_OK;
}

static void sim_close(backend *self)
{
    calibration_free(((sim_backend *)self)->cal);
    free(self);
}

static lm_status sim_open(const backend_config *config, backend **out, lm_error *err)
{
    sim_backend *b = calloc(1, sizeof *b);
    lm_status    status;

    if (!b)
        return no_memory(err);
    b->base.type = &backend_sim;
    b->config    = config->sim;
    status       = config->sim.machine ? machine_load(config->sim.machine, &b->cal, err)
                                       : lm_error_set(err, LM_E_ARG,
                                                      "[sim] machine = FILE is needed: the "
                                                            "coefficients to simulate");
    if (status) {
        sim_close(&b->base);
        return status;
    }
    *out = &b->base;
    return LM_OK;
}

static void sim_describe(const backend *self,
                         void (*put)(void *context, const char *key, const char *value),
                         void *context)
{
    const sim_backend *b = (const sim_backend *)self;

    put(context, "simulated", b->config.machine);
    put(context, "simulated_model", b->config.model);
}

const backend_type backend_sim = {
    .name      = "sim",
    .doc       = "simulated: the times that a machine file gives, with seeded noise",
    .open      = sim_open,
    .close     = sim_close,
    .describe  = sim_describe,
    .prepare   = sim_prepare,
    .run       = sim_run,
    .release   = sim_release,
    .gradients = sim_gradients,
    .run_step  = sim_run_step,
    .serves    = 1u << PHASE_FORWARD | 1u << PHASE_BACKWARD | 1u << PHASE_SYNC | 1u << PHASE_UPDATE,
    /* recorded for tests; they change no time */
    .settings = 1u << SETTING_LAYOUT | 1u << SETTING_MATH | 1u << SETTING_MIXED,
    .virtual  = 1,
};
