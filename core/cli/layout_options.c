/* Options on how ranks share a network. */
#include "cli/layout_options.h"

#include <string.h>

#include "cli/commands.h"

#define AT(member) OPTION_AT(layout_choice, member)
#define WORD(n)    AT(word[n]), &type_text

const option_row layout_option_rows[] = {
    { "layout", AT(text), &type_text, "WORDS", NULL, HELP_HOW,
      "how ranks share the work, 'tp4 sp dp8 zero1': all options below in one" },
    { "tp", WORD(0), "N", NULL, HELP_HOW, "tensor parallelism: N ranks share each layer" },
    { "sp", AT(sp), &type_flag, NULL, NULL, HELP_HOW,
      "sequence parallelism: ranks of --tp also share the tokens between such layers" },
    { "cp", WORD(1), "N", NULL, HELP_HOW,
      "context parallelism: N ranks share each sequence; keys and values travel in a ring during "
      "attention; with causal attention each rank has two pieces" },
    { "cp-kind", WORD(2), "KIND", NULL, HELP_HOW,
      "ring, or ulysses: each rank has some heads of all tokens, by all-to-alls" },
    { "ep", WORD(3), "N", NULL, HELP_HOW,
      "expert parallelism: N ranks share the experts, by all-to-alls of tokens" },
    { "dp", WORD(4), "N", NULL, HELP_HOW,
      "data parallelism: N replicas with samples of their own (default: the remaining ranks)" },
    { "pp", WORD(5), "N", NULL, HELP_HOW, "pipeline parallelism: N stages" },
    { "vp", WORD(6), "N", NULL, HELP_HOW, "N chunks of layers per stage" },
    { "zero", WORD(7), "STAGE", NULL, HELP_HOW,
      "replicas share: 1 optimizer states, 2 gradients, too, 3 weights, too" },
    { "fsdp", WORD(8), "N", NULL, HELP_HOW,
      "weights are gathered block by block from N ranks, or from all" },
    { "schedule", WORD(9), "KIND", NULL, HELP_HOW,
      "order of a pipeline: 1f1b, interleaved, zb or gpipe" },
    { "stages", WORD(10), "LIST", NULL, HELP_HOW,
      "blocks of each stage, as 7,8,8,7; or even (the default), or balanced by their FLOPs" },
    { "placement", WORD(11), "ORDER", NULL, HELP_HOW,
      "dimensions from the nearest ranks to the farthest (default: tp-cp-ep-dp-pp)" },
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
    lm_error  why    = { LM_OK, "" };
    lm_status status = LM_OK;

    c->layout = layout_plain();
    c->given  = c->text || c->sp;
    if (c->text && layout_parse(c->text, &c->layout, &why))
        return misused(o, &c->text, err, "%s", why.text);
    for (const option_row *row = layout_option_rows; row->name && !status; row++)
        if (row->at >= offsetof(layout_choice, word) && row->type == &type_text)
            status =
                set(o, c, row->name,
                    &c->word[(row->at - offsetof(layout_choice, word)) / sizeof *c->word], err);
    if (!status && c->sp)
        status = layout_set(&c->layout, "sp", "yes", err);
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
