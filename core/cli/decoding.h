/** --phase decode: its options, and further predictors of a session. */
#ifndef CLI_DECODING_H
#define CLI_DECODING_H

#include <stdio.h>

#include "cli/session.h"
#include "predict/generation.h"

/** A session that generates tokens: predictors of its steps, and of their mean. */
typedef struct decoding decoding;

/** NULL for another program. Call decoding_close() in either case, before session_close(). */
lm_status decoding_open(const session *s, const session_options *q, const setup_choice *how,
                        decoding **out, lm_error *err);
void      decoding_close(decoding *d);

/** The predictor of the mean step; without decoding the session's own. */
const predictor *decoding_who(const decoding *d, const session *s);
/** The predictor of the first step. */
const predictor *decoding_first(const decoding *d);
/** The network for the memory: that of the last step; without decoding the session's own. */
lm_status decoding_network(decoding *d, const session *s, const network **out, lm_error *err);

/** The generation; zeros without decoding. */
generation_span decoding_span(const decoding *d);
/** Explains sample and pass; NULL without decoding. */
#define DECODING_TEXT 160
const char *decoding_text(const decoding *d, char text[DECODING_TEXT]);
/** Prints this explanation. */
void decoding_explain(const decoding *d, FILE *out);

/** decoding_open() for each session of a fleet, into `out`: fleet_size() entries, zeros before. */
lm_status fleet_decode(const fleet_options *f, const session *s, const setup_choice *how,
                       decoding **out, lm_error *err);
void      fleet_decode_end(decoding **d, size_t n);

#endif
