/* Shared by commands that predict. */
#include "cli/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"

/* The element type where none is given. */
#define OF_MACHINE "file"

static const char *model_words(char *buffer, size_t size)
{
    return step_model_names(buffer, size);
}

VALUE_TYPE(type_scheme, paleo_scheme, paleo_scheme_parse);

/* 0: the machine file's. */
static lm_status read_dtype(const char *text, lm_dtype *out, lm_error *err)
{
    *out = strcmp(text, "tf32") ? 0 : DTYPE_TF32;
    return !*out && strcmp(text, OF_MACHINE) ? text_dtype(text, out, err) : LM_OK;
}

VALUE_TYPE(type_machine_dtype, lm_dtype, read_dtype);
VALUE_TYPE(type_framework, framework_kind, framework_parse);

/* 0: as the machine file; LM_F32: none. */
static lm_status read_mixed(const char *text, lm_dtype *out, lm_error *err)
{
    lm_status status;

    *out = !strcmp(text, "none") ? LM_F32 : 0;
    if (*out || !strcmp(text, OF_MACHINE))
        return LM_OK;
    if ((status = text_dtype(text, out, err)))
        return status;
    return *out == LM_F16 || *out == LM_BF16 || *out == LM_F8
               ? LM_OK
               : lm_error_set(err, LM_E_ARG, "expected bf16, f16, fp8, none or file, found '%s'",
                              text);
}

VALUE_TYPE(type_mixed, lm_dtype, read_mixed);

#define AT(member) OPTION_AT(session_options, member)

const option_row session_machine_option_rows[] = {
    { "image", AT(input.image), NOT_OF_DECODING },
    { "input", AT(input.input), NOT_OF_DECODING },
    OPTION_GROUP(session_options, network, network_option_rows),
    { "machine", AT(machine),
      .help = "machine file of 'layermeter fit' or 'layermeter calibrate' (default: the one that "
              "ships for --device)" },
    { "device", AT(source.device),
      .help = "use the shipped machine file of this device; paleo, learned models and --idle-power "
              "use its datasheet" },
    OPTION_GROUP(session_options, link, link_option_rows),
    { "model", AT(model), &type_text, "NAME", "layermeter", HELP_HOW, "model of the step time",
      .words = model_words },
    { "dtype", AT(input.dtype), &type_machine_dtype, "TYPE", OF_MACHINE, HELP_HOW,
      "element type: f32, f16, bf16, f64, tf32 (products only), fp8 (inference); file: as the machine file" },
    { "framework", AT(framework), &type_framework, "KIND", OF_MACHINE, HELP_HOW,
      "launch of kernels (none: as in the measurements; eager: one by one, as in PyTorch; graph: all "
      "at once, from a recorded CUDA graph; file: eager if the machine file knows the host's time, "
      "else none; decode: none)",
      .choices = "file, none, eager or graph" },
    { "mixed", AT(input.mixed), &type_mixed, "TYPE", OF_MACHINE, HELP_HOW,
      "f32 with autocast to bf16, f16 or fp8; none: no autocast; file: as the machine file",
      .excludes = "dtype", .refusal = "has f32 weights: leave out --dtype" },
    { .name = NULL },
};

const option_row session_option_rows[] = {
    { .at = 0, .group = session_machine_option_rows },
    { "devices", AT(source.devices) },
    { "ppp-comp", AT(source.platform.ppp_comp), &type_fraction, "FRACTION", "1", HELP_HOW,
      "paleo: fraction of the device's peaks that the step reaches" },
    { "ppp-comm", AT(source.platform.ppp_comm), &type_fraction, "FRACTION", "1", HELP_HOW,
      "paleo: fraction of the bandwidth between nodes that the step reaches", OF_EXCHANGE },
    { "scheme", AT(source.platform.scheme), &type_scheme, "NAME", "tree", HELP_HOW,
      "paleo: one_to_all, tree, butterfly or butterfly_mixing", OF_EXCHANGE },
    { .name = NULL },
};

const step_model *session_model(const session_options *q)
{
    return step_model_find(q->model);
}

