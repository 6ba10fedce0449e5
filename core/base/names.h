/** A set of names with a number each: lookups that stay fast for ten thousand layers. */
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

/** NAMES_NONE if it is not there. */
size_t names_find(const names *set, const char *name);
/** Adds a name that is not there yet. False when memory runs out. */
bool names_add(names *set, const char *name, size_t number);
/** Adds it, or gives it another number. False when memory runs out. */
bool names_set(names *set, const char *name, size_t number);
void names_free(names *set);

#endif
