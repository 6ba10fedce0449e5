/** Classes of single layers and single launches: the columns whose sums are their times. */
#ifndef COUNTS_LAYER_CLASS_H
#define COUNTS_LAYER_CLASS_H

#include "counts/shape.h"
#include "counts/tiles.h"
#include "solve/solve.h"

/** The passes of a layer in a measurement or a question. */
typedef struct layer_run {
    bool forward, backward, update;
    bool evaluation; /**< only forward, in evaluation mode: inference */
    bool alone;      /**< a separate call, with its own cost; false: part of a network */
    bool input_gradient;
    /** the update also changes its inputs and the target of its loss */
    bool        trains_inputs;
    const char *optimizer;       /**< any word */
    double      together;        /**< elements that are updated in one go, if more than its own */
    double      multiprocessors; /**< of the device; 0: unknown */
} layer_run;

/** Rates of a device, as initial values of a fit. */
typedef struct layer_rates {
    double flops, bytes; /**< per second */
} layer_rates;

typedef struct column_spec {
    char        name[64];
    const char *unit;
    resource    resource;
    bool        floor;
    size_t      family; /**< number of the column whose price it is held near, 0: none */
} column_spec;

typedef struct layer_class {
    const char   *name; /**< "conv": for its section in machine files */
    solve_options options;
    size_t        fewest;  /**< fewest rows for a fit */
    tilings       tilings; /**< launches: tilings that a fit chooses from */
    bool          launch;  /**< single launches, by kernel_class.h: all members below are NULL */
    bool (*has)(const layer_shape *s);
    /**
     * Describes its j-th column; columns of optimizers are added when they occur. False: past the
     * last.
     */
    bool (*describe)(size_t j, column_spec *out);
    /** Sets which columns start the second stage of a fit with the price of another; NULL: none. */
    void (*relate)(columns *c);
    /** Sets initial prices; NULL: not needed, because no part has alternatives. */
    void (*begin)(columns *c, const layer_rates *rates);
    /** Adds the counts of a call, once per row. */
    void (*add_call)(const columns *c, rows *r, const layer_run *run, const layer_shape *s);
    /** Adds the counts of the layer. */
    void (*add_layer)(const columns *c, rows *r, const layer_run *run, const layer_shape *s);
} layer_class;

extern const layer_class layer_class_conv, layer_class_dense, layer_class_product,
    layer_class_other;

/** Indices in layer_classes and in arrays by class: layers, then launches. */
#define LAUNCH_ENUMERATOR(class, name, tilings, power) class,
enum {
    LAYER_CONV,
    LAYER_DENSE,
    LAYER_PRODUCT,
    LAYER_OTHER,
    LAUNCH_TABLE(LAUNCH_ENUMERATOR) N_LAYER_CLASSES,
    FIRST_LAUNCH = LAYER_OTHER + 1
};
extern const layer_class *const layer_classes[N_LAYER_CLASSES];

/**
 * Products of few rows get a separate class from this number of times; fewer times do not determine
 * its many prices.
 */
#define LAYER_DENSE_ROWS 120

/** Makes the columns of a class. False: out of memory. */
bool layer_class_make(const layer_class *class, columns *c);
/** Is it the name of a column of this class? For names in files. */
bool layer_class_knows(const layer_class *class, const char *name);

/** Name in tables, "single.conv" or "kernels gemm", written to `out`; returns `out`. */
const char *layer_class_part(size_t class, char out[40]);

/** Class of a shape; N_LAYER_CLASSES: none. */
size_t layer_class_of(const layer_shape *s);
/** The class in a fit with `dense` times of products of few rows. */
size_t layer_class_among(const layer_shape *s, size_t dense);

/** FLOP of the forward product, and bytes of its input and output in 32 bits. */
double shape_flops(const layer_shape *s);
double shape_bytes(const layer_shape *s);

/*
 * For the classes: starts the first part of a row, with the update of the run. The columns of its
 * optimizer must exist: layer_update_need().
 */
void layer_update_item(const columns *c, rows *r, const layer_run *run, const layer_shape *s);
/** Makes missing columns for the optimizer of a run. */
void layer_update_need(columns *c, const layer_run *run, const layer_shape *s);
/** Is it the name of an optimizer's column? */
bool optimizer_column(const char *name);
/** The optimizer's column of that name, made if missing. COLUMN_NONE: out of memory. */
size_t columns_need_update(columns *c, const char *name);
/** Elements that the update of a run changes. */
double layer_updated(const layer_run *run, const layer_shape *s);
#define UPDATE      "update." /**< how names of the columns of optimizers begin */
#define UPDATE_FROM ".from"
/** Elements from which on a column holds in place of `usual`, "update.adam"; NAN: of something else. */
double column_updates_from(const column *c, const char *usual);
/**
 * The column of updates of so many elements and more, made if missing: "update.adam.from9437184".
 * COLUMN_NONE: out of memory.
 */
size_t columns_need_update_from(columns *c, const char *of, double elements);
/** Does the update by that optimizer have a price, and with `call` also its calls? */
bool optimizer_priced(const columns *c, const char *optimizer, bool call);

#endif
