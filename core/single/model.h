/** Fitted classes of single layers and launches: prices, and what they predict. */
#ifndef SINGLE_MODEL_H
#define SINGLE_MODEL_H

#include "base/stats.h"
#include "counts/layer_class.h"
#include "learn/kept.h"
#include "single/layer_device.h"

/** One class, fitted. */
typedef struct layer_prices {
    bool         present;
    columns      columns;
    size_t       rows;   /**< too few if not `present` */
    stats_errors errors; /**< errors on the rows of the fit */
    tiling       how;    /**< tiling of launches */
} layer_prices;

struct residual_memo; /* single/residual_memo.h */
struct residual_set;  /* single/residual.h */

typedef struct layer_model {
    layer_prices of[N_LAYER_CLASSES];
    double       multiprocessors; /**< of the device; 0: unknown at the time of the fit */
    layer_device device;          /**< device figures for its residual; or unknown */
    /* The residual of these prices: learned.h. */
    struct residual_set *learned;      /**< NULL: none, or it could not be read */
    kept_file            learned_file; /**< its file */
    lm_error             unread;       /**< the error of reading it */
} layer_model;

/** Work space of one thread for questions to a constant model: layer_asker_of(). */
typedef struct layer_asker {
    const layer_model    *m;
    rows                  spare; /**< room for the current row */
    struct residual_memo *memo;  /**< of m->learned; NULL: not used yet */
} layer_asker;

/** A time: a layer, its passes, and seconds. */
typedef struct layer_time {
    const layer_shape *shape;
    layer_run          run;
    double             seconds;
} layer_time;

/** Rows of one class, prepared for repeated fits without some of them. */
typedef struct layer_rows {
    const layer_class *class;
    const layer_time *time; /**< of each row */
    size_t            n;
    columns           columns; /**< not fitted yet */
    rows              rows;    /**< empty for launches before the first fit */
    layer_rates       rates;
    tiling            how; /**< tiling of launches */
} layer_rows;

/** Class by which the model prices the layer; N_LAYER_CLASSES: none. */
size_t layer_model_class(const layer_model *m, const layer_shape *s);

/** Times of one class, malloc'ed; NULL: out of memory. */
layer_time *layer_times_of(size_t class, const layer_time *time, size_t n, size_t *found);

/** Makes rows. All times must belong to the class and outlive the rows. */
lm_status layer_rows_new(const layer_class *class, const layer_time *time, size_t n,
                         layer_rows *out, lm_error *err);
void      layer_rows_free(layer_rows *r);

/**
 * Fits prices of the columns to the rows with in[] true (NULL: all). LM_E_ARG for too few.
 *
 * Columns of launches are those that occur in the rows. Of several tilings the first one is used,
 * unless another is better by 0.1 points of MAPE in a cross-validation by thirds on at most 1,200
 * rows.
 *
 * @param count number of these rows; also set on LM_E_ARG
 */
lm_status layer_rows_fit(layer_rows *r, const bool *in, size_t *count, lm_error *err);

/** Fits all classes that have enough rows; the others stay absent. */
lm_status layer_model_fit(const layer_time *time, size_t n, layer_model *out, lm_error *err);
void      layer_model_free(layer_model *m);

/** `m` must outlive the asker and stay unchanged. */
layer_asker layer_asker_of(const layer_model *m);
void        layer_asker_free(layer_asker *a);
/** Is at least one class fitted? */
bool layer_model_any(const layer_model *m);
/** Number of times of all classes, also of those with too few for a fit. */
size_t layer_model_rows(const layer_model *m);

/** Do backward passes have prices? Perhaps none were measured. */
bool layer_prices_train(const layer_prices *p);

/** Appends a row of one layer; false where layer_model_seconds() is NAN. */
bool layer_model_row(const layer_model *m, const layer_shape *s, const layer_run *run, rows *out);

/** Seconds of a layer; NAN: no price for its class, its backward pass or its optimizer. */
double layer_model_seconds(layer_asker *a, const layer_shape *s, const layer_run *run);

/**
 * Splits these seconds: prices times counts, for the cheapest alternative of each part, are added
 * to seconds[group()] of their columns.
 *
 * @return LM_E_NOTFOUND if layer_model_seconds() is NAN, LM_E_NOMEM
 */
lm_status layer_model_split(layer_asker *a, const layer_shape *s, const layer_run *run,
                            size_t (*group)(const column *), double *seconds, lm_error *err);

/**
 * layer_model_split() without overlap: busy seconds, which may add up to more than the layer's
 * time.
 */
lm_status layer_model_busy(layer_asker *a, const layer_shape *s, const layer_run *run,
                           size_t (*group)(const column *), double *seconds, lm_error *err);

#endif
