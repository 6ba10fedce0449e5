/* Options of 'layermeter plan'. */
#include "cli/plan_options.h"

#include <math.h>
#include <string.h>

#include "cli/power_options.h"
#include "report/plan/fields.h"
#include "report/plan/layouts.h"
#include "report/timeline_view.h"

static const field *columns_of(const plan_options *a)
{
    return a->layouts ? layout_fields : a->largest ? largest_fields : plan_fields;
}

bool plan_options_place_free(const options *o, const plan_options *a)
{
    return !a->gpus && !option_given(o, &a->nodes) && !option_given(o, &a->how.setup.devices) &&
           !a->fleet.instances.n;
}

/* Inference by devices that share the network as is told. */
static lm_status check_shared(const options *o, plan_options *a, lm_error *err)
{
    const layout   *l       = &a->layout.layout;
    const int64_t   replica = layout_replica(l);
    const lm_status status  = layout_check_inference(l, err);

    if (status)
        return status;
    if (l->dp)
        return misused(o, &a->layout.text, err, "dp %lld: --nodes says how many replicas there are",
                       (long long)l->dp);
    if (a->largest)
        return misused(o, &a->largest, err, "is of devices that hold the network: leave out %s",
                       a->layout.words);
    if (!a->gpus && !option_given(o, &a->how.setup.devices) && !a->fleet.instances.n)
        a->how.setup.devices = replica < USUAL_NODE ? replica : USUAL_NODE;
    return LM_OK;
}

/* What is told of a layout. */
static lm_status check_told(const options *o, plan_options *a, lm_error *err)
{
    layout   *l      = &a->layout.layout;
    lm_status status = layout_choice_check(o, &a->layout,
                                           &(layout_beside){ .batch        = &a->batch,
                                                             .global_batch = &a->global_batch,
                                                             .recompute    = &a->recompute },
                                           err);

    if (status || !a->layout.given)
        return status;
    if (a->how.program != PROGRAM_TRAINING)
        return check_shared(o, a, err);
    a->whole = !a->layouts && layout_is_whole(l);
    if (a->whole && (status = layout_choice_place(o, &a->layout, &a->gpus, &a->nodes,
                                                  &a->how.setup.devices, err)))
        return status;
    if (a->largest)
        return misused(o, &a->largest, err, "looks for another answer than a layout's plan");
    if (a->whole && option_given(o, &a->batch) && a->batch.n == 1) {
        l->micro_batch = a->batch.at[0];
        l->told |= LAYOUT_BIT(TOLD_MICRO_BATCH);
    }
    a->layouts += !a->layouts;
    return LM_OK;
}

/* Of layouts: steps of 4 Mi tokens, as Llama and Llama 2 were trained with (Touvron et al. 2023,
 * "LLaMA", table 2), and nodes of several devices. */
static void usual(const options *o, plan_options *a)
{
    static const int64_t doubled[] = { 1, 2, 4, 8, 16, 32, 64 };

    if (!a->global_batch.n) {
        a->global_batch  = (batch_told){ 4 << 20, true };
        a->assumed_batch = true;
    }
    if (a->gpus || option_given(o, &a->nodes) || option_given(o, &a->how.setup.devices))
        return;
    a->nodes = (option_counts){ .at = doubled, .n = sizeof doubled / sizeof *doubled };
    if (!a->fleet.instances.n)
        a->how.setup.devices = USUAL_NODE;
}

/* What goes with --layouts. */
static lm_status check_layouts(const options *o, plan_options *a, lm_error *err)
{
    const lm_status status = check_told(o, a, err);

    if (status)
        return status;
    if (!a->layouts)
        return a->timeline ? misused(o, &a->timeline, err, "goes with --layouts") : LM_OK;
    if (a->how.program != PROGRAM_TRAINING)
        return misused(o, &a->layouts, err,
                       "is for training: inference tries each --tp and --pp of --devices-per-node");
    if (option_given(o, &a->how.accumulate))
        return misused(o, &a->how.accumulate, err,
                       "is of replicas: for layouts give --global-batch, or ga in --layout");
    usual(o, a);
    if (a->training.evaluate)
        return misused(o, &a->training.evaluate, err,
                       "the time of an evaluation is not predicted for layouts: leave it out");
    if (a->plot)
        return misused(o, &a->plot, err, "draws plans of replicas; for a layout give --timeline");
    return a->timeline && timeline_draw_check(a->timeline, err)
               ? misused(o, &a->timeline, err, "expected a name ending in .svg or .json")
               : LM_OK;
}

lm_status plan_options_check(options *o, lm_error *err)
{
    plan_options *a = o->filled;
    lm_status     status;

    power_choice_begin(o, &a->power, false);
    if (a->how.program != PROGRAM_TRAINING)
        a->training.epochs = 1;
    if (a->failures.mtbf > 0 && (isnan(a->failures.checkpoint) || isnan(a->failures.restart)))
        return misused(o, &a->failures.mtbf, err,
                       "needs --checkpoint and --restart, the costs of a failure");
    if ((status = check_layouts(o, a, err)) ||
        (status = gpus_settle(o, &a->gpus, &a->nodes, &a->how.setup.devices, err)) ||
        (status = setup_check(o, &a->how, &a->fleet.session, true, err)) ||
        (status = fleet_check(o, &a->fleet, err)) ||
        (status = once_or_each(o, &a->memory, fleet_size(&a->fleet), err)))
        return status;
    if ((status = look_check(o, &a->look, columns_of(a), NULL, err)))
        return status;
    return once_or_each(o, &a->overhead, fleet_size(&a->fleet), err);
}

/* Layouts recompute all blocks or attention's core. */
static lm_status take_recompute(const options *o, plan_options *a, lm_error *err)
{
    const bool core = !strcmp(a->recompute, "selective");

    if (!core && strcmp(a->recompute, "blocks") != 0 && strcmp(a->recompute, "full") != 0)
        return misused(o, &a->recompute, err, "%.60s: layouts recompute blocks or selective",
                       a->recompute);
    a->layout.text =
        core ? "recompute=selective" : "recompute=full"; /* no other layout was given */
    a->recompute = NULL;
    return LM_OK;
}

lm_status plan_options_share(const options *o, plan_options *a, lm_error *err)
{
    lm_status status;

    if (a->how.program != PROGRAM_TRAINING) {
        a->how.setup.devices = USUAL_NODE;
        return LM_OK;
    }
    a->layouts = PLAN_SHARED_LAYOUTS;
    if (a->recompute && (status = take_recompute(o, a, err)))
        return status;
    if ((status = check_layouts(o, a, err)))
        return status;
    return look_check(o, &a->look, columns_of(a), NULL, err);
}
