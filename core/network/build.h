/** Builder of networks for importers: layers are added by calls, not read from a file. */
#ifndef NETWORK_BUILD_H
#define NETWORK_BUILD_H

#include "network/network.h"

/**
 * Failures (memory, too many layers) are sticky: later calls do nothing, and build_finish() reports
 * the first failure.
 */
typedef struct net_builder net_builder;

/**
 * @param path used in messages
 * @param name of the network
 * @return NULL when memory runs out
 */
net_builder *build_new(const char *path, const char *name);
/** Frees a builder before build_finish(), not after it. NULL is fine. */
void build_free(net_builder *b);

/**
 * Adds a layer and returns its number, counted from 0. Characters that a section name cannot hold
 * are replaced. A name that exists already gets a number appended.
 *
 * @param type must outlive the builder, or be the name of a layer type in a registry
 */
size_t build_layer(net_builder *b, const char *name, const char *type);
void build_key(net_builder *b, size_t layer, const char *key, const char *fmt, ...) LM_PRINTF(4, 5);
/** Appends an input. The layer `from` may be added later. */
void build_input(net_builder *b, size_t layer, net_edge from);
/** The layer uses the parameters of `owner` with the same role and shape. */
void build_shares(net_builder *b, size_t layer, size_t owner);
/** Marks an output. With any mark, build_finish() drops layers that no output depends on. */
void build_output(net_builder *b, size_t layer);
/** Appends a sentence to the network's note. */
void build_note(net_builder *b, const char *fmt, ...) LM_PRINTF(2, 3);

/**
 * Orders the layers and makes the network; frees the builder in any case.
 *
 * @return LM_E_SYNTAX for a cycle, LM_E_NOMEM
 */
lm_status build_finish(net_builder *b, network **out, lm_error *err);

#endif
