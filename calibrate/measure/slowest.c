/* Times of the slowest rank. */
#include "measure/slowest.h"

#include <math.h>

void slowest_cpu(const world *group, const double own[2 * N_PHASES], const double longest[N_PHASES],
                 double out[N_PHASES])
{
    for (phase p = 0; p < N_PHASES; p++) {
        const double cpu = own[N_PHASES + p];

        out[p] = own[p] >= longest[p] && isfinite(cpu) ? cpu : -HUGE_VAL; /* MPI orders no NAN */
    }
    world_max(group, out, N_PHASES);
    for (phase p = 0; p < N_PHASES; p++)
        out[p] = isfinite(out[p]) ? out[p] : (double)NAN;
}