/* Options beside a model with a datasheet. */
static lm_status check_datasheet(const options *o, const session_options *q, lm_error *err)
{
    if (option_given(o, &q->link.latency))
        return misused(o, &q->link.latency, err, "PALEO's model has no latency");
    if (q->link.name)
        return misused(o, &q->link.name, err, "PALEO's model takes a rate: give --bandwidth");
    if (q->machine)
        return lm_error_set(
            err, LM_E_ARG,
            "--machine: --model paleo needs a device (--device), not a machine file");
    if (!q->source.device)
        return lm_error_set(
            err, LM_E_ARG,
            "--device: --model paleo needs a device; 'layermeter devices' lists the known ones");
    return LM_OK;
}

/* "8xH100", "H100x8", "H100:8"; not "rtx6090". */
static bool is_counted(const char *name)
{
    char       *end;
    const char *behind = strpbrk(name, "x:");

    if (strtol(name, &end, 10) > 0 && (*end == 'x' || *end == 'X'))
        return true;
    return behind && behind > name && (*behind == ':' || strchr("0123456789 ", behind[-1])) &&
           behind[1] && !behind[1 + strspn(behind + 1, "0123456789")];
}

/* Explains a name that is no device: it may be an instance of the price file, or a number of
 * devices. */
static void say_meaning(const char *name, lm_error *err)
{
    price_list  *list = NULL;
    const price *p;

    if (strchr(name, ','))
        text_add(err->text, sizeof err->text, "; this command takes one");
    else if (is_counted(name))
        text_add(err->text, sizeof err->text, "; --gpus sets the number of devices");
    else if (!strcmp(name, "cpu") || !strcmp(name, "CPU"))
        text_add(err->text, sizeof err->text,
                 "; a CPU is measured: 'layermeter calibrate standard -o cluster/'");
    else if (!prices_open(NULL, &list, NULL) && !prices_find(list, name, &p, NULL) && p->device)
        lm_error_set(err, LM_E_NOTFOUND,
                     "'%.60s' is an instance: give --device '%.60s' --devices-per-node %" PRId64
                     "%s%.60s, or to 'layermeter plan' --instance",
                     name, p->device, p->devices, p->network ? " --interconnect " : "",
                     p->network ? p->network : "");
    prices_free(list);
}

lm_status session_shipped(const options *o, const session_options *q, const char *name,
                          const device_machine **out, lm_error *err)
{
    const lm_dtype type = q->input.mixed ? q->input.mixed : q->input.dtype;
    device_machine found;
    lm_status      status = device_machine_find(name, q->source.devices, type, &found, err);

    if (status) {
        if (status == LM_E_NOTFOUND)
            say_meaning(name, err);
        lm_error_prefix(err, "--device");
        return status;
    }
    *out = arena_copy(o->room, &found, 1, sizeof found);
    return *out ? LM_OK : no_memory(err);
}

/* Options beside other models: those of a datasheet would have no effect. */
static lm_status check_machine(const options *o, const session_options *q, bool device_counts,
                               lm_error *err)
{
    const model_source *s     = &q->source;
    const void *const   own[] = { &s->platform.ppp_comp, &s->platform.ppp_comm, &s->platform.scheme,
                                  &s->device, &s->devices };
    const step_model   *by    = session_model(q);
    char                all[200];

    if (!by)
        return misused(o, &q->model, err, "expected one of %s; found '%.40s'",
                       model_words(all, sizeof all), q->model);
    if (!q->machine)
        return lm_error_set(
            err, LM_E_ARG,
            "no machine is given: give --device NAME, such as H100 ('layermeter devices' lists "
            "all), or --machine FILE, a file of 'layermeter fit'");
    for (size_t i = 0; i < (by->from_layers || device_counts ? 3 : 5); i++)
        if (option_given(o, own[i]))
            return misused(o, own[i], err, "is for --model paleo");
    if ((q->link.bytes_per_second > 0 || q->link.name) && !by->from_layers &&
        form_find(q->model, PHASE_SYNC) == n_forms)
        return misused(o, q->link.name ? (const void *)&q->link.name : &q->link.bytes_per_second,
                       err,
                       "the model '%s' has no term for a link: use "
                       "--model %s",
                       q->model, DEFAULT_MODEL);
    return LM_OK;
}

/* An interconnect by the name of an instance of the shipped prices is the network between its nodes. */
static lm_status settle_network(const options *o, session_options *q, lm_error *err)
{
    price_list  *list   = NULL;
    const price *p      = NULL;
    lm_status    status = LM_OK;

    if (q->link.name && !prices_open(NULL, &list, NULL) &&
        !prices_find(list, q->link.name, &p, NULL) && p->network &&
        !(q->link.name = arena_text(o->room, p->network, strlen(p->network))))
        status = no_memory(err);
    prices_free(list);
    return status;
}

