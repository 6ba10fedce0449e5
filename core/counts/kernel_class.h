/**
 * Kernel classes: everything that the house counts of one kind of kernel.
 *
 * A descriptor gives regressors of network terms (terms.h), of single layers that are priced by
 * their kernels (work.h), and of single launches (layer_class.h), with the features of what prices
 * of launches leave over. Work itself, FLOPs and bytes, is lm_kernel_work().
 */
#ifndef COUNTS_KERNEL_CLASS_H
#define COUNTS_KERNEL_CLASS_H

#include "counts/terms.h"
#include "counts/tiles.h"
#include "counts/work.h"
#include "learn/residual_space.h"
#include "solve/rows.h"

/* ---- network terms ---- */

/** A kernel whose terms are added up. */
typedef struct term_sum {
    const lm_kernel     *k;
    const term_settings *settings;
    int64_t              samples; /**< the batch, 1 or more */
    bool                 after;   /**< it follows a product element by element */
    bool                 cached;  /**< a cache may still hold what it reads */
    double               flops, bytes;
    double              *sum; /**< of all N_TERMS */
} term_sum;

/** Adds `repeat` times a value to a slot. */
void term_put(const term_sum *t, int slot, double value);
/** Terms of what moves data, more or less. */
size_t loop_terms(const term_sum *t);

/* ---- single launches ---- */

/** A row of one launch. */
typedef struct launch_row {
    const columns *c;
    columns       *make; /**< where missing columns are made; NULL: their family's stand for them */
    rows          *r;
    const tiling  *how;
    const char    *tag; /**< what its library calls the operator; "": not known */
} launch_row;

/** Adds a count to the column `name.member`, or to its family `name` where `member` is "". */
void launch_put(launch_row *l, const char *name, const char *member, const char *unit, resource r,
                double value);

/** A product of matrices: `batch` times (m,k) x (k,n). */
typedef struct launch_product {
    double batch, m, n, k;
} launch_product;

#define FEATURES_MOST 96 /* of one class, without what columns add */

/** Features in their order. */
typedef struct feature_list {
    named_feature of[FEATURES_MOST];
    double        value[FEATURES_MOST];
    size_t        n;
} feature_list;

void feature_put(feature_list *l, const char *name, feature_kind kind, double value);
/** The logarithm of a count. */
void feature_put_count(feature_list *l, const char *name, double value);
/** How far x is below the next multiple of t. */
double feature_rest(double x, double t);

/* ---- descriptors ---- */

typedef struct kernel_class {
    const char *name;        /**< as kernel_op_name() */
    bool        product;     /**< a convolution or product: what follows it may be fused to it */
    bool        follows;     /**< it can be fused to what is before it */
    bool        elementwise; /**< it works through elements one by one */
    bool        tagged;      /**< its launches are told apart by what a library calls them */
    /** Elements written, of products those of the forward output; NULL: nobody follows them. */
    double (*elements)(const lm_kernel *k);
    /** Adds its terms; returns the slot that names its class. */
    size_t (*terms)(const term_sum *t);
    work_kind work; /**< N_WORK_KINDS: layers with such a kernel have no price by kernels */
    work_kind (*work_of)(const lm_kernel *k); /**< in place of `work`, where it depends */
    /** Rows that it takes statistics of, and their length; NULL: none. */
    void (*statistics)(const lm_kernel *k, int64_t *rows, int64_t *group);
    size_t launch; /**< class of one launch (layer_class.h); 0: it has no price */
    size_t (*launch_of)(const lm_kernel *k); /**< in place of `launch`, where it depends */
    /** Counts of one launch, but its floor and its start. */
    void (*launch_counts)(launch_row *l, const lm_kernel *k);
    /** Features beside those that all kernels have. */
    void (*features)(feature_list *l, const lm_kernel *k, double multiprocessors);
    /** The kernel's product; of a convolution the implicit product; NULL: none. */
    launch_product (*multiplies)(const lm_kernel *k);
    /** A number for its shape, whatever the batch, begun with `h`; NULL: by the bytes it reads. */
    uint64_t (*shape)(const lm_kernel *k, uint64_t h);
} kernel_class;

#define KERNEL_DECLARE(op, class) extern const kernel_class class;
KERNEL_TABLE(KERNEL_DECLARE)

/** Of an operation that nobody knows the first of the table. */
const kernel_class *kernel_class_of(lm_op op);

/** Mixes a size into a number for a shape. */
uint64_t shape_mix(uint64_t h, int64_t value);
/** Kernels of one number have one shape, whatever the batch: learning judges them together. */
uint64_t launch_shape(const lm_kernel *k);

/** Bytes that a launch moves: of a weight gradient of norms only what is read. */
double launch_traffic(const lm_kernel *k);
/** FLOPs and traffic. */
void launch_put_work(launch_row *l, const lm_kernel *k);
/** Traffic, rows and long rows of what takes statistics of rows; features of these. */
void launch_put_rows(launch_row *l, const lm_kernel *k);
void feature_put_rows(feature_list *l, const lm_kernel *k, double multiprocessors);

/** Class of a launch; N_LAYER_CLASSES: it has no price. */
size_t launch_class_of(const lm_kernel *k);

/** Counts of one launch: its floor first, its start last. */
void launch_add(launch_row *l, const lm_kernel *k);

/**
 * Features of a launch: element type and pass (flags), sizes, FLOPs, bytes and their ratio
 * (counts), what tiles and waves over the multiprocessors leave idle, how far sizes are from the
 * multiples that vectors and tiles want (free).
 *
 * @param multiprocessors 0: not known, 1 is taken
 * @param seconds         the launch's price, a count as well
 */
void launch_features(const lm_kernel *k, double multiprocessors, double seconds, feature_list *out);
/** The same of any kernel of a class: for their names. */
void launch_feature_names(size_t class, feature_list *out);

#endif
