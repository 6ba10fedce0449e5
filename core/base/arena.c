/* Arenas and growing arrays. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)16 * 1024)

typedef struct block {
    struct block *next;
    size_t        used, size;
    alignas(max_align_t) unsigned char data[];
} block;

struct arena {
    block *first;
};

arena *arena_new(void)
{
    return calloc(1, sizeof(arena));
}

void arena_free(arena *a)
{
    if (!a)
        return;
    for (block *b = a->first; b;) {
        block *next = b->next;
        free(b);
        b = next;
    }
    free(a);
}

/* Room for an object of any type. */
static void *take(arena *a, size_t bytes)
{
    const size_t align = alignof(max_align_t);
    block       *b     = a->first;
    void        *out;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + align - 1) / align * align;
    if (!b || b->size - b->used < bytes) {
        const size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;

        b = malloc(sizeof *b + size);
        if (!b)
            return NULL;
        b->used  = 0;
        b->size  = size;
        b->next  = a->first;
        a->first = b;
    }
    out = b->data + b->used;
    b->used += bytes;
    return out;
}

void *arena_alloc(arena *a, size_t bytes)
{
    void *out = take(a, bytes);

    return out ? memset(out, 0, bytes) : NULL;
}

static bool fits(size_t n, size_t size)
{
    return !size || n <= SIZE_MAX / size;
}

void *arena_array(arena *a, size_t n, size_t size)
{
    return fits(n, size) ? arena_alloc(a, n * size) : NULL;
}

void *arena_copy(arena *a, const void *from, size_t n, size_t size)
{
    void *out = n && fits(n, size) ? take(a, n * size) : NULL;

    if (out)
        memcpy(out, from, n * size);
    return out;
}

void *arena_grow(arena *a, const void *old, size_t n, size_t *room, size_t size)
{
    const size_t more = *room ? 2 * *room : 8;
    void        *out;

    if (n < *room)
        return (void *)(uintptr_t)old;
    out = arena_array(a, more, size);
    if (!out)
        return NULL;
    if (n)
        memcpy(out, old, n * size);
    *room = more;
    return out;
}

char *arena_text(arena *a, const char *text, size_t n)
{
    char *out = n < SIZE_MAX ? take(a, n + 1) : NULL;

    if (out) {
        memcpy(out, text, n);
        out[n] = '\0';
    }
    return out;
}

bool array_grow(void *array, size_t n, size_t *room, size_t size)
{
    const size_t more = *room ? 2 * *room : 16;
    void        *at;

    if (n < *room)
        return true;
    memcpy(&at, array, sizeof at); /* the pointer's type is unknown here: copy its bytes */
    if (!(at = realloc(at, more * size)))
        return false;
    memcpy(array, &at, sizeof at);
    *room = more;
    return true;
}
