/** Epochs of a metric while it comes in, in constant memory. */
#ifndef EPOCHS_FOLLOW_H
#define EPOCHS_FOLLOW_H

#include "epochs/epochs.h"
#include "trace/trace.h"

/** Bins in the window. */
#define WINDOW_BINS 32768
/** Samples that give the first interval. */
#define WINDOW_FIRST 32

/**
 * The recent past in bins of equal length, at first the median interval of the first samples. A
 * full window drops its older half if the newer half holds enough known periods; else pairs of bins
 * are merged. Zero-initialise.
 */
typedef struct epochs_window {
    trace_grid grid; /**< owned */
    double     sum;  /**< of the open bin */
    size_t     in_bin, n_first;
    double     first_time[WINDOW_FIRST];
    float      first_value[WINDOW_FIRST];
} epochs_window;

/** A sample; times never fall. `period`: the known period in s, or NAN. LM_E_NOMEM */
lm_status epochs_window_add(epochs_window *w, double time, float value, double period,
                            lm_error *err);
void      epochs_window_free(epochs_window *w);

typedef struct epochs_follower epochs_follower;

/** Takes an epoch that is over, or the time before the first; `all`: the run as known by now. */
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

/** The last search, at the end. LM_E_NOTFOUND with the reason if there never was an epoch. */
lm_status epochs_follower_end(epochs_follower *f, lm_error *err);

/** s between samples; NAN at first. */
double epochs_follower_interval(const epochs_follower *f);
/** s, present length of epochs; NAN: unknown. */
double epochs_follower_period(const epochs_follower *f);

#endif
