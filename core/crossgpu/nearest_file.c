/* What similar runs did, as text. */
#include <stdlib.h>

#include "base/no_memory.h"
#include "crossgpu/nearest.h"

/* Its runs, its median, its alphas. */
static void pair_text(lines *l, const nearest *k, nearest_pair *p)
{
    lines_begin(l, "pair");
    ITEMS(l, ITEM_COUNT(&p->n, 0, (double)k->n_runs));
    if (!l->out) {
        p->run   = lines_array(l, p->n, sizeof *p->run);
        p->alpha = lines_array(l, p->n, sizeof *p->alpha);
    }
    ITEMS(l, ITEM_COUNTS(p->run, p->n, 0, (double)k->n_runs - 1));
    lines_end(l);
    LINE(l, "median", ITEM_ANY(&p->median));
    LINE(l, "alpha", ITEM_REALS(p->alpha, p->n, -DBL_MAX, DBL_MAX));
}

void nearest_text(lines *l, size_t n_features, size_t n_gpus, nearest *k)
{
    const size_t n = n_gpus * n_gpus;

    if (!LINE(l, "nearest", ITEM_COUNT(&k->n_runs, 1, RUNS_MAX)))
        return;
    if (!l->out) {
        k->n_features = n_features;
        k->mean       = lines_array(l, n_features, sizeof *k->mean);
        k->deviation  = lines_array(l, n_features, sizeof *k->deviation);
        k->z          = lines_array(l, k->n_runs * n_features, sizeof *k->z);
        k->pair       = lines_array(l, n, sizeof *k->pair);
        k->n_gpus     = k->pair ? n_gpus : 0;
    }
    LINE(l, "scale", ITEM_REAL(&k->g, DBL_TRUE_MIN, DBL_MAX),
         ITEM_REAL(&k->l, DBL_TRUE_MIN, DBL_MAX));
    LINE(l, "mean", ITEM_REALS(k->mean, n_features, -DBL_MAX, DBL_MAX));
    LINE(l, "deviation", ITEM_REALS(k->deviation, n_features, -DBL_MAX, DBL_MAX));
    for (size_t i = 0; i < k->n_runs && !l->status; i++)
        LINE(l, "run", ITEM_REALS(k->z + i * n_features, n_features, -DBL_MAX, DBL_MAX));
    for (size_t i = 0; i < n && !l->status; i++)
        pair_text(l, k, &k->pair[i]);
}
