/**
 * Terms of networks known by counts alone: M, multiply-accumulates, and A, outputs of convolutions
 * and linear layers, both per sample; W, trained elements; b, the batch. The terms are
 *
 *   b M h_i(M)   b A h_i(M)   b M h_i(M / W)   b A h_i(M / W)   W   1
 *
 * where the h_i are hats: piecewise linear in log x, 1 at knot i, 0 at the other knots, flat outside.
 * They sum to 1. The form is the usual one in M, A and 1, but its prices drift with the size of the
 * network and with the uses of a weight. The uses tell early convolutions from late ones and from
 * products. The form stays linear in its coefficients. (Hats: linear B-splines, de
 * Boor 1978; coefficients that vary: Hastie & Tibshirani 1993.)
 */
#ifndef COUNTS_COUNTED_H
#define COUNTS_COUNTED_H

#include "counts/features.h"

/** Places of the hats, ascending: chosen by fits, kept in machine files. 0: none. */
typedef struct count_knots {
    double macs[TERM_KNOTS];  /**< M */
    double reuse[TERM_KNOTS]; /**< M / W */
} count_knots;

extern const count_knots count_knots_none;

/** Is the network known by counts alone, with macs, outputs and params among them? */
bool counted_only(const workload *load);

/** Knots at the 2, 26, 50, 74 and 98 % quantiles of these networks, to four digits; none without
 * networks. All must be counted_only(). LM_E_NOMEM. */
lm_status counted_knots(const workload *const *load, size_t n, count_knots *out, lm_error *err);

/**
 * Terms of a network, in `room` (N_TERMS). None without knots.
 *
 * @param update terms of an update alone: weights and 1
 */
term_vector counted_terms(const workload *load, const count_knots *k, bool update, term_item *room);

#endif
