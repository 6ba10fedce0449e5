/** A metric as it comes, in constant memory: the recent past at the resolution that fits. */
#ifndef EPOCHS_WINDOW_H
#define EPOCHS_WINDOW_H

#include "trace/grid.h"

/** Bins that are kept. */
#define WINDOW_BINS 32768
/** Samples of which the first interval is taken. */
#define WINDOW_FIRST 32

/**
 * Bins of equal length, first of the median interval of the first samples. When they are full, the
 * older half goes if the newer one still holds enough of the period that is known; else two bins
 * become one. Zero-initialise.
 */
typedef struct epochs_window {
    trace_grid grid; /**< what is there; owned */
    double     sum;  /**< of the bin that is not yet complete */
    size_t     in_bin, n_first;
    double     first_time[WINDOW_FIRST];
    float      first_value[WINDOW_FIRST];
} epochs_window;

/** A sample; times never fall. `period` in s is what is known of it, NAN: nothing. LM_E_NOMEM */
lm_status epochs_window_add(epochs_window *w, double time, float value, double period,
                            lm_error *err);
void      epochs_window_free(epochs_window *w);

#endif
