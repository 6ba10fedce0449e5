/** Checks that the ranks fit together: compares programs, sweeps and hardware before anything is
 * measured. */
#ifndef CALIBRATE_AGREEMENT_H
#define CALIBRATE_AGREEMENT_H

#include "run/facts.h"

typedef struct agreement {
    rank_facts *rank;
    int         n_ranks;
    bool virtual;      /**< virtual ranks: their hardware does not matter */
    char mixed[400];   /**< difference of their hardware; "": none */
    char crowded[500]; /**< lack of cores, or wrong cores, in words; "": none */
} agreement;

/** Every rank; all get the same. Free in either case. */
lm_status agreement_open(agreement *a, const world *everyone, const bench *b, lm_error *err);
void      agreement_close(agreement *a);

/** The same status on every rank. A different build, plugin or sweep is always an error. Different
 * hardware is an error unless it is allowed, because times are those of the slowest rank. */
lm_status agreement_check(const agreement *a, bool allow_mixed, lm_error *err);

/** Provenance: hosts with their ranks, cores of each, and differences between them. */
void agreement_describe(const agreement *a,
                        void (*put)(void *context, const char *key, const char *value),
                        void *context);

#endif
