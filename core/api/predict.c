/* Predictors: steps, their explanations, curves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "machine/measured_as.h"
#include "network/autocast.h"
#include "predict/explain.h"
#include "predict/recompute.h"
#include "predict/scaling.h"

/* ---- predictors ---- */

/* Joins shape and image size into one shape; an image size alone changes the file's shape. */
static lm_status settle_input(lm_predictor *p, const predictor_asked *asked, lm_error *err)
{
    const bind_options b = {
        .batch = 1, .dtype = LM_F32, .input = asked->input, .image = asked->image
    };
    bound_network *bound = NULL;
    lm_status      status;

    if (!b.input && !b.image)
        return LM_OK;
    status = bind_network(p->network->net, p->network->library->reg, &b, &bound, err);
    if (!status)
        strcpy(p->input, bound->input);
    bound_network_free(bound);
    return status;
}

/* Element type; default: the machine's. Its rows have the type of weights, which stands for that of
 * products. */
static lm_dtype settle_dtype(const calibration *cal, lm_dtype asked)
{
    if (!cal)
        return asked ? asked : LM_F32;
    if (!asked || (!cal->mixed && dtype_of_rate(asked, calibration_product_dtype(cal))))
        return cal->dtype ? cal->dtype : asked ? asked : LM_F32;
    return asked;
}

/* Sets autocast if the user wants it, or by default if the machine was measured so. Rows with
 * `amp=` were counted without casts: these are part of the coefficients. */
static void settle_types(const lm_machine *machine, const predictor_asked *asked, predictor *who)
{
    const calibration *cal    = machine ? machine->cal : NULL;
    const lm_dtype     own    = cal ? cal->mixed : 0;
    const bool         wanted = asked->mixed && asked->mixed != LM_F32;
    const bool         amp    = cal && !own && cal->dtype == LM_F32 &&
                     dtype_of_rate(asked->mixed, calibration_product_dtype(cal));

    if (wanted) {
        who->dtype = LM_F32;
        who->mixed = amp ? 0 : own && dtype_of_rate(own, asked->mixed) ? own : asked->mixed;
        return;
    }
    who->dtype = settle_dtype(cal, asked->dtype);
    who->mixed = asked->mixed || asked->dtype ? 0 : own;
}

/* Sets weights of 16 bits or FP8 for inference from a file of `amp=` rows: if the user wants them, or
 * 16 bits by default for networks of tokens. Autocast would keep weights in f32 and cast them for each
 * token. */
static lm_status settle_weights(const lm_machine *machine, const predictor_asked *asked,
                                predictor *who, lm_error *err)
{
    const calibration *cal     = machine ? machine->cal : NULL;
    const lm_dtype     product = cal ? calibration_product_dtype(cal) : 0;
    const bool         amp     = cal && !cal->mixed && cal->dtype == LM_F32 &&
                     (product == LM_F16 || product == LM_BF16);
    int64_t   tokens = 0;
    lm_status status = LM_OK;

    if (!amp || asked->mixed)
        return LM_OK;
    if (!asked->dtype && !(status = scale_tokens(who, &tokens, err)) && tokens)
        who->weights = product;
    if (asked->dtype == LM_F8 || (asked->dtype && dtype_of_rate(asked->dtype, product))) {
        who->weights      = asked->dtype;
        who->weights_told = true;
    }
    return status;
}

/* Refuses other types of products for a file of `amp=` rows. */
static lm_status check_amp(const predictor *who, const predictor_asked *asked, lm_error *err)
{
    const calibration *cal = who->cal;

    if (asked->mixed != LM_F32 || !cal || cal->mixed ||
        calibration_product_dtype(cal) == (cal->dtype ? cal->dtype : LM_F32))
        return LM_OK;
    return lm_error_set(err, LM_E_UNSUPPORTED,
                        "%s: was measured under autocast (amp=%s), which its coefficients hold: "
                        "without it take a machine that was measured so",
                        who->machine ? who->machine : "the machine file",
                        text_dtype_name(calibration_product_dtype(cal)));
}

/* TF32: a file measured with it has its times; a file of 16 bits gives it by the ratio of the
 * peaks. */
