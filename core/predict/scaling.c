/* Curves over nodes. */
#include "predict/scaling.h"

#include <math.h>
#include <string.h>

#include "predict/predict.h"

static const char *const kinds[] = {
    [SCALING_WEAK] = "weak", [SCALING_STRONG] = "strong", [SCALING_GLOBAL] = "global"
};

const char *scaling_kind_name(scaling_kind k)
{
    return kinds[k];
}

lm_status scaling_kind_parse(const char *text, scaling_kind *out, lm_error *err)
{
    for (scaling_kind k = SCALING_WEAK; k <= SCALING_GLOBAL; k++)
        if (!strcmp(text, kinds[k])) {
            *out = k;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_ARG, "expected weak, strong or global, found '%.40s'", text);
}

scale_question scale_weak(int64_t batch, int64_t dataset)
{
    return (scale_question){ .kind    = SCALING_WEAK,
                             .dataset = dataset,
                             .setup   = step_setup_of(batch, 1) };
}

static int64_t parts_of(int64_t whole, int64_t each)
{
    return (whole - 1) / each + 1;
}

lm_status scale_setup(const scale_question *q, int64_t nodes, step_setup *out, lm_error *err)
{
    step_setup s = q->setup;
    int64_t    ranks;

    s.nodes = nodes;
    ranks   = step_setup_replicas(&s);
    if (s.laid_out && s.program == PROGRAM_INFERENCE)
        s.sync.accumulation = layout_batches(&s.layout);
    if (nodes < 1 || s.devices < 1)
        return lm_error_set(err, LM_E_ARG, "%lld nodes of %lld devices: must be 1 or more",
                            (long long)nodes, (long long)s.devices);
    if (q->kind != SCALING_WEAK) {
        if (q->global_batch < 1)
            return lm_error_set(err, LM_E_ARG, "batch %lld: must be 1 or more",
                                (long long)q->global_batch);
        const int64_t mine = parts_of(q->global_batch, ranks);

        /* micro-steps as equal as possible */
        if (s.program == PROGRAM_TRAINING)
            s.sync.accumulation = q->kind == SCALING_GLOBAL && s.batch > 0 && s.batch < mine
                                      ? parts_of(mine, s.batch)
                                      : 1;
        s.batch = parts_of(mine, s.sync.accumulation);
    }
    /* a layout's global batch determines the number of micro-steps; layout_settle() checks
     * divisibility */
    if (q->kind == SCALING_WEAK && s.laid_out && s.layout.global_batch && s.batch > 0 &&
        s.sync.accumulation == 1 && s.layout.global_batch / ranks > s.batch)
        s.sync.accumulation = s.layout.global_batch / ranks / s.batch;
    *out = s;
    return LM_OK;
}

/* Samples of a step that are useful work: all devices wait for the fullest one, but only the batch
 * itself counts. */
static double useful(const scale_question *q, const step_setup *s)
{
    return q->kind == SCALING_WEAK
               ? (double)s->batch * (double)s->sync.accumulation * (double)step_setup_replicas(s)
               : (double)q->global_batch;
}

lm_status scale_fits_dataset(const scale_question *q, int64_t nodes, lm_error *err)
{
    step_setup s;
    lm_status  status = scale_setup(q, nodes, &s, err);
    double     samples, of_node;

    if (status)
        return status;
    samples = useful(q, &s);
    of_node = samples / (double)nodes;
    if (!q->dataset || samples <= (double)q->dataset)
        return LM_OK;
    if (q->kind != SCALING_WEAK || of_node > (double)q->dataset)
        return lm_error_set(err, LM_E_ARG,
                            "a batch of %.0f is more than the %lld samples of the data set: give a "
                            "smaller one, or a --dataset",
                            samples, (long long)q->dataset);
    return lm_error_set(
        err, LM_E_ARG,
        "%lld nodes take %.0f samples a step, more than the %lld of the data set: at "
        "most %.0f nodes can, or a smaller --batch, or another --dataset",
        (long long)nodes, samples, (long long)q->dataset, floor((double)q->dataset / of_node));
}

static lm_status point_at(const predictor *who, const scale_question *q, int64_t nodes,
                          scale_point *out, lm_error *err)
{
    step_setup s;
    lm_status  status = scale_setup(q, nodes, &s, err);

    if (!status)
        status = predict_step(who, &s, &out->step, err);
    if (status)
        return status;
    if (useful(q, &s) >= 0x1p63)
        return lm_error_set(err, LM_E_OVERFLOW,
                            "%lld micro-steps of batch %lld on %lld nodes of %lld devices: the "
                            "samples of a step do not fit 64 bits",
                            (long long)s.sync.accumulation, (long long)s.batch, (long long)nodes,
                            (long long)s.devices);
    out->accumulation       = s.sync.accumulation;
    out->global_batch       = q->kind == SCALING_WEAK
                                  ? s.batch * s.sync.accumulation * step_setup_replicas(&s)
                                  : q->global_batch;
    out->idle               = out->global_batch < step_setup_replicas(&s)
                                  ? step_setup_replicas(&s) - out->global_batch
                                  : 0;
    out->samples_per_second = (double)out->global_batch / out->step.step;
    out->steps_per_epoch    = 0;
    out->epoch_seconds      = NAN;
    if (q->dataset) {
        out->steps_per_epoch = (uint64_t)parts_of(q->dataset, out->global_batch);
        out->epoch_seconds   = (double)out->steps_per_epoch * out->step.step;
    }
    return LM_OK;
}

