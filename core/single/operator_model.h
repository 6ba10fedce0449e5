/** Prices of the operators of one machine, from times of single launches. */
#ifndef SINGLE_OPERATOR_MODEL_H
#define SINGLE_OPERATOR_MODEL_H

#include "learn/kept.h"
#include "single/operators.h"
#include "solve/solve.h"

/** One launch that was timed. */
typedef struct timed_kernel {
    lm_kernel   kernel;
    const char *tag;     /**< what its library calls it; "": not known */
    double      seconds; /**< > 0 */
} timed_kernel;

/** One class of operators, fitted. */
typedef struct operator_prices {
    columns columns; /**< n = 0: not fitted */
    tiling  how;
    double  power;
    size_t  rows; /**< that it was fitted to */
    double  mape; /**< of these */
} operator_prices;

struct operator_residuals; /* single/operator_residual.h */

/** Zero-initialise. */
typedef struct operator_model {
    operator_prices of[N_OPERATOR_CLASSES];
    /* What prices leave over, see operator_residual.h. */
    struct operator_residuals *learned;      /**< NULL: none, or not read yet */
    kept_file                  learned_file; /**< where it is */
} operator_model;

#define OPERATOR_LEAST_ROWS 20 /* of a class, below which it is not fitted */

/**
 * Fits each class by itself to its rows: relative, robust (Huber 0.1), columns with families held
 * to them by a ridge of 0.01, which a hundred rows of a member outweigh. Of several tilings the
 * first, unless another is better by 0.1 points of MAPE in a cross-validation by thirds of at most
 * 1,200 rows.
 *
 * @param in              which rows take part; NULL: all
 * @param multiprocessors of the device; 0: not known
 * @return LM_E_ARG if no class has OPERATOR_LEAST_ROWS; LM_E_NOMEM. `out` is to be freed in any
 * case
 */
lm_status operator_model_fit(const timed_kernel *rows, const bool *in, size_t n,
                             double multiprocessors, operator_model *out, lm_error *err);
void      operator_model_free(operator_model *m);

/** One class by itself: rows of others are passed over. LM_E_ARG for fewer than
 * OPERATOR_LEAST_ROWS. */
lm_status operator_prices_fit(const timed_kernel *rows, const bool *in, size_t n,
                              double multiprocessors, operator_class class, operator_prices *out,
                              lm_error *err);

/** What one launch costs. */
typedef struct launch_cost {
    double floor; /**< host, seconds */
    double start; /**< device, of any launch */
    double work;  /**< device, beyond that; NAN: of a class without prices */
} launch_cost;

/** Of a kernel of the class that was priced: its counts, as operator_items() has them; its cost;
 * its seconds. */
size_t      operator_prices_items(const operator_prices *p, const lm_kernel *k, const char *tag,
                                  row_item out[OPERATOR_ITEMS_MAX]);
launch_cost operator_prices_cost(const operator_prices *p, const lm_kernel *k, const char *tag);
double      operator_prices_seconds(const operator_prices *p, const lm_kernel *k, const char *tag);

launch_cost operator_model_cost(const operator_model *m, const lm_kernel *k, const char *tag);

/** Seconds of one launch by itself; NAN for a class without prices. */
double operator_model_seconds(const operator_model *m, const lm_kernel *k, const char *tag);

/**
 * Launches one after the other, none waited for: the device's starts and the host's floors hide
 * behind the work of those before, unless the host is the slower of the two. With W the work of all
 * and H their floors, seconds = (W^4 + H^4)^(1/4). Zero-initialise, add, ask.
 */
typedef struct stream_cost {
    double floors, work; /**< NAN: of one launch it is not known */
} stream_cost;

/** `repeat` launches of one cost. */
void   stream_add(stream_cost *s, uint32_t repeat, const launch_cost *cost);
double stream_seconds(const stream_cost *s);

#endif
