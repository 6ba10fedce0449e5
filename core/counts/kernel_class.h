/**
 * Kernel classes: all counts for one kind of kernel.
 *
 * A descriptor gives the regressors of network terms (terms.h), of single layers that are priced by
 * their kernels (work.h), and of single launches (layer_class.h). It also gives the features for
 * learning the residual of launches. The work itself, FLOPs and bytes, is lm_kernel_work().
 */
#ifndef COUNTS_KERNEL_CLASS_H
#define COUNTS_KERNEL_CLASS_H

#include "counts/terms.h"
#include "counts/tiles.h"
#include "counts/work.h"
#include "learn/residual_space.h"
#include "solve/rows.h"

/* ---- network terms ---- */

/** A kernel whose terms are added to a sum. */
typedef struct term_sum {
    const lm_kernel     *k;
    const term_settings *settings;
    int64_t              samples;  /**< the batch, 1 or more */
    bool                 cpu;      /**< a CPU runs it */
    bool                 resident; /**< caches hold the weights */
    bool                 after;    /**< it follows a product element by element */
    bool                 cached;   /**< a cache may still hold its input */
    double               flops, bytes;
    double              *sum; /**< all N_TERMS */
} term_sum;

/** Adds `repeat` times `value` to a slot. */
void term_put(const term_sum *t, int slot, double value);
/** Terms of kernels that mostly move data. */
size_t loop_terms(const term_sum *t);

/* ---- single launches ---- */

/** A row of one launch. */
typedef struct launch_row {
    const columns *c;
    /** receives missing columns; NULL: the columns of their family are used instead */
    columns      *make;
    rows         *r;
    const tiling *how;
    const char   *tag;    /**< name of the operator in its library; "": unknown */
    bool          queued; /**< it has a constant time that no other launch overlaps */
} launch_row;

/**
 * Adds a count to the column `name.member`; to the column of the family, `name`, if `member` is "".
 */
void launch_put(launch_row *l, const char *name, const char *member, const char *unit, resource r,
                double value);

/** Column with the constant time of launches that were measured in a queue. */
#define LAUNCH_QUEUED "queued"

/** A product of matrices: `batch` times (m,k) x (k,n). */
typedef struct launch_product {
    double batch, m, n, k;
} launch_product;

#define FEATURES_MOST 96 /* limit for one class, without the features of columns */

/** Features in order. */
typedef struct feature_list {
    named_feature of[FEATURES_MOST];
    double        value[FEATURES_MOST];
    size_t        n;
} feature_list;

void feature_put(feature_list *l, const char *name, feature_kind kind, double value);
/** Adds the logarithm of a count. */
void feature_put_count(feature_list *l, const char *name, double value);
/** Distance from x to the next multiple of t. */
double feature_rest(double x, double t);

/* ---- descriptors ---- */

typedef struct kernel_class {
    const char *name;    /**< as in kernel_op_name() */
    bool        product; /**< a convolution or product: the kernels after it may be fused to it */
    bool        follows; /**< it can be fused to the kernel before it */
    bool        elementwise; /**< it handles elements one by one */
    bool        tagged;      /**< launches are separated by the name of the operator in a library */
    /**
     * Elements written; for products, those of the forward output. NULL: no kernel can be fused to
     * it.
     */
    double (*elements)(const lm_kernel *k);
    /** Adds its terms; returns the slot that names its class. */
    size_t (*terms)(const term_sum *t);
    work_kind work; /**< N_WORK_KINDS: layers with such a kernel have no price by kernels */
    /** replaces `work` if the kind depends on the kernel */
    work_kind (*work_of)(const lm_kernel *k);
    /** Number and length of the rows of its statistics; NULL: none. */
    void (*statistics)(const lm_kernel *k, int64_t *rows, int64_t *group);
    size_t launch; /**< class of one launch (layer_class.h); 0: no price */
    /** replaces `launch` if the class depends on the kernel */
    size_t (*launch_of)(const lm_kernel *k);
    /** Counts of one launch, without floor and start. */
    void (*launch_counts)(launch_row *l, const lm_kernel *k);
    /** Features, in addition to those of all kernels. */
    void (*features)(feature_list *l, const lm_kernel *k, double multiprocessors);
    /** The kernel's product; for a convolution the implicit product; NULL: none. */
    launch_product (*multiplies)(const lm_kernel *k);
    /**
     * A hash of its shape that does not depend on the batch, starting with `h`; NULL: the bytes
     * read are used.
     */
    uint64_t (*shape)(const lm_kernel *k, uint64_t h);
} kernel_class;

#define KERNEL_DECLARE(op, class) extern const kernel_class class;
KERNEL_TABLE(KERNEL_DECLARE)

/** Descriptor of an operation; the first one of the table for an unknown operation. */
const kernel_class *kernel_class_of(lm_op op);

/** Adds a size to a hash of a shape. */
uint64_t shape_mix(uint64_t h, int64_t value);
/**
 * Kernels with equal numbers have the same shape, apart from the batch. Learning judges them
 * together.
 */
uint64_t launch_shape(const lm_kernel *k);

/** Bytes that a launch moves; for a weight gradient of norms only the bytes read. */
double launch_traffic(const lm_kernel *k);
/** Adds FLOPs and traffic. */
void launch_put_work(launch_row *l, const lm_kernel *k);
/** Adds traffic, rows and long rows of kernels with statistics of rows; and their features. */
void launch_put_rows(launch_row *l, const lm_kernel *k);
void feature_put_rows(feature_list *l, const lm_kernel *k, double multiprocessors);

/** Class of a launch; N_LAYER_CLASSES: no price. */
size_t launch_class_of(const lm_kernel *k);

/** Counts of one launch: floor first, start last. */
void launch_add(launch_row *l, const lm_kernel *k);

/**
 * Features of a launch: element type and pass (flags); sizes, FLOPs, bytes and their ratio
 * (counts); the idle share of tiles and waves over multiprocessors; distances of sizes from the
 * multiples that vectors and tiles need (free).
 *
 * @param multiprocessors 0: unknown, 1 is used
 * @param seconds         the launch's price, also a count
 */
void launch_features(const lm_kernel *k, double multiprocessors, double seconds, feature_list *out);
/** Features of an example kernel of a class, for their names. */
void launch_feature_names(size_t class, feature_list *out);

#endif
