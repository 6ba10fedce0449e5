/* Words of Extra-P's files, and ours. */
#include "import/extrap_keys.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

#define SYNONYMS 4

/* The first is ours. One letter says nothing: p is ranks to some, nodes to others. */
static const char *const counts[N_EXTRAP_COUNTS][SYNONYMS] = {
    [EXTRAP_NODES]        = { "nodes", "hosts", "machines" },
    [EXTRAP_DEVICES]      = { "devices", "gpus", "ranks_per_node", "gpus_per_node" },
    [EXTRAP_RANKS]        = { "ranks", "processes", "procs", "world_size" },
    [EXTRAP_BATCH]        = { "batch", "batch_size", "batchsize" },
    [EXTRAP_BYTES]        = { "bytes", "message_size", "message_bytes" },
    [EXTRAP_BUCKET_BYTES] = { "bucket_bytes" },
    [EXTRAP_THREADS]      = { "threads" },
};

static const char *const texts[N_EXTRAP_TEXTS] = {
    "kind", "phase", "input", "dtype", "algorithm", "geometry", "optimizer", "settings"
};

const char *extrap_count_name(extrap_count c)
{
    return counts[c][0];
}

const char *extrap_text_name(extrap_text t)
{
    return texts[t];
}

bool extrap_count_find(const char *word, extrap_count *out)
{
    for (extrap_count c = 0; c < N_EXTRAP_COUNTS; c++)
        for (size_t s = 0; s < SYNONYMS && counts[c][s]; s++)
            if (!strcmp(word, counts[c][s])) {
                *out = c;
                return true;
            }
    return false;
}

bool extrap_text_find(const char *word, extrap_text *out)
{
    for (extrap_text t = 0; t < N_EXTRAP_TEXTS; t++)
        if (!strcmp(word, texts[t])) {
            *out = t;
            return true;
        }
    return false;
}

lm_status extrap_count_of(double value, const char *what, int64_t *out, lm_error *err)
{
    if (!(value >= 1 && value <= 9007199254740992.0 && value == floor(value))) /* 2^53 */
        return lm_error_set(err, LM_E_ARG, "%s: expected a whole number from 1 up, found %g", what,
                            value);
    *out = (int64_t)value;
    return LM_OK;
}

lm_status extrap_say(extrap_said *said, const char *key, const char *value, lm_error *err)
{
    extrap_count c;
    extrap_text  t;
    int64_t      number;

    if (extrap_text_find(key, &t)) {
        said->text[t] = value;
        return LM_OK;
    }
    if (!extrap_count_find(key, &c))
        return lm_error_set(err, LM_E_NOTFOUND,
                            "'%.40s' is none of " EXTRAP_COUNTS_KNOWN ", " EXTRAP_TEXTS_KNOWN, key);
    if (c == EXTRAP_BYTES || c == EXTRAP_BUCKET_BYTES ? text_bytes(value, &number, err)
                                                      : text_int(value, &number, err)) {
        lm_error_prefix(err, "%s", key);
        return err->code;
    }
    if (number < 1)
        return lm_error_set(err, LM_E_ARG, "%s: expected a whole number from 1 up, found '%.40s'",
                            key, value);
    said->count[c] = number;
    return LM_OK;
}
