/** Networks as cases of a learned model of single layers, and their sums. */
#ifndef LAYERWISE_NETWORK_H
#define LAYERWISE_NETWORK_H

#include "fit/calibration.h"
#include "layerwise/layerwise_model.h"

/** Facts that all layers share. */
typedef struct layerwise_setup {
    const char        *optimizer; /**< of the update: any word */
    const char        *settings;
    const device      *on;        /**< NULL: unknown */
    double             clock_mhz; /**< held clock of the device; NAN: not held */
    const calibration *cal;       /**< prices for layers that the model does not know; NULL: none */
} layerwise_setup;

/**
 * Which layers form a case together. SINGLE: none. CHAINS: convolutions, products and attention
 * with their neighbours. FUNCTIONS: each layer with the function that is its only reader.
 */
typedef enum layerwise_joined {
    LAYERWISE_SINGLE,
    LAYERWISE_CHAINS,
    LAYERWISE_FUNCTIONS
} layerwise_joined;

/**
 * Calls `see` for all layers that do work, each once. With LAYERWISE_CHAINS a case is a convolution
 * with the padding before it, or a convolution or product with the function that is its only
 * reader. Attention as frameworks define it is one case: the products of queries, keys and values,
 * the layers between them and the attention, and the product of its output.
 *
 * @param see receives the case of the forward pass; layerwise_in() makes those of other phases. An
 *            error of `see` ends the walk. For attention, or a layer with a function, it may set
 *            *parted: then the layers follow one by one
 */
lm_status layerwise_each(const bound_network *net, layerwise_joined joined,
                         const layerwise_setup *s,
                         lm_status (*see)(void *context, layerwise_case *c, bool *parted),
                         void *context, lm_error *err);

/** The same case in another phase. It has the optimizer only if the phase has an update. */
layerwise_case layerwise_in(const layerwise_case *c, phase f, const char *updated);

/**
 * The phase that may replace f if only one of them was learned: the forward passes of training and
 * of inference replace each other. Other phases have no replacement: the result is f.
 */
phase layerwise_other_forward(phase f);

/**
 * Receives the prediction for one case in each phase, in seconds: 0 if it does nothing in that
 * phase, NAN if there is no prediction. An error ends the walk.
 */
typedef lm_status layerwise_see(void *context, const layerwise_case *c,
                                const double seconds[N_PHASES], lm_error *err);

#define LAYERWISE_OTHERS 8 /**< limit for types of layers; the last entry stands for several */

/**
 * Layers with the default model's prices instead, by type; the type with the most seconds first.
 */
typedef struct layerwise_others {
    struct {
        const char *type;
        size_t      layers;
        double      seconds;
    } of[LAYERWISE_OTHERS];
    size_t   n;
    lm_error why; /**< LM_OK; else the error of the first layer without a price */
} layerwise_others;

/** The error for a layer that has neither a prediction nor a price: LM_E_NOTFOUND. */
lm_status layerwise_refuse(const layerwise_others *o, const char *model, lm_error *err);

/** Prediction for a network in each phase. */
typedef struct layerwise_sum {
    /** NAN: the model predicts no layer, or one layer has neither a prediction nor a price */
    double seconds[N_PHASES];
    /**
     * Bounds of the seconds, from the intervals of all layers, as if all layers had the same
     * relative error. Layers with prices count like the worst of the others. NAN: unknown for one
     * layer.
     */
    double low[N_PHASES], high[N_PHASES];
    /** power times time; layers with prices draw the others' mean power. NAN: no power for one layer */
    double joules[N_PHASES];
    /** from the intervals of the power only */
    double joules_low[N_PHASES], joules_high[N_PHASES];
    size_t told[N_PHASES]; /**< number of layers with a prediction */
    /** number of layers for which either this phase or the step is predicted, but not both */
    size_t other[N_PHASES];
    /**
     * number of layers for which only the other forward pass was learned (training instead of
     * inference, or vice versa)
     */
    size_t           stood_in[N_PHASES];
    layerwise_others others;
    double           beyond; /**< largest factor by which a count exceeds its training range */
    bool unseen; /**< the model learned from named devices, and this is not one of them */
} layerwise_sum;

/**
 * Adds up the layers. For a network bound for evaluation only PHASE_INFERENCE, otherwise all other
 * phases. A step is the sum of its layers' passes and updates, if all were learned; else of their
 * steps. A layer that the model does not know gets its price in s->cal.
 *
 * @return errors of layerwise_predict()
 */
lm_status layerwise_sum_of(const layerwise_model *m, const bound_network *net,
                           const layerwise_setup *s, layerwise_sum *out, lm_error *err);

/** The same, and calls `see` for each case in the sum. */
lm_status layerwise_sum_each(const layerwise_model *m, const bound_network *net,
                             const layerwise_setup *s, layerwise_see *see, void *context,
                             layerwise_sum *out, lm_error *err);

#endif
