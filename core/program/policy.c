/* Policies: when gradients are all-reduced, and in which groups. */
#include "program/policy.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *const names[] = {
    [SYNC_ONCE] = "once", [SYNC_TENSOR] = "tensor", [SYNC_DDP] = "ddp", [SYNC_FUSION] = "horovod"
};

static lm_status parse_limit(const char *text, uint64_t *out, lm_error *err)
{
    int64_t   bytes;
    lm_status status = text_bytes(text, &bytes, err);

    if (status)
        return status;
    if (bytes < 1)
        return lm_error_set(err, LM_E_ARG, "a bucket of %s: must be 1 byte or more", text);
    *out = (uint64_t)bytes;
    return LM_OK;
}

static lm_status parse_numbers(char *word[], size_t n, sync_policy *p, lm_error *err)
{
    const size_t most   = p->rule == SYNC_FUSION ? 3 : p->rule == SYNC_DDP ? 2 : 1;
    lm_status    status = LM_OK;

    if (n > most)
        return lm_error_set(err, LM_E_SYNTAX, "'%s' takes no '%.20s'", names[p->rule], word[most]);
    if (n > 1)
        status = parse_limit(word[1], &p->limit_bytes, err);
    if (!status && n > 2)
        status = text_seconds(word[2], &p->cycle_seconds, err);
    if (!status && !(p->cycle_seconds >= 0))
        status = lm_error_set(err, LM_E_ARG, "a cycle of %s: must be 0 or more", word[2]);
    /* torch 2.x: a limit below the first bucket's also applies to the first bucket */
    if (p->rule == SYNC_DDP && p->first_bytes > p->limit_bytes)
        p->first_bytes = p->limit_bytes;
    return status;
}

lm_status sync_policy_parse(const char *text, sync_policy *out, lm_error *err)
{
    char        copy[SYNC_POLICY_TEXT], *word[4];
    sync_policy p = *out;
    size_t      n;
    lm_status   status;

    if (strlen(text) >= sizeof copy)
        return lm_error_set(err, LM_E_SYNTAX, "'%.40s...' is too long", text);
    strcpy(copy, text);
    n = text_split(copy, ':', word, 4);
    for (p.rule = SYNC_ONCE; n && p.rule <= SYNC_FUSION; p.rule++)
        if (!strcmp(word[0], names[p.rule])) {
            p.first_bytes   = p.rule == SYNC_DDP ? SYNC_DDP_FIRST_BYTES : 0;
            p.limit_bytes   = p.rule == SYNC_DDP      ? SYNC_DDP_BYTES
                              : p.rule == SYNC_FUSION ? SYNC_FUSION_BYTES
                                                      : 0;
            p.cycle_seconds = p.rule == SYNC_FUSION ? SYNC_FUSION_CYCLE : 0;
            if (!(status = parse_numbers(word, n, &p, err)))
                *out = p;
            return status;
        }
    return lm_error_set(
        err, LM_E_SYNTAX,
        "expected once, tensor, ddp, ddp:25MiB, horovod or horovod:128MiB:1ms, found "
        "'%.40s'",
        text);
}

/* Prints the size in the largest unit that divides it. */
static void print_bytes(uint64_t bytes, char *to, size_t size)
{
    static const char *const unit[] = { "B", "KiB", "MiB", "GiB" };
    size_t                   u      = 0;

    for (; u < 3 && bytes && bytes % 1024 == 0; u++)
        bytes /= 1024;
    snprintf(to, size, "%llu%s", (unsigned long long)bytes, unit[u]);
}

const char *sync_policy_print(const sync_policy *p, char buffer[SYNC_POLICY_TEXT])
{
    char limit[32];

    print_bytes(p->limit_bytes, limit, sizeof limit);
    if (p->rule == SYNC_DDP)
        snprintf(buffer, SYNC_POLICY_TEXT, "ddp:%s", limit);
    else if (p->rule == SYNC_FUSION)
        snprintf(buffer, SYNC_POLICY_TEXT, "horovod:%s:%gms", limit, 1e3 * p->cycle_seconds);
    else
        snprintf(buffer, SYNC_POLICY_TEXT, "%s", names[p->rule]);
    return buffer;
}
