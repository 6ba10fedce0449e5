/* The timeline of one step's gradients. */
#include "predict/overlap.h"

#include <stdlib.h>

#include "base/no_memory.h"

lm_status overlap_of(const predictor *who, const step_setup *s, overlap **out, lm_error *err)
{
    overlap   *o = calloc(1, sizeof *o);
    prediction ignored;
    lm_status  status;

    if (!o)
        return no_memory(err);
    if ((status = predict_timeline(who, s, &ignored, o, err))) {
        free(o);
        return status;
    }
    *out = o;
    return LM_OK;
}

void overlap_free(overlap *o)
{
    if (o)
        overlap_clear(o);
    free(o);
}
