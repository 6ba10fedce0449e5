/* Slowdown of ranks that share a host, from measured steps. */
#include "fit/shared.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "base/stats.h"

int64_t shared_devices(const observation *row)
{
    const int64_t hosts = row->hosts > 1 ? row->hosts : 1;

    return row->ranks / hosts + (row->ranks % hosts > 0); /* rounds up; a sum might overflow */
}

double shared_times(const calibration *cal, const char *model, phase which, int64_t devices)
{
    return form_find(model, PHASE_SYNC) < n_forms ? sharing_times(&cal->shared, which, devices) : 1;
}

/* The median of measured / predicted; NAN: too few. */
static double median_of(const points *p, const calibration *cal, const char *model, phase which,
                        phase f, int64_t devices, double *ratio, size_t *rows)
{
    const size_t at = form_find(model, which);
    size_t       n  = 0;

    for (size_t i = 0; i < p->n_points; i++) {
        const point *pt = &p->point[i];
        const double of = shared_devices(pt->row) == devices
                              ? pt->together[f] / calibration_seconds(cal, at, &pt->load)
                              : NAN;

        if (isfinite(of))
            ratio[n++] = of;
    }
    if (n < SHARED_LEAST)
        return NAN;
    *rows += n;
    return fmax(1, stats_quantile(ratio, n, 0.5));
}

/* The next larger number of devices; 0: there is none. */
static int64_t next_devices(const points *p, int64_t above)
{
    int64_t least = 0;

    for (size_t i = 0; i < p->n_points; i++) {
        const int64_t here = shared_devices(p->point[i].row);

        if (observation_of_network(p->point[i].row) && here > above && (!least || here < least))
            least = here;
    }
    return least;
}

lm_status shared_fit(const points *p, const char *model, calibration *cal, lm_error *err)
{
    double *ratio = malloc((p->n_points + 1) * sizeof *ratio);

    if (!ratio)
        return no_memory(err);
    cal->shared.n = 0;
    for (int64_t g = next_devices(p, 1); g && cal->shared.n < SHARING_MOST;
         g         = next_devices(p, g)) {
        sharing_at at = { .devices = g };

        at.forward  = median_of(p, cal, model, PHASE_FORWARD, PHASE_FORWARD, g, ratio, &at.rows);
        at.backward = median_of(p, cal, model, PHASE_BACKWARD, PHASE_BACKWARD, g, ratio, &at.rows);
        at.update   = median_of(p, cal, model, PHASE_UPDATE, PHASE_UPDATE, g, ratio, &at.rows);
        if (at.rows)
            cal->shared.of[cal->shared.n++] = at;
    }
    free(ratio);
    return LM_OK;
}
