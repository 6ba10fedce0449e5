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

const char *laid_factor_name(laid_factor k)
{
    return names[k];
}

/* Forms of the default model for passes and updates. */
static const phase told[LAID_FORMS] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_STEP,
                                        PHASE_INFERENCE };

/* ---- what a factor is on ---- */

/* The factor of a term; N_LAID_FACTORS: none. A forward pass of inference has the products of one of
 * training; its other kernels differ. */
static laid_factor factor_of_term(const laid_prices *f, phase q, size_t term)
{
    if (q == PHASE_INFERENCE)
        return f->kernels && term_slot(term) == SLOT_GEMM_FLOPS ? LAID_PRODUCTS : N_LAID_FACTORS;
    if (term_of_update(term))
        return LAID_UPDATE;
    switch (term_slot(term)) {
    case SLOT_GEMM_FLOPS:
    case SLOT_GEMM_WEIGHTS:
    case SLOT_GEMV_WEIGHTS:
    case SLOT_GEMM_BYTES: return LAID_PRODUCTS;
    case SLOT_ATTENTION_FLOPS:
    case SLOT_ATTENTION_BYTES: return LAID_ATTENTION;
    case SLOT_NORM_BYTES:
    case SLOT_NORM_AFTER_BYTES:
    case SLOT_MAP_BYTES:
    case SLOT_MAP_AFTER_BYTES:
    case SLOT_MAP_ELEMENTS:
    case SLOT_NORM_PLANES: return LAID_MOVES;
    default: /* open: terms that transformers do not have */ return N_LAID_FACTORS;
    }
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
    const double host = factor[LAID_HOST] * LAID_LAUNCH;

    for (size_t i = 0; i < LAID_FORMS; i++) {
        fitted *of = &f->cal->fitted[form_find(DEFAULT_MODEL, told[i])];

        for (size_t t = 0; t < N_TERMS && f->base[i]; t++) {
            const laid_factor k = factor_of_term(f, told[i], t);

            of->term[t].value = f->base[i][t] * (k < N_LAID_FACTORS ? factor[k] : 1);
            if (term_family_of(t) == FAMILY_LAUNCHES && !term_of_update(t) &&
                told[i] != PHASE_INFERENCE)
                of->term[t].value += factor[LAID_STARTS] * LAID_START;
        }
    }
    for (size_t i = 0; f->collectives && i < f->collectives->n; i++)
        for (fabric k = 0; k < N_FABRICS; k++)
            scale_fabric(&f->collectives->algorithm[i].of[k], k, factor,
                         &f->cal->collectives->algorithm[i].of[k]);
    f->cal->host = (host_time){ .rows      = factor[LAID_HOST] > 0 ? f->rows : 0,
                                .seconds   = { host, host, host },
                                .mape      = NAN,
                                .queue     = true,
                                .foreach   = true,
                                .laid      = true,
                                .framework = HOST_OF_LAYOUTS };
}

lm_status laid_prices_keep(calibration *cal, size_t rows, bool kernels, laid_prices *f,
                           lm_error *err)
{
    *f = (laid_prices){ .cal = cal, .rows = rows, .kernels = kernels };
    for (size_t i = 0; i < LAID_FORMS; i++) {
        const fitted *of = &cal->fitted[form_find(DEFAULT_MODEL, told[i])];

        if (!of->present)
            continue;
        if (!(f->base[i] = malloc(N_TERMS * sizeof *f->base[i])))
            return no_memory(err);
        for (size_t t = 0; t < N_TERMS; t++)
            f->base[i][t] = of->term[t].value;
    }
    if (cal->collectives && !(f->collectives = collective_copy(cal->collectives)))
        return no_memory(err);
    return LM_OK;
}

void laid_prices_free(laid_prices *f)
{
    for (size_t i = 0; i < LAID_FORMS; i++)
        free(f->base[i]);
    collective_free(f->collectives);
}

void laid_prices_move(const calibration *from, calibration *to)
{
    for (size_t i = 0; i < LAID_FORMS; i++) {
        const size_t at = form_find(DEFAULT_MODEL, told[i]);

        for (size_t t = 0; t < N_TERMS && to->fitted[at].present; t++)
            to->fitted[at].term[t].value = from->fitted[at].term[t].value;
    }
}
