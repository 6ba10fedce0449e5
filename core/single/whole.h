/** Networks as sums of single layers or launches: no network need be measured. */
#ifndef SINGLE_WHOLE_H
#define SINGLE_WHOLE_H

#include "network/optimizer.h"
#include "single/composed.h"
#include "single/learned.h"

/** Residuals that whole_predict() uses. */
typedef enum whole_learned {
    WHOLE_PRICES,       /**< nothing */
    WHOLE_LEARNED,      /**< residuals (learned.h) of passes by themselves */
    WHOLE_LEARNED_STEPS /**< and those of whole steps, where backward passes have none */
} whole_learned;

/** Seconds of one step's passes; of a network bound for evaluation those of a forward pass in
 * evaluation mode, and 0 of the others. */
typedef struct whole_seconds {
    double forward, backward, update; /**< backward NAN: of no layer it was measured */
    double by[N_RESOURCES];           /**< both passes, by the resource that bounds them */
    double part[N_WHOLE_PARTS];       /**< for composed.h */
} whole_seconds;

/**
 * Adds up all layers, and one call a pass.
 *
 * Products of flattened images count as convolutions, where convolutions have prices. So do
 * products with more rows than were measured, on one pixel. All other layers cost what their
 * kernels do (other_layers.c), if such were measured. Else a function of elements costs what it does
 * behind a convolution, and pooling, norms ... cost half of that for each element read or written.
 * These sums know nothing of warm caches, nor of launches that hide behind work.
 *
 * @param learned residuals (learned.h) of passes by themselves; those of whole steps hold a loss and
 *                trained inputs as well
 * @return LM_E_NOTFOUND for a layer or an optimizer without a price; what learned_seconds() returns
 */
lm_status whole_predict(layer_asker *by, const bound_network *net, const char *updated_by,
                        whole_learned learned, whole_seconds *out, lm_error *err);

/**
 * The same where single launches were measured: all kernels of a pass in a stream (launch.h), with
 * residuals or without. Without the `host` its floors are nothing: launches are replayed. An update is that of `o`. Parts of composed.h stay 0.
 *
 * @return LM_E_NOTFOUND for a kernel without a price; LM_E_UNSUPPORTED: see optimizer_update()
 */
lm_status whole_by_launches(layer_asker *by, const bound_network *net, optimizer o, bool learned,
                            bool host, whole_seconds *out, lm_error *err);

#endif
