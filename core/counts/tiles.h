/**
 * Products of matrices on parallel devices: tiles of the result, waves of tiles over the
 * multiprocessors, splits of long sums.
 */
#ifndef COUNTS_TILES_H
#define COUNTS_TILES_H

#include <stdbool.h>
#include <stddef.h>

/** Sizes of tiles that a library has for a kind of product. */
typedef enum tile_set {
    TILES_MIXED, /**< 128x128, 64x64, 32x32: smaller tiles are less efficient */
    TILES_128,
    TILES_64,
    N_TILE_SETS
} tile_set;

/** How a library divides products; chosen by cross-validation. */
typedef struct tiling {
    tile_set set;
    bool     splits;          /**< may sums be split into 2, 4 .. 64 parts? */
    double   multiprocessors; /**< 0: unknown, tiles count without waves */
} tiling;

/** Tilings that a fit may choose, by cross-validation. */
typedef enum tilings {
    TILINGS_NONE,  /**< no tiles */
    TILINGS_MIXED, /**< mixed tiles, no splits */
    TILINGS_SPLIT, /**< mixed tiles and splits */
    TILINGS_GEMM,  /**< TILINGS_MIXED or TILINGS_SPLIT */
    TILINGS_SETS   /**< any set of tiles, no splits */
} tilings;

/** The tilings, the default one first; the caller sets the multiprocessors. */
const tiling *tilings_of(tilings t, size_t *n);

/** How a product is computed. */
typedef struct tile_plan {
    /**
     * FLOPs of all multiprocessors until the last wave ends, divided by the tile's efficiency;
     * without multiprocessors tile_flops plus the cost of splits
     */
    double wave_flops;
    double tile_flops; /**< FLOPs of whole tiles, divided by their efficiency */
    double elements;   /**< elements of all tiles, for prologue and epilogue */
    double steps;      /**< successive steps of 8 along the sum of one tile: latency */
} tile_plan;

/**
 * The cheapest way to compute `batch` products of (m,k) with (k,n): least wave_flops over all tiles
 * and splits; the first if equal. The sum counts in steps of 8; a split adds 16 steps for the sum
 * over the parts. Tile quantisation and wave quantisation are as in NVIDIA's "Matrix multiplication
 * background user's guide" (DU-09799), sections 3.1 and 3.2. The efficiencies of 64x64 and 32x32
 * tiles, 0.95 and 0.72, are Layermeter's own.
 */
tile_plan tile_plan_of(double batch, double m, double n, double k, const tiling *how);

/** Side of a tile, for the traffic of reading factors: 64 for a mixed set. */
double tile_side(tile_set set);

/** "mixed", "128", "64". tile_set_parse(): false for another name. */
const char *tile_set_name(tile_set set);
bool        tile_set_parse(const char *name, tile_set *out);

#endif