static lm_status settle_tf32(const lm_machine *machine, predictor_asked *asked, double *as_tf32,
                             lm_error *err)
{
    const calibration *cal  = machine ? machine->cal : NULL;
    const lm_dtype     rate = cal ? calibration_rate_dtype(cal) : 0;

    *as_tf32 = 0;
    if (asked->dtype != DTYPE_TF32)
        return LM_OK;
    asked->dtype = LM_F32;
    if (rate == DTYPE_TF32)
        return LM_OK;
    if (!cal || cal->dtype != LM_F32 || (rate != LM_F16 && rate != LM_BF16))
        return lm_error_set(
            err, LM_E_ARG,
            "--dtype: tf32 is how f32 is multiplied: a machine file measured with "
            "math=tf32 has it, one of 16 bits tells it by the peaks; without one it "
            "lies between f32 and f16");
    *as_tf32 = 1;
    return LM_OK;
}

static lm_status open_predictor(lm_predictor *p, const lm_machine *machine,
                                const predictor_asked *said, lm_error *err)
{
    predictor_asked  own   = *said;
    predictor_asked *asked = &own;
    double           as_tf32;
    lm_status        status = settle_tf32(machine, &own, &as_tf32, err);

    if (status)
        return status;
    if ((status = workloads_new(p->network->library->reg, &p->loads, err)) ||
        (status = workloads_lend(p->loads, p->network->name, p->network->net, err)) ||
        (status = settle_input(p, asked, err)))
        return status;
    snprintf(p->model, sizeof p->model, "%s", asked->model);
    p->who           = (predictor){ .cal     = machine ? machine->cal : NULL,
                                    .machine = machine ? machine->path : NULL,
                                    .loads   = p->loads,
                                    .model   = p->model,
                                    .network = p->network->name,
                                    .input   = *p->input ? p->input : NULL,
                                    .link    = asked->link.bytes_per_second > 0 || !machine ? asked->link
                                                                                            : machine->link };
    p->who.framework = asked->framework;
    p->who.as_tf32   = as_tf32;
    settle_types(machine, asked, &p->who);
    if ((status = check_amp(&p->who, asked, err)) ||
        (status = settle_weights(machine, asked, &p->who, err)))
        return status;
    if (machine && !machine->shipped && predictor_other_types(&p->who) &&
        machine_measured_as(machine->path, machine->cal, p->who.dtype, p->who.mixed,
                            p->measured_so))
        p->who.measured_so = p->measured_so;
    return predictor_open(&p->who, &asked->source, err);
}

lm_status predictor_handle_open(const lm_library *library, const lm_machine *machine,
                                const lm_network *net, const predictor_asked *asked,
                                lm_predictor **out, lm_error *err)
{
    predictor_asked a      = *asked;
    lm_predictor   *p      = calloc(1, sizeof *p);
    lm_status       status = p ? LM_OK : no_memory(err);

    if (!a.source.devices)
        a.source.devices = library->from.devices;
    if (!status) {
        p->network = net;
        status     = open_predictor(p, machine, &a, err);
    }
    if (status)
        lm_predictor_close(p);
    else
        *out = p;
    return status;
}

lm_status predictor_handle_scan(lm_predictor *p, lm_error *err)
{
    const lm_status status = step_scan_new(&p->scan, err);

    p->who.scan = p->scan;
    return status;
}

void lm_predictor_close(lm_predictor *by)
{
    if (!by)
        return;
    step_scan_free(by->scan);
    predictor_close(&by->who);
    workloads_free(by->loads);
    free(by);
}

/* ---- by texts ---- */

static lm_status check_machine(const lm_machine *machine, const predictor_asked *asked,
                               lm_error *err)
{
    const step_model *by = step_model_find(asked->model);
    char              names[200];

    if (!by)
        return lm_error_set(err, LM_E_NOTFOUND, "expected one of %s; found '%.40s'",
                            step_model_names(names, sizeof names), asked->model);
    if (by->from_datasheet && machine)
        return lm_error_set(err, LM_E_ARG, "the model '%s' needs a device, not a machine file",
                            asked->model);
    if (by->from_datasheet && !asked->source.device)
        return lm_error_set(err, LM_E_ARG, "the model '%s' needs a device", asked->model);
    if (!by->from_datasheet && !machine)
        return lm_error_set(err, LM_E_ARG, "the model '%s' needs a machine", asked->model);
    return LM_OK;
}