static scale_bounds throughputs(const scale_point *p)
{
    return (scale_bounds){ (double)p->global_batch / p->step.slow,
                           (double)p->global_batch / p->step.fast };
}

/* Speedup and efficiency against one node, with bounds. */
static void compare(const scale_curve *c, scale_point *p)
{
    const prediction  *s     = &p->step;
    const double       batch = (double)p->global_batch, nodes = (double)s->nodes;
    const double       high = s->high[PHASE_STEP], low = s->low[PHASE_STEP];
    const scale_bounds at   = throughputs(p);
    const double       slow = at.low / c->ones.low / nodes, fast = at.high / c->ones.high / nodes;

    p->speedup      = p->samples_per_second / c->one;
    p->efficiency   = p->speedup / nodes;
    p->samples      = (scale_bounds){ high > 0 ? batch / high : NAN, low > 0 ? batch / low : NAN };
    p->efficiencies = slow > fast ? (scale_bounds){ fast, slow } : (scale_bounds){ slow, fast };
}

/* What is compared with: one node. Of a layout the fewest nodes that hold a replica, with as many replicas as
 * they hold; unknown where these cannot share what they are to share. */
static lm_status compared_with(const predictor *who, const scale_question *q, int64_t nodes,
                               scale_point *out, lm_error *err)
{
    scale_question one = *q;
    lm_error       why = { LM_OK, "" };
    lm_status      status;

    if (!q->setup.laid_out)
        return point_at(who, q, nodes, out, err);
    one.setup.layout.dp = 0;
    if ((status = point_at(who, &one, nodes, out, &why)) && status != LM_E_ARG)
        *err = why;
    return status == LM_E_ARG ? LM_OK : status;
}

/* The fewest nodes: of a replica, or of as many as share weights or experts. */
static int64_t least_nodes(const step_setup *s)
{
    const layout *l     = &s->layout;
    const int64_t group = l->fsdp > l->ep ? l->fsdp : l->ep;
    int64_t       dp    = 1;

    if (!s->laid_out)
        return 1;
    while (dp < group && dp * l->cp % group)
        dp++;
    return parts_of(layout_replica(l) * dp, s->devices);
}

lm_status scale_curve_begin(const predictor *who, const scale_question *q, scale_curve *out,
                            lm_error *err)
{
    const int64_t nodes  = least_nodes(&q->setup);
    scale_point   one    = { .samples_per_second = NAN, .step = { .slow = NAN, .fast = NAN } };
    lm_status     status = compared_with(who, q, nodes, &one, err);
    step_setup    s;

    *out = (scale_curve){ .who = who, .q = *q, .bounds.batch = q->setup.laid_out ? -1 : 0 };
    if (!status && !q->setup.laid_out) /* of a layout each point, once it is known to fit */
        status = scale_setup(q, 1, &s, err);
    if (!status && !q->setup.laid_out)
        status = bottleneck_profile_of(who, &s, &out->bounds, err);
    if (!status) {
        const scale_bounds at = throughputs(&one);

        out->one  = one.samples_per_second / (double)nodes;
        out->ones = (scale_bounds){ at.low / (double)nodes, at.high / (double)nodes };
    }
    return status;
}

lm_status scale_curve_at(scale_curve *c, int64_t nodes, scale_point *out, lm_error *err)
{
    scale_point here;
    step_setup  s;
    lm_status   status = point_at(c->who, &c->q, nodes, &here, err);

    if (!status)
        status = scale_setup(&c->q, nodes, &s, err);
    if (!status && !bottleneck_profile_holds(&c->bounds, s.batch))
        status = bottleneck_profile_of(c->who, &s, &c->bounds, err);
    if (status)
        return status;
    compare(c, &here);
    here.bottleneck = bottleneck_find(c->who, &c->bounds, &s, &here.step);
    *out            = here;
    return LM_OK;
}

lm_status scale_at(const predictor *who, const scale_question *q, int64_t nodes, scale_point *out,
                   lm_error *err)
{
    scale_curve curve;
    lm_status   status = scale_curve_begin(who, q, &curve, err);

    return status ? status : scale_curve_at(&curve, nodes, out, err);
}

lm_status scale_tokens(const predictor *who, int64_t *out, lm_error *err)
{
    const workload_name of     = predictor_workload(who, PROGRAM_TRAINING);
    bound_network      *bound  = NULL;
    const lm_status     status = workloads_bind_at(who->loads, &of, 1, &bound, err);

    if (!status)
        *out = metrics_tokens(bound);
    bound_network_free(bound);
    return status;
}

lm_status scale_best_policy(const predictor *const *who, size_t n_who, const scale_question *q,
                            int64_t nodes, const sync_policy *policy, size_t n, sync_policy *out,
                            lm_error *err)
{
    scale_question one    = *q;
    double         best   = -INFINITY;
    lm_status      failed = LM_OK;
    bool           any    = false;

    *out = policy[0];
    for (size_t i = 0; i < n; i++) {
        double sum = 0; /* a mean of logarithms: a fast machine has no larger weight */

        one.setup.sync = policy[i];
        for (size_t k = 0; k < n_who; k++) {
            lm_error    why = { 0 };
            scale_point p;

            if (!scale_at(who[k], &one, nodes, &p, &why)) {
                sum += log(p.samples_per_second);
                any = true;
            } else if (!failed) {
                failed = why.code;
                *err   = why;
            }
        }
        if (sum > best) {
            best = sum;
            *out = policy[i];
        }
    }
    return any ? LM_OK : failed;
}
