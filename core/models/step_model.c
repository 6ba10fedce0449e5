/* All step models by name. */
#include "models/step_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "fit/power_rows.h"
#include "layerwise/layerwise.h"
#include "models/learned.h"
#include "models/linear.h"
#include "models/paleo_step.h"
#include "network/autocast.h"

/* A family of models: names that one step_model serves. */
typedef struct family {
    const step_model *by;
    const char *(*name)(size_t i); /* NULL past the last */
} family;

static const char *name_of_paleo(size_t i)
{
    return i ? NULL : "paleo";
}

static const char *name_of_learned(size_t i)
{
    return layerwise_kinds[i] ? layerwise_kinds[i]->name : NULL;
}

static const family families[] = {
    { &linear_model, model_at },
    { &paleo_model, name_of_paleo },
    { &learned_model, name_of_learned },
};

#define N_FAMILIES (sizeof families / sizeof families[0])

step_price inference_price(void)
{
    const bounded unknown = { NAN, NAN, NAN };

    return (step_price){ .forward       = unknown,
                         .step          = unknown,
                         .tells_update  = true,
                         .joules_passes = unknown,
                         .joules_step   = unknown };
}

const char *step_model_name(size_t i)
{
    for (size_t f = 0; f < N_FAMILIES; f++)
        for (size_t k = 0; families[f].name(k); k++)
            if (!i--)
                return families[f].name(k);
    return NULL;
}

/* *name: becomes the registered text, which is compared by its address. */
static const step_model *find_family(const char **name)
{
    for (size_t f = 0; f < N_FAMILIES; f++)
        for (size_t k = 0; families[f].name(k); k++)
            if (!strcmp(families[f].name(k), *name)) {
                *name = families[f].name(k);
                return families[f].by;
            }
    return NULL;
}

const step_model *step_model_find(const char *name)
{
    return find_family(&name);
}

/* Formulas that comparisons show: usual ones, and those of residuals. */
static const char *formulas_compared(size_t *i)
{
    for (size_t m = 0; m < n_formula_models; m++)
        if ((formula_models[m].usual || formula_models[m].residual) && !(*i)--)
            return formula_models[m].name;
    return NULL;
}

const char *step_model_compared(size_t i)
{
    const char *name = formulas_compared(&i);

    for (size_t f = 1; f < N_FAMILIES && !name; f++)
        for (size_t k = 0; families[f].name(k) && !name; k++)
            name = i-- ? NULL : families[f].name(k);
    return name;
}

const step_model *step_model_comparing(const char *name)
{
    if (formula_model_of(name)->residual || sync_baseline_parse(name) < N_SYNC_BASELINES)
        return families[0].by;
    return step_model_find(name);
}

bool step_model_carried(const char *name)
{
    const step_model *by = step_model_find(name);

    return by && (by->from_layers || formula_model_of(name)->prices);
}

const char *step_model_names(char *text, size_t size)
{
    *text = '\0';
    for (size_t i = 0; step_model_name(i); i++)
        text_add(text, size, "%s%s", i ? ", " : "", step_model_name(i));
    return text;
}

const step_model *step_model_of(const calibration *cal, const char *name)
{
    return cal && layers_model_applies(cal, name) ? &layers_model : step_model_find(name);
}

static lm_status take_tf32(predictor *who, const device *on, lm_error *err)
{
    if (who->by != &linear_model || strcmp(who->model, DEFAULT_MODEL) != 0)
        return lm_error_set(
            err, LM_E_UNSUPPORTED,
            "tf32: only the default model predicts it, for networks that were measured as a whole");
    if (!on)
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "tf32: %s names no device with a datasheet, whose peaks are needed: take f32 or f16",
            who->machine ? who->machine : "the machine file");
    who->as_tf32    = device_peak(on, predictor_product_dtype(who)) / on->figure[DEVICE_TF32];
    who->roof.flops = on->figure[DEVICE_TF32];
    return who->as_tf32 > 0
               ? LM_OK
               : lm_error_set(err, LM_E_NOTFOUND,
                              "tf32: '%.60s' has no tf32 by its datasheet: take f32 or f16",
                              on->name);
}

