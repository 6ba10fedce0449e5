/* PALEO's model beside others. */
#include "baselines/compare_paleo.h"

#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"

static void fill(const point *pt, const double seconds[N_PHASES], double to[N_TIMES])
{
    const double grad = seconds[PHASE_UPDATE] + (pt->row->ranks > 1 ? seconds[PHASE_SYNC] : 0);

    for (phase q = 0; q < N_TIMES; q++)
        to[q] = NAN;
    to[PHASE_FORWARD]       = seconds[PHASE_FORWARD];
    to[PHASE_BACKWARD]      = seconds[PHASE_BACKWARD];
    to[PHASE_UPDATE]        = seconds[PHASE_UPDATE];
    to[PHASE_SYNC]          = seconds[PHASE_SYNC];
    to[PHASE_GRAD]          = grad;
    to[PHASE_BACKWARD_GRAD] = seconds[PHASE_BACKWARD] + grad;
    to[PHASE_STEP]          = seconds[PHASE_STEP];
    to[PHASE_INFERENCE]     = seconds[PHASE_INFERENCE];
}

lm_status compare_paleo(const points *p, const split *by, const registry *reg, const device *of,
                        comparison *out, lm_error *err)
{
    double(*seconds)[N_PHASES] = malloc((p->n_points + 1) * sizeof *seconds);
    lm_status status           = seconds ? LM_OK : no_memory(err);

    /* which scheme makes no difference to what is fitted but between numbers of nodes */
    if (!status)
        status = paleo_predict_points(p, by, reg, of, PALEO_TREE, seconds, err);
    for (size_t i = 0; i < p->n_points && !status; i++) {
        for (phase w = 0; w < N_TIMES; w++)
            out[i].part[w] = NAN;
        for (phase q = 0; q < N_TIMES; q++)
            out[i].low[q] = out[i].high[q] = NAN;
        compare_measured(&p->point[i], &out[i]);
        fill(&p->point[i], seconds[i], out[i].predicted);
    }
    free(seconds);
    return status;
}
