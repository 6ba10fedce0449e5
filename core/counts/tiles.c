/* Products of matrices in tiles, waves and splits. */
#include "counts/tiles.h"

#include <math.h>
#include <string.h>

#define MOST_SPLITS 64
#define SPLIT_STEPS 16 /* cost of a split, in steps of the sum: parts must be added */
#define STEP        8

typedef struct tile {
    double side, efficiency;
} tile;

static const tile mixed[] = { { 128, 1 }, { 64, 0.95 }, { 32, 0.72 } };
static const tile large[] = { { 128, 1 } }, medium[] = { { 64, 1 } };

static const struct {
    const char *name;
    const tile *tile;
    size_t      n;
    double      side;
} sets[N_TILE_SETS] = {
    [TILES_MIXED] = { "mixed", mixed, 3, 64 },
    [TILES_128]   = { "128", large, 1, 128 },
    [TILES_64]    = { "64", medium, 1, 64 },
};

static tile_plan plan_with(const tile *t, double splits, double batch, double m, double n, double k,
                           double multiprocessors)
{
    const double tiles = batch * ceil(m / t->side) * ceil(n / t->side) * splits;
    const double sum   = ceil(STEP * ceil(k / STEP) / splits);
    const double slots =
        multiprocessors > 0 ? ceil(tiles / multiprocessors) * multiprocessors : tiles;
    const double area = t->side * t->side;

    return (tile_plan){
        .wave_flops = 2 * slots * area * (sum + (splits > 1 ? SPLIT_STEPS : 0)) / t->efficiency,
        .tile_flops = 2 * tiles * area * sum / t->efficiency,
        .elements   = tiles * area,
        .steps      = ceil(k / STEP / splits),
    };
}

tile_plan tile_plan_of(double batch, double m, double n, double k, const tiling *how)
{
    tile_plan best = { .wave_flops = INFINITY };

    for (size_t i = 0; i < sets[how->set].n; i++)
        for (double s = 1; s <= (how->splits ? MOST_SPLITS : 1); s *= 2) {
            const tile_plan p =
                plan_with(&sets[how->set].tile[i], s, batch, m, n, k, how->multiprocessors);

            if (p.wave_flops < best.wave_flops)
                best = p;
        }
    return best;
}

const tiling *tilings_of(tilings t, size_t *n)
{
    static const tiling both[] = { { TILES_MIXED, false, 0 }, { TILES_MIXED, true, 0 } }, set[] = {
        { TILES_MIXED, false, 0 }, { TILES_128, false, 0 }, { TILES_64, false, 0 }
    };

    *n = t == TILINGS_SETS ? 3 : t == TILINGS_GEMM ? 2 : t != TILINGS_NONE;
    return t == TILINGS_SETS ? set : t == TILINGS_SPLIT ? &both[1] : both;
}

double tile_side(tile_set set)
{
    return sets[set].side;
}

const char *tile_set_name(tile_set set)
{
    return sets[set].name;
}

bool tile_set_parse(const char *name, tile_set *out)
{
    for (tile_set s = 0; s < N_TILE_SETS; s++)
        if (!strcmp(sets[s].name, name)) {
            *out = s;
            return true;
        }
    return false;
}