lm_status session_check(const options *o, session_options *q, bool device_counts, lm_error *err)
{
    const step_model *by        = session_model(q);
    const bool        datasheet = by && by->from_datasheet;
    const void *const one[]     = { &q->machine, &q->source.device };
    lm_status         status;

    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        if (option_again(o, one[i]))
            return misused(
                o, one[i], err,
                "given twice: 'layermeter predict', 'scale', 'plan' and 'report' compare machines");

    if (!datasheet && !q->machine && q->source.device) {
        if ((status = session_shipped(o, q, q->source.device, &q->shipped, err)))
            return status;
        q->machine = q->source.device = q->shipped->device;
        device_counts                 = true;
    }
    if ((status = settle_network(o, q, err)))
        return status;
    if (!(q->link.bytes_per_second > 0))
        q->link = (interconnect){ .name = q->link.name };
    else if (datasheet)
        q->link.latency = 0;
    return datasheet ? check_datasheet(o, q, err) : check_machine(o, q, device_counts, err);
}

predictor_asked session_asked(const session_options *q)
{
    return (predictor_asked){ .model     = q->model,
                              .input     = q->input.input,
                              .image     = q->input.image,
                              .dtype     = q->input.dtype,
                              .mixed     = q->input.mixed,
                              .framework = q->framework,
                              .link      = q->link,
                              .source    = q->source };
}

static lm_status open_machine(const session_options *q, lm_machine **out, lm_error *err)
{
    const machine_asked asked  = { .path    = q->machine,
                                   .shipped = q->shipped,
                                   .device  = q->source.device,
                                   .devices = q->source.devices,
                                   .link    = q->link };
    const lm_status     status = machine_handle_open(&asked, out, err);
    device_list        *list   = NULL;
    const device       *meant;

    if (status == LM_E_IO && !q->shipped && !devices_open(q->source.devices, &list, NULL) &&
        !devices_find(list, q->machine, &meant, NULL))
        lm_error_set(err, LM_E_IO, "--machine takes a file: give --device '%.60s'", q->machine);
    devices_free(list);
    return status;
}

lm_status session_open_beside(const options *o, const session_options *q, const session *shared,
                              session *s, lm_error *err)
{
    const predictor_asked asked = session_asked(q);
    lm_status             status;

    *s = (session){ .shares = shared != NULL };
    if (shared) {
        s->library = shared->library;
        s->network = shared->network;
    } else if ((status = open_library(o, &s->library, err))) {
        return status;
    }
    if ((q->machine && (status = open_machine(q, &s->machine, err))) ||
        (!shared && (status = open_network(o, &q->network, s->library, &s->network, err))) ||
        (status = predictor_handle_open(s->library, s->machine, s->network, &asked, &s->by, err)))
        return status;
    s->reg = s->library->reg;
    s->net = s->network->net;
    s->cal = s->machine ? s->machine->cal : NULL;
    s->who = &s->by->who;
    return LM_OK;
}

lm_status session_open(const options *o, const session_options *q, session *s, lm_error *err)
{
    return session_open_beside(o, q, NULL, s, err);
}

void session_close(session *s)
{
    lm_predictor_close(s->by);
    lm_machine_close(s->machine);
    if (s->shares)
        return;
    lm_network_close(s->network);
    lm_library_close(s->library);
}

#undef AT

/* ---- gradients and update ---- */

/* Bucket sizes that `auto` tries after single tensors: 256 KiB to 512 MiB. */
#define AUTO_FIRST ((int64_t)256 << 10)
#define AUTO_SIZES 12

static lm_status read_sync(const char *text, sync_choice *out, lm_error *err)
{
    *out = (sync_choice){ .automatic = !strcmp(text, "auto"), .policy = step_setup_of(1, 1).sync };
    return out->automatic ? LM_OK : sync_policy_parse(text, &out->policy, err);
}

static lm_status read_gradients(const char *text, lm_dtype *out, lm_error *err)
{
    lm_dtype        type;
    const lm_status status = text_dtype(text, &type, err);

    if (status)
        return status;
    *out = type;
    if (lm_dtype_is_real(type))
        return LM_OK;
    return lm_error_set(
        err, LM_E_ARG, "gradients are not integers: expected f16, bf16, f32 ..., found '%s'", text);
}

