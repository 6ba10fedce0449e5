/** A model of layers that is asked once. */
#ifndef TESTS_ASKING_H
#define TESTS_ASKING_H

#include "single/launch.h"
#include "single/whole.h"

/* Reads what lies beside the machine file, as who asks for it does. */
static inline lm_status load_learned(layer_model *m, lm_error *err)
{
    learned_load(m);
    return learned_check(m, err);
}

static inline double seconds_by(const layer_model *m, const layer_shape *s, const layer_run *run)
{
    layer_asker  a       = layer_asker_of(m);
    const double seconds = layer_model_seconds(&a, s, run);

    layer_asker_free(&a);
    return seconds;
}

static inline lm_status learned_by(const layer_model *m, const layer_shape *s, const layer_run *run,
                                   double *out, lm_error *err)
{
    layer_asker     a      = layer_asker_of(m);
    const lm_status status = learned_seconds(&a, s, run, out, err);

    layer_asker_free(&a);
    return status;
}

static inline lm_status whole_by(const layer_model *m, const bound_network *net,
                                 const char *updated_by, whole_learned learned, whole_seconds *out,
                                 lm_error *err)
{
    layer_asker     a      = layer_asker_of(m);
    const lm_status status = whole_predict(&a, net, updated_by, learned, out, err);

    layer_asker_free(&a);
    return status;
}

static inline lm_status launch_by(const layer_model *m, const lm_kernel *k, const char *tag,
                                  bool learned, double *out, lm_error *err)
{
    layer_asker     a      = layer_asker_of(m);
    const lm_status status = launch_seconds(&a, k, tag, learned, out, err);

    layer_asker_free(&a);
    return status;
}

static inline lm_status launch_cost_by(const layer_model *m, const lm_kernel *k, const char *tag,
                                       bool learned, launch_cost *out, lm_error *err)
{
    layer_asker     a      = layer_asker_of(m);
    const lm_status status = launch_cost_of(&a, k, tag, learned, out, err);

    layer_asker_free(&a);
    return status;
}

#endif
