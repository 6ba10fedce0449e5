/* Parts of a predicted step. */
#include "predict/explain.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "predict/predict.h"

lm_status explain_step(const predictor *who, const step_setup *s, explanation **out, lm_error *err)
{
    explanation *e = calloc(1, sizeof *e);
    lm_status    status;

    if (!e || !(e->arena = arena_new())) {
        free(e);
        return no_memory(err);
    }
    if (!(status = predict_step(who, s, &e->step, err)))
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
