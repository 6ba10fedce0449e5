/* Prices of a machine file under the factors of a fit to steps under layouts. */
#include "predict/laid_prices.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"

static const char *const names[N_LAID_FACTORS] = {
    [LAID_PRODUCTS]      = "products",
    [LAID_ATTENTION]     = "attention",
    [LAID_MOVES]         = "other kernels",
    [LAID_UPDATE]        = "update",
    [LAID_WITHIN_STEPS]  = "steps of messages within a node",
    [LAID_WITHIN_BYTES]  = "bytes of messages within a node",
    [LAID_BETWEEN_STEPS] = "steps of messages between nodes",
    [LAID_BETWEEN_BYTES] = "bytes of messages between nodes",
    [LAID_STARTS]        = "kernels",
    [LAID_HOST]          = "launches",
};

const char *laid_factor_name(int k)
{
    return names[k];
}

static bool counts_bytes(sync_column c)
{
    return c != SYNC_START && c != SYNC_STEPS && c != SYNC_DEVICES;
}

static void scale_fabric(const fabric_model *from, fabric f, const double *factor, fabric_model *to)
{
    const double steps = factor[f == FABRIC_ONE ? LAID_WITHIN_STEPS : LAID_BETWEEN_STEPS];
    const double bytes = factor[f == FABRIC_ONE ? LAID_WITHIN_BYTES : LAID_BETWEEN_BYTES];

    for (size_t k = 0; k < from->n_planes; k++)
        for (sync_column c = 0; c < N_SYNC_COLUMNS; c++)
            to->plane[k].price[c] = from->plane[k].price[c] * (counts_bytes(c) ? bytes : steps);
    for (size_t k = 0; k < BASELINE_COLUMNS; k++) /* 1, log2 n, S log2 n */
        to->baseline[BASELINE_LOG2][k] = from->baseline[BASELINE_LOG2][k] * (k < 2 ? steps : bytes);
}

void laid_prices_put(const laid_prices *f, const double *factor)
{
    const double  host = factor[LAID_HOST] * LAID_LAUNCH;
    laid_factors *to   = &f->cal->by_steps;

    *to = f->base;
    for (int k = 0; k < N_LAID_KERNELS; k++)
        to->of[k] = f->base.of[k] * factor[k];
    to->start = f->base.start + factor[LAID_STARTS] * LAID_START;
    for (size_t i = 0; f->collectives && i < f->collectives->n; i++)
        for (fabric k = 0; k < N_FABRICS; k++)
            scale_fabric(&f->collectives->algorithm[i].of[k], k, factor,
                         &f->cal->collectives->algorithm[i].of[k]);
    f->cal->host = (host_time){ .rows           = factor[LAID_HOST] > 0 ? f->rows : 0,
                                .seconds        = { host, host, host },
                                .mape           = NAN,
                                .inference_mape = NAN,
                                .queue          = true,
                                .foreach        = true,
                                .laid           = true,
                                .framework      = HOST_OF_LAYOUTS };
}

void laid_prices_restore(const laid_prices *f)
{
    double none[N_LAID_FACTORS];

    for (int k = 0; k < N_LAID_FACTORS; k++)
        none[k] = k < LAID_STARTS;
    laid_prices_put(f, none);
    f->cal->by_steps = f->before;
}

lm_status laid_prices_keep(calibration *cal, size_t rows, bool kernels, bool tokens, laid_prices *f,
                           lm_error *err)
{
    const laid_factors before = cal->by_steps;

    *f = (laid_prices){
        .cal = cal, .rows = rows, .kernels = kernels, .before = before, .base = before
    };
    if (!before.known)
        f->base = laid_factors_none;
    f->base.known  = true;
    f->base.tokens = tokens && (!before.known || before.tokens);
    if (cal->collectives && !(f->collectives = collective_copy(cal->collectives)))
        return no_memory(err);
    return LM_OK;
}

void laid_prices_free(laid_prices *f)
{
    collective_free(f->collectives);
}
