/** Do the ranks fit together? Programs, sweeps and hardware, compared
 * before anything is measured. */
#ifndef CALIBRATE_AGREEMENT_H
#define CALIBRATE_AGREEMENT_H

#include "run/facts.h"

typedef struct agreement {
    rank_facts *rank;
    int         n_ranks;
    bool virtual;      /**< ranks in numbers only: their hardware does not matter */
    char mixed[400];   /**< how their hardware differs; "": it does not */
    char crowded[500]; /**< too few cores, or the wrong ones, in words; "": there is room */
} agreement;

/** Every rank; all get the same. Free in either case. */
lm_status agreement_open(agreement *a, const world *everyone, const bench *b, lm_error *err);
void      agreement_close(agreement *a);

/**
 * The same on every rank. Another build, other plugins or another sweep is an error in any case;
 * other hardware is one unless it is allowed, since the slowest rank would be taken for all.
 */
lm_status agreement_check(const agreement *a, bool allow_mixed, lm_error *err);

/** Provenance: hosts with their ranks, cores of each, and what is not as it should be. */
void agreement_describe(const agreement *a,
                        void (*put)(void *context, const char *key, const char *value),
                        void *context);

#endif
