/* Stages of a network. */
#include "network/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

static bool is_source(const bound_layer *l)
{
    return (l->entry->type.flags & LM_SOURCE) != 0; /* every rank has sources */
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
                return lm_error_set(
                    err, LM_E_UNSUPPORTED,
                    "layer '%s' of stage %lld reads '%s' of stage %lld: a pipeline sends to the next stage only",
                    net->layer[i].decl->name, (long long)stage[i] + 1, net->layer[from].decl->name,
                    (long long)stage[from] + 1);
        }
    return LM_OK;
}

/* ---- how blocks are spread ---- */

int64_t stages_begin(int64_t blocks, int64_t stages, int64_t v)
{
    const int64_t each = blocks / stages, rest = blocks % stages;
    const int64_t more = v - (stages - 1 - rest);

    return v * each + (more < 0 ? 0 : more < rest ? more : rest);
}

/* The next number of a list "7,8,8"; 0: none, or not above 0. */
static int64_t next_count(const char **at)
{
    const int64_t n = strtoll(*at, (char **)(uintptr_t)at, 10);

    *at += **at == ',';
    return n;
}

lm_status stages_check(int64_t blocks, int64_t stages, const char *spread, lm_error *err)
{
    const char *at  = spread ? spread : "";
    int64_t     sum = 0, n = 0;

    if (stages > blocks)
        return lm_error_set(err, LM_E_ARG, "%lld layers are fewer than %lld stages",
                            (long long)blocks, (long long)stages);
    if (!*at || !strcmp(at, STAGES_BALANCED))
        return LM_OK;
    for (; *at; n++) {
        const int64_t each = next_count(&at);

        if (each < 1 || each > blocks)
            return lm_error_set(err, LM_E_ARG, "stages=%.60s: a stage has 1 to %lld of %lld layers",
                                spread, (long long)blocks, (long long)blocks);
        sum += each;
    }
    if (n != stages)
        return lm_error_set(err, LM_E_ARG, "stages=%.60s: %lld numbers for %lld stages", spread,
                            (long long)n, (long long)stages);
    if (sum != blocks)
        return lm_error_set(err, LM_E_ARG, "stages=%.60s: %lld layers, and the network has %lld",
                            spread, (long long)sum, (long long)blocks);
    return LM_OK;
}

/* The largest stage if stages are filled in order, each up to `most`. */
static double largest_below(const double *flops, int64_t blocks, int64_t stages, double most)
{
    double  largest = 0;
    int64_t at      = 0;

    for (int64_t left = stages; left-- > 0;) {
        double sum = flops[at++];

        while (at < blocks - left && (left == 0 || sum + flops[at] <= most))
            sum += flops[at++];
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

/* The least possible value of the largest stage, by bisection to the last bit. */
static double least_largest(const double *flops, int64_t blocks, int64_t stages)
{
    double low = 0, high = 0;

    for (int64_t i = 0; i < blocks; i++) {
        low = flops[i] > low ? flops[i] : low;
        high += flops[i];
    }
    for (double middle = low; middle < high;) {
        const double got = largest_below(flops, blocks, stages, middle);

        *(got <= middle ? &high : &low) = got <= middle ? got : middle;
        middle                          = low + (high - low) / 2;
        if (middle <= low)
            break;
    }
    return high;
}

/* Among divisions with the smallest largest stage, finds that with the least sum of squares.
 * least[v * (blocks + 1) + i] is the sum for i blocks in v stages, from[] the first block of the
 * last one. */
static void balance(const double *flops, int64_t blocks, int64_t stages, double *least,
                    int64_t *from, int64_t *begin)
{
    const double most =
        least_largest(flops, blocks, stages) * (1 + 1e-12); /* tolerance for rounding */
    const int64_t row = blocks + 1;

    for (int64_t i = 0; i <= blocks; i++)
        least[i] = i ? INFINITY : 0;
    for (int64_t v = 1; v <= stages; v++)
        for (int64_t i = 0; i <= blocks; i++) {
            double sum = 0, *best = &least[v * row + i];

            *best = INFINITY;
            for (int64_t j = i; j-- > 0 && sum + flops[j] <= most;) {
                sum += flops[j];
                if (!(least[(v - 1) * row + j] + sum * sum > *best)) {
                    *best             = least[(v - 1) * row + j] + sum * sum;
                    from[v * row + i] = j;
                }
            }
        }
    for (int64_t v = stages, i = blocks; v > 0; v--)
        begin[v - 1] = i = from[v * row + i];
}

void stages_flops(const bound_network *net, double *flops)
{
    const char *before = NULL;
    int64_t     block  = -1;

    for (size_t i = 0; i < net->n_layers; i++) {
        block += begins_block(net, i, before);
        before = net->layer[i].decl->block ? net->layer[i].decl->block : before;
        for (lm_pass p = 0; p < LM_N_PASSES; p++)
            flops[block < 0 ? 0 : block] += (double)net->layer[i].cost.pass[p].flops;
    }
}

lm_status stages_balance(const double *flops, int64_t blocks, int64_t stages, int64_t *begin,
                         lm_error *err)
{
    const size_t cells = (size_t)((stages + 1) * (blocks + 1));
    double      *least = calloc(cells, sizeof *least);
    int64_t     *from  = calloc(cells, sizeof *from);
    const bool   room  = least && from;

    if (room)
        balance(flops, blocks, stages, least, from, begin);
    free(least);
    free(from);
    return room ? LM_OK : no_memory(err);
}

static lm_status find_balance(const bound_network *net, int64_t blocks, int64_t stages,
                              int64_t *begin, lm_error *err)
{
    double   *flops = calloc((size_t)blocks, sizeof *flops);
    lm_status status;

    if (!flops)
        return no_memory(err);
    stages_flops(net, flops);
    status = stages_balance(flops, blocks, stages, begin, err);
    free(flops);
    return status;
}

static lm_status find_begins(const bound_network *net, int64_t blocks, int64_t stages,
                             const char *spread, int64_t *begin, lm_error *err)
{
    const char *at  = spread ? spread : "";
    int64_t     sum = 0;

    if (!strcmp(at, STAGES_BALANCED))
        return find_balance(net, blocks, stages, begin, err);
    for (int64_t v = 0; v < stages; v++) {
        begin[v] = *at ? sum : stages_begin(blocks, stages, v);
        sum += next_count(&at);
    }
    return LM_OK;
}

lm_status stages_of_layers(const bound_network *net, int64_t stages, const char *spread,
                           int64_t *stage, lm_error *err)
{
    const int64_t n      = count_blocks(net);
    const char   *before = NULL;
    int64_t       block = -1, v = 0, *begin;
    lm_status     status = stages_check(n, stages, spread, err);

    if (status)
        return status;
    if (!(begin = calloc((size_t)stages + 1, sizeof *begin)))
        return no_memory(err);
    status        = find_begins(net, n, stages, spread, begin, err);
    begin[stages] = n;
    for (size_t i = 0; i < net->n_layers && !status; i++) {
        block += begins_block(net, i, before);
        before = net->layer[i].decl->block ? net->layer[i].decl->block : before;
        while (block >= begin[v + 1])
            v++;
        stage[i] = v;
    }
    free(begin);
    return status ? status : check_edges(net, stage, err);
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
