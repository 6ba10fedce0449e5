/* cuDNN's graph API: choice of an engine, and runs. */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

/* ---- plans ----------------------------------------------------------------------------------- */

static cudnnBackendDescriptor_t make_operation_graph(dnn_graph *g)
{
    static const char              what[] = "graph";
    const cudnnBackendDescriptor_t d = graph_make(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, what);

    graph_set(g, d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
              (int64_t)g->n_operations, g->operation, what);
    if (g->handle)
        graph_set(g, d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->handle, what);
    graph_finish(g, d, what);
    return d;
}

static cudnnBackendDescriptor_t make_heuristic(dnn_graph *g, cudnnBackendDescriptor_t operations,
                                               cudnnBackendHeurMode_t mode)
{
    static const char              what[] = "heuristic";
    const cudnnBackendDescriptor_t h = graph_make(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, what);

    graph_set_node(g, h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, operations, what);
    graph_set(g, h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode, what);
    if (!g->handle)
        graph_set_node(g, h, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, g->properties, what);
    graph_finish(g, h, what);
    return h;
}

/* The engine of a configuration: its number, and its notes on arithmetic. */
static void look_at_engine(dnn_graph *g, cudnnBackendDescriptor_t config, graph_engine *c)
{
    static const char           what[] = "engine";
    cudnnBackendDescriptor_t    engine = graph_make(g, CUDNN_BACKEND_ENGINE_DESCRIPTOR, what);
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t                     n = 0;

    if (graph_failed(g))
        return;
    graph_note(g,
               cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine),
               what);
    if (graph_failed(g))
        return;
    graph_note(g,
               cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                                        &n, &c->engine),
               what);
    if (graph_failed(g))
        return;
    graph_note(g,
               cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                        CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT,
                                        &n, notes),
               what);
    for (int64_t i = 0; i < n && !graph_failed(g); i++) {
        c->tensor_cores |= notes[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
        c->lower_precision |= notes[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
        c->varies |= notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    }
}

static void make_plan(dnn_graph *g, cudnnBackendDescriptor_t config, graph_engine *c)
{
    static const char what[] = "plan";
    int64_t           n      = 0;

    c->plan = graph_make(g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, what);
    if (g->handle)
        graph_set(g, c->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &g->handle,
                  what);
    else
        graph_set_node(g, c->plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, g->properties, what);
    graph_set_node(g, c->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config, what);
    graph_finish(g, c->plan, what);
    if (!graph_failed(g))
        graph_note(g,
                   cudnnBackendGetAttribute(c->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                            CUDNN_TYPE_INT64, 1, &n, &c->workspace),
                   what);
}

/* Can the library still offer another implementation after this failure? */
static bool may_go_on(cudnnStatus_t cause)
{
    return cause != CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

/* Tries one configuration. If it is unavailable or breaks the rules, only `refused` remains, with
 * the first reason. */
static void try_config(dnn_graph *g, cudnnBackendDescriptor_t config, const graph_rules *rules,
                       char *refused, size_t size)
{
    const size_t before = g->n_owned;
    const char  *broken = NULL;
    graph_engine c      = { 0 };

    look_at_engine(g, config, &c);
    if (!graph_failed(g) && c.tensor_cores && !rules->tensor_cores)
        broken = "without tensor cores there is none";
    else if (!graph_failed(g) && c.lower_precision && !rules->lower_precision)
        broken = "in full precision there is none";
    if (!broken)
        make_plan(g, config, &c);
    if (!broken && !graph_failed(g) &&
        (c.workspace < 0 || (uint64_t)c.workspace + g->scratch_bytes > rules->workspace_limit))
        broken = "within the workspace limit there is none";
    if (!broken && !graph_failed(g)) {
        g->candidate[g->n_candidates++] = c;
        return;
    }
    if (!*refused)
        snprintf(refused, size, "%s", broken ? broken : g->text);
    graph_unmake(g, before);
    if (may_go_on(g->cause)) {
        g->cause   = CUDNN_STATUS_SUCCESS;
        g->text[0] = '\0';
    }
}

static void ask(dnn_graph *g, cudnnBackendDescriptor_t operations, cudnnBackendHeurMode_t mode,
                const graph_rules *rules, char *refused, size_t size)
{
    static const char        what[]                    = "heuristic";
    cudnnBackendDescriptor_t h                         = make_heuristic(g, operations, mode);
    cudnnBackendDescriptor_t config[GRAPH_MAX_CONFIGS] = { 0 };
    int64_t                  n                         = 0;

    if (graph_failed(g))
        return;
    graph_note(g,
               cudnnBackendGetAttribute(h, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &n, NULL),
               what);
    n = n > GRAPH_MAX_CONFIGS ? GRAPH_MAX_CONFIGS : n;
    for (int64_t i = 0; i < n; i++)
        config[i] = graph_make(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, what);
    if (graph_failed(g) || n < 1)
        return;
    graph_note(g,
               cudnnBackendGetAttribute(h, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, n, &n, config),
               what);
    for (int64_t i = 0; i < n && !graph_failed(g) && g->n_candidates < (size_t)rules->wanted; i++)
        try_config(g, config[i], rules, refused, size);
}

lm_status graph_plan(dnn_graph *g, const graph_rules *rules, lm_error *err)
{
    const cudnnBackendHeurMode_t   mode[]       = { rules->mode, CUDNN_HEUR_MODE_FALLBACK };
    const cudnnBackendDescriptor_t operations   = make_operation_graph(g);
    char                           refused[256] = "";

    for (size_t i = 0; i < 2 && !graph_failed(g) && g->n_candidates == 0; i++) {
        ask(g, operations, mode[i], rules, refused, sizeof refused);
        if (graph_failed(g) && may_go_on(g->cause)) { /* a heuristic may refuse the whole graph */
            if (!*refused)
                snprintf(refused, sizeof refused, "%s", g->text);
            g->cause = CUDNN_STATUS_SUCCESS;
        }
    }
    if (g->cause == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)
        return no_memory(err);
    if (graph_failed(g))
        return lm_error_set(err, LM_E_UNSUPPORTED, "%s", g->text);
    if (g->n_candidates == 0)
        return lm_error_set(err, LM_E_UNSUPPORTED, "%s",
                            *refused ? refused : "the library proposes no engine");
    return LM_OK;
}

size_t graph_candidates(const dnn_graph *g)
{
    return g->n_candidates;
}

void graph_choose(dnn_graph *g, size_t which)
{
    g->chosen = which;
}

size_t graph_scratch_bytes(const dnn_graph *g)
{
    return g->scratch_bytes + (size_t)g->candidate[g->chosen].workspace;
}

bool graph_on_tensor_cores(const dnn_graph *g)
{
    return g->candidate[g->chosen].tensor_cores;
}

void graph_describe(const dnn_graph *g, char *buffer, size_t size)
{
    const graph_engine *c = &g->candidate[g->chosen];

    snprintf(buffer, size, "engine %lld%s%s", (long long)c->engine,
             c->tensor_cores ? " tensor" : "", c->varies ? " varies" : "");
}

/* ---- runs ------------------------------------------------------------------------------------ */

static const void *pointer_of(const dnn_graph *g, const bound *b, void *const *at, size_t n,
                              const char *scratch)
{
    switch (b->kind) {
    case BOUND_ARGUMENT: return b->place < n ? (const char *)at[b->place] + b->offset : NULL;
    case BOUND_SCRATCH: return scratch ? scratch + b->offset : NULL;
    case BOUND_NUMBER: break;
    }
    return &g->number[b->place];
}

static cudnnStatus_t make_variant(dnn_graph *g, void *const *at, size_t n, char *scratch,
                                  cudnnBackendDescriptor_t *out)
{
    int64_t                  uid[GRAPH_MAX_BOUND];
    const void              *pointer[GRAPH_MAX_BOUND];
    void                    *workspace = scratch ? scratch + g->scratch_bytes : NULL;
    cudnnBackendDescriptor_t v         = NULL;
    cudnnStatus_t            cause;
    const int64_t            count = (int64_t)g->n_bound;

    for (size_t i = 0; i < g->n_bound; i++) {
        uid[i]     = (int64_t)i + 1;
        pointer[i] = pointer_of(g, &g->bound[i], at, n, scratch);
    }
    cause = cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &v);
    if (cause != CUDNN_STATUS_SUCCESS)
        return cause;
    cause = cudnnBackendSetAttribute(v, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count,
                                     uid);
    if (cause == CUDNN_STATUS_SUCCESS)
        cause = cudnnBackendSetAttribute(v, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                         CUDNN_TYPE_VOID_PTR, count, pointer);
    if (cause == CUDNN_STATUS_SUCCESS)
        cause = cudnnBackendSetAttribute(v, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
                                         1, &workspace);
    if (cause == CUDNN_STATUS_SUCCESS)
        cause = cudnnBackendFinalize(v);
    if (cause == CUDNN_STATUS_SUCCESS)
        *out = v;
    else
        (void)cudnnBackendDestroyDescriptor(v);
    return cause;
}

/* Launches of a step repeat in the same order, so the next pack usually matches. */
static const pack *find_pack(dnn_graph *g, const pack *wanted)
{
    for (size_t i = 0; i < g->n_packs; i++) {
        const size_t at = (g->last_pack + 1 + i) % g->n_packs;

        if (!memcmp(g->pack[at].key, wanted->key, sizeof wanted->key)) {
            g->last_pack = at;
            return &g->pack[at];
        }
    }
    return NULL;
}

cudnnStatus_t graph_run(dnn_graph *g, void *const *at, size_t n, void *scratch)
{
    pack          wanted = { 0 };
    const pack   *found;
    pack         *more;
    cudnnStatus_t cause;

    for (size_t i = 0; i < g->n_bound; i++)
        wanted.key[i] = pointer_of(g, &g->bound[i], at, n, scratch);
    wanted.key[GRAPH_MAX_BOUND] = scratch;
    found                       = find_pack(g, &wanted);
    if (!found) {
        more = realloc(g->pack, (g->n_packs + 1) * sizeof *more);
        if (!more)
            return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
        g->pack = more;
        cause   = make_variant(g, at, n, scratch, &wanted.variant);
        if (cause != CUDNN_STATUS_SUCCESS)
            return cause;
        g->pack[g->n_packs] = wanted;
        g->last_pack        = g->n_packs++;
        found               = &g->pack[g->last_pack];
    }
    return cudnnBackendExecute(g->handle, g->candidate[g->chosen].plan, found->variant);
}
