/* Simulated hardware: the times that known coefficients give, with seeded noise. What goes in must
 * come out of a fit, so this backend makes the whole chain testable. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "fit/calibration.h"

typedef struct sim_backend {
    backend      base; /* first */
    sim_config   config;
    calibration *cal;
    uint64_t state; /* of the generator; the same on every rank, so that all agree on each time */
} sim_backend;

typedef struct sim_work {
    double seconds[N_PHASES]; /* without noise */
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

static lm_status part_seconds(const sim_backend *b, part which, const workload *load, double *out,
                              lm_error *err)
{
    const double seconds = calibration_seconds(b->cal, form_find(b->config.model, which), load);

    if (isnan(seconds))
        return lm_error_set(err, LM_E_NOTFOUND, "%s: has no %s.%s", b->config.machine,
                            b->config.model, part_name(which));
    if (seconds <= 0)
        return lm_error_set(err, LM_E_ARG, "%s: %s.%s gives a time of %g s", b->config.machine,
                            b->config.model, part_name(which), seconds);
    *out = seconds;
    return LM_OK;
}

/* The gradient as the model states it: all-reduce and update apart, or together. */
static lm_status grad_seconds(const sim_backend *b, const workload *load, sim_work *w,
                              lm_error *err)
{
    const bool many = load->nodes > 1;
    double     both;
    lm_status  status;

    if (form_find(b->config.model, PART_UPDATE) < n_forms) {
        status = part_seconds(b, PART_UPDATE, load, &w->seconds[PHASE_UPDATE], err);
        if (!status && many)
            status = part_seconds(b, PART_SYNC, load, &w->seconds[PHASE_SYNC], err);
        return status;
    }
    status = part_seconds(b, PART_GRAD_ONE, load, &w->seconds[PHASE_UPDATE], err);
    if (status || !many)
        return status;
    if ((status = part_seconds(b, PART_GRAD_MANY, load, &both, err)))
        return status;
    if (both <= w->seconds[PHASE_UPDATE]) /* any split will do: only the sum is modelled */
        w->seconds[PHASE_UPDATE] = both / 2;
    w->seconds[PHASE_SYNC] = both - w->seconds[PHASE_UPDATE];
    return LM_OK;
}

static void kernel_seconds(const sim_backend *b, const bench_case *what, sim_work *w)
{
    for (phase p = 0; p < N_PHASES; p++)
        for (size_t i = 0; i < what->n_kernels[p]; i++) {
            const lm_work k = lm_kernel_work(&what->kernels[p][i]);

            w->seconds[p] += b->config.launch_seconds +
                             (double)k.flops / b->config.flops_per_second +
                             (double)(k.read_bytes + k.written_bytes) / b->config.bytes_per_second;
        }
}

static lm_status sim_prepare(backend *self, const bench_case *what, void **work, lm_error *err)
{
    const sim_backend *b = (const sim_backend *)self;
    sim_work          *w = calloc(1, sizeof *w);
    workload  load   = { .nodes = (double)what->point->ranks, .bytes = (double)what->point->bytes };
    lm_status status = LM_OK;

    if (!w)
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    if (what->point->kind == OBS_KERNEL || what->point->kind == OBS_LAYER) {
        kernel_seconds(b, what, w);
    } else if (what->point->kind == OBS_COLLECTIVE) {
        status = part_seconds(b, PART_SYNC, &load, &w->seconds[PHASE_SYNC], err);
    } else {
        load.counts = *what->metrics;
        load.bytes  = (double)what->metrics->param_bytes;
        status      = part_seconds(b, PART_FORWARD, &load, &w->seconds[PHASE_FORWARD], err);
        if (!status)
            status = part_seconds(b, PART_BACKWARD, &load, &w->seconds[PHASE_BACKWARD], err);
        if (!status)
            status = grad_seconds(b, &load, w, err);
    }
    if (status) {
        free(w);
        return status;
    }
    *work = w;
    return LM_OK;
}

static lm_status sim_run(backend *self, void *work, phase part_of_step, backend_time *out,
                         lm_error *err)
{
    sim_backend    *b = (sim_backend *)self;
    const sim_work *w = work;

    (void)err;
    out->wall = w->seconds[part_of_step];
    out->cpu  = NAN;
    if (b->config.noise > 0) /* never below a tenth: a time is positive */
        out->wall *= fmax(0.1, 1 + b->config.noise * next_normal(&b->state));
    return LM_OK;
}

static void sim_release(backend *self, void *work)
{
    (void)self;
    free(work);
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
        return lm_error_set(err, LM_E_NOMEM, "out of memory");
    b->base.type = &backend_sim;
    b->config    = config->sim;
    b->state     = config->sim.seed;
    status       = config->sim.machine ? calibration_load(config->sim.machine, &b->cal, err)
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
    .name     = "sim",
    .doc      = "simulated: the times that a machine file gives, with seeded noise",
    .open     = sim_open,
    .close    = sim_close,
    .describe = sim_describe,
    .prepare  = sim_prepare,
    .run      = sim_run,
    .release  = sim_release,
    .serves   = 1u << PHASE_FORWARD | 1u << PHASE_BACKWARD | 1u << PHASE_SYNC | 1u << PHASE_UPDATE,
    /* written down, so that what depends on them can be tested; they change no time */
    .settings = 1u << SETTING_LAYOUT | 1u << SETTING_MATH,
    .virtual  = 1,
};