/* Finds the datasheet's limits; none for a device without a datasheet. */
static lm_status find_roof(predictor *who, const model_source *from, lm_error *err)
{
    const char   *name = !who->cal      ? NULL
                         : from->device ? from->device
                                        : calibration_device(who->cal);
    device_list  *list = NULL;
    const device *on   = NULL;
    lm_error      unknown;
    lm_status     status;

    who->roof = (roofline){ 0, 0, 0 };
    if (name && (status = devices_open(from->devices, &list, err)))
        return status;
    if (name && !devices_find(list, name, &on, &unknown))
        who->roof = roofline_of(on->figure, predictor_product_dtype(who), true);
    else
        on = NULL;
    status = who->as_tf32 > 0 ? take_tf32(who, on, err) : LM_OK;
    devices_free(list);
    return status;
}

lm_status framework_parse(const char *text, framework_kind *out, lm_error *err)
{
    static const char *const words[] = { [FRAMEWORK_FILE]  = "file",
                                         [FRAMEWORK_NONE]  = "none",
                                         [FRAMEWORK_EAGER] = "eager",
                                         [FRAMEWORK_GRAPH] = "graph" };

    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
        if (!strcmp(text, words[k])) {
            *out = (framework_kind)k;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_ARG, "expected file, none, eager or graph, found '%.40s'", text);
}

bool predictor_includes_host(const predictor *who)
{
    const char *by = who->cal ? calibration_told(who->cal, "compute_backend") : NULL;

    return by && !strcmp(by, "pytorch");
}

/* Does the machine file have a framework's host that its measurements do not include? Published
 * models have none. */
static bool issues_one_by_one(const predictor *who)
{
    return who->cal && who->cal->host.rows && !who->cal->host.laid &&
           !strcmp(who->model, DEFAULT_MODEL) && !predictor_includes_host(who);
}

framework_kind predictor_framework(const predictor *who)
{
    if (who->framework != FRAMEWORK_FILE)
        return who->framework;
    return issues_one_by_one(who) ? FRAMEWORK_EAGER : FRAMEWORK_NONE;
}

lm_status predictor_open(predictor *who, const model_source *from, lm_error *err)
{
    lm_status status;

    who->by    = job_curve_applies(who) ? &job_curve_model : step_model_of(who->cal, who->model);
    who->state = who->memo = NULL;
    who->on =
        who->cal ? provenance_kind(who->cal->provenance, who->cal->n_provenance) : AUTOCAST_GPU;
    find_family(&who->model);
    if (!who->by) {
        char all[200];

        return lm_error_set(err, LM_E_NOTFOUND, "expected one of %s; found '%.40s'",
                            step_model_names(all, sizeof all), who->model);
    }
    if ((who->by == &layers_model || who->by->from_layers) &&
        (status = calibration_check_residuals(who->cal, err))) {
        lm_error_prefix(err, "%s", who->machine ? who->machine : "the machine file");
        return status;
    }
    if (!linear_tells_halves(who))
        who->weights = 0;
    if ((status = find_roof(who, from, err)))
        return status;
    return who->by->open ? who->by->open(who, from, err) : LM_OK;
}

/* ---- what the datasheet allows ---- */

/* Least seconds of a step by the datasheet. A pass reads weights; the backward pass also writes
 * their gradients. */
static lm_status find_least(const predictor *who, const step_setup *s, step_price *p, lm_error *err)
{
    const workload_name  of    = predictor_workload(who, s->program);
    const term_settings *how   = who->cal ? &who->cal->settings : &term_settings_default;
    const double         bytes = (double)p->counts.param_bytes;
    full_workload        counted;
    lm_status            status;

    p->least = (part_seconds){ 0, 0, 0 };
    /* learned models have optimizers without counts; job curves are measured */
    if (!(who->roof.flops > 0 || who->roof.bandwidth > 0) || who->by->from_layers ||
        who->by == &job_curve_model)
        return LM_OK;
    if ((status = workloads_full(who->loads, &of, s->batch, how, s->optimizer, &counted, err)))
        return status;
    p->least.forward = roofline_seconds(&who->roof, &counted.load.forward, bytes);
    if (s->program != PROGRAM_TRAINING)
        return LM_OK;
    p->least.backward = roofline_seconds(&who->roof, &counted.load.backward, 2 * bytes);
    p->least.update   = roofline_seconds(&who->roof, &counted.load.update, 0);
    return LM_OK;
}

static void raise(bounded *to, double least, ledger *l)
{
    if (!(least > 0) || !(to->value < least)) /* also returns if one is unknown */
        return;
    ledger_add(l, CERTAINTY_ASSUMED, least - to->value);
    to->value = least;
    bounded_hold(&to->high, least);
}

