/**
 * A machine from whole steps under layouts: logs of training runs, of which nothing but seconds, a
 * network and a layout are known (column `layout` of observations).
 *
 * A step is a sum over what the rank that ends last does: kernels of some kinds, messages within a
 * node and between nodes, starting kernels. What hides behind something else is not in it. So the
 * seconds are linear in factors on the prices of these, as long as the same things hide:
 *
 *   seconds = sum over factors of factor_k x d(seconds)/d(factor_k)
 *
 * Rounds take turns: the schedule says what hides under the present factors, by its slopes, and the
 * solver of factors (solve/factors.h) says these. A ridge holds them near 1, the
 * machine file's own prices: a few steps tell what they show, the rest stays. The host's time for a
 * kernel (calibration.host) has no price to begin with: it begins as the most that no step contradicts.
 */
#ifndef PREDICT_LAID_FIT_H
#define PREDICT_LAID_FIT_H

#include "fit/calibration.h"
#include "observe/workloads.h"

/** What a factor is on. */
typedef enum laid_factor {
    LAID_PRODUCTS,      /**< products of activations and weights */
    LAID_ATTENTION,     /**< fused attention */
    LAID_MOVES,         /**< norms, elementwise functions, copies */
    LAID_UPDATE,        /**< the optimizer */
    LAID_WITHIN_STEPS,  /**< messages within a node: what their bytes do not change ... */
    LAID_WITHIN_BYTES,  /**< ... and the rest */
    LAID_BETWEEN_STEPS, /**< the same of messages between nodes, */
    LAID_BETWEEN_BYTES, /**< where the machine file has prices of these */
    LAID_STARTS,        /**< of each kernel what its size does not change, on top of its price: in
                           units of LAID_START */
    LAID_HOST,          /**< starting kernels: in units of LAID_LAUNCH */
    N_LAID_FACTORS
} laid_factor;

/** "products", "messages within a node: bytes" ... */
const char *laid_factor_name(laid_factor k);

#define LAID_LAUNCH 1e-5 /**< s */
#define LAID_START  1e-6 /**< s */
#define LAID_LEAST  4    /**< steps that a fit takes, at least */

typedef struct laid_fit {
    double factor[N_LAID_FACTORS];
    size_t rows, groups; /**< groups: networks, or steps where there are fewer than three */
    double mape_before, mape_fitted,
        mape; /**< without factors, with them, and of groups left out */
    int rounds;
} laid_fit;

/** The element type of products of such rows; 0: there is none. */
lm_dtype laid_fit_dtype(const observations *obs);

/** Number of rows that are steps under a layout. */
size_t laid_fit_rows(const observations *obs);

/**
 * Corrects the prices of the default model, and of collectives, by all such rows.
 *
 * @param cal  a machine file with passes and collectives; changed on success only
 * @param link what connects nodes, as told; zeros: nothing is told
 * @return LM_E_ARG for fewer than LAID_LEAST rows, for other rows beside them, a layout that does not fit its row (file, line and
 *         the two numbers); what predict_laid_out() returns
 */
lm_status laid_fit_steps(const observations *obs, workloads *loads, const interconnect *link,
                         calibration *cal, laid_fit *out, lm_error *err);

#endif
