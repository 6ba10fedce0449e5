/* Times that cannot be. */
#include "observe/doubts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "observe/judge.h"

bool doubts_add(doubts *d, const doubt *new)
{
    if (d->n == d->room) {
        const size_t room = d->room ? 2 * d->room : 16;
        doubt       *more = realloc(d->doubt, room * sizeof *more);

        if (!more)
            return false;
        d->doubt = more;
        d->room  = room;
    }
    d->doubt[d->n++] = *new;
    return true;
}

void doubts_free(doubts *d)
{
    free(d->doubt);
    *d = (doubts){ 0 };
}

void doubts_leave_out(const doubts *d, points *p)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->doubt[i].kind == DOUBT_TIME)
            p->point[d->doubt[i].at].seconds[d->doubt[i].phase] = NAN;
}

double phase_flops(const net_metrics *m, phase f)
{
    const double forward  = (double)m->flops_forward + (double)m->other_flops_forward;
    const double known    = (double)m->flops_backward + (double)m->other_flops_backward;
    const double backward = known > 0 ? known : 2 * forward; /* where only counts are known */

    switch (f) {
    case PHASE_FORWARD:
    case PHASE_INFERENCE: return forward;
    case PHASE_BACKWARD: return backward;
    case PHASE_STEP: return forward + backward;
    case PHASE_GRAD_INPUT: return (double)m->flops_grad_input;
    case PHASE_GRAD_WEIGHT: return (double)m->flops_grad_weight;
    case PHASE_UPDATE:
    case PHASE_SYNC:
    case PHASE_GRAD:
    case PHASE_BACKWARD_GRAD:
    case PHASE_GRAD_ONE:
    case PHASE_STEP_MANY:
    case PHASE_EXPOSED:
    case PHASE_OVERLAPPED:
    case N_TIMES: break;
    }
    return 0;
}

double phase_bytes(const net_metrics *m)
{
    return (double)m->read_bytes + (double)m->written_bytes + (double)m->param_bytes +
           4 * ((double)m->conv_inputs + (double)m->conv_outputs);
}

/* Points of which a part is in doubt already; NULL when memory runs out. */
static bool *find_doubted(const points *p, const doubts *d)
{
    bool *doubted = calloc(p->n_points + 1, sizeof *doubted);

    for (size_t i = 0; i < d->n && doubted; i++)
        if (d->doubt[i].kind == DOUBT_PHASE)
            memset(doubted, true, p->n_points);
        else if (d->doubt[i].kind == DOUBT_TIME)
            doubted[d->doubt[i].at] = true;
    return doubted;
}

static lm_status judge_steps(const points *p, doubts *out, lm_error *err)
{
    bool *doubted = find_doubted(p, out);
    bool  done    = doubted != NULL;

    for (size_t i = 0; i < p->n_points && done; i++) {
        const point  *pt  = &p->point[i];
        const double *s   = pt->seconds;
        const double  sum = s[PHASE_FORWARD] + s[PHASE_BACKWARD] + s[PHASE_UPDATE];

        if (pt->row->ranks > 1 || doubted[i] || !(s[PHASE_STEP] < DOUBT_STEP_SHARE * sum))
            continue;
        done = doubts_add(out, &(doubt){ .kind          = DOUBT_STEP,
                                         .row           = pt->row,
                                         .at            = i,
                                         .phase         = PHASE_STEP,
                                         .line          = pt->line[PHASE_STEP],
                                         .other_line    = pt->line[PHASE_FORWARD],
                                         .seconds       = s[PHASE_STEP],
                                         .other_seconds = sum });
    }
    free(doubted);
    return done ? LM_OK : no_memory(err);
}

static int by_kind(const void *a, const void *b)
{
    const doubt *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line)
                              : (int)x->phase - (int)y->phase;
}

lm_status doubts_find(const observations *obs, const points *p, doubts *out, lm_error *err)
{
    doubts    found = { 0 };
    lm_status status;

    if ((status = judge_units(obs, p, &found, err)) || (status = judge_times(p, &found, err)) ||
        (status = judge_repeated(p, &found, err)) || (status = judge_steps(p, &found, err))) {
        doubts_free(&found);
        return status;
    }
    if (found.n)
        qsort(found.doubt, found.n, sizeof *found.doubt, by_kind);
    *out = found;
    return LM_OK;
}
