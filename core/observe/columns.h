/** Column names of other programs, converted to those of observations. */
#ifndef OBSERVE_COLUMNS_H
#define OBSERVE_COLUMNS_H

#include <stddef.h>

/**
 * The column of observations that `name` means ("nodes": "hosts"). NULL: unknown, or that column is
 * among the n heads already.
 */
const char *columns_meant(const char *name, char *const *head, size_t n);

#endif
