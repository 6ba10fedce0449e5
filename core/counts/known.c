/* Networks with known counts but unknown layers. */
#include "counts/known.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const struct key {
    const char *name;
    feature     of;
    size_t      offset;     /* in net_metrics */
    double      factor;     /* unit, in units of the count */
    bool        per_sample; /* grows with the batch */
} keys[] = {
    { "macs", FEATURE_FLOPS, offsetof(net_metrics, flops_forward), 2, true },
    { "inputs", FEATURE_INPUTS, offsetof(net_metrics, conv_inputs), 1, true },
    { "outputs", FEATURE_OUTPUTS, offsetof(net_metrics, conv_outputs), 1, true },
    { "layers", FEATURE_LAYERS, offsetof(net_metrics, layers), 1, false },
    { "params", FEATURE_WEIGHTS, offsetof(net_metrics, params), 1, false },
};

#define N_KEYS  (sizeof keys / sizeof keys[0])
#define LARGEST 9e18 /* fits 64 bits with a sign */

static lm_status read_value(const struct key *key, const char *text, int64_t batch, workload *out,
                            lm_error *err)
{
    double    value;
    uint64_t  count;
    lm_status status = text_real(text, &value, err);

    if (status) {
        lm_error_prefix(err, "%s", key->name);
        return status;
    }
    if (value < 0)
        return lm_error_set(err, LM_E_ARG, "%s: %s is negative", key->name, text);
    value *= key->factor * (key->per_sample ? (double)batch : 1);
    if (value > LARGEST)
        return lm_error_set(err, LM_E_OVERFLOW, "%s: %s at batch %lld does not fit 64 bits",
                            key->name, text, (long long)batch);
    count = (uint64_t)llround(value);
    memcpy((char *)&out->counts + key->offset, &count, sizeof count);
    return LM_OK;
}

static lm_status read_word(const char *word, int64_t batch, workload *out, lm_error *err)
{
    char        copy[80];
    char *const equals = strchr(strcpy(copy, word), '=');

    if (!equals)
        return lm_error_set(err, LM_E_SYNTAX, "expected key=number, found '%s'", word);
    *equals = '\0';
    for (size_t k = 0; k < N_KEYS; k++) {
        const uint32_t bit = 1u << keys[k].of;

        if (strcmp(keys[k].name, copy))
            continue;
        if (!(out->unknown & bit))
            return lm_error_set(err, LM_E_SYNTAX, "'%s' is given twice", copy);
        out->unknown &= ~bit;
        return read_value(&keys[k], equals + 1, batch, out, err);
    }
    return lm_error_set(err, LM_E_NOTFOUND,
                        "'%s' is no count; known are macs, inputs, outputs, layers, params", copy);
}

lm_status counts_parse(const char *text, int64_t batch, lm_dtype dtype, workload *out,
                       lm_error *err)
{
    workload result = { .nodes = 1, .samples = (double)batch };

    for (size_t k = 0; k < N_KEYS; k++)
        result.unknown |= 1u << keys[k].of;
    for (const char *from = text; *(from += strspn(from, " \t"));) {
        const size_t length = strcspn(from, " \t");
        char         word[80];
        lm_status    status;

        if (length >= sizeof word)
            return lm_error_set(err, LM_E_SYNTAX, "expected key=number, found '%.40s...'", from);
        snprintf(word, sizeof word, "%.*s", (int)length, from);
        if ((status = read_word(word, batch, &result, err)))
            return status;
        from += length;
    }
    if (result.unknown & 1u << FEATURE_FLOPS)
        return lm_error_set(err, LM_E_SYNTAX, "'macs' is missing: of counts it is the one needed");
    if (result.unknown & 1u << FEATURE_WEIGHTS)
        result.unknown |= 1u << FEATURE_RING_BYTES;
    result.counts.param_bytes = lm_mul(result.counts.params, lm_dtype_bytes(dtype));
    *out                      = result;
    return LM_OK;
}
