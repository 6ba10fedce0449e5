/** Prices of a machine file under the factors of a fit to steps under layouts. */
#ifndef PREDICT_LAID_PRICES_H
#define PREDICT_LAID_PRICES_H

#include "fit/calibration.h"

/** Target of a factor: a laid_kernel, or one of these. */
typedef enum laid_factor {
    /** messages within a node: the part independent of the bytes */
    LAID_WITHIN_STEPS = N_LAID_KERNELS,
    LAID_WITHIN_BYTES,  /**< messages within a node: the part proportional to the bytes */
    LAID_BETWEEN_STEPS, /**< messages between nodes: the part independent of the bytes */
    /**
     * messages between nodes: the part proportional to the bytes, if the machine file has these
     * prices
     */
    LAID_BETWEEN_BYTES,
    LAID_STARTS, /**< constant time of each kernel, added to its price, in units of LAID_START */
    LAID_HOST,   /**< starts of kernels by the host, in units of LAID_LAUNCH */
    N_LAID_FACTORS
} laid_factor;

/** "products", "bytes of messages within a node" ... */
const char *laid_factor_name(int k);

#define LAID_LAUNCH 1e-5 /**< s */
#define LAID_START  1e-6 /**< s */

/** The prices before the fit; laid_prices_free() frees. */
typedef struct laid_prices {
    calibration      *cal;
    size_t            rows;         /**< of the fit */
    bool              kernels;      /**< only prices of kernels are corrected */
    laid_factors      before, base; /**< factors of earlier fits; base: without any, all 1 */
    collective_model *collectives;
} laid_prices;

/**
 * Keeps the present prices of `cal`, which laid_prices_put() changes.
 *
 * @param tokens are all networks of the fit networks of tokens? Its factors on kernels are for these alone
 *               then, unless earlier factors are for all
 * @return LM_E_NOMEM
 */
lm_status laid_prices_keep(calibration *cal, size_t rows, bool kernels, bool tokens,
                           laid_prices *out, lm_error *err);
/** Sets the prices of the machine file: those that were kept, times N_LAID_FACTORS factors. */
void laid_prices_put(const laid_prices *p, const double *factor);
/** Sets the prices that were kept, except for the host's. */
void laid_prices_restore(const laid_prices *p);
void laid_prices_free(laid_prices *p);

#endif
