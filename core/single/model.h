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

struct residual_memo; /* single/residual_memo.h */
struct residual_set;  /* single/residual.h */

typedef struct layer_model {
    layer_prices of[N_LAYER_CLASSES];
    double       multiprocessors; /**< of the device; 0: not known when it was fitted */
    layer_device device;          /**< what its residual knows of that; or nothing */
    /* The residual of these prices: learned.h. */
    struct residual_set *learned;      /**< NULL: none, or it could not be read */
    kept_file            learned_file; /**< where it is */
    lm_error             unread;       /**< why it could not be read */
} layer_model;

/** One thread's questions to a model, which stays as it is: layer_asker_of(). */
typedef struct layer_asker {
    const layer_model    *m;
    rows                  spare; /**< room for the row that is asked for */
    struct residual_memo *memo;  /**< of m->learned; NULL: nothing was asked yet */
} layer_asker;

/** One time: a layer, its part, and the seconds. */
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

/** Class by which the model prices the layer; N_LAYER_CLASSES: none. */
size_t layer_model_class(const layer_model *m, const layer_shape *s);

/** Times of one class, malloc'ed; NULL: out of memory. */
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

/** `m` stays open and unchanged as long as the asker. */
layer_asker layer_asker_of(const layer_model *m);
void        layer_asker_free(layer_asker *a);
/** Is any class there? */
bool layer_model_any(const layer_model *m);
/** Number of times of all classes, also of those with too few for a fit. */
size_t layer_model_rows(const layer_model *m);

/** Are backward passes priced? Perhaps none were measured. */
bool layer_prices_train(const layer_prices *p);

/** Appends a row of one layer; false where layer_model_seconds() is NAN. */
bool layer_model_row(const layer_model *m, const layer_shape *s, const layer_run *run, rows *out);

/** Seconds of a layer; NAN: no price of its class, its backward pass or its optimizer. */
double layer_model_seconds(layer_asker *a, const layer_shape *s, const layer_run *run);

/**
 * Splits these seconds: prices times counts, of each part's cheapest alternative, are added to
 * seconds[group()] of their columns.
 *
 * @return LM_E_NOTFOUND where layer_model_seconds() is NAN, LM_E_NOMEM
 */
lm_status layer_model_split(layer_asker *a, const layer_shape *s, const layer_run *run,
                            size_t (*group)(const column *), double *seconds, lm_error *err);

/** The same without hiding: busy seconds, which may add up to more than the layer takes. */
lm_status layer_model_busy(layer_asker *a, const layer_shape *s, const layer_run *run,
                           size_t (*group)(const column *), double *seconds, lm_error *err);

#endif
