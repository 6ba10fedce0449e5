/**
 * Message size above which messages within a node leave the caches of the ranks that add them up.
 */
#ifndef FABRIC_COLLECTIVE_CACHE_H
#define FABRIC_COLLECTIVE_CACHE_H

#include "fabric/collective_planes.h"

/** Fewest sizes for finding this limit. */
#define CACHE_SIZES 6

/**
 * Fits a plane with the bytes above a limit (SYNC_SPILLED_BYTES), which is one of the measured
 * sizes. It replaces out->plane[0] if its error, on sizes left out in turn, is at most CACHE_GAIN
 * times the other. Then it sets out->cache. Changes row[].x.
 */
#define CACHE_GAIN 0.8
lm_status planes_fit_cache(fit_row *row, size_t n, unsigned columns, fabric_model *out,
                           lm_error *err);

#endif
