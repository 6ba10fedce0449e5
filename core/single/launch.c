/* Prices of single launches: each is a layer of one kernel. */
#include "single/launch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

#define STREAM_POWER 4

layer_shape launch_shape_of(const lm_kernel *k, const char *tag)
{
    return (layer_shape){ .kind = SHAPE_LAUNCH, .kernel = k, .tag = tag };
}

/* ---- fits ---- */

/* Rows of a fit, as times of layers. */
typedef struct launch_times {
    layer_shape *shape;
    layer_time  *time;
    size_t       n;
} launch_times;

static lm_status times_new(const timed_kernel *row, const bool *in, size_t n,
                           double multiprocessors, launch_times *out, lm_error *err)
{
    *out = (launch_times){ malloc((n + 1) * sizeof *out->shape),
                           malloc((n + 1) * sizeof *out->time), 0 };
    if (!out->shape || !out->time)
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (!in || in[i]) {
            out->shape[out->n]        = launch_shape_of(&row[i].kernel, row[i].tag);
            out->shape[out->n].queued = row[i].queued;
            out->time[out->n] =
                (layer_time){ &out->shape[out->n],
                              { .forward = true, .multiprocessors = multiprocessors },
                              row[i].seconds };
            out->n++;
        }
    return LM_OK;
}

static void times_free(launch_times *t)
{
    free(t->shape);
    free(t->time);
}

lm_status launch_fit(const timed_kernel *row, const bool *in, size_t n, double multiprocessors,
                     layer_model *out, lm_error *err)
{
    launch_times t;
    lm_status    status = times_new(row, in, n, multiprocessors, &t, err);

    *out = (layer_model){ .multiprocessors = 0 };
    if (!status)
        status = layer_model_fit(t.time, t.n, out, err);
    if (!status && !layer_model_any(out))
        status = lm_error_set(
            err, LM_E_ARG, "single kernels: no kind of operator has the %zu rows that a fit needs",
            layer_classes[FIRST_LAUNCH]->fewest);
    times_free(&t);
    return status;
}

lm_status launch_learn(const timed_kernel *row, const bool *in, size_t n, double multiprocessors,
                       layer_model *m, residual_trees *judged, lm_error *err)
{
    launch_times t;
    lm_status    status = times_new(row, in, n, multiprocessors, &t, err);

    if (!status)
        status = learned_fit(t.time, t.n, m, judged, err);
    times_free(&t);
    return status;
}

/* ---- prediction ---- */

enum { FLOOR, START, WORK, N_PARTS };

bool launch_starts(const column *c)
{
    return !c->floor && !strncmp(c->name, "launch", 6);
}

static size_t part_of(const column *c)
{
    return c->floor ? FLOOR : launch_starts(c) ? START : WORK;
}

layer_run launch_run(const layer_model *m, const layer_shape *s)
{
    const size_t class = layer_class_of(s);

    return (layer_run){ .forward = true,
                        .multiprocessors =
                            class < N_LAYER_CLASSES ? m->of[class].how.multiprocessors : 0 };
}

lm_status launch_cost_of(layer_asker *a, const lm_kernel *k, const char *tag, bool learned,
                         launch_cost *out, lm_error *err)
{
    const layer_shape s             = launch_shape_of(k, tag);
    const layer_run   run           = launch_run(a->m, &s);
    double            part[N_PARTS] = { 0 }, power, alone, factor = 1;
    lm_status         status = learned ? learned_ratio(a, &s, &run, &factor, err) : LM_OK;

    if (status)
        return status;
    if (layer_model_busy(a, &s, &run, part_of, part, NULL)) {
        *out = (launch_cost){ 0, 0, NAN };
        return LM_OK;
    }
    *out = (launch_cost){ part[FLOOR], part[START], part[WORK] };
    /* the work of a launch below its floor is unknown */
    if (factor == 1 || out->start + out->work <= out->floor)
        return LM_OK;
    power = columns_join(&a->m->of[layer_class_of(&s)].columns);
    alone = factor * rows_seconds((row_cost){ out->floor, out->start + out->work }, power);
    out->work =
        fmax(0, pow(fmax(0, pow(alone, power) - pow(out->floor, power)), 1 / power) - out->start);
    return LM_OK;
}

lm_status launch_seconds(layer_asker *a, const lm_kernel *k, const char *tag, bool learned,
                         double *out, lm_error *err)
{
    const layer_shape s   = launch_shape_of(k, tag);
    const layer_run   run = launch_run(a->m, &s);

    if (learned)
        return learned_seconds(a, &s, &run, out, err);
    *out = layer_model_seconds(a, &s, &run);
    return LM_OK;
}

void stream_add(stream_cost *s, uint32_t repeat, const launch_cost *cost)
{
    s->floors += repeat * cost->floor;
    s->work += repeat * cost->work;
}

double stream_seconds(const stream_cost *s)
{
    return isnan(s->work) ? NAN : rows_seconds((row_cost){ s->floors, s->work }, STREAM_POWER);
}
