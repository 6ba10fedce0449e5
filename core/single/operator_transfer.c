/* Prices carried over by datasheets. */
#include "single/operator_transfer.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"

#define WIDTH          0.5 /* in natural logarithms: half as fast again is near */
#define POWER_EXPONENT 0.5

static double log_ratio(double a, double b)
{
    return a > 0 && b > 0 ? log(a / b) : 0;
}

static double distance2(const device_speed *a, const device_speed *b)
{
    const double f = log_ratio(a->flops, b->flops), w = log_ratio(a->bandwidth, b->bandwidth),
                 m = log_ratio(a->multiprocessors, b->multiprocessors);

    return f * f + w * w + m * m;
}

/* A price there as a multiple of one here. */
static double ratio(resource r, const device_speed *from, const device_speed *to)
{
    const double share =
        from->power > 0 && to->power > 0
            ? pow((to->flops / to->power) / (from->flops / from->power), POWER_EXPONENT)
            : 1;

    switch (r) {
    case RESOURCE_FLOPS: return from->flops / to->flops * share;
    case RESOURCE_BANDWIDTH: return from->bandwidth / to->bandwidth;
    case RESOURCE_DEPTH:
    case RESOURCE_HOST:
    case N_RESOURCES: break;
    }
    return 1;
}

static lm_status add(const columns *c, const operator_source *from, const device_speed *to,
                     double weight, columns *out, lm_error *err)
{
    for (size_t j = 0; j < c->n; j++) {
        const column *of = &c->column[j];
        const size_t  at = columns_need(out, of->name, of->unit, of->resource);

        if (at == COLUMN_NONE)
            return no_memory(err);
        out->column[at].floor = of->floor;
        if (of->parent != COLUMN_NONE)
            out->column[at].parent = columns_find(out, c->column[of->parent].name);
        out->column[at].price += weight * of->price * ratio(of->resource, &from->speed, to);
    }
    return LM_OK;
}

static lm_status fill(const operator_source *from, size_t n, const device_speed *to,
                      operator_class class, operator_prices *out, lm_error *err)
{
    double    least = INFINITY, sum = 0;
    lm_status status = LM_OK;

    for (size_t i = 0; i < n; i++) {
        const operator_prices *p = &from[i].model->of[class];
        const double           d = distance2(&from[i].speed, to);

        if (!p->columns.n)
            continue;
        if (d < least) {
            least                    = d;
            out->how                 = p->how;
            out->power               = p->power;
            out->how.multiprocessors = to->multiprocessors > 0 ? to->multiprocessors : 0;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (from[i].model->of[class].columns.n)
            sum += exp(-(distance2(&from[i].speed, to) - least) / (2 * WIDTH * WIDTH));
    for (size_t i = 0; i < n && !status; i++)
        if (from[i].model->of[class].columns.n)
            status = add(&from[i].model->of[class].columns, &from[i], to,
                         exp(-(distance2(&from[i].speed, to) - least) / (2 * WIDTH * WIDTH)) / sum,
                         &out->columns, err);
    return status;
}

lm_status operator_transfer(const operator_source *from, size_t n, const device_speed *to,
                            operator_model *m, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i <= n; i++) {
        const device_speed *s = i < n ? &from[i].speed : to;

        if (!(s->flops > 0) || !(s->bandwidth > 0))
            return lm_error_set(err, LM_E_ARG, "a device's peak or bandwidth is not known");
    }
    for (operator_class c = 0; c < OPERATOR_OTHER && !status; c++)
        if (!m->of[c].columns.n)
            status = fill(from, n, to, c, &m->of[c], err);
    return status;
}
