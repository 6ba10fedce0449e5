/* Questions about layouts: the given properties, and their check. */
#include "plan/layout_question.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "network/stages.h"
#include "plan/layout_predict.h"
#include "plan/layout_price.h"
#include "plan/room.h"
#include "predict/laid_out.h"

#define TOLD(property) LAYOUT_BIT(TOLD_##property)

/* ---- what a search does not vary ---- */

static lm_status not_searched(const char *what, const char *value, const char *searched,
                              lm_error *err)
{
    return lm_error_set(err, LM_E_ARG,
                        "%s%.60s is not searched, %s: give tp, pp and dp, too, without --layouts",
                        what, value, searched);
}

static lm_status check_searched(const layout_question *q, lm_error *err)
{
    const layout *t     = q->told;
    const layout  plain = layout_plain();

    if (t->told & TOLD(PLACEMENT) && memcmp(t->order, plain.order, sizeof t->order) != 0)
        return not_searched("another placement", "", "but tp-cp-ep-dp-pp", err);
    if (*t->stages && strcmp(t->stages, STAGES_BALANCED) != 0)
        return not_searched("stages=", t->stages, "but even or balanced stages", err);
    if (layout_again(t) == N_LAYOUT_REPEATS)
        return not_searched("recompute=", t->recompute,
                            "but recomputation of all blocks, of attention's core, or none", err);
    if (t->told & TOLD(TP) && t->tp > q->devices)
        return lm_error_set(
            err, LM_E_ARG,
            "tp %lld is more than the %lld devices of a node, and not searched: give pp and dp, too, without --layouts",
            (long long)t->tp, (long long)q->devices);
    return LM_OK;
}

bool layout_question_told(const layout_question *q, const layout *l, unsigned properties)
{
    return !q->told || layout_agrees(l, q->told, properties);
}

bool layout_question_divides(const layout_question *q, layout *l)
{
    const int64_t left = q->ranks / (l->tp * l->cp);

    if (left % l->pp || (l->pp > 1 && l->pp > q->facts.blocks))
        return false;
    l->dp = left / l->pp;
    if (q->global_batch % l->dp || q->global_batch / l->dp % l->micro_batch ||
        l->dp * l->cp % l->ep)
        return false;
    l->global_batch = q->global_batch;
    l->accumulation = q->global_batch / l->dp / l->micro_batch;
    return layout_question_told(q, l, TOLD(DP) | TOLD(ACCUMULATION));
}

bool layout_question_splits(const layout_question *q, const layout *l)
{
    const layout_facts *f     = &q->facts;
    const int64_t       heads = l->ulysses ? l->tp * l->cp : l->tp;

    return f->heads % heads == 0 && f->kv_heads % heads == 0 &&
           (l->ep == 1 || (!q->whole_updates && f->experts % l->ep == 0)) &&
           (l->cp == 1 || (f->tokens && f->tokens % l->cp == 0)) &&
           (!l->sp || !f->tokens || f->tokens % (l->tp * l->cp) == 0);
}

/* ---- what fits neither ranks nor network ---- */

/* The given properties, without those that depend on others that are not given. */
static layout alone(const layout_question *q)
{
    layout l = *q->told;

    if (!(l.told & TOLD(TP)))
        l.sp = false;
    if (!(l.told & TOLD(CP)))
        l.ulysses = false;
    if (!(l.told & TOLD(PP))) {
        l.vp      = 1;
        *l.stages = '\0';
    }
    if (l.vp > 1 && !(l.told & TOLD(SCHEDULE)))
        l.schedule = PIPELINE_INTERLEAVED;
    l.dp           = 0;
    l.global_batch = 0;
    l.accumulation = 0;
    l.micro_batch  = 1;
    return l;
}

/* Checks dp and micro-batches; some may be unknown. */
static lm_status check_batch(const layout_question *q, lm_error *err)
{
    const layout *t  = q->told;
    const int64_t dp = t->dp ? t->dp : 1, mb = t->micro_batch ? t->micro_batch : 1;

    if (q->ranks % (layout_replica(t) * dp))
        return lm_error_set(err, LM_E_ARG,
                            "%lld devices are no multiple of dp %lld x tp %lld x cp %lld x pp %lld",
                            (long long)q->ranks, (long long)dp, (long long)t->tp, (long long)t->cp,
                            (long long)t->pp);
    if (q->global_batch % dp)
        return lm_error_set(err, LM_E_ARG, "a global batch of %lld is no multiple of dp %lld",
                            (long long)q->global_batch, (long long)dp);
    if (q->global_batch / dp % mb)
        return lm_error_set(
            err, LM_E_ARG,
            "a global batch of %lld leaves a rank %lld samples, no multiple of micro-batch %lld",
            (long long)q->global_batch, (long long)(q->global_batch / dp), (long long)mb);
    return LM_OK;
}

