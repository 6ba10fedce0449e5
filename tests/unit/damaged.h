/** A text with one byte that is another, gone or there twice: each of them, at each place. */
#ifndef UNIT_DAMAGED_H
#define UNIT_DAMAGED_H

#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/** Whether a text is read, and says something else than the one that is not damaged. */
typedef bool damaged_reader(const char *text, void *context);

/** How many of all damages are read unnoticed; every `stride`-th place. */
static inline size_t damaged_unnoticed(const char *text, size_t stride, damaged_reader *reads,
                                       void *context)
{
    const size_t n    = strlen(text);
    char        *with = malloc(n + 2);
    size_t       seen = 0;

    assert_non_null(with);
    for (size_t at = 0; at < n; at += stride) {
        memcpy(with, text, n + 1);
        with[at] = (char)(with[at] ^ 1 << at % 7); /* no byte of a text is above 127 */
        seen += with[at] && reads(with, context);
        memcpy(with, text, at);
        memcpy(with + at, text + at + 1, n - at);
        seen += reads(with, context);
        memcpy(with + at + 1, text + at, n - at + 1);
        with[at] = text[at];
        seen += reads(with, context);
    }
    free(with);
    return seen;
}

#endif
