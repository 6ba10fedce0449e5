/* Layouts: words of options and texts. */
#include "program/layout.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "network/stages.h"

static const char *const dim_names[N_LAYOUT_DIMS] = { "tp", "cp", "ep", "dp", "pp" };

const char *layout_dim_name(layout_dim d)
{
    return dim_names[d];
}

/* ---- numbers ---- */

/* A property with a number: its option, and its word in a text. */
typedef struct number_key {
    const char *option, *word;
    size_t      offset;
    int64_t     least, most;
} number_key;

#define BATCH_MOST ((int64_t)1 << 40)

#define KEY(option, word, member, least, most)                      \
    {                                                               \
        (option), (word), offsetof(layout, member), (least), (most) \
    }

static const number_key number_keys[] = {
    KEY("tp", "tp", tp, 1, LAYOUT_RANKS_MOST),
    KEY("cp", "cp", cp, 1, LAYOUT_RANKS_MOST),
    KEY("ep", "ep", ep, 1, LAYOUT_RANKS_MOST),
    KEY("dp", "dp", dp, 1, LAYOUT_RANKS_MOST),
    KEY("pp", "pp", pp, 1, LAYOUT_RANKS_MOST),
    KEY("vp", "vp", vp, 1, LAYOUT_RANKS_MOST),
    KEY("zero", "zero", zero, 0, 3),
    KEY("fsdp", "fsdp", fsdp, 1, LAYOUT_RANKS_MOST),
    KEY("micro-batch", "mb", micro_batch, 1, BATCH_MOST),
    KEY("global-batch", "gb", global_batch, 1, BATCH_MOST),
    KEY("accumulation", "ga", accumulation, 1, BATCH_MOST),
};

#define N_NUMBER_KEYS (sizeof number_keys / sizeof *number_keys)

_Static_assert(N_NUMBER_KEYS == TOLD_SP, "numbers come first, in the order of layout_told");

static int64_t number_of(const layout *l, const number_key *k)
{
    return *(const int64_t *)(const void *)((const char *)l + k->offset);
}

void layout_set_batch(layout *l, const batch_told *b)
{
    l->global_batch = b->tokens ? 0 : b->n;
    l->batch_tokens = b->tokens ? b->n : 0;
}

static lm_status set_number(layout *l, const number_key *k, const char *value, lm_error *err)
{
    const bool       whole  = k->offset == offsetof(layout, global_batch);
    const bool       tokens = whole && l->batch_tokens > 0;
    const batch_told before = { tokens ? l->batch_tokens : number_of(l, k), tokens };
    batch_told       b      = { .n = 0 };
    const lm_status  status = whole ? text_batch(value, &b, err) : text_int(value, &b.n, err);
    const int64_t    n      = b.n;

    if (status)
        return status;
    if (n < k->least || n > k->most)
        return lm_error_set(err, LM_E_ARG, "must be %lld to %lld, found %lld", (long long)k->least,
                            (long long)k->most, (long long)n);
    if (l->told & LAYOUT_BIT(k - number_keys) && (n != before.n || b.tokens != before.tokens))
        return lm_error_set(err, LM_E_ARG, "given twice: %lld and %lld", (long long)before.n,
                            (long long)n);
    if (whole)
        layout_set_batch(l, &b);
    else
        *(int64_t *)(void *)((char *)l + k->offset) = n;
    l->told |= LAYOUT_BIT(k - number_keys);
    return LM_OK;
}

/* ---- words ---- */

static lm_status set_schedule(layout *l, const char *value, lm_error *err)
{
    const size_t at = text_place(value, pipeline_rule_names, N_PIPELINE_RULES);

    if (at == N_PIPELINE_RULES)
        return lm_error_set(err, LM_E_SYNTAX,
                            "expected 1f1b, interleaved, zb or gpipe, found '%.40s'", value);
    l->schedule = (pipeline_rule)at;
    l->told |= LAYOUT_BIT(TOLD_SCHEDULE);
    return LM_OK;
}

/* A text that fits; zeros follow it, so that equal layouts have equal bytes. */
static lm_status keep(layout *l, char *at, size_t size, const char *value, unsigned bit)
{
    memset(at, 0, size);
    memcpy(at, value, strlen(value));
    l->told |= LAYOUT_BIT(bit);
    return LM_OK;
}

