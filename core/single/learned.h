/**
 * Prices with residuals: one residual per class, in a text file beside the machine file, which has
 * the file's name and hash.
 */
#ifndef SINGLE_LEARNED_H
#define SINGLE_LEARNED_H

#include "single/residual.h"
#include "single/residual_file.h"

/** Does the model have a residual? */
bool learned_any(const layer_model *m);

/**
 * Learns residuals for a model that was fitted to these times.
 *
 * @param judged errors per class (N_LAYER_CLASSES), also without a gain
 * @return errors of residual_learn()
 */
lm_status learned_fit(const layer_time *time, size_t n, layer_model *m, residual_trees *judged,
                      lm_error *err);

/** One machine of several. */
typedef struct learned_source {
    const layer_time *time;
    size_t            n;
    layer_model      *m; /**< fitted to these times; its device must be known */
} learned_source;

/**
 * Learns one residual per class for several machines, from log(measured / priced) of all their
 * times with each machine's own prices. The devices' figures are features. Only machines with
 * prices for the class take part; all machines get the residual.
 *
 * @param judged as for learned_fit(), over all machines
 */
lm_status learned_fit_pool(const learned_source *from, size_t n, residual_trees *judged,
                           lm_error *err);

/**
 * Reads the residual's file while the machine file is read. Prices do not need it: an error is
 * reported only by learned_check(), to users of the residual.
 */
void learned_load(layer_model *m);
/**
 * Errors of the residual's file: LM_E_IO, LM_E_SYNTAX ..., LM_E_ARG for another hash; LM_E_NOMEM.
 */
lm_status learned_check(const layer_model *m, lm_error *err);

/**
 * Seconds of a layer with its residual; without one layer_model_seconds().
 *
 * @param seconds NAN: no price
 * @return LM_E_NOTFOUND for an unknown figure of the device; LM_E_NOMEM
 */
lm_status learned_seconds(layer_asker *a, const layer_shape *s, const layer_run *run,
                          double *seconds, lm_error *err);

/**
 * Factor of the residual on the layer's price; 1 without a price, or outside the training range.
 */
lm_status learned_ratio(layer_asker *a, const layer_shape *s, const layer_run *run, double *out,
                        lm_error *err);

#endif
