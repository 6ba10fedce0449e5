/* Kernel classes: the table of descriptors, and their common functions. */
#include "counts/kernel_class.h"

#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "base/text.h"
#include "counts/layer_class.h"
#include "layers/kernel_text.h"

#define ENTRY(op, class) [op] = &(class),
static const kernel_class *const table[] = { KERNEL_TABLE(ENTRY) };

#define N_TABLE ((lm_op)(sizeof table / sizeof table[0]))

const kernel_class *kernel_class_of(lm_op op)
{
    return table[op >= 0 && op < N_TABLE ? op : LM_OP_OPAQUE];
}

/* ---- network terms ---- */

void term_put(const term_sum *t, int slot, double value)
{
    t->sum[(size_t)slot * LM_N_PASSES + (size_t)t->k->pass] += (double)t->k->repeat * value;
}

/* ---- single launches ---- */

void launch_put(launch_row *l, const char *name, const char *member, const char *unit, resource r,
                double value)
{
    char   own[80];
    size_t family = l->make ? columns_need(l->make, name, unit, r) : columns_find(l->c, name);
    size_t at     = family;

    if (*member && family != COLUMN_NONE) {
        snprintf(own, sizeof own, "%s.%.40s", name, member);
        at = l->make ? columns_need(l->make, own, unit, r) : columns_find(l->c, own);
        if (l->make && at != COLUMN_NONE) {
            l->make->column[at].parent = family;
            l->make->column[at].floor  = l->make->column[family].floor;
        }
        if (!l->make && at == COLUMN_NONE)
            at = family;
    }
    if (l->make || at != COLUMN_NONE)
        rows_item(l->r, at, value);
}

size_t launch_class_of(const lm_kernel *k)
{
    const kernel_class *class = kernel_class_of(k->op);

    if (class->launch_of)
        return class->launch_of(k);
    return class->launch ? class->launch : N_LAYER_CLASSES;
}

void launch_add(launch_row *l, const lm_kernel *k)
{
    const kernel_class *class = kernel_class_of(k->op);
    const char *member        = class->tagged ? l->tag : "";

    if (l->make) {
        const size_t at = columns_need(l->make, "floor", "launch", RESOURCE_HOST);

        if (at != COLUMN_NONE)
            l->make->column[at].floor = true;
    }
    launch_put(l, "floor", member, "launch", RESOURCE_HOST, 1);
    class->launch_counts(l, k);
    if (l->queued)
        launch_put(l, LAUNCH_QUEUED, member, "launch", RESOURCE_DEPTH, 1);
    else
        launch_put(l, "launch", member, "launch", RESOURCE_HOST, 1);
}

double launch_traffic(const lm_kernel *k)
{
    const lm_work w = lm_kernel_work(k);

    if (k->op == LM_OP_NORM && k->pass == LM_GRAD_WEIGHT)
        return (double)w.read_bytes;
    return (double)w.read_bytes + (double)w.written_bytes;
}

void launch_put_work(launch_row *l, const lm_kernel *k)
{
    launch_put(l, "flops", "", "FLOP", RESOURCE_FLOPS, (double)lm_kernel_work(k).flops);
    launch_put(l, "bytes", "", "byte", RESOURCE_BANDWIDTH, launch_traffic(k));
}

#define LONG_ROW 1024 /* number of elements of a row that a thread block keeps */

void launch_put_rows(launch_row *l, const lm_kernel *k)
{
    const double bytes = launch_traffic(k);
    int64_t      n, group;

    kernel_class_of(k->op)->statistics(k, &n, &group);
    launch_put(l, "bytes", "", "byte", RESOURCE_BANDWIDTH, bytes);
    launch_put(l, "row_count", "", "row", RESOURCE_FLOPS, (double)n);
    launch_put(l, "long_bytes", "", "byte", RESOURCE_BANDWIDTH, group > LONG_ROW ? bytes : 0);
}

/* ---- features of launches ---- */

void feature_put(feature_list *l, const char *name, feature_kind kind, double value)
{
    l->of[l->n]      = (named_feature){ name, kind };
    l->value[l->n++] = value;
}

void feature_put_count(feature_list *l, const char *name, double value)
{
    feature_put(l, name, FEATURE_COUNT, log(fmax(value, 1e-12)));
}

double feature_rest(double x, double t)
{
    return t * ceil(x / t) - x;
}

void feature_put_rows(feature_list *l, const lm_kernel *k, double multiprocessors)
{
    int64_t rows_of, group;
    double  each;

    kernel_class_of(k->op)->statistics(k, &rows_of, &group);
    each = (double)rows_of / fmax(multiprocessors, 1);
    feature_put_count(l, "rows", (double)rows_of);
    feature_put_count(l, "group", (double)group);
    feature_put(l, "rows.waves", FEATURE_FREE, ceil(each) / each);
    feature_put(l, "group.rest4", FEATURE_FREE, feature_rest((double)group, 4));
    feature_put(l, "group.rest32", FEATURE_FREE, feature_rest((double)group, 32));
    feature_put(l, "group.rest1024", FEATURE_FREE, feature_rest((double)group, 1024));
}

