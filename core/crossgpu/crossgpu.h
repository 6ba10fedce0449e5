/**
 * From a run on one GPU to the same run on other GPUs, by its metrics: a black box, which sees
 * neither network nor batch. Methods:
 *
 *  - layermeter: the logarithm of the ratio of seconds. Three learners predict it: similar runs on
 *    the same two GPUs (nearest.h), a factor for each part of a run (parts.h), and boosted trees
 *    over all pairs. Their shares are those that are best on groups of workloads left out. For a
 *    GPU that is known by its datasheet alone: mixed bounds of a roofline (parts.h)
 *  - stacking: Hur & Lee's method, on seconds (stacking.h)
 *  - pair-ratio: the median ratio of each pair of GPUs, whatever runs: the baseline
 */
#ifndef CROSSGPU_CROSSGPU_H
#define CROSSGPU_CROSSGPU_H

#include "crossgpu/nearest.h"
#include "crossgpu/parts.h"
#include "crossgpu/stacking.h"
#include "fit/interval.h"
#include "learn/kept.h"

typedef enum crossgpu_method {
    CROSSGPU_LAYERMETER,
    CROSSGPU_STACKING,
    CROSSGPU_PAIR_RATIO,
    N_CROSSGPU_METHODS
} crossgpu_method;

extern const char *const crossgpu_method_names[N_CROSSGPU_METHODS];
/** LM_E_NOTFOUND names all there are. */
lm_status crossgpu_method_parse(const char *name, crossgpu_method *out, lm_error *err);

/** What method layermeter adds up, in the logarithm. */
enum { BY_NEAREST, BY_PARTS, BY_TREES, N_BY };

/** What a prediction stands on. */
typedef enum crossgpu_basis {
    BASIS_LEARNED,   /**< runs on both GPUs */
    BASIS_DATASHEET, /**< at least one of them, or the pair, was not learned from */
} crossgpu_basis;

typedef struct crossgpu_prediction {
    double         seconds, low, high; /**< NAN: there is no interval */
    crossgpu_basis basis;
} crossgpu_prediction;

/** Which GPU of a pair is told by its datasheet alone: each is another error. */
typedef enum { UNKNOWN_TARGET, UNKNOWN_SOURCE, N_UNKNOWN } unknown_gpu;

/** What was learned. */
typedef struct crossgpu {
    crossgpu_method method;
    uint64_t        seed;
    size_t          n_rows, n_groups; /**< that it learned from */
    space           s;
    gpu            *gpu;
    size_t          n_gpus;
    bounds          bounds;      /**< of method layermeter */
    nearest         nearest;     /**< the same */
    part_factors    parts;       /**< the same */
    learner        *trees;       /**< the same; NULL: built without XGBoost, or not better */
    double          share[N_BY]; /**< of each, together 1 */
    stacking        stack;       /**< of method stacking */
    double         *median;      /**< of method pair-ratio: n_gpus^2; NAN: the pair is not known */
    interval        known;       /**< of measured / predicted, of pairs that were learned from */
    interval        unknown[N_UNKNOWN]; /**< of others; where neither GPU was, what holds both */
} crossgpu;

typedef struct crossgpu_options {
    crossgpu_method method;
    uint64_t        seed;
    bool            judge; /**< intervals, too, which take learning again without parts */
} crossgpu_options;

/** LM_E_UNSUPPORTED (stacking without XGBoost), LM_E_ARG, LM_E_NOMEM. */
lm_status crossgpu_learn(const selection *rows, const crossgpu_options *o, crossgpu **out,
                         lm_error *err);
void      crossgpu_free(crossgpu *c);

/** Number of a GPU that was learned from; c->n_gpus: none. */
size_t crossgpu_gpu(const crossgpu *c, const char *name);

/**
 * @param x    features of the run on `from` (space_run())
 * @param to   may be one that was not learned from
 * @return LM_E_NOTFOUND for datasheets that lack a figure, or a pair that pair-ratio does not know;
 *         LM_E_NOMEM
 */
lm_status crossgpu_predict(const crossgpu *c, const double *x, const gpu *from, const gpu *to,
                           crossgpu_prediction *out, lm_error *err);

/** What the trees of method layermeter say of a pair's features: the logarithm
 * of the ratio. LM_E_NOMEM. */
lm_status crossgpu_trees(const learner *l, const double *x, double *out, lm_error *err);

/** What was learned, as text: kept_save() and kept_load(). */
#define CROSSGPU_FILE "crossgpu"
extern const kept_kind crossgpu_kept;
lm_status              crossgpu_load(const char *path, crossgpu **out, lm_error *err);

#endif
