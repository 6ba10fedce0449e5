/** Pairs of runs of one workload on two GPUs: the rows to learn from. */
#ifndef CROSSGPU_PAIRS_H
#define CROSSGPU_PAIRS_H

#include "crossgpu/space.h"

#define GPUS_MAX 64

typedef struct pair_row {
    size_t from, to;  /**< runs */
    size_t pair;      /**< of GPUs: number of the first times n_gpus, plus that of the second */
    size_t group;     /**< of the workload */
    double log_ratio; /**< log(seconds of `to` / seconds of `from`) */
} pair_row;

typedef struct pairs {
    const runs  *r;
    space        s;
    gpu         *gpu;
    size_t       n_gpus;
    size_t      *of;     /**< GPU of each run */
    double      *x;      /**< features of each run */
    double      *device; /**< features of each pair of GPUs */
    pair_row    *row;
    size_t       n;
    const char **group;
    size_t       n_groups;
    char         left_out[400]; /**< metrics left out, with the reasons; "": none */
} pairs;

/**
 * All pairs of runs; `r` must outlive them.
 *
 * @param features groups of them, of FEATURES_BOTH
 * @return LM_E_ARG for runs of one GPU, runs without workloads, or no workload on two GPUs;
 * LM_E_NOTFOUND for a device without datasheet, LM_E_NOMEM
 */
lm_status pairs_of(const runs *r, const device_list *devices, unsigned features, pairs **out,
                   lm_error *err);
void      pairs_free(pairs *p);

/** Features of a pair: those of its run, then those of its devices. */
size_t pairs_n_features(const pairs *p);
void   pairs_features(const pairs *p, const pair_row *row, double *out);

/** A selection of rows, by their numbers. */
typedef struct selection {
    const pairs  *p;
    const size_t *at;
    size_t        n;
} selection;

static inline const pair_row *selected(const selection *s, size_t i)
{
    return &s->p->row[s->at[i]];
}

#endif
