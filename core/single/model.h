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
    size_t       rows;   /**< too few, where it is not present */
    stats_errors errors; /**< on the rows it was fitted to */
    tiling       how;    /**< of launches */
} layer_prices;

struct residual_set; /* single/residual.h */

typedef struct layer_model {
    layer_prices of[N_LAYER_CLASSES];
    double       multiprocessors; /**< of the device; 0: not known when it was fitted */
    layer_device device;          /**< what its residual knows of that; or nothing */
    /* What prices leave over, see learned.h. */
    struct residual_set *learned;      /**< NULL: none, or not read yet */
    kept_file            learned_file; /**< where it is */
    rows                 spare;        /**< room for the row that is asked for */
} layer_model;

/** One time: a layer, what of it, and how long. */
typedef struct layer_time {
    const layer_shape *shape;
    layer_run          run;
    double             seconds;
} layer_time;

/** Rows of one class, which can be fitted without some of them again and again. */
typedef struct layer_rows {
    const layer_class *class;
    const layer_time *time; /**< of each row */
    size_t            n;
    columns           columns; /**< with prices of no fit */
    rows              rows;    /**< of launches none before the first fit */
    layer_rates       rates;
    tiling            how; /**< of launches */
} layer_rows;

/** Where the model prices the layer; N_LAYER_CLASSES: of no class. */
size_t layer_model_class(const layer_model *m, const layer_shape *s);

/** Those of one class, by its place in layer_classes: malloc'ed; NULL: out of memory. */
layer_time *layer_times_of(size_t class, const layer_time *time, size_t n, size_t *found);

/** All times must be of the class, and stay. */
lm_status layer_rows_new(const layer_class *class, const layer_time *time, size_t n,
                         layer_rows *out, lm_error *err);
void      layer_rows_free(layer_rows *r);

/**
 * Prices of the columns from those rows that are `in` (NULL: all). LM_E_ARG for too few.
 *
 * Columns of launches are those that the rows have. Of several tilings the first is taken, unless
 * another is better by 0.1 points of MAPE in a cross-validation by thirds of at most 1,200 rows.
 *
 * @param count of these rows; also on LM_E_ARG
 */
lm_status layer_rows_fit(layer_rows *r, const bool *in, size_t *count, lm_error *err);

/** Fits all classes that have enough rows; the others stay absent. */
lm_status layer_model_fit(const layer_time *time, size_t n, layer_model *out, lm_error *err);
void      layer_model_free(layer_model *m);
/** Is any class there? */
bool layer_model_any(const layer_model *m);
/** Times of all classes, also of those with too few for a fit. */
size_t layer_model_rows(const layer_model *m);

/** Does it price backward passes, which nobody may have measured? */
bool layer_prices_train(const layer_prices *p);

/** Appends a row of one layer; false where layer_model_seconds() is NAN. */
bool layer_model_row(layer_model *m, const layer_shape *s, const layer_run *run, rows *out);

/** Seconds of a layer, by itself or as a part of a network; NAN: its class has no prices, or its
 * backward pass or its optimizer has none there. */
double layer_model_seconds(layer_model *m, const layer_shape *s, const layer_run *run);

/**
 * The same by what it is made of: prices times counts, of each part's cheapest alternative, added
 * to seconds[group()] of each column.
 *
 * @return LM_E_NOTFOUND where layer_model_seconds() is NAN, LM_E_NOMEM
 */
lm_status layer_model_split(layer_model *m, const layer_shape *s, const layer_run *run,
                            size_t (*group)(const column *), double *seconds, lm_error *err);

/** The same with all of what hides behind other work: how long each is busy, which adds up to more
 * than the layer's seconds. */
lm_status layer_model_busy(layer_model *m, const layer_shape *s, const layer_run *run,
                           size_t (*group)(const column *), double *seconds, lm_error *err);

#endif
