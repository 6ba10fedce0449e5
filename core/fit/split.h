/** Cross-validation: which points are left out of a fit together. */
#ifndef FIT_SPLIT_H
#define FIT_SPLIT_H

#include "base/arena.h"
#include "observe/points.h"
#include "solve/folds.h"

typedef enum split_kind {
    SPLIT_NETWORK, /**< each network */
    SPLIT_DEVICE,  /**< each machine */
    SPLIT_RANKS,   /**< each number of nodes */
    SPLIT_BATCH,   /**< each octave of batches: 1, 2..3, 4..7 ... */
    SPLIT_IMAGE,   /**< each octave of the image height */
    SPLIT_BYTES,   /**< each size of separately measured all-reduces */
    SPLIT_CLOCK,   /**< each held clock */
    SPLIT_KFOLD,   /**< k random parts of the configurations */
    SPLIT_NONE     /**< nothing: points are predicted by fits that saw them */
} split_kind;

typedef struct split_rule {
    split_kind kind;
    size_t     k;    /**< SPLIT_KFOLD: 2 or more */
    uint64_t   seed; /**< SPLIT_KFOLD: the same seed gives the same parts on every machine */
    /**
     * ranks, batch, image, bytes, clock: the range is left out as one fold, and nothing else; from
     * 0: no range
     */
    int64_t from, to;
} split_rule;

/** Fold of points that stay in each fit and are never predicted. */
#define SPLIT_ALWAYS FOLD_ALWAYS

/** The fold of each point. */
typedef struct split {
    split_rule rule;
    size_t    *fold; /**< per point: 0 .. n_folds - 1, or SPLIT_ALWAYS */
    /** per point: the unit of the draw: SPLIT_KFOLD: its configuration; else its fold */
    size_t      *unit;
    size_t       n_folds;
    const char **name;   /**< per fold: a network, "2", "4..7" */
    size_t      *points; /**< per fold: number of points */
    /** all points by fold, then those without a fold; ascending within each */
    size_t *point;
    /** per fold: start in `point`; then start of the points without a fold; then the end */
    size_t *first;
    arena  *arena; /**< owns the names */
} split;

/**
 * Reads "network", "device", "ranks", "batch", "image", "bytes", "clock", "none", "kfold" (10
 * parts), "kfold=5", "batch=64..", "ranks=16..512", "bytes=64KiB..1MiB". The seed becomes 1.
 * LM_E_ARG for another text.
 */
lm_status split_rule_parse(const char *text, split_rule *out, lm_error *err);
/** Prints the rule in this form: "kfold=10". */
const char *split_rule_print(const split_rule *rule, char *buffer, size_t size);

/**
 * Assigns folds. Points without a value of the rule stay in each fit: separate all-reduces if
 * networks, batches or images are left out; networks if bytes are; inputs that are no image (CxHxW)
 * if images are; points without a held clock if clocks are. Points of one configuration
 * (observation_key()) are always in one fold. Folds are ordered by value; networks are in the order
 * of the observations.
 *
 * @return LM_E_ARG if nothing identifies the machines, for more parts than configurations, and for
 *         a range without points
 */
lm_status split_new(const points *p, const split_rule *rule, split *out, lm_error *err);
/** Sets `point` and `first` of a split whose folds were assigned by hand. */
lm_status split_index(split *s, size_t n_points, lm_error *err);
void      split_free(split *s);

/** The folds of the points, to be left out in turn. */
folds split_folds(const split *s, const points *p);

/** Points in the fit of one turn. The memory of the other points is freed with rest->point, too. */
lm_status points_staying(const points *p, const fold_turn *t, points *rest, lm_error *err);

#endif
