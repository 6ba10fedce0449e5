/* How a backend runs things, where that is a choice. */
#include "measure/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const struct {
    const char *name, *word[SETTING_WORDS], *all;
    bool        silent; /* where it is the default */
} known[N_SETTINGS] = {
    [SETTING_ALGORITHMS] = { "algorithms",
                             { "heuristic", "autotuned" },
                             "heuristic autotuned",
                             false },
    [SETTING_CACHE]      = { "cache", { "warm", "cold" }, "warm cold", false },
    [SETTING_LAUNCH]     = { "launch", { "stream", "graph" }, "stream graph", false },
    [SETTING_LAYOUT]     = { "layout", { "nchw", "nhwc" }, "nchw nhwc", false },
    [SETTING_MATH]       = { "math", { "ieee", "tf32", "torch" }, "ieee tf32 torch", false },
    [SETTING_MIXED]      = { "mixed", { "none", "bf16", "f16", "f8" }, "none bf16 f16 f8", true },
    [SETTING_PROGRESS]   = { "progress", { "poll", "thread" }, "poll thread", false },
    [SETTING_UPDATE]     = { "update",
                             { "own", "single", "foreach", "fused" },
                             "own single foreach fused",
                             true },
};

bool settings_tf32(const settings *how, lm_op op)
{
    const char *math = known[SETTING_MATH].word[how->value[SETTING_MATH]];

    return !strcmp(math, "tf32") || (!strcmp(math, "torch") && op == LM_OP_CONV);
}

const char *setting_name(setting s)
{
    return known[s].name;
}

lm_status setting_parse(setting s, const char *word, uint8_t *out, lm_error *err)
{
    if (s == SETTING_MIXED && !strcmp(word, "fp8"))
        word = "f8";
    for (uint8_t i = 0; i < SETTING_WORDS && known[s].word[i]; i++)
        if (!strcmp(word, known[s].word[i])) {
            *out = i;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_ARG, "'%.40s' is none of %s", word, known[s].all);
}

void settings_print(const settings *s, uint32_t mask, char *buffer, size_t size)
{
    buffer[0] = '\0';
    for (setting i = 0; i < N_SETTINGS; i++)
        if (mask >> i & 1 && (s->value[i] || !known[i].silent))
            text_add(buffer, size, "%s%s=%s", *buffer ? " " : "", known[i].name,
                     known[i].word[s->value[i]]);
}
