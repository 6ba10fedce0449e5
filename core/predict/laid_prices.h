/** Prices of a machine file under the factors of a fit to steps under layouts. */
#ifndef PREDICT_LAID_PRICES_H
#define PREDICT_LAID_PRICES_H

#include "fit/calibration.h"

/** Target of a factor. */
typedef enum laid_factor {
    LAID_PRODUCTS,      /**< products of activations and weights */
    LAID_ATTENTION,     /**< fused attention */
    LAID_MOVES,         /**< norms, elementwise functions, copies */
    LAID_UPDATE,        /**< the optimizer */
    LAID_WITHIN_STEPS,  /**< messages within a node: the part independent of the bytes */
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
const char *laid_factor_name(laid_factor k);

#define LAID_LAUNCH 1e-5 /**< s */
#define LAID_START  1e-6 /**< s */

#define LAID_FORMS 5 /**< forms of the default model that have such prices */

/** The prices before the fit; laid_prices_free() frees. */
typedef struct laid_prices {
    calibration      *cal;
    size_t            rows;    /**< of the fit */
    bool              kernels; /**< only prices of kernels are corrected */
    double           *base[LAID_FORMS];
    collective_model *collectives;
} laid_prices;

/** Keeps the present prices of `cal`, which laid_prices_put() changes. LM_E_NOMEM. */
lm_status laid_prices_keep(calibration *cal, size_t rows, bool kernels, laid_prices *out,
                           lm_error *err);
/** Sets the prices of the machine file: those that were kept, times N_LAID_FACTORS factors. */
void laid_prices_put(const laid_prices *p, const double *factor);
/** Copies the prices of kernels of one machine file into another that has the same forms. */
void laid_prices_move(const calibration *from, calibration *to);
void laid_prices_free(laid_prices *p);

#endif
