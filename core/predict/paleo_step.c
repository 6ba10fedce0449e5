/* A step by PALEO's model, as a prediction. */
#include "predict/paleo_step.h"

#include <math.h>

static lm_status count(paleo_predictor *who, int64_t batch, const paleo_counts **out, lm_error *err)
{
    const bind_options with  = { .batch = batch, .dtype = who->dtype, .input = who->input };
    bound_network     *bound = NULL;
    lm_status          status;

    for (size_t i = 0; i < 2; i++)
        if (who->counted[i].batch == batch) {
            *out = &who->counted[i].counts;
            return LM_OK;
        }
    if ((status = bind_network(who->net, who->reg, &with, &bound, err)))
        return status;
    who->counted[who->next].batch  = batch;
    who->counted[who->next].counts = paleo_of_network(bound);
    bound_network_free(bound);
    *out      = &who->counted[who->next].counts;
    who->next = !who->next;
    return LM_OK;
}

lm_status paleo_predict(paleo_predictor *who, int64_t batch, int64_t nodes, prediction *out,
                        lm_error *err)
{
    const paleo_counts *counts = NULL;
    paleo_times         t;
    lm_status           status;

    if (nodes < 1 || batch < 1)
        return lm_error_set(err, LM_E_ARG, "%lld nodes with %lld samples each: must be 1 or more",
                            (long long)nodes, (long long)batch);
    if ((status = count(who, batch, &counts, err)))
        return status;
    t = paleo_step(counts, &who->platform, nodes);
    if (isnan(t.sync))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "what nodes exchange needs a bandwidth (--bandwidth 10Gbit/s)");
    *out = (prediction){ .batch    = batch,
                         .nodes    = nodes,
                         .forward  = t.forward,
                         .backward = t.backward,
                         .sync     = t.sync,
                         .grad     = t.update + t.sync,
                         .step     = t.step };
    ledger_add(&out->ledger, CERTAINTY_ASSUMED, t.step); /* a datasheet's figures */
    for (quantity q = 0; q < N_QUANTITIES; q++)
        out->low[q] = out->high[q] = NAN;
    if (counts->unknown) {
        out->beyond[0].what   = "nothing here";
        out->beyond[0].layers = counts->unknown;
        out->n_beyond         = 1;
    }
    return LM_OK;
}
