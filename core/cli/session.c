/* What a prediction needs, opened together. */
#include "cli/session.h"

#include <stdio.h>
#include <string.h>

static const char *model_words(char *buffer, size_t size)
{
    return step_model_names(", ", buffer, size);
}

OPTION_TYPE(type_scheme, paleo_scheme, paleo_scheme_parse);

#define AT(member) OPTION_AT(session_options, member)

const option_row session_machine_option_rows[] = {
    { "image", AT(input.image) },
    { "input", AT(input.input) },
    OPTION_GROUP(session_options, network, network_option_rows),
    { "machine", AT(machine),
      .help = "machine file of 'layermeter fit' or 'layermeter calibrate' (needed but for paleo)" },
    { "device", AT(source.device),
      .help = "device, by its datasheet: for paleo, learned models and --idle-power" },
    OPTION_GROUP(session_options, link, link_option_rows),
    { "model", AT(model), &type_text, "NAME", "layermeter", HELP_HOW,
      "model that predicts the step", .words = model_words },
    { "dtype", AT(input.dtype) },
    { .name = NULL },
};

const option_row session_option_rows[] = {
    { .at = 0, .group = session_machine_option_rows },
    { "devices", AT(source.devices) },
    { "ppp-comp", AT(source.platform.ppp_comp), &type_fraction, "FRACTION", "1", HELP_HOW,
      "paleo: fraction of the device's peaks that is reached" },
    { "ppp-comm", AT(source.platform.ppp_comm), &type_fraction, "FRACTION", "1", HELP_HOW,
      "paleo: fraction of the bandwidth between nodes that is reached" },
    { "scheme", AT(source.platform.scheme), &type_scheme, "NAME", "tree", HELP_HOW,
      "paleo: one_to_all, tree, butterfly or butterfly_mixing" },
    { .name = NULL },
};

const step_model *session_model(const session_options *q)
{
    return step_model_find(q->model);
}

/* Of a model that takes a datasheet. */
static lm_status check_datasheet(const options *o, const session_options *q, lm_error *err)
{
    if (option_given(o, &q->link.latency))
        return misused(o, &q->link.latency, err, "PALEO's model knows no latency");
    if (q->machine)
        return lm_error_set(err, LM_E_ARG,
                            "--machine: --model paleo takes a device (--device), no machine file");
    if (!q->source.device)
        return lm_error_set(
            err, LM_E_ARG,
            "--device: --model paleo needs a device; 'layermeter devices' lists those there are");
    return LM_OK;
}

/* Of all others: options of a datasheet would change nothing. */
static lm_status check_machine(const options *o, const session_options *q, bool device_counts,
                               lm_error *err)
{
    const model_source *s     = &q->source;
    const void *const   own[] = { &s->platform.ppp_comp, &s->platform.ppp_comm, &s->platform.scheme,
                                  &s->device, &s->devices };
    const step_model   *by    = session_model(q);
    char                all[200];

    if (!q->machine)
        return lm_error_set(
            err, LM_E_ARG,
            "--machine FILE is needed: the coefficients that 'layermeter fit' wrote");
    if (!by)
        return misused(o, &q->model, err, "expected one of %s; found '%.40s'",
                       model_words(all, sizeof all), q->model);
    for (size_t i = 0; i < (by->from_layers || device_counts ? 3 : 5); i++)
        if (option_given(o, own[i]))
            return misused(o, own[i], err, "is for --model paleo");
    if (q->link.bytes_per_second > 0 && !by->from_layers &&
        form_find(q->model, PHASE_SYNC) == n_forms)
        return misused(o, &q->link.bytes_per_second, err,
                       "the model '%s' adds numbers of nodes to bytes and knows no link: take "
                       "--model %s",
                       q->model, model_at(0));
    return LM_OK;
}

lm_status session_check(const options *o, session_options *q, bool device_counts, lm_error *err)
{
    const step_model *by        = session_model(q);
    const bool        datasheet = by && by->from_datasheet;

    if (!(q->link.bytes_per_second > 0))
        q->link = (interconnect){ 0 };
    else if (datasheet)
        q->link.latency = 0;
    return datasheet ? check_datasheet(o, q, err) : check_machine(o, q, device_counts, err);
}

lm_status session_open(const options *o, const session_options *q, session *s, lm_error *err)
{
    const predictor_asked asked = { .model  = q->model,
                                    .input  = q->input.input,
                                    .image  = q->input.image,
                                    .dtype  = q->input.dtype,
                                    .link   = q->link,
                                    .source = q->source };
    lm_status             status;

    memset(s, 0, sizeof *s);
    if ((status = open_library(o, &s->library, err)) ||
        (q->machine && (status = lm_machine_open(q->machine, &s->machine, err))) ||
        (status = open_network(o, &q->network, s->library, &s->network, err)) ||
        (status = predictor_handle_open(s->library, s->machine, s->network, &asked, &s->by, err)))
        return status;
    s->reg = s->library->reg;
    s->net = s->network->net;
    s->cal = s->machine ? s->machine->cal : NULL;
    s->who = &s->by->who;
    return LM_OK;
}

void session_close(session *s)
{
    lm_predictor_close(s->by);
    lm_network_close(s->network);
    lm_machine_close(s->machine);
    lm_library_close(s->library);
}
