/* --phase decode: one predictor for each number of tokens in the cache, opened at its first use. */
#include "cli/decoding.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "predict/generation.h"

typedef struct decoded {
    int64_t       context;
    lm_network   *network;
    lm_predictor *by;
} decoded;

struct decoding {
    const session  *s;
    session_options q;
    decode_choice   asked;
    decoded        *at; /* n contexts in use */
    size_t          n, room;
    predictor       mean;
};

static lm_status find(decoding *d, int64_t context, const decoded **out, lm_error *err)
{
    predictor_asked asked = session_asked(&d->q);
    decoded *new;
    lm_status status;

    for (size_t i = 0; i < d->n; i++)
        if (d->at[i].context == context) {
            *out = &d->at[i];
            return LM_OK;
        }
    if (!array_grow(&d->at, d->n, &d->room, sizeof *d->at))
        return no_memory(err);
    if (asked.framework == FRAMEWORK_FILE) /* servers replay graphs */
        asked.framework = FRAMEWORK_NONE;
    new  = &d->at[d->n];
    *new = (decoded){ .context = context };
    if ((status = network_handle_decoding(d->s->network, context, &new->network, err)))
        return status;
    if ((status = predictor_handle_open(d->s->library, d->s->machine, new->network, &asked,
                                        &new->by, err))) {
        lm_network_close(new->network);
        return status;
    }
    d->n++;
    *out = new;
    return LM_OK;
}

static lm_status predictor_at(void *of, int64_t context, const predictor **who, lm_error *err)
{
    const decoded  *found  = NULL;
    const lm_status status = find(of, context, &found, err);

    if (!status)
        *who = &found->by->who;
    return status;
}

lm_status decoding_open(const session *s, const session_options *q, const setup_choice *how,
                        decoding **out, lm_error *err)
{
    decoding *d;

    *out = NULL;
    if (how->program != PROGRAM_DECODE)
        return LM_OK;
    if (!(d = calloc(1, sizeof *d)))
        return no_memory(err);
    *d   = (decoding){ .s = s, .q = *q, .asked = how->decode };
    *out = d;
    return generation_open(d->asked.context, d->asked.tokens, predictor_at, d, &d->mean, err);
}

void decoding_close(decoding *d)
{
    if (!d)
        return;
    generation_close(&d->mean);
    for (size_t i = 0; i < d->n; i++) {
        lm_predictor_close(d->at[i].by);
        lm_network_close(d->at[i].network);
    }
    free(d->at);
    free(d);
}

const predictor *decoding_who(const decoding *d, const session *s)
{
    return d ? &d->mean : s->who;
}

const predictor *decoding_first(const decoding *d)
{
    return &d->at[0].by->who;
}

lm_status decoding_network(decoding *d, const session *s, const network **out, lm_error *err)
{
    const decoded *last = NULL;
    lm_status      status;

    *out = s->net;
    if (!d)
        return LM_OK;
    if (!(status = find(d, d->asked.context + d->asked.tokens - 1, &last, err)))
        *out = last->network->net;
    return status;
}

generation_span decoding_span(const decoding *d)
{
    return d ? (generation_span){ d->asked.context, d->asked.tokens } : (generation_span){ 0, 0 };
}

const char *decoding_text(const decoding *d, char text[DECODING_TEXT])
{
    char mean[60] = "";

    if (!d)
        return NULL;
    if (d->asked.tokens > 1)
        snprintf(mean, sizeof mean, " (mean of %lld tokens)", (long long)d->asked.tokens);
    snprintf(text, DECODING_TEXT,
             "a pass computes the next token of each sequence%s, after %lld cached tokens; a sample "
             "is a token",
             mean, (long long)d->asked.context);
    return text;
}

void decoding_explain(const decoding *d, FILE *out)
{
    char text[DECODING_TEXT];

    if (decoding_text(d, text))
        fprintf(out, "note: %s\n", text);
}

lm_status fleet_decode(const fleet_options *f, const session *s, const setup_choice *how,
                       decoding **out, lm_error *err)
{
    lm_status status = LM_OK;

    for (size_t i = 0; i < fleet_size(f) && !status; i++) {
        const session_options q = fleet_session(f, i);

        status = decoding_open(&s[i], &q, how, &out[i], err);
    }
    return status;
}

void fleet_decode_end(decoding **d, size_t n)
{
    while (n--)
        decoding_close(d[n]);
}
