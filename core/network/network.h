/** A network as its file says: layers by name, types and parameters still text. */
#ifndef NETWORK_NETWORK_H
#define NETWORK_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include <layermeter/error.h>

#include "layers/registry.h"

typedef struct net_pair {
    const char *key, *value;
    int         line;
} net_pair;

/** An input of a layer: which layer's which output. */
typedef struct net_edge {
    size_t   layer; /**< index into network.layer */
    uint32_t output;
} net_edge;

/** One layer. Owned by its network. */
typedef struct net_layer {
    const char     *name; /**< hierarchical: layer1.0.conv2 */
    const char     *type; /**< layer type by name */
    const net_pair *pair; /**< parameters, in the file's order */
    size_t          n_pairs;
    const net_edge *input;
    size_t          n_inputs;
    int             line; /**< of its section */
    int  used_line;       /**< of the outermost `block =` it came from; 0: it stands there itself */
    bool functional;      /**< `functional = yes`: not counted among layers */
} net_layer;

typedef struct network {
    const char *path; /**< as opened */
    const char *name;
    const char *source; /**< where the published counts stand; NULL if none are given */
    const char *note;   /**< what must be known to read its counts; NULL: nothing */
    net_layer  *layer;  /**< in an order in which every input precedes its use */
    size_t      n_layers;
    uint64_t    published_params,
        published_macs;  /**< at the file's own input, batch 1; 0: not given */
    struct arena *arena; /**< owns all of the above */
} network;

/** What whoever names a network decides about it beside the name. */
typedef struct network_choices {
    const char *const
          *treat; /**< "OPERATOR=TYPE": the layer type for what an import does not know */
    size_t n_treat;
    const char *const *ignore; /**< operators of an import that pass their first input on */
    size_t             n_ignore;
} network_choices;

/**
 * Finds the file behind `name`: a path (anything with a slash or a known suffix), else NAME.ini in
 * $LAYERMETER_MODEL_PATH (colon-separated), else among the shipped models.
 * LM_E_NOTFOUND lists where it looked.
 */
lm_status network_find(const char *name, char *path, size_t size, lm_error *err);

/** Reads, expands blocks, resolves inputs, orders. Errors begin with file:line. */
lm_status network_load(const char *path, network **out, lm_error *err);
/**
 * Finds and reads; a file's suffix decides how: .ini, or an importer's.
 *
 * @param reg     layer types: importers infer shapes with them
 * @param choices NULL: none
 */
lm_status network_open(const char *name, const registry *reg, const network_choices *choices,
                       network **out, lm_error *err);
void      network_free(network *net);

#endif