VALUE_TYPE(type_sync, sync_choice, read_sync);
VALUE_TYPE(type_gradients, lm_dtype, read_gradients);

#define AT(member) OPTION_AT(setup_choice, member)

#define TOKENS .most = 1e9, .outside = "expected 1 to 1e9 tokens, found"

const option_row decode_option_rows[] = {
    { "context", OPTION_AT(decode_choice, context), &type_length, "TOKENS", NULL, HELP_WHAT,
      "decode: tokens in the KV cache before the first new token: 512, or 4k (4096)", TOKENS,
      .when = "phase=decode", .otherwise = "goes with --phase decode" },
    { "new-tokens", OPTION_AT(decode_choice, tokens), &type_length, "N", "1", HELP_WHAT,
      "decode: number of tokens to generate", TOKENS, .needs = "phase",
      .refusal = "goes with --phase decode" },
    { .name = NULL },
};

lm_status decode_check(const decode_choice *d, program_kind program, lm_error *err)
{
    if (program == PROGRAM_DECODE && !d->context)
        return lm_error_set(
            err, LM_E_ARG,
            "--phase decode needs --context: the tokens in the KV cache before the first new token");
    return LM_OK;
}

const option_row phase_option_rows[] = {
    { "phase", AT(program), .choices = PHASES_AND_DECODE,
      .help =
          "what to predict (inference: a forward pass; decode: new tokens, one after the other)" },
    OPTION_GROUP(setup_choice, decode, decode_option_rows),
    { .name = NULL },
};

const option_row setup_option_rows[] = {
    { "sync", AT(sync), &type_sync, "RULE", "auto", HELP_HOW,
      "how gradients are sent: once, tensor, ddp[:25MiB], horovod[:128MiB:1ms]; auto: ddp if it was "
      "measured between nodes, else once",
      OF_EXCHANGE },
    { "bucket", AT(buckets), &type_sizes, "SIZES", NULL, HELP_HOW,
      "--sync ddp with buckets of this size: 25MiB, or 1MiB..64MiB*2; auto: the best size",
      .or_auto = true, .excludes = "sync",
      .refusal = "stands for --sync ddp:SIZE: give one of the two", OF_EXCHANGE },
    { "grad-dtype", AT(dtype), &type_gradients, "TYPE", NULL, HELP_HOW,
      "element type of gradients in messages, such as f16 (default: as the weights)", OF_EXCHANGE },
    { "accumulate", AT(accumulate), &type_count, "K", "1", HELP_HOW,
      "micro-steps per step; gradients are sent after the last one",
      OF_TRAINING("is for training: --phase %s has no micro-steps") },
    { "optimizer", AT(optimizer), &type_text, "NAME", "momentum", HELP_HOW,
      OPTIMIZERS_PRICED ", " OPTIMIZERS_MEASURED "; learned models: any that was measured",
      OF_TRAINING("is for training: --phase %s updates nothing") },
    { .name = NULL },
};

/* One policy for each size, as --sync ddp:SIZE; `auto` tries single tensors first. */
static lm_status list_policies(options *o, setup_choice *c, const sync_policy *base, lm_error *err)
{
    const option_counts *b      = &c->buckets;
    lm_status            status = LM_OK;

    c->n      = b->automatic ? 1 + AUTO_SIZES : b->n;
    c->policy = arena_array(o->room, c->n, sizeof *c->policy);
    if (!c->policy)
        return no_memory(err);
    for (size_t i = 0; i < c->n && !status; i++) {
        char rule[40] = "tensor";

        if (!b->automatic || i)
            snprintf(rule, sizeof rule, "ddp:%lld",
                     (long long)(b->automatic ? AUTO_FIRST << (i - 1) : b->at[i]));
        c->policy[i] = *base;
        status       = sync_policy_parse(rule, &c->policy[i], err);
    }
    return status;
}

static lm_status check_optimizer(const options *o, setup_choice *c, session_options *q,
                                 bool known_only, lm_error *err)
{
    const step_model *by = session_model(q);
    lm_error          why;

    q->source.optimizer = c->optimizer;
    if (!optimizer_parse(c->optimizer, &c->setup.optimizer, &why) ||
        (by && by->from_layers && !known_only))
        return LM_OK;
    return misused(o, &c->optimizer, err, "%s", why.text);
}