/* Full names, so that a text search finds them. */
static const struct {
    double      rows, columns;
    const char *tiles, *waves, *fill;
} tile_shapes[] = {
    { 256, 128, "tiles256x128", "waves256x128", "fill256x128" },
    { 128, 256, "tiles128x256", "waves128x256", "fill128x256" },
    { 128, 128, "tiles128x128", "waves128x128", "fill128x128" },
    { 128, 64, "tiles128x64", "waves128x64", "fill128x64" },
    { 64, 128, "tiles64x128", "waves64x128", "fill64x128" },
    { 64, 64, "tiles64x64", "waves64x64", "fill64x64" },
    { 128, 32, "tiles128x32", "waves128x32", "fill128x32" },
    { 32, 128, "tiles32x128", "waves32x128", "fill32x128" },
    { 32, 32, "tiles32x32", "waves32x32", "fill32x32" },
};

/* Features of tiles: tiles per multiprocessor, idle share of the last wave, share of results in
 * tiles. */
static void put_tiles(feature_list *l, const launch_product *p, double multiprocessors)
{
    for (size_t t = 0; t < sizeof tile_shapes / sizeof tile_shapes[0]; t++) {
        const double tiles =
            p->batch * ceil(p->m / tile_shapes[t].rows) * ceil(p->n / tile_shapes[t].columns);
        const double each = tiles / fmax(multiprocessors, 1);

        feature_put(l, tile_shapes[t].tiles, FEATURE_FREE, log(each));
        feature_put(l, tile_shapes[t].waves, FEATURE_FREE, ceil(each) / each);
        feature_put(l, tile_shapes[t].fill, FEATURE_FREE,
                    p->batch * p->m * p->n /
                        (tiles * tile_shapes[t].rows * tile_shapes[t].columns));
    }
}

static void put_product(feature_list *l, const launch_product *p, double multiprocessors)
{
    feature_put_count(l, "product.batch", p->batch);
    feature_put_count(l, "product.m", p->m);
    feature_put_count(l, "product.n", p->n);
    feature_put_count(l, "product.k", p->k);
    feature_put_count(l, "product.results", p->batch * p->m * p->n);
    feature_put(l, "product.m.rest4", FEATURE_FREE, feature_rest(p->m, 4));
    feature_put(l, "product.n.rest4", FEATURE_FREE, feature_rest(p->n, 4));
    feature_put(l, "product.k.rest4", FEATURE_FREE, feature_rest(p->k, 4));
    feature_put(l, "product.k.rest8", FEATURE_FREE, feature_rest(p->k, 8));
    feature_put(l, "product.m.rest32", FEATURE_FREE, feature_rest(p->m, 32));
    feature_put(l, "product.n.rest32", FEATURE_FREE, feature_rest(p->n, 32));
    feature_put(l, "product.k.rest32", FEATURE_FREE, feature_rest(p->k, 32));
    put_tiles(l, p, multiprocessors);
}

static void put_common(feature_list *l, const lm_kernel *k, double seconds)
{
    const lm_work w     = lm_kernel_work(k);
    const double  bytes = (double)w.read_bytes + (double)w.written_bytes;

    for (lm_dtype t = LM_F32; t <= LM_U8; t++)
        feature_put(l, text_dtype_name(t), FEATURE_FLAG, k->dtype == t);
    for (lm_pass p = 0; p < LM_N_PASSES; p++)
        feature_put(l, kernel_pass_name(p), FEATURE_FLAG, k->pass == p);
    feature_put_count(l, "flops", fmax(1, (double)w.flops));
    feature_put_count(l, "bytes", bytes);
    feature_put_count(l, "intensity", fmax(1, (double)w.flops) / bytes);
    feature_put_count(l, "seconds", seconds);
}

void launch_features(const lm_kernel *k, double multiprocessors, double seconds, feature_list *out)
{
    const kernel_class *class = kernel_class_of(k->op);

    out->n = 0;
    put_common(out, k, seconds);
    class->features(out, k, multiprocessors);
    if (class->multiplies) {
        const launch_product p = class->multiplies(k);

        put_product(out, &p, multiprocessors);
    }
}

/* Feature names of a class, collected from kernels with all sizes 1. */
void launch_feature_names(size_t class, feature_list *out)
{
    lm_kernel k = { .size = sizeof k, .dtype = LM_F32, .repeat = 1 };

    out->n = 0;
    for (size_t i = 0; i < sizeof k.u.room / sizeof k.u.room[0]; i++)
        k.u.room[i] = 1;
    for (k.op = 0; k.op < N_TABLE; k.op++)
        for (int variant = 0; variant < 2 * LM_N_PASSES; variant++) {
            k.pass = (lm_pass)(variant / 2);
            if (k.op == LM_OP_GEMM)
                k.u.gemm.activations = variant % 2;
            if (!out->n && launch_class_of(&k) == class)
                launch_features(&k, 1, 1, out);
        }
}

uint64_t shape_mix(uint64_t h, int64_t value)
{
    h ^= (uint64_t)value;
    return random_next(&h);
}

uint64_t launch_shape(const lm_kernel *k)
{
    const kernel_class *class = kernel_class_of(k->op);
    const uint64_t h          = shape_mix(0, k->op);

    return class->shape ? class->shape(k, h) : shape_mix(h, (int64_t)lm_kernel_work(k).read_bytes);
}
