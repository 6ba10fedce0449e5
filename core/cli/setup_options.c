/* How gradients travel, and what the update is. */
#include "cli/setup_options.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"

/* Limits that `auto` tries, beside each tensor by itself: 256 KiB to 512 MiB. */
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
    return lm_error_set(err, LM_E_ARG,
                        "gradients are no whole numbers: expected f16, bf16, f32 ..., found '%s'",
                        text);
}

OPTION_TYPE(type_sync, sync_choice, read_sync);
OPTION_TYPE(type_gradients, lm_dtype, read_gradients);

#define AT(member) OPTION_AT(setup_choice, member)

const option_row setup_option_rows[] = {
    { "sync", AT(sync), &type_sync, "RULE", "auto", HELP_HOW,
      "how gradients travel: once, tensor, ddp[:25MiB], horovod[:128MiB:1ms]; auto: ddp if it was "
      "measured between nodes, else once" },
    { "bucket", AT(buckets), &type_sizes, "SIZES", NULL, HELP_HOW,
      "--sync ddp with buckets of this size, 25MiB or 1MiB..64MiB*2; auto: the best of all",
      .or_auto = true, .excludes = "sync",
      .refusal = "stands for --sync ddp:SIZE: give one of the two" },
    { "grad-dtype", AT(dtype), &type_gradients, "TYPE", NULL, HELP_HOW,
      "element type of gradients in messages, such as f16 (default: that of the weights)" },
    { "accumulate", AT(accumulate), &type_count, "K", "1", HELP_HOW,
      "micro-steps of a step; gradients travel after the last" },
    { "optimizer", AT(optimizer), &type_text, "NAME", "momentum", HELP_HOW,
      "sgd, momentum or adam; learned models: any that was measured" },
    { .name = NULL },
};

/* One policy a size, each as --sync ddp:SIZE has it; before those of `auto` each tensor alone. */
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
    if (by && by->from_layers && !known_only)
        return LM_OK;
    if (optimizer_parse(c->optimizer, &c->setup.optimizer, &why))
        return misused(o, &c->optimizer, err, "%s", why.text);
    return c->setup.optimizer == OPTIMIZER_ADAFACTOR
               ? misused(o, &c->optimizer, err,
                         "expected sgd, momentum or adam; what adafactor sums over rows and "
                         "columns is not priced")
               : LM_OK;
}

lm_status setup_check(options *o, setup_choice *c, session_options *q, bool known_only,
                      lm_error *err)
{
    const int64_t devices = c->setup.devices;
    sync_policy   base    = c->sync.policy;
    lm_status     status;

    c->setup          = step_setup_of(1, 1);
    c->setup.devices  = devices ? devices : 1;
    c->given          = !c->sync.automatic || option_given(o, &c->buckets);
    base.accumulation = c->accumulate;
    base.dtype        = c->dtype;
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

OPTION_TYPE(type_scaling, scaling_kind, scaling_kind_parse);

const option_row scaling_option_rows[] = {
    { "scaling", OPTION_AT(scaling_options, kind), &type_scaling, "KIND", "weak", HELP_WHAT,
      "what stays the same: weak, the batch of a device; strong or global, the whole batch" },
    { "global-batch", OPTION_AT(scaling_options, whole),
      .help = "strong, global: samples of all devices together" },
    { .name = NULL },
};

lm_status scaling_check(const options *o, const scaling_options *s, const void *batch,
                        const setup_choice *how, lm_error *err)
{
    if (s->kind == SCALING_WEAK && s->whole)
        return misused(o, &s->whole, err, "goes with --scaling strong or global");
    if (s->kind == SCALING_GLOBAL && !s->whole)
        return misused(o, &s->kind, err,
                       "global needs --global-batch, the samples of a step on all devices");
    if (s->kind == SCALING_STRONG && s->whole && option_given(o, batch))
        return misused(o, &s->whole, err, "is --batch of strong scaling: give one of the two");
    if (s->kind != SCALING_WEAK && option_given(o, &how->accumulate))
        return misused(o, &how->accumulate, err,
                       "goes with --scaling weak: global finds the micro-steps itself");
    return LM_OK;
}

void setup_settle(setup_choice *c, bool in_buckets)
{
    lm_error never = { 0 };

    if (c->given || !in_buckets)
        return;
    (void)sync_policy_parse("ddp", &c->policy[0], &never);
    c->setup.sync = c->policy[0];
}
