/** What a plugin's callbacks get from the host: a way to explain, and a sink for what they emit. */
#ifndef LAYERS_HOST_H
#define LAYERS_HOST_H

#include <layermeter/error.h>
#include <layermeter/plugin.h>

#include "base/arena.h"

/** What callbacks see, and where their explanations go. */
typedef struct host_layer {
    lm_layer  layer; /**< first: callbacks hand back a pointer to it */
    lm_error *err;
} host_layer;

/** For host_layer.layer.host. */
extern const lm_host host_services;

/** Collects what a layer emits. The caller empties it (n_weights, n_kernels, status) and says
 * which pass is lowered. */
typedef struct host_sink {
    lm_sink    sink; /**< first */
    lm_weight *weight;
    lm_kernel *kernel;
    size_t     n_weights, n_kernels, weight_room, kernel_room;
    lm_pass    pass;
    arena     *arena;  /**< for weights' roles */
    lm_status  status; /**< of the first thing that could not be taken; sticky */
    lm_error  *err;
} host_sink;

host_sink host_sink_make(arena *a, lm_error *err);
void      host_sink_free(host_sink *sink);

#endif
