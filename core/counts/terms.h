/**
 * Terms: the regressors of kernels. A term is a count (FLOPs, bytes, launches ...) of one class of
 * kernels in one pass. The term of a layer or network is the sum over its kernels. Each term has a
 * coefficient in seconds.
 *
 * Terms stand in a tree, so that few measurements suffice. A slot holds the terms of one count of
 * one class in all passes, a family holds slots (arithmetic, traffic ...). See shrink.h.
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
#include "network/optimizer.h"

/** Bound of a kernel, by its family: for explanations. */
typedef enum term_bound { BOUND_ARITHMETIC, BOUND_TRAFFIC, BOUND_LAUNCH, N_TERM_BOUNDS } term_bound;

typedef enum term_family {
    FAMILY_DENSE,     /**< arithmetic that reuses what it reads: convolutions, products */
    FAMILY_GROUPED,   /**< arithmetic of grouped convolutions, which reuse less */
    FAMILY_DEPTHWISE, /**< of depthwise ones, which reuse little */
    FAMILY_WEIGHTS,   /**< bytes of weights: they come from memory, and may have to be reordered */
    FAMILY_TRAFFIC,   /**< all other bytes read and written: often from a cache */
    FAMILY_LAUNCHES,  /**< kernels started */
    FAMILY_PLANES, /**< images x channels: what each costs beside its pixels, felt where images are
                      small */
    FAMILY_POOL,   /**< arithmetic of pooling */
    FAMILY_ELEMENTS, /**< elements of elementwise functions of more than two FLOP: exp and the like
                      */
    /* of networks of which only counts are known (counted.h): */
    FAMILY_COUNTED_FLOPS,
    FAMILY_COUNTED_OUTPUTS,
    FAMILY_COUNTED_WEIGHTS,
    FAMILY_COUNTED_STEPS,
    N_TERM_FAMILIES
} term_family;

/** Hats of a count (counted.h). */
#define TERM_KNOTS 5

/** Slots: what is counted of which class. */
#define SLOT_ENUMERATOR(slot, name, unit, family) slot,
enum {
    SLOT_TABLE(SLOT_ENUMERATOR) /* of kernels; behind them those of counts alone: */
    SLOT_SIZE_FLOPS,            /* and the following three: one for each hat */
    SLOT_SIZE_OUTPUTS    = SLOT_SIZE_FLOPS + TERM_KNOTS,
    SLOT_REUSE_FLOPS     = SLOT_SIZE_OUTPUTS + TERM_KNOTS,
    SLOT_REUSE_OUTPUTS   = SLOT_REUSE_FLOPS + TERM_KNOTS,
    SLOT_COUNTED_WEIGHTS = SLOT_REUSE_OUTPUTS + TERM_KNOTS,
    SLOT_COUNTED_STEPS,
    N_TERM_SLOTS
};
#define N_TERMS (N_TERM_SLOTS * (size_t)LM_N_PASSES)

/** Constants of the counts, chosen by fits, kept in machine files. */
typedef struct term_settings {
    int64_t tile;       /**< channels of convolutions count up to a multiple of this */
    int64_t group_tile; /**< the same of the channels of one group */
} term_settings;

/** Before anything else is known. */
extern const term_settings term_settings_default;

/** Terms that are not 0, by number, ascending. Owns nothing. */
typedef struct term_item {
    uint32_t term;
    double   value;
} term_item;

typedef struct term_vector {
    const term_item *item;
    size_t           n;
} term_vector;

/** "conv3x3.flops.grad_input" in `buffer`; returns it. */
const char *term_name(size_t term, char *buffer, size_t size);
/** N_TERMS if there is none of that name. */
size_t term_parse(const char *name);
/** Its unit: FLOP, byte, launch ... */
const char *term_unit(size_t term);
size_t      term_slot(size_t term);
lm_pass     term_pass(size_t term);
/** Is it of the optimizer's kernels? */
bool        term_of_update(size_t term);
term_family term_family_of(size_t term);
term_bound  term_family_bound(term_family f);
/** "arithmetic", "traffic" or "launch". */
const char *term_bound_name(term_bound b);

/** The pass, and the kernel before. Begin with zeros but for the first two. */
typedef struct term_chain {
    bool    backward; /**< of a backward pass */
    int64_t samples;  /**< the batch; 0: 1 */
    bool    product;  /**< it was a convolution or a product ... */
    bool    follows;  /**< ... or what it computes follows element by element from one's output */
    bool    elementwise;
    double  elements; /**< it wrote */
} term_chain;

/**
 * Adds the terms of the next kernel of a pass, `repeat` included, to all N_TERMS of `sum`. Norms
 * and maps that follow a product element by element have slots of their own: compilers fuse them,
 * caches still hold what they read. So do maps in a backward pass behind an elementwise kernel.
 *
 * @return the slot that names the kernel's class, see term_slot_class()
 */
size_t terms_add(const lm_kernel *k, const term_settings *s, term_chain *chain, double *sum);
/** Adds the terms of an optimizer's kernel. Tensors over 32 MiB have a slot of their own: an update
 * goes over a tensor several times, and no cache keeps so large a one. */
size_t terms_add_update(const lm_kernel *k, double *sum);

/** "conv3x3.flops". */
const char *term_slot_name(size_t slot);
/** Class of the kernels of a slot, "conv3x3", in `buffer`; returns it. */
const char *term_slot_class(size_t slot, char *buffer, size_t size);

typedef enum term_phase { TERMS_FORWARD, TERMS_BACKWARD, TERMS_UPDATE, N_TERM_PHASES } term_phase;

/** Visits the kernels of a step: forward in the layers' order with the update of each layer, then
 * backward in reverse order. Each visit stands for one terms_add(k, ..., chain, ...), or for one
 * terms_add_update() where `chain` is NULL. */
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

/** Adds their terms. They stand under the forward pass, whose counts they are. */
void terms_add_counts(const term_counts *c, double *sum);

/** All N_TERMS of each pass of a step. */
typedef struct pass_terms {
    double forward[N_TERMS], backward[N_TERMS], update[N_TERMS];
} pass_terms;

/** Terms of a network with the updates of `o`. LM_E_UNSUPPORTED: see optimizer_update(). */
lm_status terms_of_network(const bound_network *net, const term_settings *s, optimizer o,
                           pass_terms *out, lm_error *err);

/** Packs the terms that are not 0 into `room` (N_TERMS of them). */
term_vector terms_pack(const double *sum, term_item *room);

#endif
