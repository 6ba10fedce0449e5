/** Products of matrices on parallel devices: tiles of the result, waves of tiles over the
 * multiprocessors, splits of long sums. */
#ifndef COUNTS_TILES_H
#define COUNTS_TILES_H

#include <stdbool.h>
#include <stddef.h>

/** Tiles that a library has for a kind of product. */
typedef enum tile_set {
    TILES_MIXED, /**< 128x128, 64x64, 32x32: the smaller, the less of it is arithmetic */
    TILES_128,
    TILES_64,
    N_TILE_SETS
} tile_set;

/** How a library cuts products; chosen by cross-validation. */
typedef struct tiling {
    tile_set set;
    bool     splits;          /**< may sums be cut into 2, 4 .. 64 parts? */
    double   multiprocessors; /**< 0: unknown, tiles count without waves */
} tiling;

/** Tilings that a fit chooses from, by cross-validation. */
typedef enum tilings {
    TILINGS_NONE,  /**< nothing is cut into tiles */
    TILINGS_MIXED, /**< mixed tiles, no splits */
    TILINGS_SPLIT, /**< mixed tiles and splits */
    TILINGS_GEMM,  /**< either of these */
    TILINGS_SETS   /**< any set of tiles, no splits */
} tilings;

/** The usual one first; the multiprocessors are the caller's. */
const tiling *tilings_of(tilings t, size_t *n);

/** How a product is computed. */
typedef struct tile_plan {
    double
        wave_flops; /**< FLOPs of the multiprocessors until the last wave is done, over the tile's
                       efficiency; without multiprocessors tile_flops and what splits cost */
    double tile_flops; /**< FLOPs of whole tiles, over their efficiency */
    double elements;   /**< of all tiles: what prologue and epilogue handle */
    double steps;      /**< of 8 along the sum of one tile, one after the other: latency */
} tile_plan;

/**
 * The cheapest way to compute `batch` products of (m,k) with (k,n): least wave_flops of all tiles
 * and splits, of equals the first. The sum counts in steps of 8; a split adds 16 to it for the sum
 * over the parts. Tile quantisation and wave quantisation as in NVIDIA's "Matrix multiplication
 * background user's guide" (DU-09799), sections 3.1 and 3.2; efficiencies of 64x64 and 32x32 tiles,
 * 0.95 and 0.72, are ours.
 */
tile_plan tile_plan_of(double batch, double m, double n, double k, const tiling *how);

/** Side of a tile, as far as reading factors goes: 64 of a mixed set. */
double tile_side(tile_set set);

/** "mixed", "128", "64"; and back, false for any other. */
const char *tile_set_name(tile_set set);
bool        tile_set_parse(const char *name, tile_set *out);

#endif