lm_status setup_check(options *o, setup_choice *c, session_options *q, bool known_only,
                      lm_error *err)
{
    const step_setup said = c->setup;
    sync_policy      base = c->sync.policy;
    lm_status        status;

    if ((status = decode_check(&c->decode, c->program, err)))
        return status;
    if (c->program != PROGRAM_TRAINING && q->input.mixed == LM_F8)
        return misused(o, &q->input.mixed, err,
                       "fp8 casts weights and gradients of a training step: for --phase %s give "
                       "--dtype fp8",
                       program_kind_name(c->program));
    c->setup           = step_setup_of(1, 1);
    c->setup.program   = c->program == PROGRAM_TRAINING ? PROGRAM_TRAINING : PROGRAM_INFERENCE;
    c->setup.devices   = said.devices ? said.devices : 1;
    c->setup.clock_mhz = said.clock_mhz;
    c->given           = !c->sync.automatic || option_given(o, &c->buckets);
    base.accumulation  = c->accumulate;
    base.dtype         = c->dtype;
    if ((status = check_optimizer(o, c, q, known_only, err)) ||
        (option_given(o, &c->buckets) && (status = list_policies(o, c, &base, err))))
        return status;
    if (!c->n) {
        c->n      = 1;
        c->policy = arena_copy(o->room, &base, 1, sizeof base);
        if (!c->policy)
            return no_memory(err);
    }
    c->setup.sync = c->policy[0];
    return LM_OK;
}

VALUE_TYPE(type_scaling, scaling_kind, scaling_kind_parse);
VALUE_TYPE(type_batch, batch_told, text_batch);

const option_row scaling_option_rows[] = {
    { "scaling", OPTION_AT(scaling_options, kind), &type_scaling, "KIND", "weak", HELP_WHAT,
      "what stays the same: the batch of a device (weak), or the batch of all devices (strong, "
      "global)" },
    { "global-batch", OPTION_AT(scaling_options, whole), &type_batch, "N", .heading = HELP_WHAT,
      .help = "strong, global, layouts: samples on all devices together: 512, or 4Mtokens" },
    { .name = NULL },
};

lm_status scaling_check(const options *o, const scaling_options *s, const void *batch,
                        const setup_choice *how, lm_error *err)
{
    if (s->kind == SCALING_GLOBAL && how->program != PROGRAM_TRAINING)
        return misused(o, &s->kind, err,
                       "global is for training: give weak or strong with --phase %s",
                       program_kind_name(how->program));
    if (s->kind == SCALING_WEAK && s->whole.n)
        return misused(o, &s->whole, err, "goes with --scaling strong or global, or with a layout");
    if (s->kind == SCALING_GLOBAL && !s->whole.n)
        return misused(o, &s->kind, err,
                       "global needs --global-batch, the samples of a step on all devices");
    if (s->kind == SCALING_STRONG && s->whole.n && option_given(o, batch))
        return misused(o, &s->whole, err, "is --batch of strong scaling: give one of the two");
    if (s->kind != SCALING_WEAK && option_given(o, &how->accumulate))
        return misused(o, &how->accumulate, err,
                       "goes with --scaling weak: global finds the micro-steps itself");
    return LM_OK;
}

lm_status gpus_settle(const options *o, const int64_t *gpus, option_counts *nodes, int64_t *devices,
                      lm_error *err)
{
    int64_t each = *gpus < USUAL_NODE ? *gpus : USUAL_NODE, *n;

    if (!*gpus)
        return LM_OK;
    if (option_given(o, devices))
        each = *devices;
    if (*gpus % each)
        return misused(o, gpus, err,
                       "%lld devices do not fill nodes of %lld: give --nodes and "
                       "--devices-per-node",
                       (long long)*gpus, (long long)each);
    if (!(n = arena_array(o->room, 1, sizeof *n)))
        return no_memory(err);
    *n       = *gpus / each;
    *devices = each;
    *nodes   = (option_counts){ .at = n, .n = 1 };
    return LM_OK;
}

void setup_settle(setup_choice *c, bool in_buckets)
{
    lm_error never = { 0 };

    if (c->given || !in_buckets || c->program != PROGRAM_TRAINING)
        return;
    (void)sync_policy_parse("ddp", &c->policy[0], &never);
    c->setup.sync = c->policy[0];
}

#undef AT
