/** Prices with residuals: one residual a class, in a text file beside the machine file, which names
 * the file with its hash. */
#ifndef SINGLE_LEARNED_H
#define SINGLE_LEARNED_H

#include "single/residual.h"
#include "single/residual_file.h"

/** Does the model have a residual? */
bool learned_any(const layer_model *m);

/**
 * Learns residuals to a model that was fitted to these times.
 *
 * @param judged figures of each class (N_LAYER_CLASSES), also without a gain
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
 * Learns one residual of each class for several machines, from log(measured / priced) of all their
 * times by each machine's own prices, with the devices' figures as features. Machines with prices
 * of the class take part; all machines get the residual.
 *
 * @param judged as learned_fit() has it, of all machines together
 */
lm_status learned_fit_pool(const learned_source *from, size_t n, residual_trees *judged,
                           lm_error *err);

/** Reads the residual from its file, when the machine file is read. Prices need none: only who asks
 * for the residual is told of a failure, by learned_check(). */
void learned_load(layer_model *m);
/** LM_E_IO, LM_E_SYNTAX ... of the residual's file, LM_E_ARG if its hash is another; LM_E_NOMEM. */
lm_status learned_check(const layer_model *m, lm_error *err);

/**
 * Seconds of a layer with its residual; layer_model_seconds() without one.
 *
 * @param seconds NAN: no price
 * @return LM_E_NOTFOUND for a figure of the device that is not known; LM_E_NOMEM
 */
lm_status learned_seconds(layer_asker *a, const layer_shape *s, const layer_run *run,
                          double *seconds, lm_error *err);

/** Factor of the residual on the layer's price; 1 without a price, or outside of what was
 * learned. */
lm_status learned_ratio(layer_asker *a, const layer_shape *s, const layer_run *run, double *out,
                        lm_error *err);

#endif
