/**
 * Terms: the regressors of kernels. A term is a count (FLOPs, bytes, launches ...) for one class of
 * kernels in one pass. The term of a layer or network is the sum over its kernels. Each term has a
 * coefficient in seconds.
 *
 * Terms form a tree, so that few measurements suffice. A slot has the terms of one count of one
 * class in all passes. A family has several slots (arithmetic, traffic ...). See shrink.h.
 */
#ifndef COUNTS_TERMS_H
#define COUNTS_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <layermeter/error.h>
#include <layermeter/kernel.h>

#include "counts/table.h"
#include "network/bind.h"
#include "network/metrics.h"
#include "network/optimizer.h"

/** Bounds of kernels by family, for explanations. */
typedef enum term_bound { BOUND_ARITHMETIC, BOUND_TRAFFIC, BOUND_LAUNCH, N_TERM_BOUNDS } term_bound;

typedef enum term_family {
    FAMILY_DENSE,     /**< arithmetic with much reuse of data: convolutions, products */
    FAMILY_GROUPED,   /**< arithmetic of grouped convolutions, with less reuse */
    FAMILY_DEPTHWISE, /**< arithmetic of depthwise convolutions, with little reuse */
    FAMILY_REORDERED, /**< bytes of convolutions' weights: kernels want them in another order */
    /** bytes of weights: they come from memory, and may be reordered. Networks of 2 MiB of weights or
     * less, such as single blocks, have none: theirs are traffic */
    FAMILY_WEIGHTS,
    FAMILY_TRAFFIC,  /**< all other bytes read and written: often from a cache */
    FAMILY_LAUNCHES, /**< starts of kernels */
    /** images x channels: the fixed cost of each plane, which matters for small images */
    FAMILY_PLANES,
    /** elements of windows, copied for a product of matrices of each group by itself */
    FAMILY_COLUMNS,
    /** elements that pooling reads, one FLOP each: so little arithmetic that memory bounds it */
    FAMILY_POOL,
    /** elements of elementwise functions with more than two FLOP, such as exp */
    FAMILY_ELEMENTS,
    /* for networks of which only counts are known (counted.h): */
    FAMILY_COUNTED_FLOPS,
    FAMILY_COUNTED_OUTPUTS,
    FAMILY_COUNTED_WEIGHTS,
    FAMILY_COUNTED_STEPS,
    N_TERM_FAMILIES
} term_family;

/** Number of hats (linear basis functions) of a count (counted.h). */
#define TERM_KNOTS 5

/** Slots: a count of a class. */
#define SLOT_ENUMERATOR(slot, name, unit, family) slot,
enum {
    SLOT_TABLE(SLOT_ENUMERATOR) /* slots of kernels; then the slots of counts: */
    SLOT_SIZE_FLOPS,            /* this and the following three: one per hat */
    SLOT_SIZE_OUTPUTS    = SLOT_SIZE_FLOPS + TERM_KNOTS,
    SLOT_REUSE_FLOPS     = SLOT_SIZE_OUTPUTS + TERM_KNOTS,
    SLOT_REUSE_OUTPUTS   = SLOT_REUSE_FLOPS + TERM_KNOTS,
    SLOT_COUNTED_WEIGHTS = SLOT_REUSE_OUTPUTS + TERM_KNOTS,
    SLOT_COUNTED_STEPS,
    N_TERM_SLOTS
};
#define N_TERMS (N_TERM_SLOTS * (size_t)LM_N_PASSES)

/** Constants of the counts. A fit chooses them; machine files store them. */
typedef struct term_settings {
    int64_t tile;       /**< channels of convolutions are rounded up to a multiple of this */
    int64_t group_tile; /**< the same for the channels of one group */
} term_settings;

/** Values before a fit. */
extern const term_settings term_settings_default;

/** Terms that are not 0, in ascending order of their numbers. Owns nothing. */
typedef struct term_item {
    uint32_t term;
    double   value;
} term_item;

typedef struct term_vector {
    const term_item *item;
    size_t           n;
} term_vector;

