/** Arenas: memory that is freed all at once, for structures that are built once and then read. Also
 * growing arrays. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct arena arena;

/** NULL when memory runs out. */
arena *arena_new(void);
void   arena_free(arena *a);

/** Zeroed, aligned for any type; lives as long as the arena. NULL when memory runs out. */
void *arena_alloc(arena *a, size_t bytes);
/** n elements of `size` bytes; NULL also when n * size overflows. */
void *arena_array(arena *a, size_t n, size_t size);
/** Copy of n elements; NULL for none, or when memory runs out. */
void *arena_copy(arena *a, const void *from, size_t n, size_t size);
/** Room for n + 1 elements: `old` itself, or a copy with twice the room. The arena keeps the old
 * copy until its end. NULL when memory runs out. */
void *arena_grow(arena *a, const void *old, size_t n, size_t *room, size_t size);
/** Copy of the first n bytes, with a terminating NUL. */
char *arena_text(arena *a, const char *text, size_t n);

/**
 * Makes room for n + 1 elements in a malloc'ed array; `array` is the address of the pointer to it.
 * False when memory runs out; the array is then unchanged.
 */
bool array_grow(void *array, size_t n, size_t *room, size_t size);

#endif
