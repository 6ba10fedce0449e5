/*
 * Answers of layermeter.h, as "KEY COLUMN VALUE" lines: KEY finds the row of the command's CSV, VALUE "" is NAN.
 *
 *   library_answers predict|scale|explain|memory NETWORK MACHINE MODEL BATCH NODES [DEVICE]
 *
 * MACHINE "-": none, a model that takes a datasheet.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <layermeter/layermeter.h>

static void put(const char *key, const char *column, double value)
{
    if (isnan(value))
        printf("%s %s \n", key, column);
    else
        printf("%s %s %.15g\n", key, column, value);
}

static void put_ms(const char *key, const char *column, double seconds)
{
    put(key, column, 1e3 * seconds);
}

static lm_status predict(lm_predictor *p, int64_t batch, int64_t nodes, lm_error *err)
{
    const lm_step   s      = lm_step_of(batch, nodes);
    lm_answer       a      = { .size = sizeof a };
    const lm_status status = lm_predict(p, &s, &a, err);
    char            key[32];

    if (status)
        return status;
    snprintf(key, sizeof key, "%" PRId64, nodes);
    put_ms(key, "forward_ms", a.forward.value);
    put_ms(key, "forward_low_ms", a.forward.low);
    put_ms(key, "backward_ms", a.backward.value);
    put_ms(key, "backward_high_ms", a.backward.high);
    put_ms(key, "sync_ms", a.sync.value);
    put_ms(key, "grad_ms", a.grad.value);
    put_ms(key, "step_ms", a.step.value);
    put_ms(key, "step_low_ms", a.step.low);
    put_ms(key, "step_high_ms", a.step.high);
    put(key, "samples_per_s", a.samples_per_second);
    put(key, "measured", a.measured);
    put(key, "interpolated", a.interpolated);
    put(key, "extrapolated", a.extrapolated);
    put(key, "assumed", a.assumed);
    return LM_OK;
}

static lm_status scale(lm_predictor *p, int64_t batch, int64_t most, lm_error *err)
{
    const lm_step    s = lm_step_of(batch, 1);
    const lm_scaling q = { .size = sizeof q, .step = &s, .dataset = 100000 };
    lm_point         at;

    for (int64_t nodes = 1; nodes <= most; nodes *= 2) {
        char key[32];

        at = (lm_point){ .size = sizeof at };
        if (lm_scale(p, &q, &nodes, 1, &at, err))
            return err->code;
        snprintf(key, sizeof key, "%" PRId64, nodes);
        put_ms(key, "step_ms", at.step.value);
        put_ms(key, "step_low_ms", at.step.low);
        put_ms(key, "exposed_ms", at.exposed);
        put(key, "global_batch", (double)at.global_batch);
        put(key, "samples_per_s", at.samples_per_second.value);
        put(key, "speedup", at.speedup);
        put(key, "efficiency", at.efficiency.value);
        put(key, "epoch_s", at.epoch_seconds);
        put(key, "steps_per_epoch", (double)at.steps_per_epoch);
        put(key, "bottleneck_share", at.bottleneck_share);
    }
    return LM_OK;
}

static lm_status explain(lm_predictor *p, int64_t batch, int64_t nodes, lm_error *err)
{
    const lm_step   s      = lm_step_of(batch, nodes);
    lm_explanation *x      = NULL;
    lm_status       status = lm_explain(p, &s, "layer", &x, err);

    for (size_t i = 0; !status && i < lm_explanation_parts(x); i++) {
        lm_part part = { .size = sizeof part };

        if ((status = lm_explanation_part(x, i, &part, err)))
            break;
        put_ms(part.name, "forward_ms", part.forward);
        put_ms(part.name, "backward_ms", part.backward);
        put_ms(part.name, "step_ms", part.seconds);
    }
    lm_explanation_close(x);
    return status;
}

static lm_status memory(const lm_network *n, int64_t batch, lm_error *err)
{
    const lm_input  in     = { .size = sizeof in, .batch = batch };
    lm_memory       m      = { .size = sizeof m };
    const lm_status status = lm_memory_of_step(n, &in, NULL, &m, err);
    char            key[32];

    if (status)
        return status;
    snprintf(key, sizeof key, "%" PRId64, batch);
    put(key, "weights_bytes", (double)m.weights);
    put(key, "gradients_bytes", (double)m.gradients);
    put(key, "optimizer_bytes", (double)m.optimizer);
    put(key, "inputs_bytes", (double)m.inputs);
    put(key, "activations_bytes", (double)m.activations);
    put(key, "activation_gradients_bytes", (double)m.backward);
    put(key, "workspace_bytes", (double)m.workspace);
    put(key, "peak_bytes", (double)m.peak);
    put(key, "kept_bytes", (double)m.kept);
    return LM_OK;
}

int main(int argc, char **argv)
{
    const lm_predictor_options with = { .size = sizeof with, .device = argc > 7 ? argv[7] : NULL };
    lm_error                   err  = { LM_OK, "" };
    lm_library                *l    = NULL;
    lm_network                *n    = NULL;
    lm_machine                *m    = NULL;
    lm_predictor              *p    = NULL;
    const int64_t batch = argc > 6 ? atoll(argv[5]) : 0, nodes = argc > 6 ? atoll(argv[6]) : 0;
    lm_status     status;

    if (argc < 7)
        return 2;
    if (!(status = lm_library_open(NULL, &l, &err)) &&
        !(status = lm_network_open(l, argv[2], NULL, &n, &err)) && strcmp(argv[3], "-") != 0)
        status = lm_machine_open(argv[3], &m, &err);
    if (!status && strcmp(argv[1], "memory") != 0)
        status = lm_predictor_open(l, m, n, argv[4], &with, &p, &err);
    if (!status)
        status = !strcmp(argv[1], "memory")    ? memory(n, batch, &err)
                 : !strcmp(argv[1], "scale")   ? scale(p, batch, nodes, &err)
                 : !strcmp(argv[1], "explain") ? explain(p, batch, nodes, &err)
                                               : predict(p, batch, nodes, &err);
    if (status)
        fprintf(stderr, "%s\n", err.text);
    lm_predictor_close(p);
    lm_machine_close(m);
    lm_network_close(n);
    lm_library_close(l);
    return status ? 1 : 0;
}
