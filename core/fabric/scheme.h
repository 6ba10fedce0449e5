/** PALEO's schemes for adding up gradients: bytes over a bandwidth, times a number of rounds. */
#ifndef FABRIC_SCHEME_H
#define FABRIC_SCHEME_H

#include <stdint.h>

#include <layermeter/error.h>

/**
 * How workers add up their gradients: S bytes over a link of bandwidth B, N workers (Qi, Sparks,
 * Talwalkar 2017, "PALEO", ICLR; its code: comm.py). No scheme has a latency.
 */
typedef enum paleo_scheme {
    PALEO_ONE_TO_ALL, /**< 2 (N - 1) S / B: all send to one worker, which sends to all */
    PALEO_TREE,       /**< 2 ceil(log2 N) S / B */
    PALEO_BUTTERFLY,  /**< ceil(log2 N) S / B */
    /** S / B for any N, also 1: one exchange per step, sums are partial */
    PALEO_BUTTERFLY_MIXING,
    N_PALEO_SCHEMES
} paleo_scheme;

lm_status paleo_scheme_parse(const char *text, paleo_scheme *out, lm_error *err);

/** The factor on S / B. */
double paleo_scheme_rounds(paleo_scheme s, int64_t workers);

#endif
