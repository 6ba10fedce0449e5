/** Networks as sums of single layers or launches, without a measured network. */
#ifndef SINGLE_WHOLE_H
#define SINGLE_WHOLE_H

#include "network/optimizer.h"
#include "single/composed.h"
#include "single/learned.h"

/** Residuals for whole_predict(). */
typedef enum whole_learned {
    WHOLE_PRICES,       /**< none */
    WHOLE_LEARNED,      /**< residuals (learned.h) of separate passes */
    WHOLE_LEARNED_STEPS /**< and, where backward passes have none, those of whole steps */
} whole_learned;

/**
 * Seconds of one step's passes. For a network bound for evaluation: the forward pass in evaluation
 * mode, and 0 for the others.
 */
typedef struct whole_seconds {
    double forward, backward, update; /**< backward NAN: measured for no layer */
    double by[N_RESOURCES];           /**< both passes, by limiting resource */
    double part[N_WHOLE_PARTS];       /**< for composed.h */
} whole_seconds;

/**
 * Adds up all layers, plus one call per pass.
 *
 * Products of flattened images count as convolutions, if convolutions have prices. So do products
 * with more rows than were measured, as convolutions on one pixel. All other layers cost as much as
 * their kernels (other_layers.c), if kernels were measured. Otherwise an elementwise function costs
 * as much as after a convolution. Pooling, norms and others then cost half of that for each element
 * read or written. An update costs as much for each element as one of as many elements as the network
 * trains (updates.h). These sums ignore other warm caches, and launches that overlap work.
 *
 * @param learned residuals to use; those of whole steps include a loss and trained inputs
 * @return LM_E_NOTFOUND for a layer or an optimizer without a price; errors of learned_seconds()
 */
lm_status whole_predict(layer_asker *by, const bound_network *net, const char *updated_by,
                        whole_learned learned, whole_seconds *out, lm_error *err);

/**
 * The same from measured single launches: all kernels of a pass in a stream (launch.h).
 *
 * @param o    optimizer of the update
 * @param host false: launches are replayed, so the host's floors are 0
 * @param out     parts for composed.h stay 0
 * @return LM_E_NOTFOUND for a kernel without a price; LM_E_UNSUPPORTED: see optimizer_update()
 */
lm_status whole_by_launches(layer_asker *by, const bound_network *net, optimizer o, bool host,
                            whole_seconds *out, lm_error *err);

#endif
