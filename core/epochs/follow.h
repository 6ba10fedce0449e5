/** Epochs of a metric as it comes, in constant memory. */
#ifndef EPOCHS_FOLLOW_H
#define EPOCHS_FOLLOW_H

#include "epochs/epochs.h"

typedef struct epochs_follower epochs_follower;

/** An epoch that is over, or what was before the first; `all`: what is known of the run by now. */
typedef lm_status (*epochs_taker)(void *context, const epoch *e, const epochs *all, lm_error *err);

/** LM_E_NOMEM. */
lm_status epochs_follower_new(epochs_method m, epochs_taker take, void *context,
                              epochs_follower **out, lm_error *err);
/** NULL is fine. */
void epochs_follower_free(epochs_follower *f);

/**
 * A sample, at a time that never falls. Looks at what is there (window.h) after each epoch, or a
 * sixteenth of it; epochs that are over go to the taker in order, each once.
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
