/* Options on how ranks share a network. */
#include "cli/layout_options.h"

#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "predict/recompute.h"
#include "predict/scaling.h"

#define AT(member) OPTION_AT(layout_choice, member)
#define WORD(n)    AT(word[n]), &type_text

const option_row layout_option_rows[] = {
    { "layout", AT(text), &type_text, "LAYOUT", NULL, HELP_HOW,
      "how ranks share the work, such as 'tp4 sp dp8 zero1': all options below in one" },
    { "tp", WORD(0), "N", NULL, HELP_HOW, "tensor parallelism: N ranks share each layer" },
    { "sp", AT(sp), &type_flag, NULL, NULL, HELP_HOW,
      "sequence parallelism: ranks of --tp share the tokens of the layers that --tp does not split" },
    { "cp", WORD(1), "N", NULL, HELP_HOW,
      "context parallelism: N ranks share each sequence; with causal attention each rank has two "
      "pieces of it" },
    { "cp-kind", WORD(2), "KIND", NULL, HELP_HOW,
      "attention with --cp: ring (keys and values pass from rank to rank), or ulysses (all-to-alls "
      "give each rank all tokens of some heads)" },
    { "ep", WORD(3), "N", NULL, HELP_HOW,
      "expert parallelism: N ranks share the experts; all-to-alls exchange the tokens" },
    { "dp", WORD(4), "N", NULL, HELP_HOW,
      "data parallelism: N replicas, each with its own samples (default: the remaining ranks)" },
    { "pp", WORD(5), "N", NULL, HELP_HOW, "pipeline parallelism: N stages" },
    { "vp", WORD(6), "N", NULL, HELP_HOW,
      "chunks of layers of each pipeline stage (interleaved schedule)" },
    { "zero", WORD(7), "STAGE", NULL, HELP_HOW,
      "ZeRO: replicas share the optimizer states (1), also the gradients (2), also the weights (3)" },
    { "fsdp", WORD(8), "N", NULL, HELP_HOW,
      "fully sharded data parallelism: N ranks (default: all) share the weights, and gather them "
      "block by block",
      .bare = "all" },
    { "schedule", WORD(9), "KIND", NULL, HELP_HOW,
      "schedule of the pipeline: 1f1b, interleaved, zb or gpipe" },
    { "stages", WORD(10), "LIST", NULL, HELP_HOW,
      "blocks of each stage: 7,8,8,7, or even (the default), or balanced (by FLOPs)" },
    { "placement", WORD(11), "ORDER", NULL, HELP_HOW,
      "which ranks are neighbours: the first dimension has the nearest ranks, the last the farthest "
      "(default: tp-cp-ep-dp-pp)" },
    { "micro-batch", WORD(12), "N", NULL, HELP_HOW,
      "samples per rank and micro-step: another name of --batch" },
    { "global-batch", WORD(13), "N", NULL, HELP_WHAT,
      "samples of a step on all devices: 512, or 4Mtokens; it sets the number of micro-steps of "
      "--batch" },
    { .name = NULL },
};

const option_row layout_recompute_rows[] = {
    { "recompute", AT(recompute), &type_text, "PREFIXES", NULL, HELP_HOW,
      "with a layout: full, selective, or the layers to recompute in the backward pass" },
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

static lm_status read_words(const options *o, layout_choice *c, lm_error *err)
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
    return status;
}

/* A word of the layout, and the option that has the same meaning: its only value, or one of several. */
static lm_status agree(const options *o, int64_t said, const char *what, const void *option,
                       int64_t *value, lm_error *err)
{
    if (!said || !option)
        return LM_OK;
    if (option_given(o, option) && *value != said)
        return misused(o, option, err, "%s, but %s %lld in the layout: give one of the two",
                       option_text(o, option), what, (long long)said);
    *value = said;
    return LM_OK;
}

static lm_status agree_batch(const options *o, int64_t said, option_counts *batch, lm_error *err)
{
    int64_t  *one;
    lm_status status;

    if (!said || !batch)
        return LM_OK;
    if (!(one = arena_array(o->room, 1, sizeof *one)))
        return no_memory(err);
    *one   = batch->n == 1 ? batch->at[0] : 0;
    status = agree(o, said, "micro-batch", batch, one, err);
    *batch = (option_counts){ .at = one, .n = 1 };
    return status;
}

