/* Stages of a network. */
#include "network/stages.h"

#include <string.h>

static bool is_source(const bound_layer *l)
{
    return (l->entry->type.flags & LM_SOURCE) != 0; /* each rank has it */
}

static bool begins_block(const bound_network *net, size_t i, const char *before)
{
    const char *block = net->layer[i].decl->block;

    return block && (!before || strcmp(block, before) != 0);
}

static int64_t count_blocks(const bound_network *net)
{
    const char *before = NULL;
    int64_t     n      = 0;

    for (size_t i = 0; i < net->n_layers; i++) {
        n += begins_block(net, i, before);
        before = net->layer[i].decl->block ? net->layer[i].decl->block : before;
    }
    return n;
}

static lm_status check_edges(const bound_network *net, const int64_t *stage, lm_error *err)
{
    for (size_t i = 0; i < net->n_layers; i++)
        for (size_t k = 0; k < net->layer[i].decl->n_inputs; k++) {
            const size_t from = net->layer[i].decl->input[k].layer;

            if (!is_source(&net->layer[from]) && stage[from] + 1 < stage[i])
                return lm_error_set(err, LM_E_UNSUPPORTED,
                                    "layer '%s' of stage %lld reads '%s' of stage %lld: a pipeline "
                                    "hands on to the next stage alone",
                                    net->layer[i].decl->name, (long long)stage[i] + 1,
                                    net->layer[from].decl->name, (long long)stage[from] + 1);
        }
    return LM_OK;
}

lm_status stages_of_layers(const bound_network *net, int64_t stages, int64_t *stage, lm_error *err)
{
    const int64_t n      = count_blocks(net);
    const char   *before = NULL;
    int64_t       block  = -1;

    if (!n || n % stages)
        return lm_error_set(err, LM_E_ARG, "%lld layers are no multiple of %lld stages",
                            (long long)n, (long long)stages);
    for (size_t i = 0; i < net->n_layers; i++) {
        block += begins_block(net, i, before);
        before   = net->layer[i].decl->block ? net->layer[i].decl->block : before;
        stage[i] = block < 0 ? 0 : block / (n / stages);
    }
    return check_edges(net, stage, err);
}

/* Does a later stage read this output? */
static bool is_handed_on(const bound_network *net, const int64_t *stage, size_t from,
                         uint32_t output)
{
    for (size_t i = from + 1; i < net->n_layers; i++)
        for (size_t k = 0; k < net->layer[i].decl->n_inputs; k++)
            if (net->layer[i].decl->input[k].layer == from &&
                net->layer[i].decl->input[k].output == output && stage[i] > stage[from])
                return true;
    return false;
}

uint64_t stages_boundary(const bound_network *net, const int64_t *stage, int64_t from)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < net->n_layers; i++)
        for (uint32_t o = 0; o < net->layer[i].n_outputs && stage[i] == from; o++)
            if (!is_source(&net->layer[i]) && is_handed_on(net, stage, i, o))
                bytes = lm_add(bytes, lm_bytes(&net->layer[i].output[o]));
    return bytes;
}
