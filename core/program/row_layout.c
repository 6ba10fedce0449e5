/* Layouts of observations. */
#include "program/row_layout.h"

lm_status row_layout(const observation *r, layout *out, lm_error *err)
{
    layout    l = layout_plain();
    lm_status status;

    if ((status = layout_parse(r->layout, &l, err)))
        return status;
    if (r->ranks % r->hosts)
        return lm_error_set(err, LM_E_ARG, "ranks: %lld do not divide among %lld hosts",
                            (long long)r->ranks, (long long)r->hosts);
    if (l.micro_batch && l.micro_batch != r->batch)
        return lm_error_set(err, LM_E_ARG, "layout: mb%lld, and the column batch says %lld",
                            (long long)l.micro_batch, (long long)r->batch);
    if (l.batch_tokens)
        return lm_error_set(err, LM_E_ARG, "layout: gb%lldtokens: a row counts samples",
                            (long long)l.batch_tokens);
    *out = l;
    return LM_OK;
}

bool row_of_replicas(const observation *r)
{
    layout   l = layout_plain();
    lm_error err;

    return layout_parse(r->layout, &l, &err) || layout_is_plain(&l);
}

static lm_status settle(observation *r, lm_error *err)
{
    layout    l;
    lm_status status = row_layout(r, &l, err);

    if (status)
        return status;
    l.micro_batch = r->batch;
    if ((status = layout_settle(&l, NULL, r->ranks, err)))
        return status;
    r->accumulation = l.accumulation;
    return LM_OK;
}

lm_status rows_settle_replicas(observations *obs, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < obs->n_rows && !status; i++) {
        observation *r = &obs->row[i];

        if (*r->layout && !r->skipped && row_of_replicas(r) && (status = settle(r, err)))
            lm_error_prefix(err, "%s:%d", obs->path, r->line);
    }
    return status;
}