/* The same for gb, a word of samples or tokens. */
static lm_status agree_whole(const options *o, const layout *l, batch_told *whole, lm_error *err)
{
    const batch_told said = { l->batch_tokens ? l->batch_tokens : l->global_batch,
                              l->batch_tokens > 0 };

    if (!said.n || !whole)
        return LM_OK;
    if (option_given(o, whole) && (whole->n != said.n || whole->tokens != said.tokens))
        return misused(o, whole, err, "%s, but gb %lld%s in the layout: give one of the two",
                       option_text(o, whole), (long long)said.n, said.tokens ? " tokens" : "");
    *whole = said;
    return LM_OK;
}

/* Moves --global-batch of other modes to the layout. */
static lm_status take_whole(const options *o, layout_choice *c, batch_told *from, lm_error *err)
{
    lm_status status;

    if (!from || !from->n || !c->given)
        return LM_OK;
    if ((status = agree_whole(o, &c->layout, from, err)))
        return status;
    layout_set_batch(&c->layout, from);
    c->layout.told |= LAYOUT_BIT(TOLD_GLOBAL_BATCH);
    *from = (batch_told){ .n = 0 };
    layout_print(&c->layout, c->words);
    return LM_OK;
}

lm_status layout_choice_place(const options *o, const layout_choice *c, int64_t *gpus,
                              option_counts *nodes, int64_t *devices, lm_error *err)
{
    const layout *l = &c->layout;

    if (c->given && !*gpus && !option_given(o, nodes) && (l->dp || !option_given(o, devices)) &&
        layout_ranks_fit(l))
        *gpus = layout_replica(l) * (l->dp ? l->dp : 1);
    return gpus_settle(o, gpus, nodes, devices, err);
}

lm_status batch_in_samples(batch_told *b, const predictor *who, lm_error *err)
{
    int64_t   each   = 0;
    lm_status status = b->tokens ? scale_tokens(who, &each, err) : LM_OK;

    if (!status && (status = batch_samples(b, each, err)))
        lm_error_prefix(err, "%.80s", who->network);
    return status;
}

lm_status layout_choice_settle(layout_choice *c, const predictor *who, step_setup *setup,
                               lm_error *err)
{
    batch_told b      = { c->layout.batch_tokens, true };
    step_setup at     = *setup;
    lm_status  status = LM_OK;

    if (b.n) {
        if ((status = batch_in_samples(&b, who, err)))
            return status;
        layout_set_batch(&c->layout, &b);
        layout_print(&c->layout, c->words);
        setup->layout = c->layout;
    }
    if (!c->given || !strcmp(c->layout.recompute, "none"))
        return LM_OK;
    at.batch = c->layout.micro_batch ? c->layout.micro_batch : at.batch > 0 ? at.batch : 1;
    return recompute_share(who, &at, c->layout.recompute, &setup->again, err);
}

/* Moves --recompute to the layout, which says the same. */
static lm_status take_recompute(const options *o, layout_choice *c, const char **from,
                                lm_error *err)
{
    layout  *l   = &c->layout;
    lm_error why = { LM_OK, "" };

    if (!*from || (!c->given && from != &c->recompute))
        return LM_OK;
    if (!c->given)
        return misused(o, from, err, "goes with a layout, such as --dp 8");
    if (l->told & LAYOUT_BIT(TOLD_RECOMPUTE) && strcmp(l->recompute, *from) != 0)
        return misused(o, from, err,
                       "%.60s, but recompute=%.60s in the layout: give one of the two", *from,
                       l->recompute);
    if (layout_set(l, "recompute", *from, &why))
        return misused(o, from, err, "%s", why.text);
    *from = NULL;
    layout_print(l, c->words);
    return LM_OK;
}

lm_status layout_choice_check(const options *o, layout_choice *c, const layout_beside *beside,
                              lm_error *err)
{
    layout   *l      = &c->layout;
    lm_status status = read_words(o, c, err);

    if (status || (status = agree_batch(o, l->micro_batch, beside->batch, err)) ||
        (status = agree(o, l->micro_batch, "micro-batch", beside->one, beside->one, err)) ||
        (status = agree(o, l->accumulation, "ga", beside->accumulate, beside->accumulate, err)) ||
        (status = take_recompute(o, c, beside->recompute ? beside->recompute : &c->recompute, err)))
        return status;
    return (status = take_whole(o, c, beside->taken, err))
               ? status
               : agree_whole(o, l, beside->global_batch, err);
}
