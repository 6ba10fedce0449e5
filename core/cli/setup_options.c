/* Options that say how gradients travel and what the update is. */
#include "cli/setup_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "baselines/layerwise.h"
#include "predict/layerwise_step.h"

/* Limits that `auto` tries, beside each tensor by itself: 256 KiB to 512 MiB. */
#define AUTO_FIRST ((int64_t)256 << 10)
#define AUTO_LAST  ((int64_t)512 << 20)
#define AUTO_SIZES 12

static lm_status read_sizes(const char *text, int64_t **out, size_t *n, lm_error *err)
{
    if (strcmp(text, "auto") != 0)
        return text_list(text, text_bytes, out, n, err);
    if (!(*out = malloc(AUTO_SIZES * sizeof **out)))
        return no_memory(err);
    *n = 0;
    for (int64_t size = AUTO_FIRST; size <= AUTO_LAST; size *= 2)
        (*out)[(*n)++] = size;
    return LM_OK;
}

/* One policy a size, each as --sync ddp:SIZE has it; before those of `auto` each tensor alone. */
static lm_status read_buckets(const char *text, const sync_policy *base, setup_choice *out,
                              lm_error *err)
{
    int64_t  *size   = NULL;
    size_t    n      = 0;
    lm_status status = read_sizes(text, &size, &n, err);

    if (status)
        return status;
    out->automatic = !strcmp(text, "auto");
    out->n         = 0;
    out->policy    = calloc(n + 1, sizeof *out->policy);
    if (!out->policy)
        status = no_memory(err);
    if (!status && out->automatic) {
        out->policy[0] = *base;
        status         = sync_policy_parse("tensor", &out->policy[out->n++], err);
    }
    for (size_t i = 0; i < n && !status; i++) {
        char rule[40];

        snprintf(rule, sizeof rule, "ddp:%lld", (long long)size[i]);
        out->policy[out->n] = *base;
        status              = sync_policy_parse(rule, &out->policy[out->n++], err);
    }
    free(size);
    return status;
}

static bool read_policies(const options *o, const setup_options *at, sync_policy *base,
                          setup_choice *out, int *exit_code)
{
    const char *rule = o->value[at->sync];
    lm_error    err  = { 0 };

    out->given = strcmp(rule, "auto") != 0 || o->value[at->bucket];
    if (o->value[at->bucket]) {
        if (o->given[at->sync]) {
            lm_error_set(&err, LM_E_ARG, "stands for --sync ddp:SIZE: give one of the two");
            return option_misuse(o, at->bucket, &err, exit_code);
        }
        return !read_buckets(o->value[at->bucket], base, out, &err) ||
               option_misuse(o, at->bucket, &err, exit_code);
    }
    if (strcmp(rule, "auto") != 0 && sync_policy_parse(rule, base, &err))
        return option_misuse(o, at->sync, &err, exit_code);
    if (!(out->policy = malloc(sizeof *out->policy))) {
        no_memory(&err);
        *exit_code = report_failure(&err);
        return false;
    }
    out->policy[0] = *base;
    out->n         = 1;
    return true;
}

bool setup_in_buckets(const predictor *who)
{
    return who->cal && who->cal->overlapping.rows && who->cal->max_hosts > 1 &&
           !(who->cal->link.bytes_per_second > 0) &&
           form_find(predict_sync_model(who), PART_SYNC) < n_forms &&
           (!who->layerwise || layerwise_tells_gradients(who));
}

void setup_options_settle(setup_choice *c, bool in_buckets)
{
    lm_error never = { 0 };

    if (c->given || !in_buckets)
        return;
    (void)sync_policy_parse("ddp", &c->policy[0], &never);
    c->setup.sync = c->policy[0];
}

static bool read_count(const options *o, int at, int64_t *out, int *exit_code)
{
    lm_error err = { 0 };

    if (!text_int(o->value[at], out, &err) && *out >= 1)
        return true;
    lm_error_set(&err, LM_E_ARG, "expected a whole number from 1 up, found '%.40s'", o->value[at]);
    return option_misuse(o, at, &err, exit_code);
}

bool setup_options_read(const options *o, const setup_options *at, setup_choice *out,
                        int *exit_code)
{
    lm_error    err = { 0 };
    sync_policy base;

    *out = (setup_choice){ .setup = step_setup_of(1, 1) };
    base = out->setup.sync;
    if (!read_count(o, at->accumulate, &base.accumulation, exit_code) ||
        (at->devices_per_node >= 0 &&
         !read_count(o, at->devices_per_node, &out->setup.devices, exit_code)))
        return false;
    if (o->value[at->grad_dtype] && text_dtype(o->value[at->grad_dtype], &base.dtype, &err))
        return option_misuse(o, at->grad_dtype, &err, exit_code);
    if (base.dtype && !lm_dtype_is_real(base.dtype)) {
        lm_error_set(&err, LM_E_ARG,
                     "gradients are no whole numbers: expected f16, bf16, f32 ..., found '%s'",
                     o->value[at->grad_dtype]);
        return option_misuse(o, at->grad_dtype, &err, exit_code);
    }
    if (optimizer_parse(o->value[at->optimizer], &out->setup.optimizer, &err))
        return option_misuse(o, at->optimizer, &err, exit_code);
    if (out->setup.optimizer == OPTIMIZER_ADAFACTOR) {
        lm_error_set(&err, LM_E_ARG,
                     "expected sgd, momentum or adam; what adafactor sums over rows "
                     "and columns is not priced");
        return option_misuse(o, at->optimizer, &err, exit_code);
    }
    if (!read_policies(o, at, &base, out, exit_code))
        return false;
    out->setup.sync = out->policy[0];
    return true;
}

bool setup_options_read_of(const options *o, const char *model, const setup_options *at,
                           setup_choice *out, int *exit_code)
{
    options usual = *o;

    if (layerwise_find(model))
        usual.value[at->optimizer] = o->command->options[at->optimizer].fallback;
    return setup_options_read(&usual, at, out, exit_code);
}
