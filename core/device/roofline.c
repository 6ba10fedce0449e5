/* The least time that a device's datasheet allows a pass. */
#include "device/roofline.h"

#include <math.h>

#define WINOGRAD 0.25
#define CAUSAL   0.5

roofline roofline_of(const double figure[N_DEVICE_FIGURES], lm_dtype products, bool tf32)
{
    device   d = { .name = NULL };
    double   peak;
    roofline out = { 0, 0, 0 };

    for (size_t i = 0; i < N_DEVICE_FIGURES; i++)
        d.figure[i] = figure[i];
    peak = device_peak(&d, products);
    if (products == LM_F32 && tf32) /* fmax() ignores NAN */
        peak = fmax(peak, figure[DEVICE_TF32]);
    if (peak > 0)
        out.flops = peak;
    if (figure[DEVICE_BANDWIDTH] > 0 && figure[DEVICE_L2] >= 0) {
        out.bandwidth = figure[DEVICE_BANDWIDTH];
        out.cache     = figure[DEVICE_L2];
    }
    return out;
}

double roofline_flop(const roofline *r)
{
    return r->flops > 0 ? 1 / r->flops : 0;
}

/* FLOPs of a term that no algorithm avoids; 0 for other counts. */
static double least_flops(const term_item *i)
{
    const size_t slot = term_slot(i->term);

    if (term_family_of(i->term) != FAMILY_DENSE)
        return 0;
    return i->value * (slot == SLOT_GEMM_FLOPS        ? 1
                       : slot == SLOT_ATTENTION_FLOPS ? CAUSAL
                                                      : WINOGRAD);
}

double roofline_seconds(const roofline *r, const term_vector *terms, double weights)
{
    double flops = 0, held = 0, updated = 0, bytes;

    for (size_t i = 0; i < terms->n; i++) {
        const size_t slot = term_slot(terms->item[i].term);

        flops += least_flops(&terms->item[i]);
        if (term_of_weights(terms->item[i].term))
            held += terms->item[i].value;
        else if (term_of_update(terms->item[i].term) && slot != SLOT_UPDATE_LAUNCHES)
            updated += terms->item[i].value;
    }
    bytes = fmin(held, weights) + updated - r->cache;
    return fmax(flops * roofline_flop(r), r->bandwidth > 0 ? fmax(0, bytes) / r->bandwidth : 0);
}
