/* Layouts: how all ranks share a network. */
#include <math.h>
#include <string.h>

#include "api/handles.h"
#include "plan/layout_plans.h"

#define MOST_BATCH 64 /* as `layermeter plan --layouts` with --batch auto */

static lm_status check(const lm_layout_question *q, const step_setup *s, size_t wanted,
                       lm_error *err)
{
    if (!wanted || q->global_batch < 1 || q->most_batch < 0)
        return lm_error_set(err, LM_E_ARG,
                            "a search for layouts wants 1 or more, and a global batch");
    if (s->laid_out)
        return lm_error_set(err, LM_E_ARG, "question: its step has a layout: it is looked for");
    return s->program == PROGRAM_TRAINING
               ? LM_OK
               : lm_error_set(err, LM_E_ARG, "question: layouts are of training");
}

/* Words of a layout without the properties that have their own members. */
static void put_words(const layout *of, char out[LM_LAYOUT_TEXT])
{
    layout l = *of;

    l.micro_batch = l.accumulation = l.global_batch = 0;
    layout_print(&l, out);
}

static lm_layout layout_of(const layout_plan *p)
{
    const layout_found *f   = &p->found;
    lm_layout           out = { .batch        = f->layout.micro_batch,
                                .accumulation = f->layout.accumulation,
                                .step         = { f->step, f->low, f->high },
                                .compute      = f->share[SHARE_COMPUTE],
                                .tensor       = f->share[SHARE_TENSOR],
                                .pipeline     = f->share[SHARE_PIPELINE],
                                .data         = f->share[SHARE_DATA],
                                .update       = f->share[SHARE_UPDATE],
                                .memory       = f->bytes,
                                .tie          = p->tie };

    put_words(&f->layout, out.words);
    return out;
}

/* Finds layouts: a plan of one machine for one training step, of which only the layouts are
 * used. */
static lm_status find(lm_predictor *by, const lm_layout_question *q, const step_setup *s,
                      size_t wanted, layout_plans *out, lm_error *err)
{
    plan_side    side    = { .name = by->who.machine ? by->who.machine : "the machine",
                             .who  = &by->who,
                             .room = { .bytes = q->memory, .overhead = q->overhead } };
    plan_machine machine = { .who = &by->who };
    plan_job     job     = { .network  = by->network->name,
                             .net      = by->network->net,
                             .reg      = by->network->library->reg,
                             .side     = &side,
                             .machine  = &machine,
                             .n        = 1,
                             .question = { .training     = { .epochs = 1, .dataset = q->global_batch },
                                           .global_batch = q->global_batch,
                                           .nodes        = &s->nodes,
                                           .n_nodes      = 1,
                                           .setup        = *s },
                             .limits   = { INFINITY, INFINITY, ANY_MACHINE } };

    for (price_tier t = 0; t < N_PRICE_TIERS; t++)
        machine.hour[t].amount = NAN;
    return layout_plans_find(&job, wanted, q->most_batch ? q->most_batch : MOST_BATCH, out, err);
}

lm_status lm_layouts_find(lm_predictor *by, const lm_layout_question *question, lm_layout *out,
                          size_t *n, lm_error *err)
{
    layout_plans       plans = { .plan = NULL };
    lm_layout_question q;
    step_setup         s;
    size_t             stride;
    lm_status          status;

    if ((status = ANSWER_CHECK(out, err)) || (status = QUESTION_TAKE(q, question, err)) ||
        (status = step_of_record(by, q.step, &s, err)) || (status = check(&q, &s, *n, err)))
        return status;
    stride = out->size;
    if (!(status = find(by, &q, &s, *n, &plans, err))) {
        for (size_t i = 0; i < plans.n; i++) {
            const lm_layout mine   = layout_of(&plans.plan[i]);
            void           *theirs = (char *)out + i * stride;

            memcpy(theirs, &stride, sizeof stride);
            answer_give(theirs, &mine, sizeof mine);
        }
        *n = plans.n;
    }
    layout_plans_free(&plans);
    return status;
}
