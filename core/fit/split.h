/** Which points are left out of a fit together, to be predicted as if they had not been measured.
 */
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
    SPLIT_IMAGE,   /**< each octave of image heights */
    SPLIT_BYTES,   /**< each size of all-reduces that stand by themselves */
    SPLIT_CLOCK,   /**< each clock that devices were held at */
    SPLIT_KFOLD,   /**< k parts of the configurations, at random */
    SPLIT_NONE     /**< nothing: points are predicted by fits that saw them */
} split_kind;

typedef struct split_rule {
    split_kind kind;
    size_t     k;     /**< SPLIT_KFOLD: 2 or more */
    uint64_t   seed;  /**< SPLIT_KFOLD: the same one gives the same parts on every machine */
    int64_t from, to; /**< ranks, batch, image, bytes, clock: all between is left out at once, and
                            nothing else; from 0: no such range */
} split_rule;

/** The fold of points that stay in every fit and are never predicted. */
#define SPLIT_ALWAYS FOLD_ALWAYS

/** Each point's fold. */
typedef struct split {
    split_rule rule;
    size_t    *fold; /**< of each point: 0 .. n_folds - 1, or SPLIT_ALWAYS */
    size_t    *unit; /**< of each point, what was drawn as one: SPLIT_KFOLD its configuration, else
                        its fold */
    size_t     n_folds;
    const char **name;   /**< of each fold: a network, "2", "4..7" */
    size_t      *points; /**< how many each has */
    size_t      *point;  /**< all points, fold by fold, then those of no fold; ascending in each */
    size_t      *first;  /**< of each fold in `point`, then of those of no fold, then the end */
    arena       *arena;  /**< owns the names */
} split;

/** "network", "device", "ranks", "batch", "image", "bytes", "clock", "none", "kfold" (10 parts), "kfold=5",
 * "batch=64..", "ranks=16..512", "bytes=64KiB..1MiB". The seed becomes 1. LM_E_ARG for anything
 * else. */
lm_status split_rule_parse(const char *text, split_rule *out, lm_error *err);
/** The same words back: "kfold=10". */
const char *split_rule_print(const split_rule *rule, char *buffer, size_t size);

/**
 * Points that have no value in the split stay in every fit: bare all-reduces where networks,
 * batches or images are left out, networks where bytes are, and what is no image (CxHxW) where
 * images are, and what was held at no clock where clocks are. Points of one configuration (observation_key()) are in one fold always. Folds stand
 * in the order of their values; networks in that of the observations.
 *
 * @return LM_E_ARG where nothing tells machines apart, for more parts than configurations, and for
 * a range that holds no point
 */
lm_status split_new(const points *p, const split_rule *rule, split *out, lm_error *err);
/** Sets point and first of one made by hand, of so many points. */
lm_status split_index(split *s, size_t n_points, lm_error *err);
void      split_free(split *s);

/** Its folds of points, to be left out in turn. */
folds split_folds(const split *s, const points *p);

/** Points that a fit uses in a turn. The room of the other points is freed with rest->point, too.
 */
lm_status points_staying(const points *p, const fold_turn *t, points *rest, lm_error *err);

#endif
