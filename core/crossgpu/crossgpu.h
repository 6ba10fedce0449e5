/**
 * Predicts a run on other GPUs from its metrics on one GPU, without knowledge of network and batch.
 * Methods:
 *
 *  - layermeter: the logarithm of the ratio of seconds. Three learners predict it: similar runs on
 *    the same two GPUs (nearest.h), a factor for each part of a run (parts.h), and boosted trees
 *    over all pairs. Their shares minimise the error on groups of workloads left out. For a GPU
 *    with a datasheet only: mixed bounds of a roofline (parts.h)
 *  - stacking: Hur & Lee's method, on seconds (stacking.h)
 *  - forest, xgboost, boosted: each single learner of that stack, on the same features
 *  - pair-ratio: the median ratio of each pair of GPUs, for any run: the baseline
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
    CROSSGPU_FOREST,
    CROSSGPU_XGBOOST,
    CROSSGPU_BOOSTED,
    CROSSGPU_PAIR_RATIO,
    N_CROSSGPU_METHODS
} crossgpu_method;

extern const char *const crossgpu_method_names[N_CROSSGPU_METHODS];
#define CROSSGPU_METHODS "layermeter, stacking, forest, xgboost, boosted or pair-ratio"
/** The text of LM_E_NOTFOUND lists all methods. */
lm_status crossgpu_method_parse(const char *name, crossgpu_method *out, lm_error *err);

/** Learners of method layermeter; their log ratios are added. */
enum { BY_NEAREST, BY_PARTS, BY_TREES, N_BY };

/** Basis of a prediction. */
typedef enum crossgpu_basis {
    BASIS_LEARNED,   /**< runs on both GPUs */
    BASIS_DATASHEET, /**< a GPU or a pair without runs */
} crossgpu_basis;

typedef struct crossgpu_prediction {
    double         seconds, low, high; /**< NAN: no interval */
    crossgpu_basis basis;
    size_t         fold; /**< held_out_predict(): the part that was left out */
} crossgpu_prediction;

/** The GPU of a pair with a datasheet only; the two cases have different errors. */
typedef enum { UNKNOWN_TARGET, UNKNOWN_SOURCE, N_UNKNOWN } unknown_gpu;

/** The learned model. */
typedef struct crossgpu {
    crossgpu_method method;
    uint64_t        seed;
    size_t          n_rows, n_groups; /**< of the learning data */
    space           s;
    gpu            *gpu;
    size_t          n_gpus;
    bounds          bounds;             /**< of method layermeter */
    nearest         nearest;            /**< the same */
    part_factors    parts;              /**< the same */
    learner        *trees;              /**< the same; NULL: built without XGBoost, or no better */
    double          share[N_BY];        /**< of each learner; the sum is 1 */
    stacking        stack;              /**< of method stacking and of its single learners */
    double         *median;             /**< of method pair-ratio: n_gpus^2; NAN: unknown pair */
    interval        known;              /**< of measured / predicted, for known pairs */
    interval        unknown[N_UNKNOWN]; /**< for other pairs; if both GPUs are unknown, the hull of
                                         * both */
} crossgpu;

typedef struct crossgpu_options {
    crossgpu_method method;
    uint64_t        seed;
    bool            judge; /**< also makes intervals: learns again without each part */
} crossgpu_options;

/** LM_E_UNSUPPORTED (stacking without XGBoost), LM_E_ARG, LM_E_NOMEM. */
lm_status crossgpu_learn(const selection *rows, const crossgpu_options *o, crossgpu **out,
                         lm_error *err);
void      crossgpu_free(crossgpu *c);

/** Number of a known GPU; c->n_gpus: unknown. */
size_t crossgpu_gpu(const crossgpu *c, const char *name);

/**
 * @param x  features of the run on `from` (space_run())
 * @param to any GPU, known or not
 * @return LM_E_NOTFOUND for a datasheet without a needed figure, or a pair unknown to pair-ratio;
 * LM_E_NOMEM
 */
lm_status crossgpu_predict(const crossgpu *c, const double *x, const gpu *from, const gpu *to,
                           crossgpu_prediction *out, lm_error *err);

/** Logarithm of the ratio by the trees of method layermeter, from a pair's features. LM_E_NOMEM. */
lm_status crossgpu_trees(const learner *l, const double *x, double *out, lm_error *err);

/** Word of the file of a learned model: kept_save() and kept_load(). */
#define CROSSGPU_FILE "crossgpu"
extern const kept_kind crossgpu_kept;
lm_status              crossgpu_load(const char *path, crossgpu **out, lm_error *err);

#endif
