/** Settings and machine of a run, in one line each. A file is continued only by a run with the same
 * lines. */
#ifndef CALIBRATE_FINGERPRINT_H
#define CALIBRATE_FINGERPRINT_H

#include "measure/harness.h"

enum { FINGERPRINT_BYTES = 200 };

/**
 * Fingerprint of the sweep: "points=123:9f3c2b11 repetitions=77aa01c2 backends=onednn,mpi
 * threads=1". It depends on the sweep's meaning, not on its text, the order of its points, or a
 * budget.
 */
void fingerprint_sweep(const sweep *plan, char out[FINGERPRINT_BYTES]);

/**
 * Fingerprint of the machine: "hosts=1 cores=2 cpu=52aa8e01 devices=0", the processors and devices
 * of all ranks. It has the number of hosts, not their names, because schedulers and containers
 * change names. Empty for simulated ranks.
 */
void fingerprint_machine(const bench *b, char out[FINGERPRINT_BYTES]);

/**
 * Compares the head of an observation file (its text) with this run: points, machine, method, and
 * the start of exposed all-reduces. A head without fingerprints is not compared for the first two.
 *
 * @return LM_E_ARG with one line that names the difference
 */
lm_status fingerprint_check(const char *path, const char *head, const bench *b, lm_error *err);

#endif
