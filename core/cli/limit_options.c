/* Options on limits of steps other than time. */
#include "cli/limit_options.h"

#include <stdio.h>
#include <string.h>

#include "predict/recompute.h"

#define AT(member) OPTION_AT(limit_choice, member)

const option_row limit_option_rows[] = {
    { "memory", AT(memory),
      .help =
          "memory of a device, 24GB: larger batches are refused (default: a note warns above the "
          "memory of the datasheet)" },
    { "framework-overhead", AT(overhead) },
    { "recompute", AT(recompute), &type_text, "PREFIXES", NULL, HELP_HOW,
      "segments to recompute in the backward pass: layer1.0,layer1.1, or blocks",
      OF_TRAINING("is for training") },
    { "critical-batch", AT(critical), &type_count, "N", NULL, HELP_WHAT,
      "critical global batch: above it training needs many more samples; a note gives the number",
      OF_TRAINING("is for training") },
    { .name = NULL },
};

lm_status limit_begin(limit_choice *c, const session *s, const session_options *q,
                      step_setup *setup, int64_t batch, lm_error *err)
{
    step_setup at = *setup;

    if (!c->recompute && setup->laid_out && strcmp(setup->layout.recompute, "none") != 0)
        c->recompute = setup->layout.recompute;
    c->met   = (limits){ .who      = s->who,
                         .net      = s->net,
                         .reg      = s->reg,
                         .device   = q->source.device,
                         .devices  = q->source.devices,
                         .room     = { (uint64_t)c->memory, (uint64_t)c->overhead, c->recompute },
                         .critical = c->critical,
                         .setup    = setup };
    at.batch = batch;
    if (c->recompute) {
        const lm_status status = recompute_share(s->who, &at, c->recompute, &setup->again, err);

        if (status)
            return status;
    }
    return limits_begin(&c->met, err);
}

lm_status limit_judge(const limit_choice *c, limit_notes *out, lm_error *err)
{
    return limits_check(&c->met, out->memory, out->batch, err);
}

void limit_print(const limit_notes *n, const char *label, FILE *out)
{
    const char *const note[] = { n->memory, n->batch };

    for (size_t i = 0; i < sizeof note / sizeof note[0]; i++)
        if (*note[i])
            fprintf(out, "note: %s%s%s\n", label ? label : "", label ? ": " : "", note[i]);
}