static lm_status set_recompute(layout *l, const char *value, lm_error *err)
{
    if (!*value || strlen(value) >= LAYOUT_RECOMPUTE)
        return lm_error_set(err, LM_E_SYNTAX,
                            "expected none, selective, full or up to %d characters of layers by "
                            "name, found '%.40s'",
                            LAYOUT_RECOMPUTE - 1, value);
    return keep(l, l->recompute, sizeof l->recompute, value, TOLD_RECOMPUTE);
}

static lm_status set_stages(layout *l, const char *value, lm_error *err)
{
    if (!strcmp(value, "even"))
        value = "";
    else if (!*value || strlen(value) >= LAYOUT_STAGES ||
             (strcmp(value, STAGES_BALANCED) != 0 && value[strspn(value, "0123456789,")]))
        return lm_error_set(err, LM_E_SYNTAX,
                            "expected even, balanced, or blocks of each stage as 7,8,8,7 in up to "
                            "%d characters, found '%.40s'",
                            LAYOUT_STAGES - 1, value);
    return keep(l, l->stages, sizeof l->stages, value, TOLD_STAGES);
}

/* All dimensions, nearest first, joined by dashes. */
static lm_status set_order(layout *l, const char *value, lm_error *err)
{
    layout_dim  order[N_LAYOUT_DIMS];
    unsigned    seen = 0;
    const char *at   = value;

    for (int i = 0; i < N_LAYOUT_DIMS; i++) {
        char   word[3] = { at[0], at[0] ? at[1] : '\0', '\0' };
        size_t d       = text_place(word, dim_names, N_LAYOUT_DIMS);

        if (d == N_LAYOUT_DIMS || seen & LAYOUT_BIT(d) ||
            at[2] != (i + 1 < N_LAYOUT_DIMS ? '-' : '\0'))
            return lm_error_set(err, LM_E_SYNTAX,
                                "expected tp, cp, ep, dp and pp in some order, as "
                                "tp-cp-ep-dp-pp, found '%.40s'",
                                value);
        order[i] = (layout_dim)d;
        seen |= LAYOUT_BIT(d);
        at += 3;
    }
    memcpy(l->order, order, sizeof order);
    l->told |= LAYOUT_BIT(TOLD_PLACEMENT);
    return LM_OK;
}

static lm_status set_context_kind(layout *l, const char *value, lm_error *err)
{
    if (strcmp(value, "ring") != 0 && strcmp(value, "ulysses") != 0)
        return lm_error_set(err, LM_E_SYNTAX, "expected ring or ulysses, found '%.40s'", value);
    l->ulysses = *value == 'u';
    l->told |= LAYOUT_BIT(TOLD_CP_KIND);
    return LM_OK;
}

lm_status layout_set(layout *l, const char *name, const char *value, lm_error *err)
{
    if (!strcmp(name, "sp")) {
        l->told |= LAYOUT_BIT(TOLD_SP);
        return text_bool(value, &l->sp, err);
    }
    if (!strcmp(name, "cp-kind"))
        return set_context_kind(l, value, err);
    if (!strcmp(name, "schedule"))
        return set_schedule(l, value, err);
    if (!strcmp(name, "recompute"))
        return set_recompute(l, value, err);
    if (!strcmp(name, "stages"))
        return set_stages(l, value, err);
    if (!strcmp(name, "placement"))
        return set_order(l, value, err);
    if (!strcmp(name, "fsdp") && (!*value || !strcmp(value, "all"))) {
        l->fsdp = LAYOUT_ALL;
        l->told |= LAYOUT_BIT(TOLD_FSDP);
        return LM_OK;
    }
    for (size_t i = 0; i < N_NUMBER_KEYS; i++)
        if (!strcmp(name, number_keys[i].option))
            return set_number(l, &number_keys[i], value, err);
    return lm_error_set(err, LM_E_NOTFOUND, "a layout has no '%.40s'", name);
}

