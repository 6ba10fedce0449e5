/** Figures of a datasheet: features of a residual for several devices. */
#ifndef SINGLE_LAYER_DEVICE_H
#define SINGLE_LAYER_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum layer_figure {
    LAYER_FLOPS,     /**< peak, FLOP/s in 32 bits without tensor cores */
    LAYER_BANDWIDTH, /**< bytes/s */
    LAYER_MULTIPROCESSORS,
    LAYER_L2,    /**< bytes */
    LAYER_CLOCK, /**< Hz */
    LAYER_POWER, /**< power limit, watts */
    N_LAYER_FIGURES
} layer_figure;

/** Zero-initialise. */
typedef struct layer_device {
    double figure[N_LAYER_FIGURES]; /**< 0 or less: unknown */
} layer_device;

/** "flops", "bandwidth", "multiprocessors", "l2", "clock", "power" */
const char *layer_figure_name(layer_figure f);
/** N_LAYER_FIGURES: unknown name. */
layer_figure layer_figure_parse(const char *name);

/** Is any figure known? */
bool layer_device_known(const layer_device *d);

#endif
