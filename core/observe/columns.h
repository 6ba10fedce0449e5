/** Names of columns that other programs write where observations have theirs. */
#ifndef OBSERVE_COLUMNS_H
#define OBSERVE_COLUMNS_H

#include <stddef.h>

/** The column of observations that `name` stands for ("nodes": "hosts"); NULL: none, or one that is
 * among the n heads, too. */
const char *columns_meant(const char *name, char *const *head, size_t n);

#endif
