/** Hash table from names to numbers. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/** Zero-initialise; keeps pointers to the names, which must outlive it. */
typedef struct names {
    struct name_slot *slot;
    size_t            n, room;
} names;

#define NAMES_NONE ((size_t)-1)

/** NAMES_NONE: an unknown name. */
size_t names_find(const names *set, const char *name);
/** Adds a new name. False when memory runs out. */
bool names_add(names *set, const char *name, size_t number);
/** Adds a name or changes its number. False when memory runs out. */
bool names_set(names *set, const char *name, size_t number);
void names_free(names *set);

#endif