static lm_status read_options(const lm_predictor_options *o, predictor_asked *out, lm_error *err)
{
    const step_model *by    = step_model_find(out->model);
    const bool        sheet = by && by->from_datasheet;

    out->input           = o->shape;
    out->image           = o->image;
    out->dtype           = o->dtype;
    out->mixed           = o->mixed;
    out->source          = (model_source){ .device = o->device, .optimizer = o->optimizer };
    out->source.platform = (paleo_platform){ .ppp_comp = o->ppp_comp > 0 ? o->ppp_comp : 1,
                                             .ppp_comm = o->ppp_comm > 0 ? o->ppp_comm : 1,
                                             .scheme   = PALEO_TREE };
    if (!out->source.optimizer)
        out->source.optimizer = optimizer_name(OPTIMIZER_MOMENTUM);
    if (o->framework && framework_parse(o->framework, &out->framework, err))
        return err->code;
    if (o->mixed && o->mixed != LM_F32) {
        const bind_options b      = { .dtype = o->dtype ? o->dtype : LM_F32, .mixed = o->mixed };
        const lm_status    status = autocast_check(&b, err);

        if (status)
            return status;
    }
    if (o->bandwidth < 0 || o->latency < 0 || (o->latency > 0 && !(o->bandwidth > 0)))
        return lm_error_set(err, LM_E_ARG, "a link has a bandwidth above 0, and a latency");
    if (o->bandwidth > 0) {
        out->link =
            (interconnect){ .bytes_per_second = o->bandwidth, .latency = sheet ? 0 : o->latency };
        if (!sheet && !(o->latency > 0) && text_seconds(LINK_LATENCY, &out->link.latency, err))
            return err->code;
    }
    return o->scheme ? paleo_scheme_parse(o->scheme, &out->source.platform.scheme, err) : LM_OK;
}

static sync_policy usual_sync(const predictor *who)
{
    sync_policy p = step_setup_of(1, 1).sync;

    if (predict_in_buckets(who))
        (void)sync_policy_parse("ddp", &p, NULL);
    return p;
}

/* Reads an optimizer. A learned model knows any measured optimizer by name. */
static lm_status read_optimizer(const char *name, lm_predictor *p, lm_error *err)
{
    p->optimizer = OPTIMIZER_MOMENTUM;
    return !name || p->who.by->from_layers ? LM_OK : optimizer_parse(name, &p->optimizer, err);
}

lm_status lm_predictor_open(const lm_library *library, const lm_machine *machine,
                            const lm_network *net, const char *model,
                            const lm_predictor_options *options, lm_predictor **out, lm_error *err)
{
    predictor_asked      asked = { .model = model ? model : DEFAULT_MODEL };
    lm_predictor_options o;
    lm_predictor        *p      = NULL;
    lm_status            status = QUESTION_TAKE_FROM(o, framework, options, err);

    if (status || (status = read_options(&o, &asked, err)) ||
        (status = check_machine(machine, &asked, err)) ||
        (status = predictor_handle_open(library, machine, net, &asked, &p, err)))
        return status;
    p->usual = usual_sync(&p->who);
    if ((status = read_optimizer(o.optimizer, p, err)) || (status = predictor_handle_scan(p, err)))
        lm_predictor_close(p);
    else
        *out = p;
    return status;
}

/* ---- steps ---- */

static lm_status take_layout(const lm_predictor *p, const char *words, step_setup *out,
                             lm_error *err)
{
    layout   *l      = &out->layout;
    lm_status status = LM_OK;

    *l            = layout_plain();
    out->laid_out = true;
    if ((status = layout_parse(words, l, err))) {
        lm_error_prefix(err, "step: layout");
        return status;
    }
    if (l->micro_batch || l->accumulation)
        return lm_error_set(err, LM_E_ARG,
                            "step: layout: mb stands in `batch`, ga in `accumulation`");
    if (out->program == PROGRAM_INFERENCE)
        out->sync.accumulation = layout_batches(l);
    if (out->program != PROGRAM_TRAINING || !strcmp(l->recompute, "none"))
        return LM_OK;
    return recompute_share(&p->who, out, l->recompute, &out->again, err);
}

