/** Text of learned models, line by line: a word, then numbers. */
#ifndef LEARN_LINES_H
#define LEARN_LINES_H

#include <stddef.h>

#include <layermeter/error.h>

/** Where reading is. The text is cut up in place. */
typedef struct lines {
    const char *path; /**< for messages */
    char       *at;   /**< the rest; NULL or "": nothing */
    int         line; /**< the number of the last line read */
} lines;

/**
 * The next line, which must begin with `word`; *rest is what stands behind it.
 *
 * @return LM_E_SYNTAX ("path:line: ...") for another word, and at the end of the text
 */
lm_status lines_expect(lines *l, const char *word, char **rest, lm_error *err);

/** Exactly n finite numbers. LM_E_SYNTAX for fewer, more, or what is none; LM_E_ARG for nan, inf.
 */
lm_status lines_numbers(const lines *l, char *text, double *out, size_t n, lm_error *err);

/** Whole numbers from `least` to `most`, as many as there are but at most `room`. The same errors.
 */
lm_status lines_counts(const lines *l, char *text, size_t least, size_t most, size_t *out,
                       size_t room, size_t *n, lm_error *err);

/** Sets "path:line: ..." and returns `code`. */
lm_status lines_fail(const lines *l, lm_error *err, lm_status code, const char *fmt, ...)
    LM_PRINTF(4, 5);

#endif
