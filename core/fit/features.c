/* Regressors. */
#include "fit/features.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *unit;
} features[N_FEATURES] = {
    [FEATURE_FLOPS]      = { "flops", "FLOP" },
    [FEATURE_INPUTS]     = { "inputs", "element" },
    [FEATURE_OUTPUTS]    = { "outputs", "element" },
    [FEATURE_ONE]        = { "one", "step" },
    [FEATURE_LAYERS]     = { "layers", "layer" },
    [FEATURE_WEIGHTS]    = { "weights", "element" },
    [FEATURE_NODES]      = { "nodes", "node" },
    [FEATURE_RING_STEPS] = { "ring_steps", "message" },
    [FEATURE_RING_BYTES] = { "ring_bytes", "byte" },
};

double feature_value(feature f, const workload *w)
{
    const net_metrics *m = &w->counts;

    if (w->unknown >> f & 1)
        return NAN;
    switch (f) {
    case FEATURE_FLOPS: return (double)m->flops_forward;
    case FEATURE_INPUTS: return (double)m->conv_inputs;
    case FEATURE_OUTPUTS: return (double)m->conv_outputs;
    case FEATURE_ONE: return 1;
    case FEATURE_LAYERS: return (double)m->layers;
    case FEATURE_WEIGHTS: return (double)m->params;
    case FEATURE_NODES: return w->nodes;
    case FEATURE_RING_STEPS: return 2 * (w->nodes - 1);
    case FEATURE_RING_BYTES: return 2 * (w->nodes - 1) / w->nodes * w->bytes;
    case N_FEATURES: break;
    }
    return 0;
}

double feature_seconds(feature f, double coefficient, const workload *w)
{
    return coefficient == 0 ? 0 : coefficient * feature_value(f, w);
}

const char *feature_name(feature f)
{
    return features[f].name;
}

const char *feature_unit(feature f)
{
    return features[f].unit;
}

feature feature_parse(const char *name)
{
    for (feature f = 0; f < N_FEATURES; f++)
        if (!strcmp(features[f].name, name))
            return f;
    return N_FEATURES;
}
