/** Networks as a learned model of single layers sees them: cases one by one, and their sum. */
#ifndef MODELS_LAYERWISE_NETWORK_H
#define MODELS_LAYERWISE_NETWORK_H

#include "models/layerwise_model.h"

/** What is the same of all layers. */
typedef struct layerwise_setup {
    const char   *optimizer; /**< of the update: any word */
    const char   *settings;
    const device *on;        /**< NULL: unknown */
    double        clock_mhz; /**< that the device is held at; NAN: at none */
} layerwise_setup;

/**
 * Shows all layers that do something, each once: by itself, or (`chains`) convolutions with padding
 * in front, and they and products with the function behind them that nobody else reads.
 *
 * @param see the case of the forward pass; to be asked for other phases by layerwise_in(). Its
 *            status ends the walk
 */
lm_status layerwise_each(const bound_network *net, bool chains, const layerwise_setup *s,
                         lm_status (*see)(void *context, layerwise_case *c), void *context,
                         lm_error *err);

/** The same case in another phase, with the optimizer only where it has an update. */
layerwise_case layerwise_in(const layerwise_case *c, phase f, const char *optimizer);

/** Told what is said of one case in each phase, in seconds: 0 where it does nothing there, NAN
 * where nothing is said. Its status ends the walk. */
typedef lm_status layerwise_see(void *context, const layerwise_case *c,
                                const double seconds[N_PHASES], lm_error *err);

/** What is said of a network in each phase. */
typedef struct layerwise_sum {
    double seconds[N_PHASES]; /**< NAN: of no layer it is said */
    /** Of the seconds, by the intervals of all layers as if all were off alike; NAN: one is
     * unknown. */
    double low[N_PHASES], high[N_PHASES];
    double joules[N_PHASES]; /**< power times time; NAN: of a layer no power is said */
    double joules_low[N_PHASES], joules_high[N_PHASES]; /**< by the power's intervals alone */
    size_t told[N_PHASES];                              /**< layers */
    size_t untold[N_PHASES]; /**< layers of which nothing is said in this phase: they count 0 */
    size_t other[N_PHASES];  /**< layers of which either this phase is told or the step, not both */
    double beyond; /**< the farthest that a count leaves what was learned from, a factor */
} layerwise_sum;

/**
 * Adds up. A step is its layers' passes and updates, where all were learned, else their steps.
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
