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

lm_status paleo_predict(paleo_predictor *who, const step_setup *s, prediction *out, lm_error *err)
{
    const double        micro  = (double)s->sync.accumulation;
    const paleo_counts *counts = NULL;
    paleo_times         t;
    lm_status           status;

    if (s->batch < 1)
        return lm_error_set(err, LM_E_ARG, "batch %lld: must be 1 or more", (long long)s->batch);
    if ((status = count(who, s->batch, &counts, err)))
        return status;
    t = paleo_step(counts, &who->platform, step_setup_ranks(s));
    if (isnan(t.sync))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "what nodes exchange needs a bandwidth (--bandwidth 10Gbit/s)");
    *out      = (prediction){ .batch    = s->batch,
                              .nodes    = s->nodes,
                              .devices  = s->devices,
                              .forward  = micro * t.forward,
                              .backward = micro * t.backward,
                              .sync     = t.sync,
                              .exposed  = t.sync,
                              .grad     = t.update + t.sync,
                              .step     = t.step + (micro - 1) * (t.forward + t.backward) };
    out->slow = out->fast = step_setup_ranks(s) == 1 ? out->step : NAN;
    out->messages         = t.sync > 0;
    ledger_add(&out->ledger, CERTAINTY_ASSUMED, out->step); /* a datasheet's figures */
    for (quantity q = 0; q < N_QUANTITIES; q++)
        out->low[q] = out->high[q] = NAN;
    if (counts->unknown) {
        out->beyond[0].what   = "nothing here";
        out->beyond[0].layers = counts->unknown;
        out->n_beyond         = 1;
    }
    return LM_OK;
}

lm_status paleo_bounds(paleo_predictor *who, int64_t batch, double passes[N_TERM_BOUNDS],
                       double update[N_TERM_BOUNDS], lm_error *err)
{
    const paleo_counts *counts = NULL;
    lm_status           status = count(who, batch, &counts, err);

    for (term_bound k = BOUND_ARITHMETIC; k <= BOUND_TRAFFIC && !status; k++) {
        paleo_counts one = *counts; /* times are linear in the counts: those of the others are 0 */
        paleo_times  t;

        for (int pass = 0; pass < LM_N_PASSES; pass++)
            *(k == BOUND_ARITHMETIC ? &one.pass[pass].bytes : &one.pass[pass].flops) = 0;
        *(k == BOUND_ARITHMETIC ? &one.param_bytes : &one.params) = 0;
        t = paleo_step(&one, &who->platform, 1);
        passes[k] += t.forward + t.backward;
        update[k] += t.update;
    }
    return status;
}
