/** Networks as a learned model of single layers sees them: cases one by one, and their sum. */
#ifndef LAYERWISE_NETWORK_H
#define LAYERWISE_NETWORK_H

#include "fit/calibration.h"
#include "layerwise/layerwise_model.h"

/** Facts that all layers share. */
typedef struct layerwise_setup {
    const char   *optimizer; /**< of the update: any word */
    const char   *settings;
    const device *on;        /**< NULL: unknown */
    double        clock_mhz; /**< that the device is held at; NAN: at none */
    const calibration
        *cal; /**< prices of layers that the model does not know; NULL: there are none */
} layerwise_setup;

/** Which layers are a case together: none; convolutions, products and attention with what belongs to
 * them; or each layer with the function that alone reads it. */
typedef enum layerwise_joined {
    LAYERWISE_SINGLE,
    LAYERWISE_CHAINS,
    LAYERWISE_FUNCTIONS
} layerwise_joined;

/**
 * Shows all layers that do something, each once: by itself, or (LAYERWISE_CHAINS) convolutions with padding
 * in front, and they and products with the function behind them that nobody else reads. With
 * these, attention comes first as frameworks state it: the products of queries, keys and values,
 * what lies between them and the attention, and the product of its output, as one case.
 *
 * @param see the case of the forward pass; to be asked for other phases by layerwise_in(). Its
 *            status ends the walk. It sets *parted of attention, and of a layer with a function, whose layers are to be shown one by
 *            one instead
 */
lm_status layerwise_each(const bound_network *net, layerwise_joined joined,
                         const layerwise_setup *s,
                         lm_status (*see)(void *context, layerwise_case *c, bool *parted),
                         void *context, lm_error *err);

/** The same case in another phase, with the optimizer only where it has an update. */
layerwise_case layerwise_in(const layerwise_case *c, phase f, const char *updated);

/** A forward pass in training and one in inference stand in for one another where only one was
 * learned; every other phase for itself. */
phase layerwise_other_forward(phase f);

/** Told what is said of one case in each phase, in seconds: 0 where it does nothing there, NAN
 * where nothing is said. Its status ends the walk. */
typedef lm_status layerwise_see(void *context, const layerwise_case *c,
                                const double seconds[N_PHASES], lm_error *err);

#define LAYERWISE_OTHERS 8 /**< types of layers, the last of several */

/** Layers that the default model's prices stand in for, by type; the dearest type first. */
typedef struct layerwise_others {
    struct {
        const char *type;
        size_t      layers;
        double      seconds;
    } of[LAYERWISE_OTHERS];
    size_t   n;
    lm_error why; /**< LM_OK; else of the first layer that has no price either */
} layerwise_others;

/** Says of which layer neither the model nor a price tells anything: LM_E_NOTFOUND. */
lm_status layerwise_refuse(const layerwise_others *o, const char *model, lm_error *err);

/** Answer for a network in each phase. */
typedef struct layerwise_sum {
    double seconds[N_PHASES]; /**< NAN: of no layer it is said by the model, or of one by nobody */
    /** Of the seconds, by the intervals of all layers as if all were off alike; those that prices
     * tell as far as the farthest of the others. NAN: one is unknown. */
    double low[N_PHASES], high[N_PHASES];
    double joules[N_PHASES]; /**< power times time; NAN: of a layer no power is said */
    double joules_low[N_PHASES], joules_high[N_PHASES]; /**< by the power's intervals alone */
    size_t told[N_PHASES];                              /**< layers, by the model */
    size_t other[N_PHASES]; /**< layers of which either this phase is told or the step, not both */
    size_t stood_in[N_PHASES]; /**< layers of which only the other forward pass was learned, in
                                  training for inference or the other way round */
    layerwise_others others;
    double beyond; /**< the farthest that a count leaves what was learned from, a factor */
    bool   unseen; /**< devices were learned from by name, none of which is this one */
} layerwise_sum;

/**
 * Adds up; of a network bound for evaluation PHASE_INFERENCE alone, else all others. A step is its layers' passes and updates, where all were learned, else their steps. A
 * layer that the model does not know takes what s->cal prices it at.
 *
 * @return as layerwise_predict()
 */
lm_status layerwise_sum_of(const layerwise_model *m, const bound_network *net,
                           const layerwise_setup *s, layerwise_sum *out, lm_error *err);

/** The same, and shows each case it adds. */
lm_status layerwise_sum_each(const layerwise_model *m, const bound_network *net,
                             const layerwise_setup *s, layerwise_see *see, void *context,
                             layerwise_sum *out, lm_error *err);

#endif
