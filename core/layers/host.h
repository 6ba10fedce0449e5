/** The host's side of callbacks: error texts, and a sink for weights and kernels. */
#ifndef LAYERS_HOST_H
#define LAYERS_HOST_H

#include <layermeter/error.h>
#include <layermeter/plugin.h>

#include "base/arena.h"

/** A layer as callbacks see it, and the place of their error texts. */
typedef struct host_layer {
    lm_layer  layer; /**< first: callbacks hand back a pointer to it */
    lm_error *err;
} host_layer;

/** The value of host_layer.layer.host. */
extern const lm_host host_services;

/** Collects what a layer emits. The caller clears n_weights, n_kernels and status, and sets the
 * pass. */
typedef struct host_sink {
    lm_sink    sink; /**< first */
    lm_weight *weight;
    lm_kernel *kernel;
    size_t     n_weights, n_kernels, weight_room, kernel_room;
    lm_pass    pass;
    arena     *arena;  /**< memory for the roles of weights */
    lm_status  status; /**< status of the first failure; sticky */
    lm_error  *err;
} host_sink;

host_sink host_sink_make(arena *a, lm_error *err);
void      host_sink_free(host_sink *sink);

#endif
