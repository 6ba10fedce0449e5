/* Factors on the prices of kernels, from a fit to whole steps under layouts. */
#include "fit/laid_factors.h"

const laid_factors laid_factors_none = { .of = { 1, 1, 1, 1 }, .others = { 1, 1, 1, 1 } };

laid_kernel laid_kernel_of(phase part, size_t term)
{
    if (part == PHASE_INFERENCE)
        return term_slot(term) == SLOT_GEMM_FLOPS ? LAID_PRODUCTS : N_LAID_KERNELS;
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
    default: /* open: terms that transformers do not have */ return N_LAID_KERNELS;
    }
}

double laid_factors_price(const laid_factors *f, bool tokens, phase part, size_t term, double price)
{
    laid_kernel k;

    if (!f->known)
        return price;
    if (f->tokens && !tokens)
        return price * f->others[form_resource(term)];
    if ((k = laid_kernel_of(part, term)) < N_LAID_KERNELS)
        price *= f->of[k];
    if (term_family_of(term) == FAMILY_LAUNCHES && !term_of_update(term) && part != PHASE_INFERENCE)
        price += f->start;
    return price;
}
