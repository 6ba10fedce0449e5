/** Models of single layers with what their prices leave over: a residual for each class, in a text
 * file beside the machine file, which names it with its hash. */
#ifndef SINGLE_LEARNED_H
#define SINGLE_LEARNED_H

#include "single/residual.h"
#include "single/residual_file.h"

/** Can a residual be asked for? */
bool learned_any(const layer_model *m);

/**
 * Learns residuals to a model that was fitted to these times.
 *
 * @param judged what was found of each class, also where nothing was gained; N_LAYER_CLASSES
 * @return as residual_learn() has it
 */
lm_status learned_fit(const layer_time *time, size_t n, layer_model *m, residual_trees *judged,
                      lm_error *err);

/** One machine of several. */
typedef struct learned_source {
    const layer_time *time;
    size_t            n;
    layer_model      *m; /**< fitted to these times; its device is to be known */
} learned_source;

/**
 * Learns one residual of each class for several machines: log(measured / priced) of all their
 * times, each by its machine's own prices, with figures of the devices among the features. Those
 * machines take part that have prices of the class; all of them get it.
 *
 * @param judged as learned_fit() has it, of all machines together
 */
lm_status learned_fit_pool(const learned_source *from, size_t n, residual_trees *judged,
                           lm_error *err);

/** Reads the residual where it has not been, as learned_seconds() does when it is asked. */
lm_status learned_load(layer_model *m, lm_error *err);

/**
 * Seconds of a layer with its residual, which is read where it has not been; layer_model_seconds()
 * where there is none.
 *
 * @param seconds NAN: no price
 * @return LM_E_IO, LM_E_SYNTAX ... of the file, LM_E_ARG if its hash is another; LM_E_NOMEM
 */
lm_status learned_seconds(layer_model *m, const layer_shape *s, const layer_run *run,
                          double *seconds, lm_error *err);

/** What the residual multiplies the layer's price by; 1 where it says nothing, or there is no
 * price. */
lm_status learned_ratio(layer_model *m, const layer_shape *s, const layer_run *run, double *out,
                        lm_error *err);

#endif
