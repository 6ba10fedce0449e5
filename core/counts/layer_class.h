/** Classes of single layers and single launches: which columns their times are sums of. */
#ifndef COUNTS_LAYER_CLASS_H
#define COUNTS_LAYER_CLASS_H

#include "counts/shape.h"
#include "counts/tiles.h"
#include "solve/solve.h"

/** The part of a layer that was timed, or is asked for. */
typedef struct layer_run {
    bool        forward, backward, update;
    bool        evaluation; /**< forward alone, in evaluation mode: inference */
    bool        alone;      /**< by itself, with what a call costs; else as a part of a network */
    bool        input_gradient;
    bool        trains_inputs;   /**< the update moves its inputs and its loss's target, too */
    const char *optimizer;       /**< any word */
    double      multiprocessors; /**< of the device; 0: unknown */
} layer_run;

/** Rates that a device reaches: a fit begins with them. */
typedef struct layer_rates {
    double flops, bytes; /**< per second */
} layer_rates;

typedef struct column_spec {
    char        name[64];
    const char *unit;
    resource    resource;
    bool        floor;
    size_t      family; /**< number of the column it is held to, 0: none */
} column_spec;

typedef struct layer_class {
    const char   *name; /**< "conv": of its section in machine files */
    solve_options options;
    size_t        fewest;  /**< rows, below which there is no fit */
    tilings       tilings; /**< of launches: what a fit chooses from */
    bool          launch;  /**< of single launches, by kernel_class.h: all below is NULL */
    bool (*has)(const layer_shape *s);
    /** Its j-th column; those of optimizers come as they are met. False: past the last. */
    bool (*describe)(size_t j, column_spec *out);
    /** Which columns begin the second stage of a fit with the price of others; NULL: none. */
    void (*relate)(columns *c);
    /** Prices to begin with; NULL: none are needed, as no part has alternatives. */
    void (*begin)(columns *c, const layer_rates *rates);
    /** Adds the counts of a call, once a row. */
    void (*add_call)(const columns *c, rows *r, const layer_run *run, const layer_shape *s);
    /** Adds the counts of the layer. */
    void (*add_layer)(const columns *c, rows *r, const layer_run *run, const layer_shape *s);
} layer_class;

extern const layer_class layer_class_conv, layer_class_dense, layer_class_product,
    layer_class_other;

/** Their places in layer_classes, and in what is made of them: layers, then launches. */
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

/** Products of few rows have a class of their own from so many times on; fewer times do not
 * determine its many prices. */
#define LAYER_DENSE_ROWS 120

/** Makes the columns of a class. False: memory ran out. */
bool layer_class_make(const layer_class *class, columns *c);
/** Is it a column of this class? Of names in files. */
bool layer_class_knows(const layer_class *class, const char *name);

/** Name in tables, "single.conv" or "kernels gemm", written to `out`; returns `out`. */
const char *layer_class_part(size_t class, char out[40]);

/** N_LAYER_CLASSES: of none. */
size_t layer_class_of(const layer_shape *s);
/** The class in a fit with `dense` times of products of few rows. */
size_t layer_class_among(const layer_shape *s, size_t dense);

/** FLOP of the forward product, and bytes of its input and output in 32 bits. */
double shape_flops(const layer_shape *s);
double shape_bytes(const layer_shape *s);

/* For the classes: begins the first part of a row, with the update of the run in columns of its
 * optimizer, which are there: layer_update_need(). */
void layer_update_item(const columns *c, rows *r, const layer_run *run, const layer_shape *s);
/** Makes the columns of a run's optimizer, where they are missing. */
void layer_update_need(columns *c, const layer_run *run, const layer_shape *s);
/** Is it the name of an optimizer's column? */
bool optimizer_column(const char *name);
/** The optimizer's column of that name, made if missing. COLUMN_NONE: out of memory. */
size_t columns_need_update(columns *c, const char *name);
/** Is the update by that optimizer priced, and (`call`) what a call of it costs? */
bool optimizer_priced(const columns *c, const char *optimizer, bool call);

#endif
