/* How good a model is on points. */
#include "fit/validate.h"

#include <math.h>
#include <stdlib.h>

judgement validate_judge(const points *p, const comparison *c, phase q, const split *by,
                         size_t fold)
{
    double   *predicted = calloc(p->n_points + 1, sizeof *predicted);
    double   *measured  = calloc(p->n_points + 1, sizeof *measured);
    double   *width     = calloc(p->n_points + 1, sizeof *width);
    size_t    n = 0, n_stated = 0, inside = 0;
    judgement j;

    for (size_t i = 0; predicted && measured && width && i < p->n_points; i++) {
        const comparison *at = &c[i];

        if ((fold != SPLIT_ALWAYS && by->fold[i] != fold) || isnan(at->predicted[q]) ||
            isnan(at->measured[q]))
            continue;
        predicted[n]  = at->predicted[q];
        measured[n++] = at->measured[q];
        if (isnan(at->low[q]) || isnan(at->high[q]))
            continue;
        inside += at->measured[q] >= at->low[q] && at->measured[q] <= at->high[q];
        width[n_stated++] = (at->high[q] - at->low[q]) / at->predicted[q];
    }
    j = (judgement){ .errors   = stats_compare(predicted, measured, n),
                     .n_stated = n_stated,
                     .coverage = n_stated ? (double)inside / (double)n_stated : NAN,
                     .width    = n_stated ? stats_quantile(width, n_stated, 0.5) : NAN };
    free(predicted);
    free(measured);
    free(width);
    return j;
}

bool validate_tells(const points *p, phase q)
{
    for (size_t i = 0; q == PHASE_UPDATE && i < p->n_points; i++)
        if (p->point[i].row->ranks > 1)
            return true;
    return q != PHASE_UPDATE;
}