static lm_status check_told(const layout_question *q, lm_error *err)
{
    layout    l      = alone(q);
    lm_status status = check_searched(q, err);

    if (!status && q->whole_updates)
        status = laid_check_whole(&l, err);
    if (status || (status = layout_settle(&l, &q->facts, q->ranks, err)))
        return status;
    return check_batch(q, err);
}

lm_status layout_question_check(const layout_question *q, lm_error *err)
{
    if (q->ranks < 1 || q->devices < 1 || q->global_batch < 1 || q->most_micro_batch < 1 ||
        !q->best)
        return lm_error_set(
            err, LM_E_ARG,
            "%lld ranks on nodes of %lld, a global batch of %lld, micro-batches up to "
            "%lld, the best %zu: all must be 1 or more",
            (long long)q->ranks, (long long)q->devices, (long long)q->global_batch,
            (long long)q->most_micro_batch, q->best);
    if (q->ranks > LAYOUT_RANKS_MOST || q->most_micro_batch > INT32_MAX)
        return lm_error_set(err, LM_E_ARG, "%lld ranks, micro-batches up to %lld: too many",
                            (long long)q->ranks, (long long)q->most_micro_batch);
    return q->told ? check_told(q, err) : LM_OK;
}

lm_status layout_question_unmet(const layout_question *q, lm_error *err)
{
    char words[LAYOUT_TEXT];

    if (q->told)
        return lm_error_set(
            err, LM_E_ARG,
            "none of the layouts of %lld ranks with a global batch of %lld that are "
            "searched has %.200s",
            (long long)q->ranks, (long long)q->global_batch, layout_print(q->told, words));
    return lm_error_set(
        err, LM_E_ARG,
        "a global batch of %lld does not divide among %lld ranks in any layout: give a "
        "--global-batch that is a multiple of them, or fewer devices",
        (long long)q->global_batch, (long long)q->ranks);
}

/* ---- one layout ---- */

/* Tries one layout: does it fit, and how long is its step? */
static lm_status try_one(const layout_question *q, const layout_asked *a, const layout *l,
                         layout_search *out, lm_error *err)
{
    layout_found f;
    double       bytes;
    lm_status    status = layout_memory(a, l, NULL, &bytes, err);

    if (status)
        return status;
    bytes += q->overhead;
    out->looked_at++;
    if (bytes > q->room) {
        out->too_large++;
        out->least_bytes = fmin(out->least_bytes, bytes);
        return LM_OK;
    }
    if ((status = layout_predict(a, l, &f, err)))
        return status;
    f.bytes = bytes;
    if (!out->n || f.step < out->found->step)
        *out->found = f;
    out->n = 1;
    return LM_OK;
}

static lm_status too_large(const layout_question *q, const layout_search *s, lm_error *err)
{
    char words[LAYOUT_TEXT], needs[ROOM_TEXT];

    return lm_error_set(err, LM_E_NOTFOUND,
                        "%.200s takes %s%s on the fullest rank, and its memory is %.6g GB: "
                        "--layouts 5 finds what fits",
                        layout_print(q->told, words), q->told->micro_batch ? "" : "at least ",
                        room_needs(s->least_bytes, q->overhead > 0, ROOM_RESERVED, needs),
                        1e-9 * q->memory);
}

lm_status layout_question_whole(const layout_question *q, const layout_asked *a, layout_search *out,
                                lm_error *err)
{
    const layout *told   = q->told;
    const bool    fixed  = told->micro_batch || told->accumulation;
    const int64_t most   = fixed ? told->micro_batch : q->most_micro_batch;
    lm_error      why    = { LM_OK, "" };
    lm_status     status = LM_OK;

    *out       = (layout_search){ .least_bytes = INFINITY };
    out->found = calloc(1, sizeof *out->found);
    if (!out->found)
        return no_memory(err);
    for (int64_t mb = fixed ? most : 1; mb <= most && !status; mb++) {
        layout l = *told;

        l.micro_batch  = mb; /* 0: from the micro-batches of a rank */
        l.global_batch = q->global_batch;
        if (!fixed && q->global_batch / l.dp % mb)
            continue;
        if (!(status = layout_settle(&l, &q->facts, q->ranks, &why)))
            status = try_one(q, a, &l, out, &why);
    }
    if (status && err)
        *err = why;
    if (!status && !out->n)
        status = too_large(q, out, err);
    if (status)
        layouts_free(out);
    return status;
}
