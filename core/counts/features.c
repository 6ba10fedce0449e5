/* Regressors. */
#include "counts/features.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *unit;
    term_bound  bound;
    bool        of_layers;
} features[N_FEATURES] = {
    [FEATURE_FLOPS]      = { "flops", "FLOP", BOUND_ARITHMETIC, true },
    [FEATURE_INPUTS]     = { "inputs", "element", BOUND_TRAFFIC, true },
    [FEATURE_OUTPUTS]    = { "outputs", "element", BOUND_TRAFFIC, true },
    [FEATURE_ONE]        = { "one", "step", BOUND_LAUNCH, false },
    [FEATURE_LAYERS]     = { "layers", "layer", BOUND_LAUNCH, true },
    [FEATURE_WEIGHTS]    = { "weights", "element", BOUND_TRAFFIC, true },
    [FEATURE_NODES]      = { "nodes", "node", BOUND_LAUNCH, false },
    [FEATURE_RING_STEPS] = { "ring_steps", "message", BOUND_LAUNCH, false },
    [FEATURE_RING_BYTES] = { "ring_bytes", "byte", BOUND_TRAFFIC, true },
};

bool feature_of_nodes(feature f)
{
    return f == FEATURE_NODES || f == FEATURE_RING_STEPS || f == FEATURE_RING_BYTES;
}

/* Value of such a feature. */
static double feature_at_nodes(feature f, double nodes, double bytes)
{
    switch (f) {
    case FEATURE_NODES: return nodes;
    case FEATURE_RING_STEPS: return 2 * (nodes - 1);
    case FEATURE_RING_BYTES: return 2 * (nodes - 1) / nodes * bytes;
    case FEATURE_FLOPS:
    case FEATURE_INPUTS:
    case FEATURE_OUTPUTS:
    case FEATURE_ONE:
    case FEATURE_LAYERS:
    case FEATURE_WEIGHTS:
    case N_FEATURES: break;
    }
    return 0;
}

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
    case FEATURE_NODES:
    case FEATURE_RING_STEPS:
    case FEATURE_RING_BYTES:
    case N_FEATURES: break;
    }
    return feature_at_nodes(f, w->nodes, w->bytes);
}

double feature_seconds(feature f, double coefficient, const workload *w)
{
    return coefficient == 0 ? 0 : coefficient * feature_value(f, w);
}

const char *feature_name(feature f)
{
    return features[f].name;
}

bool feature_chosen(feature f)
{
    return f != FEATURE_ONE && !feature_of_nodes(f);
}

size_t feature_choices(const char *name[N_FEATURES])
{
    size_t n = 0;

    for (feature f = 0; f < N_FEATURES; f++)
        if (feature_chosen(f))
            name[n++] = feature_name(f);
    return n;
}

bool feature_of_layers(feature f)
{
    return features[f].of_layers;
}

term_bound feature_bound(feature f)
{
    return features[f].bound;
}

const char *feature_unit(feature f)
{
    return features[f].unit;
}
