/**
 * Messages whose result is known: what each rank gives to a collective, and what it gets. All are
 * whole numbers below 256, which every element type holds, in sums of any order too.
 */
#ifndef CALIBRATE_BACKENDS_TRIAL_H
#define CALIBRATE_BACKENDS_TRIAL_H

#include <stdint.h>

#include "fabric/kind.h"

typedef struct trial {
    collective_kind kind;
    int             rank, size;
    int64_t         n; /**< elements of the message, by trial_elements() */
} trial;

/** The elements of a message of n or a few more, so that all ranks' parts are alike. */
int64_t trial_elements(collective_kind kind, int size, int64_t n);
/** Messages of a rank: 2, one to give and one to get, where they cannot be the same memory. */
int trial_messages(collective_kind kind);
/** How many elements a rank gets. */
int64_t trial_n_got(const trial *t);

/** An element, and where it lies; kept from one to the next, since there are many. */
typedef struct trial_at {
    int64_t i, within, length; /**< within its part, which is so long */
    int     part, turn;        /**< i modulo size */
} trial_at;

/** Element i of what is given. */
trial_at trial_seek(const trial *t, int64_t i);
/** Element i of what is got: of reduce-scatters those of this rank's part. */
trial_at trial_seek_got(const trial *t, int64_t i);
void     trial_next(const trial *t, trial_at *at);

/** What this rank gives there; 0: nothing. */
double trial_gives(const trial *t, const trial_at *at);
/** What it gets. */
double trial_gets(const trial *t, const trial_at *at);

#endif
