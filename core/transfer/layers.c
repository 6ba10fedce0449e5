/* Prices of single layers, carried over to another device. */
#include "transfer/layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "transfer/correct.h"

void transfer_layers_want(const layer_model *m, bool wanted[N_RESOURCES])
{
    wanted[RESOURCE_DEPTH] |= m->multiprocessors > 0;
    for (size_t k = 0; k < N_LAYER_CLASSES; k++)
        for (size_t j = 0; m->of[k].present && j < m->of[k].columns.n; j++)
            if (m->of[k].columns.column[j].price > 0)
                wanted[m->of[k].columns.column[j].resource] = true;
}

static bool begins(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

size_t transfer_layers_factor(const column *c)
{
    const bool forward = begins(c->name, "forward.") || begins(c->name, "call");

    return (forward ? 0 : CORRECT_BACKWARD) + (size_t)c->resource;
}

/* ---- means --------------------------------------------------------------------------------------
 */

/* Its column of a class, NULL where it has none. */
static const column *column_of(const transfer_source *s, size_t class, const char *name)
{
    const layer_prices *p  = s->cal->layers ? &s->cal->layers->of[class] : NULL;
    const size_t        at = p && p->present ? columns_find(&p->columns, name) : COLUMN_NONE;

    return at == COLUMN_NONE ? NULL : &p->columns.column[at];
}

/* A price that no row of a machine determined is where its fit began: it counts only where nobody
 * knows better. */
static double mean_price(const transfer_source *from, size_t n, size_t class, const column *of)
{
    double sum = 0, weight = 0;

    for (int any = 0; any < 2 && !(weight > 0); any++)
        for (size_t i = 0; i < n; i++) {
            const column *c = column_of(&from[i], class, of->name);

            if (c && (any || c->rows)) {
                sum += from[i].weight * from[i].scale.of[of->resource] * c->price;
                weight += from[i].weight;
            }
        }
    return weight > 0 ? sum / weight : 0;
}

static lm_status pool_class(const transfer_source *from, size_t n, size_t class, layer_prices *out,
                            lm_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const layer_prices *p = from[i].cal->layers ? &from[i].cal->layers->of[class] : NULL;

        if (!p || !p->present)
            continue;
        if (!out->present && !layer_classes[class]->make(&out->columns))
            return no_memory(err);
        out->columns.join = out->present ? out->columns.join : p->columns.join; /* the first's */
        out->present      = true;
        for (size_t j = 0; j < p->columns.n; j++) {
            const column *c = &p->columns.column[j];

            if (columns_need(&out->columns, c->name, c->unit, c->resource) == COLUMN_NONE)
                return no_memory(err);
        }
    }
    out->errors = (stats_errors){ 0, NAN, NAN, NAN, NAN, NAN };
    for (size_t j = 0; j < out->columns.n; j++)
        out->columns.column[j].price = mean_price(from, n, class, &out->columns.column[j]);
    return LM_OK;
}

lm_status transfer_layers_pool(const transfer_source *from, size_t n, const device *to,
                               layer_model **out, lm_error *err)
{
    const layer_model *any    = NULL;
    layer_model       *m      = NULL;
    lm_status          status = LM_OK;

    *out = NULL;
    for (size_t i = 0; i < n && !any; i++)
        any = from[i].cal->layers;
    if (!any)
        return LM_OK;
    if (!(m = calloc(1, sizeof *m)))
        return no_memory(err);
    if (any->multiprocessors > 0)
        m->multiprocessors = to->figure[DEVICE_MULTIPROCESSORS];
    for (size_t k = 0; k < N_LAYER_CLASSES && !status; k++)
        status = pool_class(from, n, k, &m->of[k], err);
    if (status) {
        layer_model_free(m);
        free(m);
        return status;
    }
    *out = m;
    return LM_OK;
}

/* ---- how far apart ------------------------------------------------------------------------------
 */

static const int64_t batches[] = { 1, 16 }, sides[] = { 7, 28, 112 }, channels[] = { 32, 128, 512 },
                     windows[] = { 1, 3 }, rows_of[] = { 1, 16, 64 },
                     features[] = { 256, 1024, 4096 };

#define N_OF(list) (sizeof(list) / sizeof(list)[0])
#define N_CONVS    (N_OF(batches) * N_OF(sides) * N_OF(channels) * N_OF(windows))
#define N_PRODUCTS (N_OF(rows_of) * N_OF(features))
#define N_SPREAD   (2 * (N_CONVS + N_PRODUCTS))
#define QUANTILE   0.9

static layer_shape typical_conv(size_t at)
{
    const int64_t n = batches[at % N_OF(batches)], side = sides[at / 2 % N_OF(sides)],
                  c = channels[at / 6 % N_OF(channels)], w = windows[at / 18];
    const double elements = (double)(n * c * side * side);

    return (layer_shape){ .kind     = SHAPE_CONV,
                          .n        = n,
                          .c_in     = c,
                          .c_out    = c,
                          .groups   = 1,
                          .in       = { 1, side, side },
                          .out      = { 1, side, side },
                          .window   = { 1, w, w },
                          .stride   = { 1, 1, 1 },
                          .dilation = { 1, 1, 1 },
                          .before   = { 0, w / 2, w / 2 },
                          .behind   = { 0, w / 2, w / 2 },
                          .inputs   = elements,
                          .outputs  = elements,
                          .weights  = (double)(c * c * w * w) };
}

static layer_shape typical_product(size_t at)
{
    const int64_t n = rows_of[at % N_OF(rows_of)], c = features[at / N_OF(rows_of)];

    return (layer_shape){ .kind    = SHAPE_DENSE,
                          .n       = n,
                          .c_in    = c,
                          .c_out   = c,
                          .groups  = 1,
                          .inputs  = (double)(n * c),
                          .outputs = (double)(n * c),
                          .weights = (double)(c * c) };
}

/* Multiprocessors are each model's own. */
static double seconds_of(layer_model *m, const layer_shape *s, bool training)
{
    const layer_run run = { .forward         = true,
                            .backward        = training,
                            .alone           = true,
                            .input_gradient  = true,
                            .multiprocessors = m->multiprocessors };

    return layer_model_seconds(m, s, &run);
}

double transfer_layers_deviation(layer_model *own, layer_model *other)
{
    double apart[N_SPREAD];
    size_t used = 0;

    for (size_t i = 0; i < N_SPREAD; i++) {
        const layer_shape s =
            i / 2 < N_CONVS ? typical_conv(i / 2) : typical_product(i / 2 - N_CONVS);
        const double a = seconds_of(own, &s, i % 2), b = seconds_of(other, &s, i % 2);

        if (a > 0 && b > 0)
            apart[used++] = fabs(log(a / b));
    }
    return used ? stats_quantile(apart, used, QUANTILE) : 0;
}