lm_status step_of_record(const lm_predictor *p, const lm_step *step, step_setup *out, lm_error *err)
{
    lm_step   s;
    lm_status status = step ? QUESTION_TAKE_FROM(s, layout, step, err)
                            : lm_error_set(err, LM_E_ARG, "step: there is no record");

    if (status)
        return status;
    if (s.inference != 0 && s.inference != 1)
        return lm_error_set(err, LM_E_ARG, "step: inference must be 0 or 1, not %d",
                            (int)s.inference);
    if (s.inference && (s.sync || s.gradients || s.accumulation))
        return lm_error_set(err, LM_E_ARG,
                            "step: inference has no sync, gradients or "
                            "accumulation");
    *out           = step_setup_of(s.batch, s.nodes);
    out->devices   = s.devices ? s.devices : 1;
    out->optimizer = p->optimizer;
    out->program   = s.inference ? PROGRAM_INFERENCE : PROGRAM_TRAINING;
    if (!s.inference)
        out->sync = p->usual;
    if (s.sync && (status = sync_policy_parse(s.sync, &out->sync, err)))
        return status;
    out->sync.dtype        = s.gradients;
    out->sync.accumulation = s.accumulation ? s.accumulation : 1;
    return s.layout ? take_layout(p, s.layout, out, err) : LM_OK;
}

static lm_bounded bounded_at(const prediction *p, phase q, double value)
{
    return (lm_bounded){ value, p->low[q], p->high[q] };
}

/* Samples of a step on all devices. */
static double samples_of(const prediction *p, const step_setup *s)
{
    return (double)p->batch * (double)step_setup_replicas(s) * (double)s->sync.accumulation;
}

lm_status lm_predict(lm_predictor *by, const lm_step *step, lm_answer *out, lm_error *err)
{
    step_setup s;
    prediction p;
    lm_answer  a = { 0 };
    lm_status  status;

    if ((status = ANSWER_CHECK(out, err)) || (status = step_of_record(by, step, &s, err)) ||
        (status = predict_step(&by->who, &s, &p, err)))
        return status;
    a.forward            = bounded_at(&p, PHASE_FORWARD, p.forward);
    a.backward           = bounded_at(&p, PHASE_BACKWARD, p.backward);
    a.sync               = bounded_at(&p, PHASE_SYNC, p.sync);
    a.grad               = bounded_at(&p, PHASE_GRAD, p.grad);
    a.step               = bounded_at(&p, PHASE_STEP, p.step);
    a.exposed            = p.exposed;
    a.copy               = p.copy;
    a.straggler          = p.straggler;
    a.update             = p.update;
    a.samples_per_second = samples_of(&p, &s) / p.step;
    a.measured           = ledger_share(&p.grounds.ledger, CERTAINTY_MEASURED);
    a.interpolated       = ledger_share(&p.grounds.ledger, CERTAINTY_INTERPOLATED);
    a.extrapolated       = ledger_share(&p.grounds.ledger, CERTAINTY_EXTRAPOLATED);
    a.assumed            = ledger_share(&p.grounds.ledger, CERTAINTY_ASSUMED);
    a.messages           = p.messages;
    grounds_beyond(&p.grounds, a.beyond, sizeof a.beyond);
    answer_give(out, &a, sizeof a);
    return LM_OK;
}

/* ---- explanations of a step ---- */

struct lm_explanation {
    explanation *e;
    explained   *row;
    size_t       n;
};

lm_status lm_explain(lm_predictor *who, const lm_step *step, const char *by, lm_explanation **out,
                     lm_error *err)
{
    lm_explanation *x = NULL;
    step_setup      s;
    explain_key     key;
    lm_status       status;

    if ((status = explain_key_parse(by, &key, err)) ||
        (status = step_of_record(who, step, &s, err)))
        return status;
    if (!(x = calloc(1, sizeof *x)))
        return no_memory(err);
    if ((status = explain_step(&who->who, &s, &x->e, err)) ||
        (status = explain_by(x->e, key, &x->row, &x->n, err)))
        lm_explanation_close(x);
    else
        *out = x;
    return status;
}

size_t lm_explanation_parts(const lm_explanation *x)
{
    return x->n;
}

