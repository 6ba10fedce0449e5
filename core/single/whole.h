/** Networks by what their layers take by themselves: nothing of a network need be measured. */
#ifndef SINGLE_WHOLE_H
#define SINGLE_WHOLE_H

#include "network/optimizer.h"
#include "single/composed.h"
#include "single/learned.h"

/** What whole_predict() adds to prices. */
typedef enum whole_learned {
    WHOLE_PRICES,       /**< nothing */
    WHOLE_LEARNED,      /**< residuals (learned.h) of passes by themselves */
    WHOLE_LEARNED_STEPS /**< and where backward passes have none, those of whole steps, which are of
                           what is done beside them, too */
} whole_learned;

/** Seconds of one step's passes. */
typedef struct whole_seconds {
    double forward, backward, update; /**< backward NAN: of no layer it was measured */
    double by[N_RESOURCES];           /**< both passes, by what of a device bounds them */
    /* What composed.h takes: of a step, and of a forward pass in evaluation mode. */
    double step[N_WHOLE_PARTS], inference[N_WHOLE_PARTS];
    double inference_by[N_RESOURCES];
} whole_seconds;

/**
 * Adds up all layers and what one call costs, once for a pass.
 *
 * Products of flattened images are convolutions over them where convolutions have prices; products
 * with more rows than those that were measured are, too, of one pixel. All other layers cost what
 * their kernels do (other.c) where such were measured. Else a function of each element costs what
 * it does behind a convolution; what only moves data (pooling, norms ...) as much for each element
 * read or written, half of that function's two. Sums of layers by themselves know
 * nothing of caches that are warm, nor of launches that hide behind work.
 *
 * @param learned with residuals (learned.h) of forward and of backward passes by themselves, where
 *                they were learned of; those of whole steps are of a loss and of trained inputs,
 * too, and nobody knows which part they belong to
 * @return LM_E_NOTFOUND for a layer or an optimizer without a price; what learned_seconds() returns
 */
lm_status whole_predict(layer_model *m, const bound_network *net, const char *updated_by,
                        whole_learned learned, whole_seconds *out, lm_error *err);

/**
 * The same where single launches were measured: all kernels of a pass in a stream (launch.h), with
 * residuals or without. An update is that of `o`. Parts of composed.h stay 0.
 *
 * @return LM_E_NOTFOUND for a kernel without a price; LM_E_UNSUPPORTED: see optimizer_update()
 */
lm_status whole_by_launches(layer_model *m, const bound_network *net, optimizer o, bool learned,
                            whole_seconds *out, lm_error *err);

#endif
