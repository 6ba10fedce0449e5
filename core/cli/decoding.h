/** --phase decode: the options, and predictors beside a session. */
#ifndef CLI_DECODING_H
#define CLI_DECODING_H

#include <stdio.h>

#include "cli/session.h"
#include "predict/generation.h"

/** A session that generates tokens: predictors of its steps, and of their mean. */
typedef struct decoding decoding;

/** NULL where the program is another. decoding_close() in either case, before session_close(). */
lm_status decoding_open(const session *s, const session_options *q, const setup_choice *how,
                        decoding **out, lm_error *err);
void      decoding_close(decoding *d);

/** The predictor that answers for the session: of the mean step; without decoding the session's
 * own. */
const predictor *decoding_who(const decoding *d, const session *s);
/** The predictor of the first step. */
const predictor *decoding_first(const decoding *d);
/** The network whose memory counts: that of the last step; without decoding the session's own. */
lm_status decoding_network(decoding *d, const session *s, const network **out, lm_error *err);

/** What is generated; zeros without decoding. */
generation_span decoding_span(const decoding *d);
/** Explanation of a sample and a pass; NULL without decoding. */
#define DECODING_TEXT 160
const char *decoding_text(const decoding *d, char text[DECODING_TEXT]);
/** Says so. */
void decoding_explain(const decoding *d, FILE *out);

/** The same of each session of a fleet, into `out`, fleet_size() of them, zeros. */
lm_status fleet_decode(const fleet_options *f, const session *s, const setup_choice *how,
                       decoding **out, lm_error *err);
void      fleet_decode_end(decoding **d, size_t n);

#endif
