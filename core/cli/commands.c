/* What several commands share. */
#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "layers/loader.h"
#include "observe/doubts.h"
#include "observe/points.h"
#include "predict/layerwise_step.h"

lm_status open_registry(const options *o, registry **out, lm_error *err)
{
    registry *reg    = NULL;
    lm_status status = registry_new(&reg, err);

    if (!status)
        status = loader_open_all(reg, o->plugin, (size_t)o->n_plugins, err);
    if (status) {
        registry_free(reg);
        return status;
    }
    *out = reg;
    return LM_OK;
}

bool option_count(const options *o, int at, int64_t *out, int *exit_code)
{
    lm_error err;

    if (!text_int(o->value[at], out, &err) && *out >= 1)
        return true;
    lm_error_set(&err, LM_E_ARG, "expected a whole number from 1 up, found '%.40s'", o->value[at]);
    return option_misuse(o, at, &err, exit_code);
}

bool option_list(const options *o, int at, int64_t **out, size_t *n, int *exit_code)
{
    lm_error err;

    if (!text_list(o->value[at], text_int, out, n, &err))
        return true;
    return option_misuse(o, at, &err, exit_code);
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

size_t option_list_tidy(int64_t *list, size_t n)
{
    size_t kept = 0;

    qsort(list, n, sizeof *list, by_number);
    for (size_t i = 0; i < n; i++)
        if (!kept || list[kept - 1] != list[i])
            list[kept++] = list[i];
    return kept;
}

/* Seconds go without a unit, but nobody means those. */
static lm_status read_latency(const char *text, double *out, lm_error *err)
{
    const lm_status status = text_seconds(text, out, err);

    if (status || !(*out > 0) || strpbrk(text, "sminhd"))
        return status;
    return lm_error_set(err, LM_E_ARG, "expected a time with its unit, such as 5us, found '%.40s'",
                        text);
}

bool option_link(const options *o, int bandwidth, int latency, interconnect *out, int *exit_code)
{
    lm_error     err  = { 0 };
    interconnect link = { 0 };

    if (!o->value[bandwidth]) {
        if (latency && o->given[latency]) {
            lm_error_set(&err, LM_E_ARG, "goes with --bandwidth");
            *exit_code = report_misuse("--latency", &err);
            return false;
        }
        *out = link;
        return true;
    }
    if (text_rate(o->value[bandwidth], &link.bytes_per_second, &err) ||
        (!(link.bytes_per_second > 0) && lm_error_set(&err, LM_E_ARG, "must be above 0"))) {
        *exit_code = report_misuse("--bandwidth", &err);
        return false;
    }
    if (latency && (read_latency(o->value[latency], &link.latency, &err) ||
                    (!(link.latency >= 0) && lm_error_set(&err, LM_E_ARG, "must be 0 or more")))) {
        *exit_code = report_misuse("--latency", &err);
        return false;
    }
    *out = link;
    return true;
}

lm_status open_network(const options *o, const network_options *at, const registry *reg,
                       network **out, lm_error *err)
{
    const char     *treat[ARGUMENTS_MAX], *ignore[ARGUMENTS_MAX], *set[ARGUMENTS_MAX];
    network_choices choices = { .treat = treat, .ignore = ignore, .set = set };

    for (int i = 0; i < o->n_every; i++) {
        if (o->every[i].at == at->treat)
            treat[choices.n_treat++] = o->every[i].value;
        else if (o->every[i].at == at->ignore)
            ignore[choices.n_ignore++] = o->every[i].value;
        else if (o->every[i].at == at->set)
            set[choices.n_set++] = o->every[i].value;
    }
    return network_open(o->argument[0], reg, &choices, out, err);
}

void print_note(const network *net, FILE *out)
{
    if (net->note)
        fprintf(out, "note: %s\n", net->note);
}

static bool failed(const lm_error *err, int *exit_code)
{
    *exit_code = report_failure(err);
    return false;
}

/* --image and --input as one shape, by the file's own where only the size is given. */
static lm_status session_input(const options *o, const session_options *at, int64_t image,
                               session *s, lm_error *err)
{
    const bind_options b = {
        .batch = 1, .dtype = LM_F32, .input = o->value[at->input], .image = image
    };
    bound_network *bound = NULL;
    lm_status      status;

    if (!b.input && !image)
        return LM_OK;
    status = bind_network(s->net, s->reg, &b, &bound, err);
    if (!status)
        strcpy(s->input, bound->input);
    bound_network_free(bound);
    return status;
}

/* The network, handed to `loads` under its name. */
static lm_status session_network(const options *o, const session_options *at, session *s,
                                 lm_error *err)
{
    network  *net    = NULL;
    lm_status status = open_network(o, &at->network, s->reg, &net, err);

    if (!status)
        status = workloads_give(s->loads, o->argument[0], net, err);
    if (!status)
        s->net = net;
    return status;
}

/* The model is one there is, and has what it takes. False: *exit_code says what is wrong. */
static bool session_model(const options *o, const session_options *at, int *exit_code)
{
    const char *model = o->value[at->model];
    lm_error    err   = { 0 };

    if (session_wants_paleo(o, at))
        return true;
    if (!o->value[at->machine]) {
        lm_error_set(&err, LM_E_ARG,
                     "--machine FILE is needed: the coefficients that 'layermeter fit' "
                     "wrote");
        *exit_code = report_misuse("", &err);
        return false;
    }
    if (!model_known(model) && !session_wants_learned(o, at)) {
        lm_error_set(&err, LM_E_ARG,
                     "expected one of layermeter, convmeter, nnls, paleo%s; found '%.40s'",
                     session_takes_learned(o) ? ", or a learned model (fit --model)" : "", model);
        *exit_code = report_misuse("--model", &err);
        return false;
    }
    return true;
}

/* What connects nodes, if the command line says it. */
static bool session_link(const options *o, const session_options *at, interconnect *link,
                         int *exit_code)
{
    lm_error err = { 0 };

    if (session_wants_paleo(o, at))
        return true;
    if (!option_link(o, at->paleo.bandwidth, at->latency, link, exit_code))
        return false;
    if (link->bytes_per_second > 0 && !session_wants_learned(o, at) &&
        form_find(o->value[at->model], PART_SYNC) == n_forms) {
        lm_error_set(&err, LM_E_ARG,
                     "the model '%s' adds numbers of nodes to bytes and knows no link: take "
                     "--model %s",
                     o->value[at->model], model_at(0));
        *exit_code = report_misuse("--bandwidth", &err);
        return false;
    }
    return true;
}

static void session_subject(const options *o, const session_options *at, session *s)
{
    s->who.cal     = s->cal;
    s->who.machine = o->value[at->machine];
    s->who.loads   = s->loads;
    s->who.model   = o->value[at->model];
    s->who.network = o->argument[0];
    s->who.input   = *s->input ? s->input : NULL;
    if (session_wants_paleo(o, at)) {
        s->paleo.reg   = s->reg;
        s->paleo.net   = s->net;
        s->paleo.input = s->who.input;
        s->paleo.dtype = s->who.dtype;
        s->who.paleo   = &s->paleo;
    }
}

bool session_open(const options *o, const session_options *at, session *s, int *exit_code)
{
    lm_error     err   = { 0 };
    int64_t      image = 0;
    interconnect link  = { 0 };

    memset(s, 0, sizeof *s);
    if (o->value[at->image] && !option_count(o, at->image, &image, exit_code))
        return false;
    if (text_dtype(o->value[at->dtype], &s->who.dtype, &err)) {
        *exit_code = report_misuse("--dtype", &err);
        return false;
    }
    if (!session_model(o, at, exit_code) ||
        !session_platform(o, at, s->who.dtype, &s->paleo.platform, exit_code) ||
        !session_link(o, at, &link, exit_code))
        return false;
    if (open_registry(o, &s->reg, &err) ||
        (!session_wants_paleo(o, at) && calibration_load(o->value[at->machine], &s->cal, &err)) ||
        workloads_new(s->reg, &s->loads, &err) || session_network(o, at, s, &err) ||
        session_input(o, at, image, s, &err))
        return failed(&err, exit_code);
    if (s->cal)
        s->cal->link = link;
    session_subject(o, at, s);
    return !session_wants_learned(o, at) || session_learned(o, at, s, exit_code);
}

lm_status session_scans(session *s, lm_error *err)
{
    const lm_status status = step_scan_new(&s->scan, err);

    s->who.scan = s->scan;
    return status;
}

void session_close(session *s)
{
    step_scan_free(s->scan);
    layerwise_predictor_free(s->layerwise);
    workloads_free(s->loads);
    calibration_free(s->cal);
    registry_free(s->reg);
}

void print_flagged(const struct observations *obs, const struct points *p)
{
    if (p->n_flagged_out)
        fprintf(
            stderr,
            "layermeter: %s: %zu flagged point%s left out: the same was measured again, better\n",
            obs->path, p->n_flagged_out, p->n_flagged_out == 1 ? " is" : "s are");
    if (p->n_flagged_used)
        fprintf(stderr,
                "layermeter: %s: %zu point%s used that %s flagged contended, throttled or drifted: "
                "nothing better was measured there\n",
                obs->path, p->n_flagged_used, p->n_flagged_used == 1 ? " is" : "s are",
                p->n_flagged_used == 1 ? "is" : "are");
    doubts_print(p->doubts, "layermeter: ", obs->path, stderr);
}
