/* Times of single points beside the others of their phase. */
#include <math.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "observe/judge.h"
#include "observe/usual.h"

/* FLOP, bytes and things started; of an update and an all-reduce what those go by. */
static usual_row row_of(const point *pt, phase f)
{
    const net_metrics *m   = &pt->load.counts;
    usual_row          row = { .seconds = pt->seconds[f] };

    if (f == PHASE_SYNC) {
        row.count[0] = pt->load.bytes;
        row.count[1] = 1;
        row.count[2] = (double)pt->row->ranks;
    } else if (f == PHASE_UPDATE) {
        row.count[0] = (double)m->param_bytes;
        row.count[1] = (double)m->param_tensors + 1;
    } else {
        row.count[0] = phase_flops(m, f);
        row.count[1] = phase_bytes(m);
        row.count[2] = (double)m->layers + 1;
    }
    return row;
}

/* Times that can be judged by each other; steps of several ranks hold an all-reduce. */
typedef struct kin {
    obs_kind kind;
    phase    phase;
    bool     many;
} kin;

static bool belongs(const point *pt, const kin *k)
{
    return pt->row->kind == k->kind && !isnan(pt->seconds[k->phase]) &&
           (k->phase != PHASE_STEP || (pt->row->ranks > 1) == k->many);
}

static double decades_of(const kin *k)
{
    return k->phase == PHASE_SYNC || k->kind == OBS_LAYER ? DOUBT_DECADES_WIDE : DOUBT_DECADES;
}

static bool judge_kin(const points *p, const kin *k, usual_row *row, doubts *out)
{
    size_t n    = 0;
    bool   done = true;

    for (size_t i = 0; i < p->n_points; i++)
        if (belongs(&p->point[i], k))
            row[n++] = row_of(&p->point[i], k->phase);
    done = usual_deviations(row, n);
    for (size_t i = 0, at = 0; i < p->n_points && done; i++) {
        const point *pt = &p->point[i];

        if (!belongs(pt, k))
            continue;
        if (fabs(row[at].deviation) > decades_of(k))
            done = doubts_add(out, &(doubt){ .kind    = DOUBT_TIME,
                                             .row     = pt->row,
                                             .at      = i,
                                             .phase   = k->phase,
                                             .line    = pt->line[k->phase],
                                             .seconds = pt->seconds[k->phase],
                                             .factor  = pow(10, row[at].deviation) });
        at++;
    }
    return done;
}

lm_status judge_times(const points *p, doubts *out, lm_error *err)
{
    usual_row *row  = malloc((p->n_points + 1) * sizeof *row);
    bool       done = row != NULL;

    for (obs_kind kind = 0; kind < OBS_N_KINDS; kind++)
        for (phase f = 0; f < N_PHASES; f++)
            for (int many = 0; many < (f == PHASE_STEP ? 2 : 1); many++)
                done = done && judge_kin(p, &(kin){ kind, f, many > 0 }, row, out);
    free(row);
    return done ? LM_OK : no_memory(err);
}