/* One word: letters with a number behind them, or a name. */
static lm_status set_word(layout *l, const char *word, lm_error *err)
{
    const size_t letters = strspn(word, "abcdefghijklmnopqrstuvwxyz");

    if (!strcmp(word, "sp"))
        return layout_set(l, "sp", "yes", err);
    if (!strcmp(word, "ring") || !strcmp(word, "ulysses"))
        return set_context_kind(l, word, err);
    if (!strcmp(word, "fsdp"))
        return layout_set(l, "fsdp", "", err);
    if (!strncmp(word, "recompute=", 10))
        return set_recompute(l, word + 10, err);
    if (!strncmp(word, "stages=", 7))
        return set_stages(l, word + 7, err);
    if (word[0] && word[1] && word[2] == '-')
        return set_order(l, word, err);
    for (size_t i = 0; i < N_NUMBER_KEYS; i++)
        if (strlen(number_keys[i].word) == letters && word[letters] &&
            !strncmp(word, number_keys[i].word, letters)) {
            const lm_status status = set_number(l, &number_keys[i], word + letters, err);

            if (status)
                lm_error_prefix(err, "%s", number_keys[i].word);
            return status;
        }
    if (text_place(word, pipeline_rule_names, N_PIPELINE_RULES) < N_PIPELINE_RULES)
        return set_schedule(l, word, err);
    return lm_error_set(err, LM_E_SYNTAX,
                        "expected words as tp4, pp2, dp8, sp, zero1, fsdp, mb1 or gb512, found "
                        "'%.40s'",
                        word);
}

lm_status layout_parse(const char *text, layout *l, lm_error *err)
{
    layout    out    = *l;
    lm_status status = LM_OK;

    while (!status && *(text += strspn(text, " \t"))) {
        const size_t n = strcspn(text, " \t");
        char         word[LAYOUT_STAGES + 16];

        if (n >= sizeof word)
            return lm_error_set(err, LM_E_SYNTAX, "'%.40s...' is too long", text);
        memcpy(word, text, n);
        word[n] = '\0';
        status  = set_word(&out, word, err);
        text += n;
    }
    if (!status)
        *l = out;
    return status;
}

bool layout_agrees(const layout *l, const layout *as, unsigned properties)
{
    const unsigned told = as->told & properties;

    for (size_t i = 0; i < N_NUMBER_KEYS; i++)
        if (told & LAYOUT_BIT(i) && number_of(l, &number_keys[i]) != number_of(as, &number_keys[i]))
            return false;
    return (!(told & LAYOUT_BIT(TOLD_SP)) || l->sp == as->sp) &&
           (!(told & LAYOUT_BIT(TOLD_CP_KIND)) || l->ulysses == as->ulysses) &&
           (!(told & LAYOUT_BIT(TOLD_SCHEDULE)) || l->schedule == as->schedule) &&
           (!(told & LAYOUT_BIT(TOLD_RECOMPUTE)) || !strcmp(l->recompute, as->recompute)) &&
           (!(told & LAYOUT_BIT(TOLD_STAGES)) || !strcmp(l->stages, as->stages)) &&
           (!(told & LAYOUT_BIT(TOLD_PLACEMENT)) || !memcmp(l->order, as->order, sizeof l->order));
}

static void add_word(char buffer[LAYOUT_TEXT], const char *word, const char *value)
{
    const size_t used = strlen(buffer);

    snprintf(buffer + used, LAYOUT_TEXT - used, "%s%s%s", used ? " " : "", word, value);
}

static void print_order(const layout *l, char buffer[LAYOUT_TEXT])
{
    char text[3 * N_LAYOUT_DIMS + 1] = "";

    for (int i = 0; i < N_LAYOUT_DIMS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? "-" : "",
                 dim_names[l->order[i]]);
    add_word(buffer, text, "");
}

const char *layout_print(const layout *l, char buffer[LAYOUT_TEXT])
{
    const layout plain = layout_plain();
    char         number[32];

    buffer[0] = '\0';
    for (size_t i = 0; i < N_NUMBER_KEYS; i++) {
        const int64_t n = number_of(l, &number_keys[i]);

        if (n < 1 || n == number_of(&plain, &number_keys[i]))
            continue;
        snprintf(number, sizeof number, "%lld", (long long)n);
        add_word(buffer, number_keys[i].word, number);
    }
    if (l->batch_tokens) {
        snprintf(number, sizeof number, "%lldtokens", (long long)l->batch_tokens);
        add_word(buffer, "gb", number);
    }
    if (l->fsdp == LAYOUT_ALL)
        add_word(buffer, "fsdp", "");
    if (l->sp)
        add_word(buffer, "sp", "");
    if (l->ulysses)
        add_word(buffer, "ulysses", "");
    if (l->schedule != plain.schedule)
        add_word(buffer, pipeline_rule_names[l->schedule], "");
    if (strcmp(l->recompute, plain.recompute) != 0)
        add_word(buffer, "recompute=", l->recompute);
    if (*l->stages)
        add_word(buffer, "stages=", l->stages);
    if (memcmp(l->order, plain.order, sizeof l->order) != 0)
        print_order(l, buffer);
    if (!*buffer)
        strcpy(buffer, "tp1");
    return buffer;
}