lm_status predictor_price(const predictor *who, const step_setup *s, step_price *out, lm_error *err)
{
    lm_status status = who->by->price(who, s, out, err);

    if (status || (status = find_least(who, s, out, err)))
        return status;
    raise(&out->forward, out->least.forward, &out->passes.ledger);
    raise(&out->backward, out->least.backward, &out->passes.ledger);
    raise(&out->update, out->least.update, &out->rest.ledger);
    if (isnan(out->forward.value + out->backward.value))
        raise(&out->step, out->least.forward + out->least.backward + out->least.update,
              &out->passes.ledger);
    return LM_OK;
}

const char *types_print(lm_dtype dtype, lm_dtype mixed, char text[TYPES_TEXT])
{
    snprintf(text, TYPES_TEXT, "%s%s%s", text_dtype_name(dtype), mixed ? " with autocast to " : "",
             mixed ? text_dtype_name(mixed) : "");
    return text;
}

lm_dtype predictor_product_dtype(const predictor *who)
{
    const char *settings = who->cal ? calibration_told(who->cal, "settings") : NULL;

    if (who->weights == LM_F8)
        return LM_F8;
    if (who->mixed || !settings || autocast_of_settings(settings))
        return who->mixed ? who->mixed : who->dtype;
    return settings_product_dtype(settings, who->dtype);
}

workload_name predictor_workload(const predictor *who, program_kind program)
{
    const bool halves = who->weights && program == PROGRAM_INFERENCE;

    return (workload_name){ .name       = who->network,
                            .input      = who->input,
                            .dtype      = halves ? who->weights : who->dtype,
                            .mixed      = halves ? 0 : who->mixed,
                            .on         = who->on,
                            .evaluation = program == PROGRAM_INFERENCE,
                            .shard      = who->shard };
}

predictor predictor_part(const predictor *who, const step_setup *s)
{
    predictor part = *who;

    if (s->laid_out)
        part.shard = layout_shard(&s->layout);
    if (!shard_is_whole(&part.shard))
        part.scan = NULL;
    return part;
}

const char *predictor_sync_model(const predictor *who)
{
    return who->by->from_layers ? DEFAULT_MODEL : who->model;
}

int64_t predictor_nodes(const predictor *who, int64_t devices)
{
    if (who->by == &job_curve_model)
        return (int64_t)((const job_curve *)who->state)->hosts;
    return calibration_nodes(who->cal, predictor_sync_model(who), devices);
}

bool predictor_tells_gradients(const predictor *who)
{
    const step_setup s       = step_setup_of(1, 1);
    lm_error         ignored = { 0 };
    step_price       p;

    if (who->by == &job_curve_model)
        return false;
    if (!who->by->from_layers)
        return who->cal && form_find(who->model, PHASE_SYNC) < n_forms;
    return !who->by->price(who, &s, &p, &ignored) && !isnan(p.forward.value + p.backward.value);
}

bool step_model_knows_clocks(const char *name)
{
    const layerwise_kind *kind = layerwise_find(name);

    return kind && kind->clocks;
}

bool predictor_tells_clocks(const predictor *who, clock_range *out)
{
    return who->by->clocks && who->by->clocks(who, out);
}

lm_status predictor_check_highest(const predictor *who, double mhz, lm_error *err)
{
    power_model told   = power_unknown;
    lm_status   status = who->cal ? power_told(who->cal, NULL, &told, err) : LM_OK;

    if (!status && mhz > told.top_mhz)
        status = lm_error_set(err, LM_E_ARG, "no clock of %.6g MHz: the highest of %s is %.6g MHz",
                              mhz, calibration_device(who->cal), told.top_mhz);
    return status;
}

lm_status predictor_check_clock(const predictor *who, double mhz, lm_error *err)
{
    clock_range range;
    lm_status   status;

    if (!predictor_tells_clocks(who, &range))
        return lm_error_set(
            err, LM_E_UNSUPPORTED,
            "--clock: %s predicts steps at the measured clock only: 'layermeter energy --clocks' predicts others",
            who->model);
    if (!(status = predictor_check_highest(who, mhz, err)) && (mhz < range.low || mhz > range.high))
        status = lm_error_set(err, LM_E_ARG,
                              "--clock: %s learned nothing at %.6g MHz, but at %.6g to %.6g MHz: "
                              "'layermeter energy --clocks' predicts others",
                              who->model, mhz, range.low, range.high);
    return status;
}

bool predictor_tells_power(const predictor *who)
{
    return who->by->tells_power && who->by->tells_power(who);
}

void predictor_close(predictor *who)
{
    if (who->by && who->by->close)
        who->by->close(who);
}
