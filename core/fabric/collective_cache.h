/** Where messages within a node leave the caches of the ranks that add them up. */
#ifndef FABRIC_COLLECTIVE_CACHE_H
#define FABRIC_COLLECTIVE_CACHE_H

#include "fabric/collective_planes.h"

/** Sizes that tell a border from all else. */
#define CACHE_SIZES 6

/**
 * A plane with the bytes beyond a border (SYNC_SPILLED_BYTES), one of the sizes that were measured,
 * instead of out->plane[0]: where that leaves CACHE_GAIN of the error on sizes that were left out
 * in turn, or less. Sets out->cache then. Changes row[].x.
 */
#define CACHE_GAIN 0.8
lm_status planes_fit_cache(fit_row *row, size_t n, unsigned columns, fabric_model *out,
                           lm_error *err);

#endif
