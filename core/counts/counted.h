/**
 * Terms of networks of which only counts are known: M, multiply-accumulates, and A, outputs of
 * convolutions and linear layers, both of a sample; W, trained elements; b, the batch. Of each are
 *
 *   b M h_i(M)   b A h_i(M)   b M h_i(M / W)   b A h_i(M / W)   W   1
 *
 * with h_i(x) hats: piecewise linear in log x, 1 at knot i, 0 at the others, flat outside; at any x
 * they sum to 1. So it is the usual linear form in M, A and 1, whose prices drift with the size of
 * the network and with how often a weight is used, which tells convolutions early in a network from
 * late ones and from products. It stays linear in its coefficients. (Hats: linear B-splines, de
 * Boor 1978; coefficients that vary: Hastie & Tibshirani 1993.)
 */
#ifndef COUNTS_COUNTED_H
#define COUNTS_COUNTED_H

#include "counts/features.h"

/** Where the hats stand, ascending: chosen by fits, kept in machine files. NAN: nowhere. */
typedef struct count_knots {
    double macs[TERM_KNOTS];  /**< M */
    double reuse[TERM_KNOTS]; /**< M / W */
} count_knots;

extern const count_knots count_knots_none;

/** Are counts all that is known of it, and enough: macs, outputs and params? */
bool counted_only(const workload *load);

/** At the 2, 26, 50, 74 and 98 % quantiles of networks that are counted_only(), to four digits;
 * none of no networks. LM_E_NOMEM. */
lm_status counted_knots(const workload *const *load, size_t n, count_knots *out, lm_error *err);

/**
 * Its terms, in `room` (N_TERMS). None without knots.
 *
 * @param update of an update alone: its weights and that it is one
 */
term_vector counted_terms(const workload *load, const count_knots *k, bool update, term_item *room);

#endif
