/* Networks composed of their layers, corrected by whole networks. */
#include "single/composed.h"

#include <math.h>

#include "base/no_memory.h"
#include "solve/solve.h"

#define JOIN  4
#define RIDGE 0.1

static const struct {
    const char *name;
    bool        host;
} parts[N_WHOLE_PARTS] = {
    [WHOLE_HOST]          = { "host", true },
    [WHOLE_HOST_BACK]     = { "host.backward", true },
    [WHOLE_PRODUCTS]      = { "products", false },
    [WHOLE_OTHERS]        = { "others", false },
    [WHOLE_PRODUCTS_BACK] = { "products.backward", false },
    [WHOLE_OTHERS_BACK]   = { "others.backward", false },
    [WHOLE_UPDATE]        = { "update", false },
};

const composed_factors composed_plain = { .of = { 1, 1, 1, 1, 1, 1, 1 } };

const char *whole_part_name(whole_part p)
{
    return parts[p].name;
}

static row_cost cost_of(const composed_factors *f, const double part[N_WHOLE_PARTS])
{
    row_cost cost = { 0, 0 };

    for (whole_part p = 0; p < N_WHOLE_PARTS; p++)
        *(parts[p].host ? &cost.floor : &cost.work) += f->of[p] * part[p];
    return cost;
}

double composed_seconds(const composed_factors *f, const double part[N_WHOLE_PARTS])
{
    return rows_seconds(cost_of(f, part), JOIN);
}

double composed_device_seconds(const composed_factors *f, const double part[N_WHOLE_PARTS])
{
    return cost_of(f, part).work;
}

static lm_status make(columns *c, lm_error *err)
{
    for (whole_part p = 0; p < N_WHOLE_PARTS; p++) {
        if (columns_need(c, parts[p].name, "s", RESOURCE_HOST) != (size_t)p)
            return no_memory(err);
        c->column[p].price = 1;
        c->column[p].floor = parts[p].host;
    }
    return LM_OK;
}

/* Builds rows of parts: the counts are seconds, so the prices are factors. A row with a single part
 * of 1 s in 1 s holds each factor near 1. */
static lm_status build(const composed_row *row, const bool *in, size_t n, rows *r, lm_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (in && !in[i])
            continue;
        if (!(row[i].seconds > 0))
            return lm_error_set(err, LM_E_ARG, "a network took %g s", row[i].seconds);
        rows_begin(r, row[i].seconds, 1, 0);
        for (whole_part p = 0; p < N_WHOLE_PARTS; p++)
            rows_item(r, (size_t)p, row[i].part[p]);
    }
    for (whole_part p = 0; p < N_WHOLE_PARTS; p++) {
        rows_begin(r, 1, RIDGE, 0);
        rows_item(r, (size_t)p, 1);
    }
    return rows_check(r, err);
}

lm_status composed_fit(const composed_row *row, const bool *in, size_t n, composed_factors *out,
                       lm_error *err)
{
    solve_options o      = solve_default;
    columns       c      = { 0 };
    rows          r      = { 0 };
    lm_status     status = make(&c, err);

    o.p       = JOIN;
    o.huber   = 0.3;
    o.damping = 0.01;
    o.least   = 1;
    *out      = composed_plain;
    for (size_t i = 0; i < n; i++)
        out->rows += !in || in[i];
    if (!status && out->rows && !(status = build(row, in, n, &r, err)))
        status = solve_prices(&r, NULL, &o, &c, err);
    for (whole_part p = 0; p < N_WHOLE_PARTS && !status; p++)
        out->of[p] = c.column[p].price;
    columns_free(&c);
    rows_free(&r);
    return status;
}
