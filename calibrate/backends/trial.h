/**
 * Messages with known results: values that each rank sends to a collective, and values that it
 * receives. All are whole numbers below 256, exact in every element type and in sums of any order.
 */
#ifndef CALIBRATE_BACKENDS_TRIAL_H
#define CALIBRATE_BACKENDS_TRIAL_H

#include <stdint.h>

#include "fabric/kind.h"

typedef struct trial {
    collective_kind kind;
    int             rank, size;
    int64_t         n; /**< number of elements, from trial_elements() */
} trial;

/** Number of elements of a message: n, or a few more, so that all ranks have equal parts. */
int64_t trial_elements(collective_kind kind, int size, int64_t n);
/** Number of messages in memory: 2 if sent and received data cannot share memory, else 1. */
int trial_messages(collective_kind kind);
/** Number of elements that a rank receives. */
int64_t trial_n_got(const trial *t);

/** An element and its position, advanced step by step, because there are many. */
typedef struct trial_at {
    int64_t i, within, length; /**< within: index in its part; length: of the part */
    int     part, turn;        /**< i modulo size */
} trial_at;

/** Position of element i of the sent data. */
trial_at trial_seek(const trial *t, int64_t i);
/** Position of element i of the received data; reduce-scatters: of this rank's part. */
trial_at trial_seek_got(const trial *t, int64_t i);
void     trial_next(const trial *t, trial_at *at);

/** Value that this rank sends there; 0: none. */
double trial_gives(const trial *t, const trial_at *at);
/** Value that it receives there. */
double trial_gets(const trial *t, const trial_at *at);

#endif
