/* Parts of a predicted step. */
#include "predict/explain.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "predict/laid_out.h"
#include "predict/predict.h"

/* ---- ranks that share a network ---- */

/* Seconds of shares of one part; those of layers get `factor`. */
static void scale_part(explanation *e, phase part, double factor)
{
    for (size_t i = 0; i < e->n_shares; i++)
        if (e->share[i].part == part) {
            e->share[i].count *= factor;
            e->share[i].seconds *= factor;
        }
}

static lm_status add_part(explanation *e, phase part, const char *name, double seconds,
                          lm_error *err)
{
    return explanation_add_whole(e, part, name, seconds, BOUND_TRAFFIC, CERTAINTY_ASSUMED, err);
}

/* Beside the layers of a rank's part: what is computed again, and messages. */
static lm_status add_messages(explanation *e, double again, lm_error *err)
{
    const prediction *p        = &e->step;
    const double      forward  = explanation_seconds(e, PHASE_FORWARD);
    const double      backward = explanation_seconds(e, PHASE_BACKWARD);
    const double      update   = explanation_seconds(e, PHASE_UPDATE);
    lm_status         status;

    if (update > 0)
        scale_part(e, PHASE_UPDATE, p->update / update);
    e->part[e->n_parts++] = PHASE_SYNC;
    if ((status = add_part(e, PHASE_FORWARD, "messages", p->forward - forward, err)) ||
        (status = add_part(e, PHASE_BACKWARD, "computed again", again * forward, err)) ||
        (status = add_part(e, PHASE_BACKWARD, "messages", p->backward - backward - again * forward,
                           err)))
        return status;
    return add_part(e, PHASE_SYNC, "messages", p->grad - p->update, err);
}

static lm_status explain_laid_out(const predictor *who, const step_setup *s, explanation *e,
                                  lm_error *err)
{
    const predictor part = predictor_part(who, s);
    step_setup      one  = *s;
    layout          l;
    lm_status       status = layout_of_step(who, s, &l, err);

    if (status)
        return status;
    if (l.pp > 1)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "pp %lld: a rank waits for others, which no layer of its explains: "
                            "--timeline draws it",
                            (long long)l.pp);
    one.nodes = one.devices = 1;
    one.laid_out            = false;
    one.sync.rule           = SYNC_ONCE;
    if ((status = predict_laid_out(who, s, &e->step, NULL, err)) ||
        (status = part.by->explain(&part, &one, e, err)))
        return status;
    return add_messages(e, s->again, err);
}

lm_status explain_step(const predictor *who, const step_setup *s, explanation **out, lm_error *err)
{
    explanation *e = calloc(1, sizeof *e);
    lm_status    status;

    if (!e || !(e->arena = arena_new())) {
        free(e);
        return no_memory(err);
    }
    if (s->laid_out && !layout_is_plain(&s->layout))
        status = explain_laid_out(who, s, e, err);
    else if (!(status = predict_step(who, s, &e->step, err)))
        status = who->by->explain(who, s, e, err);
    e->bounded = !who->by->from_layers && who->by->bounds;
    for (size_t i = 0; i < e->n_shares && e->step.stands_in; i++)
        e->share[i].standing = CERTAINTY_ASSUMED;
    if (status) {
        explanation_free(e);
        return status;
    }
    *out = e;
    return LM_OK;
}

void explanation_free(explanation *e)
{
    if (!e)
        return;
    free(e->share);
    arena_free(e->arena);
    free(e);
}
