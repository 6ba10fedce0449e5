/* How often a point is measured. */
#include "suggest/stopping.h"

#include <math.h>

const stopping stopping_usual = { 1, 3, 20, 2, 0.02, 0 };

double stopping_seconds(const stopping *stop, double once)
{
    return (double)stop->warmup * once +
           fmax((double)stop->min_repeats * once,
                fmin((double)stop->max_repeats * once, stop->max_seconds));
}
