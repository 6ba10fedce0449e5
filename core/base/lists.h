/** Read-only lists of texts and of numbers. */
#ifndef BASE_LISTS_H
#define BASE_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct word_list {
    const char *const *at;
    size_t             n;
} word_list;

typedef struct count_list {
    const int64_t *at;
    size_t         n;
    bool           automatic; /**< the word `auto`: n is 0 */
} count_list;

#endif
