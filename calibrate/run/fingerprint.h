/** Settings and machine of a run, in one line each. A file is continued only by a run with the same
 * lines. */
#ifndef CALIBRATE_FINGERPRINT_H
#define CALIBRATE_FINGERPRINT_H

#include "measure/harness.h"

enum { FINGERPRINT_BYTES = 200 };

/**
 * "points=123:9f3c2b11 repetitions=77aa01c2 backends=onednn,mpi threads=1": the sweep's meaning,
 * not its text; the order of its points is no part of it, and neither is a budget.
 */
void fingerprint_sweep(const sweep *plan, char out[FINGERPRINT_BYTES]);

/**
 * "hosts=1 cores=2 cpu=52aa8e01 devices=0": processors and devices of all ranks. How many hosts,
 * not which: schedulers and containers give their like another name every day. Empty for ranks that
 * are numbers only.
 */
void fingerprint_machine(const bench *b, char out[FINGERPRINT_BYTES]);

/**
 * Compares the head of an observation file (its text) with this run: what was measured, on what,
 * how, and where exposed all-reduces begin. A head without fingerprints says nothing of the first
 * two.
 *
 * @return LM_E_ARG with one line that says what differs
 */
lm_status fingerprint_check(const char *path, const char *head, const bench *b, lm_error *err);

#endif
