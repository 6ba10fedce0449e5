/* Slowdown of ranks that share a host. */
#include "fabric/sharing.h"

#include <math.h>

/* Factor of a pass or of the update; NULL: another part. A forward pass in evaluation mode has the
 * factor of training. */
static const double *part_of(const sharing_at *s, phase which)
{
    return which == PHASE_FORWARD || which == PHASE_INFERENCE ? &s->forward
           : which == PHASE_BACKWARD                          ? &s->backward
           : which == PHASE_UPDATE                            ? &s->update
                                                              : NULL;
}

double sharing_times(const sharing *s, phase which, int64_t devices)
{
    double at = 1, times = 1, slope = 0;

    for (size_t i = 0; i < s->n && at < (double)devices; i++) {
        const double *here = part_of(&s->of[i], which);

        if (!here || isnan(*here))
            continue;
        slope = (*here - times) / ((double)s->of[i].devices - at);
        at    = (double)s->of[i].devices;
        times = *here;
    }
    return fmax(1, times + slope * ((double)devices - at));
}

bool sharing_known(const sharing *s, int64_t devices)
{
    return devices < 2 || (s->n && devices <= s->of[s->n - 1].devices);
}
