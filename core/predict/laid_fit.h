/**
 * Fits a machine to whole steps under layouts: logs of training runs that have only seconds, a
 * network and a layout (column `layout` of observations).
 *
 * A step is a sum over the work of the rank that ends last: kernels of several kinds, messages
 * within a node and between nodes, starts of kernels. Overlapped work is not in the sum. So the
 * seconds are linear in factors on the prices, as long as the same work is overlapped:
 *
 *   seconds = sum over factors of factor_k x d(seconds)/d(factor_k)
 *
 * The fit alternates: the schedule gives the slopes under the present factors, then the solver
 * (solve/factors.h) gives new factors. A ridge holds the factors near 1, the machine file's own
 * prices, so a few steps change only what they determine. The host's time for a kernel
 * (calibration.host) has no price yet: it starts at the largest value that no step contradicts.
 */
#ifndef PREDICT_LAID_FIT_H
#define PREDICT_LAID_FIT_H

#include "fit/calibration.h"
#include "observe/workloads.h"

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

/** "products", "messages within a node: bytes" ... */
const char *laid_factor_name(laid_factor k);

#define LAID_LAUNCH 1e-5 /**< s */
#define LAID_START  1e-6 /**< s */
#define LAID_LEAST  4    /**< fewest steps for a fit */

typedef struct laid_fit {
    double factor[N_LAID_FACTORS];
    /** groups: networks, or single steps if there are fewer than three networks */
    size_t rows, groups;
    double mape_before, mape_fitted,
        mape; /**< errors without factors, with factors, and in cross-validation over groups */
    int rounds;
} laid_fit;

/** The element type of products in such rows; 0: no such row. */
lm_dtype laid_fit_dtype(const observations *obs);

/** Number of rows that are steps under a layout. */
size_t laid_fit_rows(const observations *obs);

/**
 * Corrects the prices of the default model and of collectives, from all rows under a layout.
 *
 * @param cal  a machine file with passes and collectives; changed on success only
 * @param link the user's description of the link between nodes; zeros: none
 * @return LM_E_ARG for fewer than LAID_LEAST rows, for a file with other rows, or for a layout that
 *         does not fit its row (the text has file, line and the two numbers); errors of
 *         predict_laid_out()
 */
lm_status laid_fit_steps(const observations *obs, workloads *loads, const interconnect *link,
                         calibration *cal, laid_fit *out, lm_error *err);

#endif
