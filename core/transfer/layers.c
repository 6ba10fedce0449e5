/* Transfer of prices of single layers and launches to another device. */
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

/* ---- means ---- */

/* Prices of a class; NULL: the machine has none. */
static const layer_prices *prices_of(const transfer_source *s, size_t class)
{
    const layer_model *m = layer_classes[class]->launch ? s->cal->operators : s->cal->layers;

    return m && m->of[class].present ? &m->of[class] : NULL;
}

/* Mean price over machines. A price without rows is the start value of its fit; it counts only if
 * no machine has a fitted one. */
static double mean_price(const transfer_source *from, size_t n, size_t class, const column *of)
{
    double sum = 0, weight = 0;

    for (int any = 0; any < 2 && !(weight > 0); any++)
        for (size_t i = 0; i < n; i++) {
            const layer_prices *p  = prices_of(&from[i], class);
            const size_t        at = p ? columns_find(&p->columns, of->name) : COLUMN_NONE;

            if (at != COLUMN_NONE && (any || p->columns.column[at].rows)) {
                sum +=
                    from[i].weight * from[i].scale.of[of->resource] * p->columns.column[at].price;
                weight += from[i].weight;
            }
        }
    return weight > 0 ? sum / weight : 0;
}

/* Adds missing columns of a machine; those of launches with their families. */
static lm_status take_columns(const columns *from, columns *to, bool launches, lm_error *err)
{
    for (size_t j = 0; j < from->n; j++) {
        const column *c  = &from->column[j];
        const size_t  at = columns_need(to, c->name, c->unit, c->resource);

        if (at == COLUMN_NONE)
            return no_memory(err);
        if (!launches)
            continue;
        to->column[at].floor = c->floor;
        if (c->parent != COLUMN_NONE)
            to->column[at].parent = columns_find(to, from->column[c->parent].name);
    }
    return LM_OK;
}

static lm_status pool_class(const transfer_source *from, size_t n, const device *to, size_t class,
                            layer_prices *out, lm_error *err)
{
    const bool launches = layer_classes[class]->launch;
    double     nearest  = 0;

    for (size_t i = 0; i < n; i++) {
        const layer_prices *p = prices_of(&from[i], class);

        if (!p)
            continue;
        if (!out->present && !launches && !layer_class_make(layer_classes[class], &out->columns))
            return no_memory(err);
        out->columns.join =
            out->present ? out->columns.join : p->columns.join; /* the first machine's */
        out->present = true;
        if (from[i].weight > nearest)
            out->how = p->how;
        nearest = fmax(nearest, from[i].weight);
        if (take_columns(&p->columns, &out->columns, launches, err))
            return LM_E_NOMEM;
    }
    out->how.multiprocessors = fmax(0, to->figure[DEVICE_MULTIPROCESSORS]); /* NAN becomes 0 */
    out->errors              = (stats_errors){ 0, NAN, NAN, NAN, NAN, NAN };
    for (size_t j = 0; j < out->columns.n; j++)
        out->columns.column[j].price = mean_price(from, n, class, &out->columns.column[j]);
    return LM_OK;
}

lm_status transfer_layers_pool(const transfer_source *from, size_t n, const device *to,
                               bool launches, layer_model **out, lm_error *err)
{
    const layer_model *any    = NULL;
    lm_status          status = LM_OK;

    for (size_t i = 0; i < n && !any; i++)
        any = launches ? from[i].cal->operators : from[i].cal->layers;
    if (!any)
        return LM_OK;
    if (!*out && !(*out = calloc(1, sizeof **out)))
        return no_memory(err);
    if (any->multiprocessors > 0)
        (*out)->multiprocessors = to->figure[DEVICE_MULTIPROCESSORS];
    for (size_t k = launches ? FIRST_LAUNCH : 0;
         k < (launches ? (size_t)N_LAYER_CLASSES : FIRST_LAUNCH) && !status; k++)
        if (!(*out)->of[k].present)
            status = pool_class(from, n, to, k, &(*out)->of[k], err);
    return status;
}

/* ---- how far apart ---- */

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

/* Seconds of a layer, each model with its own multiprocessors. */
static double seconds_of(layer_asker *by, const layer_shape *s, bool training)
{
    const layer_run run = { .forward         = true,
                            .backward        = training,
                            .alone           = true,
                            .input_gradient  = true,
                            .multiprocessors = by->m->multiprocessors };

    return layer_model_seconds(by, s, &run);
}

double transfer_layers_deviation(const layer_model *own, const layer_model *other)
{
    layer_asker by[2] = { layer_asker_of(own), layer_asker_of(other) };
    double      apart[N_SPREAD];
    size_t      used = 0;

    for (size_t i = 0; i < N_SPREAD; i++) {
        const layer_shape s =
            i / 2 < N_CONVS ? typical_conv(i / 2) : typical_product(i / 2 - N_CONVS);
        const double a = seconds_of(&by[0], &s, i % 2), b = seconds_of(&by[1], &s, i % 2);

        if (a > 0 && b > 0)
            apart[used++] = fabs(log(a / b));
    }
    layer_asker_free(&by[0]);
    layer_asker_free(&by[1]);
    return used ? stats_quantile(apart, used, QUANTILE) : 0;
}