/** Writes the name, "conv3x3.flops.grad_input", to `buffer`, and returns it. */
const char *term_name(size_t term, char *buffer, size_t size);
/** N_TERMS: unknown name. */
size_t term_parse(const char *name);
/** Its unit: FLOP, byte, launch ... */
const char *term_unit(size_t term);
size_t      term_slot(size_t term);
lm_pass     term_pass(size_t term);
/** Is it a term of the optimizer's kernels? */
bool term_of_update(size_t term);
/** Is it bytes of weights that a pass reads? */
bool        term_of_weights(size_t term);
term_family term_family_of(size_t term);
term_bound  term_family_bound(term_family f);
/** "arithmetic", "traffic" or "launch". */
const char *term_bound_name(term_bound b);

/** State of a pass: the previous kernel. Starts with zeros, except for the first three members. */
typedef struct term_chain {
    bool    backward; /**< the pass is a backward pass */
    int64_t samples;  /**< the batch; 0: 1 */
    bool    cpu;      /**< a CPU runs the pass (bind_options: `on`) */
    bool    resident; /**< caches hold the weights from one pass to the next: they are traffic */
    bool    product;  /**< the previous kernel was a convolution or a product ... */
    bool    follows;  /**< ... or follows element by element from the output of one */
    bool    elementwise;
    double  elements; /**< elements that it wrote */
} term_chain;

/**
 * Adds the terms of the next kernel of a pass, `repeat` included, to all N_TERMS of `sum`. Norms
 * and maps that follow a product element by element have their own slots: compilers fuse them, and
 * caches still hold their input. So do maps of a backward pass after an elementwise kernel.
 *
 * @return the slot that names the kernel's class, see term_slot_class()
 */
size_t terms_add(const lm_kernel *k, const term_settings *s, term_chain *chain, double *sum);
/**
 * Adds the terms of an optimizer's kernel. Tensors over 32 MiB have their own slot: an update reads
 * a tensor several times, and no cache holds one of that size.
 */
size_t terms_add_update(const lm_kernel *k, double *sum);

/**
 * Does a CPU's last-level cache, of 32 MiB, hold what a step keeps: weights, gradients, states of the
 * optimizer and activations? Then an update finds its tensors there (cyclic use: is_resident() in terms.c).
 */
bool terms_hold(const net_metrics *m, optimizer o);
/** The term of an update's bytes if so, and the one if not; other terms are unchanged. */
size_t term_update_held(size_t term);
size_t term_update_not_held(size_t term);

/** Name of a slot: "conv3x3.flops". */
const char *term_slot_name(size_t slot);
/** Writes the class of a slot's kernels, "conv3x3", to `buffer`, and returns it. */
const char *term_slot_class(size_t slot, char *buffer, size_t size);

typedef enum term_phase { TERMS_FORWARD, TERMS_BACKWARD, TERMS_UPDATE, N_TERM_PHASES } term_phase;

/**
 * Calls `visit` for the kernels of a step: forward in the layers' order, each layer with its
 * update; then backward in reverse order. A visit stands for one terms_add(k, ..., chain, ...), or,
 * if `chain` is NULL, for one terms_add_update().
 */
typedef void terms_visitor(void *context, size_t layer, term_phase phase, const lm_kernel *k,
                           term_chain *chain);
lm_status    terms_visit(const bound_network *net, optimizer o, terms_visitor *visit, void *context,
                         lm_error *err);

/** Is it a term of counts (counted.h), not of kernels? */
bool term_counted(size_t term);

/** Counts of a network, and the share of each hat. */
typedef struct term_counts {
    double flops, outputs, weights, steps;
    double size[TERM_KNOTS], reuse[TERM_KNOTS];
} term_counts;

/** Adds the terms of counts. They belong to the forward pass. */
void terms_add_counts(const term_counts *c, double *sum);

/** All N_TERMS of each pass of a step. */
typedef struct pass_terms {
    double forward[N_TERMS], backward[N_TERMS], update[N_TERMS];
} pass_terms;

/** Terms of a network with the updates of `o`. LM_E_UNSUPPORTED: see optimizer_update(). */
lm_status terms_of_network(const bound_network *net, const term_settings *s, optimizer o,
                           pass_terms *out, lm_error *err);

/** Copies the terms that are not 0 to `room` (N_TERMS entries). */
term_vector terms_pack(const double *sum, term_item *room);

#endif
