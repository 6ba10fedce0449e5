/** Epochs of a metric while it comes in, in constant memory. */
#ifndef EPOCHS_FOLLOW_H
#define EPOCHS_FOLLOW_H

#include "epochs/epochs.h"
#include "trace/trace.h"

/** Bins that are kept. */
#define WINDOW_BINS 32768
/** Samples of which the first interval is taken. */
#define WINDOW_FIRST 32

/**
 * The recent past in bins of equal length, at first the median interval of the first samples. A
 * full window drops its older half if the newer half holds enough known periods; else pairs of bins
 * are merged. Zero-initialise.
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

typedef struct epochs_follower epochs_follower;

/** An epoch that is over, or what was before the first; `all`: what is known of the run by now. */
typedef lm_status (*epochs_taker)(void *context, const epoch *e, const epochs *all, lm_error *err);

/** LM_E_NOMEM. */
lm_status epochs_follower_new(epochs_method m, epochs_taker take, void *context,
                              epochs_follower **out, lm_error *err);
/** NULL is fine. */
void epochs_follower_free(epochs_follower *f);

/**
 * A sample, at a time that never falls. The window is searched after each epoch, or after a
 * sixteenth of its bins. Each epoch that is over goes to the taker once, in order.
 *
 * @return what the taker returns, LM_E_NOMEM
 */
lm_status epochs_follower_add(epochs_follower *f, double time, float value, lm_error *err);

/** The last look, at the end. LM_E_NOTFOUND, with why, if there never was an epoch. */
lm_status epochs_follower_end(epochs_follower *f, lm_error *err);

/** s between samples; NAN until some are there. */
double epochs_follower_interval(const epochs_follower *f);
/** s, what epochs take by now; NAN: not known. */
double epochs_follower_period(const epochs_follower *f);

#endif
