/* cuDNN's graph API: descriptors with their ownership, and tensors. */
#include "base/no_memory.h"
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- layouts --------------------------------------------------------------------------------- */

graph_layout graph_packed(int rank, const int64_t *dim)
{
    graph_layout l    = { .rank = rank };
    int64_t      step = 1;

    for (int i = rank; i-- > 0;) {
        l.dim[i]    = dim[i];
        l.stride[i] = step;
        step *= dim[i];
    }
    return l;
}

graph_layout graph_image(int rank, const int64_t *dim, bool nhwc)
{
    graph_layout l    = graph_packed(rank, dim);
    int64_t      step = dim[1];

    if (!nhwc)
        return l;
    l.stride[1] = 1;
    for (int i = rank; i-- > 2;) {
        l.stride[i] = step;
        step *= dim[i];
    }
    l.stride[0] = step;
    return l;
}

uint64_t graph_elements(const graph_layout *layout)
{
    uint64_t last = 0;

    for (int i = 0; i < layout->rank; i++) {
        if (layout->dim[i] < 1)
            return 0;
        last = lm_add(last, lm_mul((uint64_t)layout->dim[i] - 1, (uint64_t)layout->stride[i]));
    }
    return lm_add(last, 1);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

dnn_graph *graph_new(cudnnHandle_t handle, cudnnBackendDescriptor_t properties)
{
    dnn_graph *g = calloc(1, sizeof *g);

    if (g) {
        g->handle     = handle;
        g->properties = properties;
    }
    return g;
}

void graph_forget(dnn_graph *g)
{
    while (g->n_packs)
        (void)cudnnBackendDestroyDescriptor(g->pack[--g->n_packs].variant);
    g->last_pack = 0;
}

void graph_free(dnn_graph *g)
{
    if (!g)
        return;
    graph_forget(g);
    while (g->n_owned)
        (void)cudnnBackendDestroyDescriptor(g->owned[--g->n_owned]);
    free_all(g->pack, g->owned, g);
}

/* Notes an error with the library's last message of this thread, which is often the only useful
 * one. */
void graph_note(dnn_graph *g, cudnnStatus_t cause, const char *what)
{
    char last[160] = "";

    if (cause == CUDNN_STATUS_SUCCESS || g->cause != CUDNN_STATUS_SUCCESS)
        return;
    g->cause = cause;
    cudnnGetLastErrorString(last, sizeof last);
    for (char *c = last; *c; c++)
        if (*c == '\n')
            *c = ' ';
    snprintf(g->text, sizeof g->text, "%s: %s%s%s", what, cudnnGetErrorString(cause),
             *last ? ": " : "", last);
}

bool graph_failed(const dnn_graph *g)
{
    return g->cause != CUDNN_STATUS_SUCCESS;
}

static bool own(dnn_graph *g, cudnnBackendDescriptor_t d)
{
    if (g->n_owned == g->room) {
        const size_t              room = g->room ? 2 * g->room : 32;
        cudnnBackendDescriptor_t *more = realloc(g->owned, room * sizeof *more);

        if (!more)
            return false;
        g->owned = more;
        g->room  = room;
    }
    g->owned[g->n_owned++] = d;
    return true;
}

cudnnBackendDescriptor_t graph_make(dnn_graph *g, cudnnBackendDescriptorType_t type,
                                    const char *what)
{
    cudnnBackendDescriptor_t d = NULL;

    if (graph_failed(g))
        return NULL;
    graph_note(g, cudnnBackendCreateDescriptor(type, &d), what);
    if (graph_failed(g))
        return NULL;
    if (own(g, d))
        return d;
    (void)cudnnBackendDestroyDescriptor(d);
    graph_note(g, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, what);
    return NULL;
}

/* Destroys all descriptors after the first `n`. */
void graph_unmake(dnn_graph *g, size_t n)
{
    while (g->n_owned > n)
        (void)cudnnBackendDestroyDescriptor(g->owned[--g->n_owned]);
}

void graph_set(dnn_graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
               cudnnBackendAttributeType_t type, int64_t n, const void *values, const char *what)
{
    if (!graph_failed(g))
        graph_note(g, cudnnBackendSetAttribute(d, name, type, n, values), what);
}

void graph_set_node(dnn_graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                    cudnnBackendDescriptor_t value, const char *what)
{
    graph_set(g, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value, what);
}

void graph_set_type(dnn_graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                    cudnnDataType_t value, const char *what)
{
    graph_set(g, d, name, CUDNN_TYPE_DATA_TYPE, 1, &value, what);
}

void graph_set_long(dnn_graph *g, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                    int64_t value, const char *what)
{
    graph_set(g, d, name, CUDNN_TYPE_INT64, 1, &value, what);
}

void graph_finish(dnn_graph *g, cudnnBackendDescriptor_t d, const char *what)
{
    if (!graph_failed(g))
        graph_note(g, cudnnBackendFinalize(d), what);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static size_t bytes_of(cudnnDataType_t type)
{
    if (type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16)
        return 2;
    return type == CUDNN_DATA_INT64 ? 8 : type == CUDNN_DATA_BOOLEAN ? 1 : 4;
}

static graph_node make_tensor(dnn_graph *g, int64_t uid, const graph_layout *l,
                              cudnnDataType_t type, bool is_virtual, bool by_value)
{
    static const char              what[] = "tensor";
    const cudnnBackendDescriptor_t t      = graph_make(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR, what);

    graph_set_type(g, t, CUDNN_ATTR_TENSOR_DATA_TYPE, type, what);
    graph_set(g, t, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, l->rank, l->dim, what);
    graph_set(g, t, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, l->rank, l->stride, what);
    graph_set_long(g, t, CUDNN_ATTR_TENSOR_UNIQUE_ID, uid, what);
    graph_set_long(g, t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, GRAPH_ALIGNMENT, what);
    if (is_virtual)
        graph_set(g, t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual, what);
    if (by_value)
        graph_set(g, t, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value, what);
    graph_finish(g, t, what);
    return graph_failed(g) ? NULL : t;
}

static graph_node make_bound(dnn_graph *g, bound where, const graph_layout *l, cudnnDataType_t type)
{
    if (g->n_bound == GRAPH_MAX_BOUND) {
        graph_note(g, CUDNN_STATUS_NOT_SUPPORTED, "too many tensors");
        return NULL;
    }
    g->bound[g->n_bound++] = where;
    return make_tensor(g, (int64_t)g->n_bound, l, type, false, where.kind == BOUND_NUMBER);
}

graph_node graph_argument(dnn_graph *g, size_t argument, const graph_layout *layout,
                          cudnnDataType_t type)
{
    return graph_part(g, argument, 0, layout, type);
}

graph_node graph_part(dnn_graph *g, size_t argument, size_t offset, const graph_layout *layout,
                      cudnnDataType_t type)
{
    return make_bound(g, (bound){ BOUND_ARGUMENT, argument, offset }, layout, type);
}

graph_node graph_virtual(dnn_graph *g, const graph_layout *layout, cudnnDataType_t type)
{
    return make_tensor(g, GRAPH_MAX_BOUND + ++g->n_virtual, layout, type, true, false);
}

static size_t aligned(size_t bytes)
{
    return (bytes + GRAPH_SCRATCH_ALIGNED - 1) / GRAPH_SCRATCH_ALIGNED * GRAPH_SCRATCH_ALIGNED;
}

graph_node graph_scratch(dnn_graph *g, const graph_layout *layout, cudnnDataType_t type)
{
    const uint64_t bytes  = lm_mul(graph_elements(layout), bytes_of(type));
    const size_t   offset = g->scratch_bytes;

    if (bytes > SIZE_MAX / 4 - offset) {
        graph_note(g, CUDNN_STATUS_NOT_SUPPORTED, "scratch memory");
        return NULL;
    }
    g->scratch_bytes += aligned((size_t)bytes);
    return make_bound(g, (bound){ BOUND_SCRATCH, 0, offset }, layout, type);
}

static graph_node make_number(dnn_graph *g, int rank, number value, cudnnDataType_t type)
{
    graph_layout l = { .rank = rank };

    for (int i = 0; i < rank; i++)
        l.dim[i] = l.stride[i] = 1;
    if (g->n_numbers == GRAPH_MAX_NUMBERS) {
        graph_note(g, CUDNN_STATUS_NOT_SUPPORTED, "too many numbers");
        return NULL;
    }
    g->number[g->n_numbers++] = value;
    return make_bound(g, (bound){ BOUND_NUMBER, g->n_numbers - 1, 0 }, &l, type);
}

graph_node graph_number(dnn_graph *g, int rank, float value)
{
    return make_number(g, rank, (number){ .f = value }, CUDNN_DATA_FLOAT);
}
