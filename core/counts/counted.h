/**
 * Terms of networks of which only counts are known: M, multiply-accumulates, and A, outputs of
 * convolutions and linear layers, both per sample; W, trained elements; b, the batch. The terms are
 *
 *   b M h_i(M)   b A h_i(M)   b M h_i(M / W)   b A h_i(M / W)   W   1
 *
 * The h_i are hats: piecewise linear in log x, 1 at knot i, 0 at the other knots, constant outside.
 * They sum to 1. A usual formula has the terms M, A and 1. Here its prices vary with the size of
 * the network (M) and with the number of uses of a weight (M / W), which separates early
 * convolutions from late ones and from products. The form stays linear in its coefficients. (Hats:
 * linear B-splines, de Boor 1978; coefficients that vary: Hastie & Tibshirani 1993.)
 */
#ifndef COUNTS_COUNTED_H
#define COUNTS_COUNTED_H

#include "counts/features.h"

/** Knots of the hats, ascending. A fit chooses them; machine files store them. 0: none. */
typedef struct count_knots {
    double macs[TERM_KNOTS];  /**< M */
    double reuse[TERM_KNOTS]; /**< M / W */
} count_knots;

extern const count_knots count_knots_none;

/** Are only counts of the network known, with macs, outputs and params among them? */
bool counted_only(const workload *load);

/**
 * Sets the knots to the 2, 26, 50, 74 and 98 % quantiles of these networks, to four digits; none
 * without networks. counted_only() must hold for all. LM_E_NOMEM.
 */
lm_status counted_knots(const workload *const *load, size_t n, count_knots *out, lm_error *err);

/**
 * Terms of a network, in `room` (N_TERMS). Empty without knots.
 *
 * @param update only the terms of an update: weights and 1
 */
term_vector counted_terms(const workload *load, const count_knots *k, bool update, term_item *room);

#endif
