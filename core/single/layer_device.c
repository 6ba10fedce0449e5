/* Figures of datasheets for prices of single layers. */
#include "single/layer_device.h"

#include <string.h>

static const char *const figures[N_LAYER_FIGURES] = {
    [LAYER_FLOPS]           = "flops",
    [LAYER_BANDWIDTH]       = "bandwidth",
    [LAYER_MULTIPROCESSORS] = "multiprocessors",
    [LAYER_L2]              = "l2",
    [LAYER_CLOCK]           = "clock",
    [LAYER_POWER]           = "power",
};

const char *layer_figure_name(layer_figure f)
{
    return figures[f];
}

layer_figure layer_figure_parse(const char *name)
{
    layer_figure f = 0;

    while (f < N_LAYER_FIGURES && strcmp(figures[f], name) != 0)
        f++;
    return f;
}

bool layer_device_known(const layer_device *d)
{
    for (layer_figure f = 0; f < N_LAYER_FIGURES; f++)
        if (d->figure[f] > 0)
            return true;
    return false;
}
