/* Options on how ranks share a network. */
#include "cli/layout_options.h"

#include <string.h>

#include "cli/commands.h"

#define AT(member)   OPTION_AT(layout_choice, member)
#define WORD(member) AT(member), &type_text

const option_row layout_option_rows[] = {
    { "layout", WORD(text), "WORDS", NULL, HELP_HOW,
      "how ranks share the work, as 'tp4 sp dp8 zero1': the options below in one" },
    { "tp", WORD(tp), "N", NULL, HELP_HOW, "tensor parallelism: N ranks share each layer" },
    { "sp", AT(sp), &type_flag, NULL, NULL, HELP_HOW,
      "ranks of --tp share the tokens between such layers" },
    { "cp", WORD(cp), "N", NULL, HELP_HOW,
      "N ranks share a sequence: keys and values pass by in a ring, behind attention; causal tokens "
      "in two halves a rank" },
    { "cp-kind", WORD(cp_kind), "KIND", NULL, HELP_HOW,
      "ring, or ulysses: all-to-alls, and each rank has some heads of all tokens" },
    { "ep", WORD(ep), "N", NULL, HELP_HOW, "N ranks share the experts: all-to-alls of tokens" },
    { "dp", WORD(dp), "N", NULL, HELP_HOW,
      "N replicas with samples of their own (default: what the others leave)" },
    { "pp", WORD(pp), "N", NULL, HELP_HOW, "N stages of a pipeline" },
    { "vp", WORD(vp), "N", NULL, HELP_HOW, "N chunks of layers for each stage" },
    { "zero", WORD(zero), "STAGE", NULL, HELP_HOW,
      "what replicas share: 1 states of the optimizer, 2 gradients, 3 weights, too" },
    { "fsdp", WORD(fsdp), "N", NULL, HELP_HOW,
      "weights are gathered block by block from N ranks, or from all" },
    { "schedule", WORD(schedule), "KIND", NULL, HELP_HOW,
      "of a pipeline: 1f1b, interleaved, zb or gpipe" },
    { "stages", WORD(stages), "LIST", NULL, HELP_HOW,
      "blocks of each stage, as 7,8,8,7; or even (the default), or balanced by their FLOPs" },
    { "placement", WORD(placement), "ORDER", NULL, HELP_HOW,
      "which ranks are neighbours (default: tp-cp-ep-dp-pp)" },
    { .name = NULL },
};

static lm_status set(const options *o, layout_choice *c, const char *name, const char *const *value,
                     lm_error *err)
{
    lm_error why = { LM_OK, "" };

    if (!*value)
        return LM_OK;
    c->given = true;
    if (layout_set(&c->layout, name, *value, &why))
        return misused(o, value, err, "%s", why.text);
    return LM_OK;
}

lm_status layout_choice_check(const options *o, layout_choice *c, lm_error *err)
{
    const struct {
        const char        *name;
        const char *const *value;
    } words[]        = { { "tp", &c->tp },           { "cp", &c->cp },
                         { "cp-kind", &c->cp_kind }, { "ep", &c->ep },
                         { "dp", &c->dp },           { "pp", &c->pp },
                         { "vp", &c->vp },           { "zero", &c->zero },
                         { "fsdp", &c->fsdp },       { "schedule", &c->schedule },
                         { "stages", &c->stages },   { "placement", &c->placement } };
    lm_error  why    = { LM_OK, "" };
    lm_status status = LM_OK;

    c->layout = layout_plain();
    c->given  = c->text || c->sp;
    if (c->text && layout_parse(c->text, &c->layout, &why))
        return misused(o, &c->text, err, "%s", why.text);
    for (size_t i = 0; i < sizeof words / sizeof *words && !status; i++)
        status = set(o, c, words[i].name, words[i].value, err);
    c->layout.sp |= c->sp;
    layout_print(&c->layout, c->words);
    if (!status && c->layout.micro_batch)
        status = misused(o, &c->text, err, "mb stands as --batch");
    return status;
}

lm_status layout_choice_check_step(const options *o, layout_choice *c, lm_error *err)
{
    const lm_status status = layout_choice_check(o, c, err);

    if (!status && c->layout.accumulation)
        return misused(o, &c->text, err, "ga stands as --accumulate");
    return status;
}