lm_status lm_explanation_part(const lm_explanation *x, size_t i, lm_part *out, lm_error *err)
{
    const explained *row;
    lm_part          p      = { 0 };
    lm_status        status = ANSWER_CHECK(out, err);

    if (status)
        return status;
    if (i >= x->n)
        return lm_error_set(err, LM_E_ARG, "part %zu of %zu: there is none", i, x->n);
    row       = &x->row[i];
    p.name    = row->name;
    p.type    = row->type;
    p.seconds = row->seconds;
    p.forward = p.backward = p.grad = NAN;
    p.bound                         = x->e->bounded ? explained_bound(row) : NULL;
    p.unit                          = row->unit;
    p.count                         = row->unit ? row->count : 0;
    p.coefficient                   = row->unit ? row->coefficient : NAN;
    for (size_t k = 0; k < x->e->n_parts && x->e->part[0] != PHASE_STEP; k++) {
        const phase part = x->e->part[k];

        if (part == PHASE_FORWARD || part == PHASE_INFERENCE)
            p.forward = row->part[part];
        else if (part == PHASE_BACKWARD)
            p.backward = row->part[part];
        else
            p.grad = row->part[part] + (isnan(p.grad) ? 0 : p.grad);
    }
    answer_give(out, &p, sizeof p);
    return LM_OK;
}

void lm_explanation_close(lm_explanation *x)
{
    if (!x)
        return;
    explanation_free(x->e);
    free(x->row);
    free(x);
}

/* ---- curves ---- */

static const scaling_kind kinds[] = { [LM_SCALING_WEAK]   = SCALING_WEAK,
                                      [LM_SCALING_STRONG] = SCALING_STRONG,
                                      [LM_SCALING_GLOBAL] = SCALING_GLOBAL };

static lm_status question_of_record(const lm_predictor *p, const lm_scaling *question,
                                    scale_question *out, lm_error *err)
{
    lm_scaling q;
    lm_status  status = QUESTION_TAKE(q, question, err);

    if (status)
        return status;
    if (q.kind < LM_SCALING_WEAK || q.kind > LM_SCALING_GLOBAL)
        return lm_error_set(err, LM_E_ARG, "scaling of kind %d: there is none", (int)q.kind);
    if (q.dataset < 0 || (q.kind != LM_SCALING_WEAK && q.global_batch < 1))
        return lm_error_set(err, LM_E_ARG,
                            "strong and global scaling need a global batch, and no data set is "
                            "below 0");
    *out = (scale_question){ .kind         = kinds[q.kind],
                             .global_batch = q.global_batch,
                             .dataset      = q.dataset };
    return step_of_record(p, q.step, &out->setup, err);
}

static lm_point point_of(const scale_point *p)
{
    return (
        lm_point){ .nodes              = p->step.nodes,
                   .devices            = p->step.devices,
                   .batch              = p->step.batch,
                   .accumulation       = p->accumulation,
                   .global_batch       = p->global_batch,
                   .idle               = p->idle,
                   .step               = bounded_at(&p->step, PHASE_STEP, p->step.step),
                   .exposed            = p->step.exposed,
                   .samples_per_second = { p->samples_per_second, p->samples.low, p->samples.high },
                   .speedup            = p->speedup,
                   .efficiency       = { p->efficiency, p->efficiencies.low, p->efficiencies.high },
                   .epoch_seconds    = p->epoch_seconds,
                   .steps_per_epoch  = p->steps_per_epoch,
                   .bottleneck       = bottleneck_name(p->bottleneck.most),
                   .bottleneck_share = p->bottleneck.share };
}

lm_status lm_scale(lm_predictor *by, const lm_scaling *question, const int64_t *nodes, size_t n,
                   lm_point *out, lm_error *err)
{
    scale_question q;
    scale_curve    curve;
    const size_t   stride = n ? out->size : 0;
    lm_status      status;

    if (!n)
        return LM_OK;
    if ((status = ANSWER_CHECK(out, err)) || (status = question_of_record(by, question, &q, err)) ||
        (status = scale_curve_begin(&by->who, &q, &curve, err)))
        return status;
    for (size_t i = 0; i < n && !status; i++) {
        scale_point point;
        void       *theirs = (char *)out + i * stride;

        status = scale_fits_dataset(&q, nodes[i], err);
        if (!status && !(status = scale_curve_at(&curve, nodes[i], &point, err))) {
            const lm_point mine = point_of(&point);

            memcpy(theirs, &stride, sizeof stride);
            answer_give(theirs, &mine, sizeof mine);
        }
    }
    return status;
}

lm_status lm_turning_point(lm_predictor *by, const lm_scaling *question, int64_t *out,
                           lm_error *err)
{
    scale_question  q;
    const lm_status status = question_of_record(by, question, &q, err);

    return status ? status : scale_turning_point(&by->who, &q, out, err);
}
